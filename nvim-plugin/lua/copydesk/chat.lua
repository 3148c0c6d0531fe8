--- The chat: a side window with the transcript and, below it, the input. Both buffers may be closed or
--- deleted at any moment; the conversation lives in `session`, the draft here, and both come back.
local card = require('copydesk.card')
local client = require('copydesk.client')
local config = require('copydesk.config')
local jobs = require('copydesk.jobs')
local keys = require('copydesk.keys')
local log = require('copydesk.log')
local markdown = require('copydesk.markdown')
local output = require('copydesk.output')
local permission = require('copydesk.permission')
local secrets = require('copydesk.secrets')
local session = require('copydesk.session')
local transcript = require('copydesk.transcript')

local M = {}

local api = vim.api

local view = nil ---@type copydesk.Transcript?
local input_buf = nil ---@type integer?
local draft = { '' }
local windows = {} ---@type { transcript: integer?, input: integer? }
local secrets_entry = { key = 'secrets', pinned = true }
local pending_entry = { key = 'pending', pinned = true }

local function usable(win)
  return win ~= nil and api.nvim_win_is_valid(win)
end

--- Whether the transcript can be seen in this tab.
---@return boolean
function M.visible()
  return usable(windows.transcript)
    and api.nvim_win_get_tabpage(windows.transcript) == api.nvim_get_current_tabpage()
end

---@return table<string, copydesk.Terminal>
local function terminals()
  local now = session.current()
  return now and now.terminals or {}
end

---@param entry copydesk.Entry
---@return copydesk.Block
local function block_of(entry)
  return card.block(entry, terminals(), client.offers('jobs') and card.command_keys or nil)
end

local intro = { key = 'intro' }

local function intro_block()
  return {
    lines = { '# Copydesk', '', 'Type below; <CR> sends. g? shows the keys.' },
    marks = {
      { row = 0, from = 0, to = -1, group = 'CopydeskTitle' },
      { row = 2, from = 0, to = -1, group = 'CopydeskMuted' },
    },
  }
end

---@param pending copydesk.Permission[]
---@return copydesk.Permission[]
local function of_session(pending)
  return pending -- a child session's requests are the person's to answer too
end

local function draw_pending()
  if view then
    view:draw(secrets_entry, card.secrets_block(secrets.waiting()))
    view:draw(pending_entry, card.permission_block(of_session(permission.pending()), terminals()))
  end
end

local function draw_all()
  if not view then
    return
  end
  view:draw(intro, intro_block())
  for _, entry in ipairs(session.entries()) do
    view:draw(entry, block_of(entry))
  end
  draw_pending()
end

---@param buf integer
---@param what 'transcript'|'input'
local function forget_buffer(buf, what)
  if what == 'transcript' and view and view.buf == buf then
    view = nil
  elseif what == 'input' and input_buf == buf then
    if api.nvim_buf_is_loaded(buf) then
      draft = api.nvim_buf_get_lines(buf, 0, -1, false)
    end
    input_buf = nil
  end
end

---@param what 'transcript'|'input'
---@return integer
local function scratch(what)
  local name = 'copydesk://' .. what
  local stale = vim.fn.bufnr('^' .. name .. '$')
  if stale > 0 then
    pcall(api.nvim_buf_delete, stale, { force = true })
  end
  local buf = api.nvim_create_buf(false, true)
  api.nvim_buf_set_name(buf, name)
  vim.bo[buf].buftype = 'nofile'
  vim.bo[buf].bufhidden = 'hide'
  vim.bo[buf].swapfile = false
  vim.bo[buf].undofile = false
  api.nvim_create_autocmd({ 'BufUnload', 'BufWipeout' }, {
    buffer = buf,
    callback = function()
      forget_buffer(buf, what)
    end,
  })
  return buf
end

--- Sends what the input holds. It is cleared only once the server has taken it.
local function submit()
  if not input_buf then
    return
  end
  local lines = api.nvim_buf_get_lines(input_buf, 0, -1, false)
  local text = vim.trim(table.concat(lines, '\n'))
  if text == '' then
    return
  end
  session.prompt(text, function(problem)
    if problem then
      log.tell(problem)
      return
    end
    if input_buf and api.nvim_buf_is_loaded(input_buf) then
      local now = table.concat(api.nvim_buf_get_lines(input_buf, 0, -1, false), '\n')
      if vim.trim(now) == text then
        api.nvim_buf_set_lines(input_buf, 0, -1, false, { '' })
      end
    end
  end)
