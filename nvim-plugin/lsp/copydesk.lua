-- For people who list their servers with vim.lsp.enable('copydesk') (Neovim 0.11). Not needed: the first
-- :Copydesk command starts the server by itself, with this same configuration.
return require('copydesk.client').lsp_config()
