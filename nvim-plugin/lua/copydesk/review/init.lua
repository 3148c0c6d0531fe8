--- The agent's pending changes as the server tells them: kept by file, drawn where a buffer shows one, and
--- found again by place. The server's list is the truth; nothing here decides what is pending.
local client = require('copydesk.client')
local documents = require('copydesk.documents')
local draw = require('copydesk.review.draw')
local events = require('copydesk.events')
local log = require('copydesk.log')

local M = {}

local api = vim.api
local group_name = 'copydesk.review'

---@type table<string, copydesk.protocol.ReviewFile> files with pending hunks, by URI
local files = {}
---@type table<string, 'asked'|'again'> files whose hunks were not told whole
local asked = {}
---@type table<integer, string> URIs by the buffers they were found in, which may spell them in another way
local shown_in = {}
local listed = false ---@type boolean the server was asked for all of them since it started
local following = false

--- Views that follow, by name: told the files that were told anew, and those of them where hunks came,
--- went or are in another state.
---@type table<string, fun(told: string[], changed: string[])>
M.watchers = {}

--- The URI a buffer's hunks were told under.
---@param buf integer
---@return string?
function M.uri(buf)
  local uri = vim.b[buf].copydesk_review_uri or shown_in[buf]
  if not uri and documents.attached(buf) then
    uri = documents.uri(buf)
  end
  return uri
end

--- The buffer a file's hunks are drawn in, if one is loaded.
---@param file copydesk.protocol.ReviewFile
---@return integer?
function M.buffer(file)
  return file.change ~= 'delete' and documents.find(file.uri) or nil
end

--- Draws all that is pending where it is shown.
local function redraw()
  for _, buf in ipairs(api.nvim_list_bufs()) do
    local uri = api.nvim_buf_is_loaded(buf) and documents.attached(buf) and M.uri(buf)
    local file = uri and files[uri]
    if file and file.change ~= 'delete' then
      draw.show(buf, file)
    end
  end
end

local redraw_scheduled = false

local function redraw_soon()
  if not redraw_scheduled then
    redraw_scheduled = true
    vim.schedule(function()
      redraw_scheduled = false
      redraw()
    end)
  end
end

--- While something is pending: buffers that come, and windows that show them in another way.
local function follow()
  if following == (next(files) ~= nil) then
    return
  end
  following = not following
  if not following then
    pcall(api.nvim_del_augroup_by_name, group_name)
    return
  end
  local group = api.nvim_create_augroup(group_name, {})
  local function on(names, callback, pattern)
    api.nvim_create_autocmd(names, { group = group, callback = callback, pattern = pattern })
  end
  on({ 'BufReadPost', 'BufWinEnter', 'WinClosed', 'WinResized' }, redraw_soon)
  on('OptionSet', redraw_soon, { 'diff', 'wrap', 'tabstop', 'number', 'relativenumber' })
  on('WinScrolled', function()
    for win, change in pairs(vim.v.event) do
      if win ~= 'all' and change.topline < 0 then
        draw.scrolled(tonumber(win) --[[@as integer]])
      end
    end
  end)
  on({ 'BufUnload', 'BufDelete' }, function(event)
    draw.clear(event.buf)
    shown_in[event.buf] = nil
  end)
end

--- A file that was opened under another spelling of its name is told anew.
---@param file copydesk.protocol.ReviewFile
local function drop_other_names(file)
  local ids = {}
  for _, hunk in ipairs(file.hunks) do
    ids[hunk.hunkId] = true
  end
  for uri, other in pairs(files) do
    if uri ~= file.uri and ids[other.hunks[1].hunkId] then
      files[uri] = nil
    end
  end
end

