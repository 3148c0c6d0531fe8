-- Defines the :Copydesk command, the <Plug> maps and nothing else: no module is loaded until one is used.
if vim.g.loaded_copydesk then
  return
end
vim.g.loaded_copydesk = true

vim.api.nvim_create_user_command('Copydesk', function(command)
  require('copydesk.commands').run(command)
end, {
  nargs = '*',
  range = true,
  bang = true,
  desc = 'Copydesk: a coding agent that works on open buffers',
  complete = function(lead, line, position)
    return require('copydesk.commands').complete(lead, line, position)
  end,
})

for name, subcommand in pairs({
  Chat = 'chat',
  Stop = 'stop',
  Approve = 'approve',
  Deny = 'deny',
  Pending = 'pending',
}) do
  vim.keymap.set('n', '<Plug>(Copydesk' .. name .. ')', '<Cmd>Copydesk ' .. subcommand .. '<CR>')
end
vim.keymap.set({ 'n', 'x' }, '<Plug>(CopydeskAsk)', ':Copydesk ask ')