end

local function stop()
  if not session.stop() then
    log.tell('nothing is running', vim.log.levels.INFO)
  end
end

--- A draft is not lost and no turn stopped by a key that leaves insert mode one time and is hit twice.
local function stop_unless_drafting()
  if #api.nvim_buf_get_lines(0, 0, -1, false) == 1 and api.nvim_get_current_line() == '' then
    stop()
  else
    log.tell('the input holds a draft: :Copydesk stop stops the turn', vim.log.levels.INFO)
  end
end

---@param kind string
local function answer(kind)
  local answered, message = permission.answer(kind)
  if not answered then
    log.tell(message, vim.log.levels.INFO)
  end
end

--- Runs `act` with the call of the card under the cursor, or the command that runs.
---@param act fun(session: string, call: table)
local function with_call(act)
  local now = session.current()
  local entry = view and view:at(api.nvim_win_get_cursor(0)[1] - 1)
  local call = entry and entry.call or session.running_command()
  if now and call then
    act(now.id, call)
  else
    log.tell('no command runs', vim.log.levels.INFO)
  end
end

--- Opens the whole output of the card under the cursor, or of the last command.
function M.open_output()
  local now = session.current()
  local here = view and api.nvim_get_current_buf() == view.buf
  local entry = here and view and view:at(api.nvim_win_get_cursor(0)[1] - 1) or nil
  local id = entry and session.terminal_of(entry) or session.last_terminal()
  if now and id then
    output.open(now.id, id, now.terminals[id])
  else
    log.tell('no command has run', vim.log.levels.INFO)
  end
end

--- Opens the file of the card under the cursor in the window the person came from.
local function open_location()
  local entry, first = nil, nil
  if view then
    entry, first = view:at(api.nvim_win_get_cursor(0)[1] - 1)
  end
  local location = first and entry.block.location
  if not location then
    return
  end
  vim.cmd('wincmd p')
  local win = api.nvim_get_current_win()
  if win == windows.transcript or win == windows.input then
    vim.cmd('topleft vnew')
  end
  vim.cmd('keepalt edit ' .. vim.fn.fnameescape(location.path))
  if location.line then
    pcall(api.nvim_win_set_cursor, 0, { location.line, 0 })
  end
end

local function to_prompt(backwards)
  vim.fn.search('^## You$', backwards and 'bW' or 'W')
end

local function focus(win)
  if usable(win) then
    api.nvim_set_current_win(win)
  end
end

---@param buf integer
---@param mode string|string[]
local function map(buf, mode, key, callback, description)
  vim.keymap.set(
    mode,
    key,
    callback,
    { buffer = buf, nowait = true, desc = 'Copydesk: ' .. description }
  )
end

local function make_transcript()
  local buf = scratch('transcript')
  vim.bo[buf].filetype = 'copydesk'
  markdown.start(buf)
  vim.bo[buf].undolevels = -1
  vim.bo[buf].modifiable = false
  for _, choice in ipairs(card.permission_keys) do
    map(buf, 'n', choice.key, function()
      answer(choice.kind)
    end, choice.kind:gsub('_', ' '))
  end
  map(buf, 'n', 'p', function()
    secrets.type('')
  end, 'type a password')
  map(buf, 'n', 'x', function()
    with_call(jobs.stop_call)
  end, 'stop the command')
  map(buf, 'n', 'b', function()
    with_call(jobs.to_background)
  end, 'command to background')
  map(buf, 'n', 'o', M.open_output, 'whole output')
  map(buf, 'n', '<CR>', open_location, 'open file')
  map(buf, 'n', '<Tab>', function()
    pcall(vim.cmd, 'normal! za')
  end, 'toggle card')
  map(buf, 'n', ']]', function()
    to_prompt(false)
  end, 'next prompt')
  map(buf, 'n', '[[', function()
    to_prompt(true)
  end, 'previous prompt')
  map(buf, 'n', 'i', function()
    M.open({ focus = 'input' })
    vim.cmd('startinsert!')
  end, 'input')
  map(buf, 'n', 'q', M.close, 'close')
  map(buf, 'n', '<C-c>', stop, 'stop')
  map(buf, 'n', 'g?', keys.toggle, 'keys')
  view = transcript.new(buf)
  draw_all()
end

