--- The whole output of a program in a buffer, read page by page: the next page is asked for when the cursor
--- comes to the end, so that a long output costs only what is looked at.
local card = require('copydesk.card')
local jobs = require('copydesk.jobs')
local log = require('copydesk.log')

local M = {}

local api = vim.api

---@class copydesk.Output
---@field buf integer
---@field session string
---@field job string
---@field next integer first byte not read yet
---@field rest string bytes after the last newline
---@field first_open integer 0-based row where the lines of `rest` begin
---@field reading boolean a page is asked for
---@field done boolean? the program has ended and all is read

---@param output copydesk.Output
---@param bytes string
local function append(output, bytes)
  local text = output.rest .. bytes
  local whole, rest = text:match('^(.*\n)([^\n]*)$')
  whole, rest = whole or '', rest or text
  local lines = whole ~= '' and card.screen_lines(whole) or {}
  local first_open = output.first_open + #lines
  vim.list_extend(lines, rest ~= '' and card.screen_lines(rest) or {})
  vim.bo[output.buf].modifiable = true
  api.nvim_buf_set_lines(output.buf, output.first_open, -1, false, lines)
  vim.bo[output.buf].modifiable = false
  output.rest, output.first_open = rest, first_open
end

---@param output copydesk.Output
---@param text string
local function note(output, text)
  for _, win in ipairs(vim.fn.win_findbuf(output.buf)) do
    vim.wo[win][0].winbar = '%#CopydeskMuted# ' .. text:gsub('%%', '%%%%') .. '%*'
  end
end

---@param output copydesk.Output
---@param page copydesk.Page
local function take(output, page)
  if page.bytes ~= '' then
    append(output, page.bytes)
  end
  output.next = page.next
  output.done = not page.running and page.next >= page.total
  note(
    output,
    ('%s · %d of %d bytes%s · %s'):format(
      output.job,
      page.next,
      page.total,
      page.running and ' so far' or '',
      output.done and 'q closes' or 'G or R reads on · q closes'
    )
  )
end

--- Reads the next page, if there is one and none is under way.
---@param output copydesk.Output
local function read_on(output)
  if output.reading or output.done then
    return
  end
  output.reading = true
  jobs.read(output.session, output.job, output.next, function(problem, page)
    output.reading = false
    if not api.nvim_buf_is_valid(output.buf) then
      return
    end
    if problem or not page then
      note(output, problem or 'nothing came')
      return
    end
    take(output, page)
  end)
end

---@param output copydesk.Output
local function at_end(output)
  return api.nvim_win_get_cursor(0)[1] >= api.nvim_buf_line_count(output.buf)
end

---@param output copydesk.Output
local function follow(output)
  vim.keymap.set('n', 'R', function()
    read_on(output)
  end, { buffer = output.buf, nowait = true, desc = 'Copydesk: read on' })
  vim.keymap.set(
    'n',
    'q',
    '<Cmd>close<CR>',
    { buffer = output.buf, nowait = true, desc = 'Copydesk: close' }
  )
  api.nvim_create_autocmd('CursorMoved', {
    buffer = output.buf,
    callback = function()
      if at_end(output) then
        read_on(output)
      end
    end,
  })
end

---@param name string
---@return integer buf
local function scratch(name)
  local buf = api.nvim_create_buf(false, true)
  local full = 'copydesk://output/' .. name
  local stale = vim.fn.bufnr('^' .. vim.fn.escape(full, '[]*?{},') .. '$')
  if stale > 0 then
    pcall(api.nvim_buf_delete, stale, { force = true })
  end
  api.nvim_buf_set_name(buf, full)
  vim.bo[buf].bufhidden = 'wipe'
  vim.bo[buf].undolevels = -1
  vim.bo[buf].modifiable = false
  vim.bo[buf].filetype = 'copydesk-output'
  return buf
end

---@param name string
---@return integer buf
local function open(name)
  local buf = scratch(name)
  api.nvim_open_win(buf, true, { split = 'below', win = -1, height = math.floor(vim.o.lines / 2) })
  vim.wo[0][0].wrap = false
  return buf
end

--- Opens the output of a program. The server keeps none that the card shows whole: then that is shown.
---@param session string
---@param job string
---@param shown copydesk.Terminal?
function M.open(session, job, shown)
  jobs.read(session, job, 0, function(problem, page)
    if not page and not (shown and shown.exit and not shown.cut) then
      log.tell(problem or 'nothing came')
      return
    end
    local output = {
      buf = open(job),
      session = session,
      job = job,
      next = 0,
      rest = '',
      first_open = 0,
      reading = false,
    }
    follow(output)
    if page then
      take(output, page)
    else
      local all = shown.output
      take(output, { bytes = all, next = #all, total = #all, running = false })
    end
  end)
end

return M