--- Whether the list of pending changes is another, not only their places.
---@param old copydesk.protocol.ReviewFile?
---@param new copydesk.protocol.ReviewFile
---@return boolean
local function differs(old, new)
  if not old or #old.hunks ~= #new.hunks or old.change ~= new.change then
    return true
  end
  for i, hunk in ipairs(new.hunks) do
    local was = old.hunks[i]
    if
      was.hunkId ~= hunk.hunkId
      or was.state ~= hunk.state
      or was.author ~= hunk.author
      or was.newText ~= hunk.newText
    then
      return true
    end
  end
  return false
end

---@param file copydesk.protocol.ReviewFile
---@return boolean changed
local function take(file)
  local old, buf = files[file.uri], documents.find(file.uri)
  if not old then
    drop_other_names(file)
  end
  files[file.uri] = #file.hunks > 0 and file or nil
  if buf then
    if #file.hunks > 0 and file.change ~= 'delete' then
      shown_in[buf] = file.uri
      draw.show(buf, file)
    else
      shown_in[buf] = nil
      draw.clear(buf)
    end
  end
  if #file.hunks == 0 then
    return old ~= nil
  end
  return differs(old, file)
end

---@param told string[]
---@param changed string[]
local function tell(told, changed)
  follow()
  for _, watcher in pairs(M.watchers) do
    watcher(told, changed)
  end
  if #changed > 0 then
    events.emit('ReviewChanged', { uris = changed, pending = M.pending() })
    vim.cmd('redrawstatus')
  end
end

---@param file copydesk.protocol.ReviewFile
---@return boolean
local function is_cut(file)
  if vim.tbl_get(file, '_meta', 'copydesk', 'omitted') then
    return true
  end
  for _, hunk in ipairs(file.hunks) do
    if vim.tbl_get(hunk, '_meta', 'copydesk', 'cut') then
      return true
    end
  end
  return false
end

--- Asks for all of a file that was too large for a notification.
---@param uri string
local function ask_whole(uri)
  if asked[uri] then
    asked[uri] = 'again'
    return
  end
  asked[uri] = 'asked'
  client.request('copydesk/review/list', { uri = uri }, function(problem, result)
    local again = asked[uri] == 'again'
    asked[uri] = nil
    if again then
      ask_whole(uri)
      return
    end
    if problem or type(result) ~= 'table' then
      log.warn('the changes of ' .. uri .. ' were not told', problem)
      return
    end
    local file = result.files[1] or { uri = uri, change = 'modify', hunks = {} }
    tell({ uri }, take(file) and { uri } or {})
  end)
end

---@param file any
---@return boolean
local function is_file(file)
  if
    type(file) ~= 'table'
    or type(file.uri) ~= 'string'
    or type(file.hunks) ~= 'table'
    or type(file.change) ~= 'string'
  then
    return false
  end
  for _, hunk in ipairs(file.hunks) do
    if
      type(hunk) ~= 'table'
      or type(hunk.hunkId) ~= 'string'
      or type(hunk.oldText) ~= 'string'
      or type(hunk.newText) ~= 'string'
      or not vim.tbl_get(hunk, 'range', 'start', 'line')
      or not vim.tbl_get(hunk, 'range', 'end', 'character')
      or not vim.tbl_get(hunk, 'baseRange', 'start', 'line')
      or not vim.tbl_get(hunk, 'baseRange', 'end', 'character')
    then
      return false
    end
  end
  return true
end