local function make_input()
  local buf = scratch('input')
  input_buf = buf
  api.nvim_buf_set_lines(buf, 0, -1, false, draft)
  vim.bo[buf].filetype = 'copydesk-input'
  markdown.start(buf)
  map(buf, 'n', '<CR>', submit, 'send')
  map(buf, { 'n', 'i' }, '<C-s>', submit, 'send')
  map(buf, 'n', '<Tab>', function()
    focus(windows.transcript)
  end, 'transcript')
  map(buf, 'n', '<C-c>', stop_unless_drafting, 'stop')
  map(buf, 'n', 'g?', keys.toggle, 'keys')
end

---@param text string
---@return string
local function escaped(text)
  return (text:gsub('%%', '%%%%'))
end

local state_words = {
  idle = 'idle',
  running = 'working…',
  requires_action = 'waiting for you',
}

---@param id string
---@return string? name of the option's value, as the server calls it
local function chosen(id)
  local option = session.option(id)
  if not option or option.currentValue == nil then
    return nil
  end
  for _, choice in ipairs(session.choices(id)) do
    if choice.value == option.currentValue then
      return tostring(choice.name)
    end
  end
  return tostring(option.currentValue)
end

---@param count number
---@return string
local function tokens(count)
  return count < 1000 and ('%d'):format(count) or ('%dk'):format(count / 1000)
end

