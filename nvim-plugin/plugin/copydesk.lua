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
  Password = 'password',
  Jobs = 'jobs',
  Output = 'output',
  Kill = 'kill',
  Background = 'background',
  Accept = 'accept',
  Reject = 'reject',
  AcceptAll = 'acceptall',
  RejectAll = 'rejectall',
  Undo = 'undo',
  Review = 'review',
  Diff = 'diff',
}) do
  vim.keymap.set('n', '<Plug>(Copydesk' .. name .. ')', '<Cmd>Copydesk ' .. subcommand .. '<CR>')
end
for name, subcommand in pairs({ Accept = 'accept', Reject = 'reject' }) do
  vim.keymap.set('x', '<Plug>(Copydesk' .. name .. ')', ':Copydesk ' .. subcommand .. '<CR>')
  vim.keymap.set(
    'n',
    '<Plug>(Copydesk' .. name .. 'File)',
    '<Cmd>Copydesk! ' .. subcommand .. '<CR>'
  )
end
for name, subcommand in pairs({ Next = 'next', Prev = 'prev' }) do
  vim.keymap.set(
    'n',
    '<Plug>(Copydesk' .. name .. ')',
    '<Cmd>execute "Copydesk ' .. subcommand .. '" v:count1<CR>'
  )
end
vim.keymap.set(
  { 'o', 'x' },
  '<Plug>(CopydeskHunk)',
  '<Cmd>lua require("copydesk.review.go").select()<CR>'
)
vim.keymap.set({ 'n', 'x' }, '<Plug>(CopydeskAsk)', ':Copydesk ask ')