--- Handles `copydesk/review/didChange`.
---@param params copydesk.protocol.ReviewChangedParams
function M.update(params)
  local told, changed = {}, {}
  for _, file in ipairs(type(params.files) == 'table' and params.files or {}) do
    if not is_file(file) then
      log.warn('pending changes that cannot be understood', file)
    elseif is_cut(file) then
      ask_whole(file.uri)
    else
      told[#told + 1] = file.uri
      if take(file) then
        changed[#changed + 1] = file.uri
      end
    end
  end
  tell(told, changed)
end

--- Calls back once the server runs and what is pending is known. A server tells all of it soon after its
--- start, and then what changes: only where it has told nothing yet is it asked.
---@param callback fun(problem: string?)
function M.ready(callback)
  client.start(function(problem)
    if problem or listed or next(files) then
      callback(problem)
      return
    end
    M.refresh(callback)
  end)
end

--- Asks the server for everything.
---@param callback fun(problem: string?)?
function M.refresh(callback)
  client.request('copydesk/review/list', vim.empty_dict(), function(problem, result)
    if problem or type(result) ~= 'table' or type(result.files) ~= 'table' then
      local reason = 'the server did not list the pending changes'
        .. (problem and ': ' .. tostring(problem.message) or '')
      if callback then
        callback(reason)
      end
      return
    end
    listed = true
    local gone, changed = vim.tbl_extend('force', {}, files), {}
    for _, file in ipairs(result.files) do
      if is_file(file) then
        gone[file.uri] = nil
        if take(file) then
          changed[#changed + 1] = file.uri
        end
      end
    end
    for uri in pairs(gone) do
      take({ uri = uri, change = 'modify', hunks = {} })
      changed[#changed + 1] = uri
    end
    tell(vim.tbl_keys(vim.tbl_extend('force', gone, files)), changed)
    if callback then
      callback(nil)
    end
  end)
end

--- The server is gone; what is pending is told again by the next one.
function M.forget()
  local uris = vim.tbl_keys(files)
  for _, buf in ipairs(draw.buffers()) do
    draw.clear(buf)
  end
  files, asked, shown_in, listed = {}, {}, {}, false
  tell(uris, uris)
end

--- Files with pending changes, by name.
---@return copydesk.protocol.ReviewFile[]
function M.files()
  local list = vim.tbl_values(files)
  table.sort(list, function(a, b)
    return a.uri < b.uri
  end)
  return list
end

---@param buf integer
---@return copydesk.protocol.ReviewFile?
function M.file(buf)
  local uri = next(files) and M.uri(buf)
  return uri and files[uri] or nil
end

--- Number of pending hunks, of all files or of one buffer.
---@param buf integer?
---@return integer
function M.pending(buf)
  if buf then
    local file = M.file(buf)
    return file and #file.hunks or 0
  end
  local count = 0
  for _, file in pairs(files) do
    count = count + #file.hunks
  end
  return count
end

---@class copydesk.review.Located
---@field file copydesk.protocol.ReviewFile
---@field hunk copydesk.protocol.Hunk
---@field first integer first row, 0-based; where text was only removed the row below it
---@field after integer row after the last; equal to `first` where text was only removed

--- The hunks of a file in the order of the text, where they are now: in its own buffer, or in one with
--- its text from before.
---@param file copydesk.protocol.ReviewFile
---@param buf integer?
---@return copydesk.review.Located[]
function M.located(file, buf)
  local before = buf and vim.b[buf].copydesk_review_uri ~= nil
  buf = not before and M.buffer(file) or nil
  local places = buf and draw.places(buf) or {}
  local list = {}
  for _, hunk in ipairs(file.hunks) do
    local place = places[hunk.hunkId]
    local first, after
    if place then
      first, after = draw.rows(place)
    else
      local range = before and hunk.baseRange or hunk.range
      local from, to = range.start, range['end']
      first, after = from.line, to.character > 0 and to.line + 1 or to.line
    end
    list[#list + 1] = { file = file, hunk = hunk, first = first, after = math.max(first, after) }
  end
  return list
end

--- The hunk a row of a buffer belongs to: the one around it, else removed text just above or below.
---@param buf integer
---@param row integer 0-based
---@return copydesk.review.Located?
function M.at(buf, row)
  local file = M.file(buf)
  if not file then
    return nil
  end
  local list = M.located(file, buf)
  if file.change == 'delete' then
    return list[1]
  end
  local beside
  for _, located in ipairs(list) do
    if located.first <= row and row < located.after then
      return located
    end
    if
      located.first == located.after
      and (row == located.first or row == located.first - 1)
      and (not beside or row == located.first)
    then
      beside = located
    end
  end
  return beside
end

return M
