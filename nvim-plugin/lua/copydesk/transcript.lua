--- Draws blocks of lines into one buffer. Only what differs is written: text that streams in is
--- appended, a card that changes has its changed lines replaced. Windows whose cursor is on the last
--- line follow.
local M = {}

local api = vim.api
local blocks_ns = api.nvim_create_namespace('copydesk.transcript')

---@class copydesk.Transcript
---@field buf integer
---@field entries table[] things with a `block`, in order
---@field known table<table, true>
---@field total integer lines drawn
local Transcript = {}
Transcript.__index = Transcript

---@param buf integer
---@return copydesk.Transcript
function M.new(buf)
  return setmetatable({ buf = buf, entries = {}, known = {}, total = 0 }, Transcript)
end

--- Row where the entry's block begins. Changes are mostly near the end, so it is counted from there.
---@param entry table
---@return integer? row, integer? index
function Transcript:row(entry)
  local row = self.total
  for index = #self.entries, 1, -1 do
    row = row - #self.entries[index].block.lines
    if self.entries[index] == entry then
      return row, index
    end
  end
  return nil, nil
end

--- The entry whose block covers a row.
---@param row integer 0-based
---@return table? entry, integer? first_row
function Transcript:at(row)
  local first = self.total
  for index = #self.entries, 1, -1 do
    local entry = self.entries[index]
    first = first - #entry.block.lines
    if row >= first and #entry.block.lines > 0 then
      return entry, first
    end
  end
  return nil, nil
end

--- Runs `write` with the buffer modifiable, and lets windows at the end follow.
---@param write fun()
function Transcript:writing(write)
  local last = api.nvim_buf_line_count(self.buf)
  local following = {}
  for _, win in ipairs(vim.fn.win_findbuf(self.buf)) do
    if api.nvim_win_get_cursor(win)[1] >= last then
      following[#following + 1] = win
    end
  end
  vim.bo[self.buf].modifiable = true
  local ok, problem = pcall(write)
  vim.bo[self.buf].modifiable = false
  vim.bo[self.buf].modified = false
  local now_last = api.nvim_buf_line_count(self.buf)
  for _, win in ipairs(following) do
    if api.nvim_win_is_valid(win) then
      api.nvim_win_set_cursor(win, { now_last, 0 })
    end
  end
  if not ok then
    error(problem, 0)
  end
end

--- Lines must hold no newline; a NUL is shown by Neovim itself.
---@param lines string[]
local function clean(lines)
  for i, line in ipairs(lines) do
    if line:find('\n', 1, true) then
      lines[i] = line:gsub('\n', ' ')
    end
  end
end

---@param row integer
---@param block copydesk.Block
function Transcript:mark(row, block)
  for _, mark in ipairs(block.marks) do
    local line = row + mark.row
    if mark.conceal then
      api.nvim_buf_set_extmark(self.buf, blocks_ns, line, 0, {
        end_col = #block.lines[mark.row + 1],
        conceal = '',
      })
    elseif mark.rows then
      api.nvim_buf_set_extmark(self.buf, blocks_ns, line, 0, {
        end_row = line + mark.rows,
        hl_group = mark.group,
        priority = 150,
      })
    elseif not mark.from then
      api.nvim_buf_set_extmark(self.buf, blocks_ns, line, 0, {
        line_hl_group = mark.group,
        priority = 200,
      })
    else
      local length = #block.lines[mark.row + 1]
      api.nvim_buf_set_extmark(self.buf, blocks_ns, line, mark.from, {
        end_col = mark.to == -1 and length or math.min(mark.to, length),
        hl_group = mark.group,
        priority = 200,
      })
    end
  end
end

---@param row integer
---@param block copydesk.Block
function Transcript:fold(row, block)
  local first, last = row + block.fold_from + 1, row + #block.lines
  for _, win in ipairs(vim.fn.win_findbuf(self.buf)) do
    api.nvim_win_call(win, function()
      pcall(vim.cmd, ('silent %d,%dfold'):format(first, last))
      if block.fold == 'open' then
        pcall(vim.cmd, ('silent %d,%dfoldopen'):format(first, last))
      end
    end)
  end
end

--- Draws an entry, at the end if it is new (before entries marked `pinned`).
---@param entry table
---@param block copydesk.Block
function Transcript:draw(entry, block)
  clean(block.lines)
  if not self.known[entry] then
    self.known[entry] = true
    entry.block = { lines = {}, marks = {} }
    local index = #self.entries + 1
    while index > 1 and self.entries[index - 1].pinned and not entry.pinned do
      index = index - 1
    end
    table.insert(self.entries, index, entry)
  end
  local row = self:row(entry) --[[@as integer]]
  local old, new = entry.block.lines, block.lines
  local head, tail = 0, 0
  while head < #old and head < #new and old[head + 1] == new[head + 1] do
    head = head + 1
  end
  while tail < #old - head and tail < #new - head and old[#old - tail] == new[#new - tail] do
    tail = tail + 1
  end
  self:writing(function()
    if #old > 0 then
      api.nvim_buf_clear_namespace(self.buf, blocks_ns, row, row + #old)
    end
    if head + tail < #old or head + tail < #new then
      local lines = vim.list_slice(new, head + 1, #new - tail)
      -- The buffer's first, empty line stands for "nothing drawn yet".
      local stop = self.total == 0 and -1 or row + #old - tail
      api.nvim_buf_set_lines(self.buf, row + head, stop, false, lines)
    end
    self.total = self.total - #old + #new
    local fold = block.fold and not entry.block.fold
    entry.block = block
    self:mark(row, block)
    if fold then
      self:fold(row, block)
    end
  end)
end

--- Adds streamed text to the end of an entry already drawn.
---@param entry table
---@param text string
function Transcript:append(entry, text)
  local row = self:row(entry)
  if not row or #entry.block.lines == 0 then
    return
  end
  local lines = entry.block.lines
  local more = vim.split(text, '\n', { plain = true })
  local last, column = row + #lines - 1, #lines[#lines]
  self:writing(function()
    api.nvim_buf_set_text(self.buf, last, column, last, column, more)
    lines[#lines] = lines[#lines] .. more[1]
    for i = 2, #more do
      lines[#lines + 1] = more[i]
    end
    self.total = self.total + #more - 1
  end)
end

--- Makes the folds anew, for a window that has none yet.
---@param win integer
function Transcript:refold(win)
  api.nvim_win_call(win, function()
    pcall(vim.cmd, 'silent normal! zE')
  end)
  for _, entry in ipairs(self.entries) do
    if entry.block.fold then
      self:fold(self:row(entry) --[[@as integer]], entry.block)
    end
  end
end

return M
