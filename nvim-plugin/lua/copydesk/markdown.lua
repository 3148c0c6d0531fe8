--- Markdown colours for the chat's buffers: tree-sitter where there is a parser, the regex syntax else.
--- The queries are Neovim's own but for `conceal_lines`: with it (0.11) a window that is not the current
--- one does not scroll to its end, so fences are drawn as empty lines instead.
local M = {}

local language = 'copydesk_markdown'
local ready = nil ---@type boolean?

---@param kind string
local function copy_query(kind)
  local text = {}
  for _, path in ipairs(vim.treesitter.query.get_files('markdown', kind)) do
    text[#text + 1] = table.concat(vim.fn.readfile(path), '\n')
  end
  local query = table.concat(text, '\n'):gsub('%(#set!%s+conceal_lines%s+""%)', '')
  vim.treesitter.query.set(language, kind, query)
end

local function define()
  local parser = vim.api.nvim_get_runtime_file('parser/markdown.*', false)[1]
  assert(parser, 'no parser')
  vim.treesitter.language.add(language, { path = parser, symbol_name = 'markdown' })
  copy_query('highlights')
  copy_query('injections')
end

---@param buf integer
function M.start(buf)
  if ready == nil then
    ready = pcall(define)
  end
  if not (ready and pcall(vim.treesitter.start, buf, language)) then
    vim.bo[buf].syntax = 'markdown'
  end
end

return M