--- The transcript's title line. The session's title gets what room the rest leaves.
---@param width integer
---@return string
function M.winbar(width)
  local now = session.current()
  local left, right = {}, {}
  for _, id in ipairs({ 'mode', 'model' }) do
    left[#left + 1] = chosen(id)
  end
  local usage = now and now.usage
  if usage and type(usage.used) == 'number' and type(usage.size) == 'number' then
    right[#right + 1] = ('%s/%s'):format(tokens(usage.used), tokens(usage.size))
  end
  local pending, state = #permission.pending(), client.state()
  local last = state
  local asked = #secrets.waiting() > 0
  if pending > 0 then
    last = pending .. ' pending'
  elseif asked then
    last = 'password needed'
  elseif state == 'ready' then
    last = now and (state_words[now.state] or now.state) or 'ready'
  end
  local function room()
    local words = vim.list_extend(vim.list_extend({ last }, left), right)
    return width - vim.fn.strdisplaywidth(' Copydesk ' .. table.concat(words, ' · ')) - 4
  end
  while #left > 0 and room() < 0 do
    left[#left] = nil
  end
  local title = now and now.title and tostring(now.title) or ''
  local title_room = room() - 3
  if vim.fn.strdisplaywidth(title) > title_room then
    title = title_room > 4 and vim.fn.strcharpart(title, 0, title_room - 1) .. '…' or ''
  end
  left[#left + 1] = title ~= '' and title or nil
  right[#right + 1] = ''
  return ('%%#CopydeskTitle# Copydesk%%*%s%%=%s%s%s%%* '):format(
    #left > 0 and ' · ' .. escaped(table.concat(left, ' · ')) or '',
    escaped(table.concat(right, '  ')),
    (pending > 0 or asked) and '%#CopydeskPermission#' or '',
    escaped(last)
  )
end

---@param win integer
---@param options table<string, any>
local function set_options(win, options)
  for name, value in pairs(options) do
    vim.wo[win][0][name] = value
  end
end

local plain_window = {
  number = false,
  relativenumber = false,
  signcolumn = 'no',
  foldcolumn = '0',
  statuscolumn = '',
  colorcolumn = '',
  cursorline = false,
  list = false,
  spell = false,
  wrap = true,
  linebreak = true,
  breakindent = true,
  winfixwidth = true,
}

local function show_header()
  if usable(windows.transcript) then
    local width = api.nvim_win_get_width(windows.transcript)
    vim.wo[windows.transcript][0].winbar = M.winbar(width)
  end
end

local function open_windows()
  local width = config.get().width
  width = math.floor(width < 1 and vim.o.columns * width or width)
  width = math.max(30, math.min(width, vim.o.columns - 20))
  local buf = (view --[[@as copydesk.Transcript]]).buf
  local win = api.nvim_open_win(buf, false, { split = 'right', win = -1, width = width })
  windows.transcript = win
  set_options(win, plain_window)
  set_options(win, {
    conceallevel = 2,
    concealcursor = 'nc',
    foldmethod = 'manual',
    foldenable = true,
    foldlevel = 0,
    foldminlines = 0,
    foldtext = '',
    foldcolumn = '1',
    fillchars = 'fold: ,foldopen:▾,foldclose:▸,foldsep: ,eob: ',
    winhighlight = 'Folded:Normal',
    winfixbuf = true,
  })
  api.nvim_win_set_cursor(win, { api.nvim_buf_line_count(buf), 0 })
  view:refold(win)
end

local function open_input()
  local win = api.nvim_open_win(input_buf --[[@as integer]], false, {
    split = 'below',
    win = windows.transcript,
    height = config.get().input_height,
  })
  windows.input = win
  set_options(win, plain_window)
  set_options(win, {
    winfixheight = true,
    winfixbuf = true,
    fillchars = 'eob: ',
    winbar = '%#CopydeskMuted# <CR> send · <C-s> send while typing · g? keys%*',
  })
end

--- When one of the two windows is closed the other goes too.
local function on_closed(closed)
  local other = closed == windows.transcript and windows.input
    or closed == windows.input and windows.transcript
    or nil
  if closed ~= windows.transcript and closed ~= windows.input then
    return
  end
  windows = {}
  vim.schedule(function()
    if not usable(other) then
      return
    end
    if not pcall(api.nvim_win_close, other, true) then
      -- The last window: leave Neovim as `:q` there would, or leave an empty buffer behind.
      if not pcall(vim.cmd, 'quit') then
        vim.wo[other].winfixbuf = false
        api.nvim_win_call(other, function()
          vim.cmd('enew')
        end)
      end
    end
  end)
end

--- Opens the chat in this tab. The focus moves only where it is asked to.
---@param options { focus: 'input'|'transcript'|nil }?
function M.open(options)
  require('copydesk.highlights').define()
  if usable(windows.transcript) and not M.visible() then
    M.close()
  end
  if not view then
    make_transcript()
  end
  if not input_buf then
    make_input()
  end
  if not usable(windows.transcript) then
    open_windows()
  end
  if not usable(windows.input) then
    open_input()
  end
  api.nvim_create_autocmd('WinClosed', {
    group = api.nvim_create_augroup('copydesk.chat', {}),
    callback = function(event)
      on_closed(tonumber(event.match))
    end,
  })
  show_header()
  local target = options and options.focus
  if target then
    focus(windows[target])
  end
end

function M.close()
  local both = windows
  windows = {}
  for _, win in pairs(both) do
    if usable(win) then
      pcall(api.nvim_win_close, win, true)
    end
  end
end

--- Goes to the oldest pending permission.
function M.open_pending()
  M.open({ focus = 'transcript' })
  local row = view and view:row(pending_entry)
  if row and windows.transcript then
    local last = api.nvim_buf_line_count((view --[[@as copydesk.Transcript]]).buf)
    api.nvim_win_set_cursor(windows.transcript, { math.min(last, row + 4), 0 })
    api.nvim_win_call(windows.transcript, function()
      vim.cmd('normal! zb')
    end)
    api.nvim_win_set_cursor(windows.transcript, { last, 0 })
  end
end

--- Only shown when the chat is not.
local function announce()
  local request = permission.pending()[1]
  if request and not M.visible() and config.get().notify and request ~= M.announced then
    M.announced = request
    log.tell(
      ('asks for permission: %s (:Copydesk approve, deny or pending)'):format(
        tostring(request.params.title)
      ),
      vim.log.levels.WARN
    )
  end
end

---@param draw fun(...)
local function safely(draw)
  return function(...)
    local ok, problem = pcall(draw, ...)
    if not ok then
      log.error('the chat could not be drawn', problem)
    end
  end
end

--- Follows the conversation from now on.
function M.follow()
  session.view = {
    reset = safely(function()
      if view then
        local buf = view.buf
        vim.bo[buf].modifiable = true
        api.nvim_buf_set_lines(buf, 0, -1, false, {})
        vim.bo[buf].modifiable = false
        view = transcript.new(buf)
        draw_all()
      end
      show_header()
    end),
    changed = safely(function(entry)
      if view then
        view:draw(entry, block_of(entry))
      end
    end),
    appended = safely(function(entry, text)
      if view then
        view:append(entry, text)
      end
    end),
    header = safely(show_header),
  }
  secrets.visible = M.visible
  secrets.changed = safely(function()
    draw_pending()
    show_header()
  end)
  permission.changed = safely(function()
    draw_pending()
    show_header()
    announce()
  end)
end

return M
