--- The window that lists the chat's keys.
local M = {}

local api = vim.api

local help_win = nil ---@type integer?

local list = {
  { 'both', 'g?', 'show or hide this help' },
  { 'input', '<C-c>', 'stop the running turn, if nothing is drafted (normal mode)' },
  { 'input', '<CR>', 'send (normal mode)' },
  { 'input', '<C-s>', 'send (insert mode too)' },
  { 'input', '<Tab>', 'go to the transcript (normal mode)' },
  { 'transcript', '<C-c>', 'stop the running turn' },
  { 'transcript', 'a', 'allow once' },
  { 'transcript', 'A', 'always allow' },
  { 'transcript', 'r', 'reject' },
  { 'transcript', 'R', 'always reject' },
  { 'transcript', 'p', 'type the password a program asks for' },
  { 'transcript', 'x', 'stop the command under the cursor, or the running one' },
  { 'transcript', 'b', 'let it go on in the background' },
  { 'transcript', 'o', 'show its whole output' },
  { 'transcript', '<CR>', 'open the file of the card under the cursor' },
  { 'transcript', '<Tab>', 'open or close the card under the cursor' },
  { 'transcript', ']]', 'next prompt' },
  { 'transcript', '[[', 'previous prompt' },
  { 'transcript', 'i', 'go to the input' },
  { 'transcript', 'q', 'close the chat' },
}

--- Shows the keys of the chat, or hides them.
function M.toggle()
  if help_win and api.nvim_win_is_valid(help_win) then
    api.nvim_win_close(help_win, true)
    help_win = nil
    return
  end
  local lines, width = {}, 0
  local where = { both = 'both windows', input = 'input', transcript = 'transcript' }
  local last
  for _, key in ipairs(list) do
    if key[1] ~= last then
      lines[#lines + 1] = where[key[1]]
      last = key[1]
    end
    lines[#lines + 1] = ('  %-6s %s'):format(key[2], key[3])
  end
  for _, line in ipairs(lines) do
    width = math.max(width, vim.fn.strdisplaywidth(line))
  end
  local buf = api.nvim_create_buf(false, true)
  api.nvim_buf_set_lines(buf, 0, -1, false, lines)
  vim.bo[buf].modifiable = false
  vim.bo[buf].bufhidden = 'wipe'
  help_win = api.nvim_open_win(buf, true, {
    relative = 'editor',
    row = math.max(0, math.floor((vim.o.lines - #lines) / 2) - 1),
    col = math.max(0, math.floor((vim.o.columns - width) / 2)),
    width = width + 2,
    height = #lines,
    style = 'minimal',
    border = 'rounded',
    title = ' Copydesk keys ',
  })
  for _, key in ipairs({ 'q', '<Esc>', 'g?' }) do
    vim.keymap.set('n', key, '<Cmd>close<CR>', { buffer = buf, nowait = true })
  end
  api.nvim_create_autocmd('WinLeave', {
    buffer = buf,
    once = true,
    callback = function()
      pcall(api.nvim_win_close, help_win, true)
      help_win = nil
    end,
  })
end

return M
