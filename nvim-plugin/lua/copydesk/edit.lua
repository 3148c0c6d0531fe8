--- `workspace/applyEdit` as the server needs it: every document is checked before any is touched, an
--- edit is an undo step of its own, only the changed text moves (marks, folds, cursor and extmarks
--- stay), no window or focus changes, and the answer says the truth.
local client = require('copydesk.client')
local documents = require('copydesk.documents')
local encoding = require('copydesk.encoding')
local events = require('copydesk.events')
local log = require('copydesk.log')
local resource = require('copydesk.resource')

local M = {}

local api = vim.api

---@class copydesk.Replacement
---@field first [integer, integer] 0-based row and byte column
---@field last [integer, integer]
---@field lines string[]

---@class copydesk.Step
---@field uri string
---@field buf integer?
---@field edits table[]?
---@field operation table? a create, rename or delete

local function refuse(index, reason)
  return { applied = false, failureReason = reason, failedChange = index - 1 }
end

---@param edit table a WorkspaceEdit
---@return table[]
local function operations(edit)
  if type(edit.documentChanges) == 'table' then
    return edit.documentChanges
  end
  local list = {}
  for uri, edits in pairs(type(edit.changes) == 'table' and edit.changes or {}) do
    list[#list + 1] = { textDocument = { uri = uri }, edits = edits }
  end
  return list
end

--- The last line's own `\r` belongs to its line ending in a buffer read as unix.
---@param buf integer
---@param row integer
---@param column integer UTF-16
---@return integer byte offset
local function byte_column(buf, row, column)
  local line = api.nvim_buf_get_lines(buf, row, row + 1, false)[1] or ''
  local offset = encoding.byte_offset(line, column)
  if
    offset == #line
    and column > encoding.utf16_length(line)
    and vim.bo[buf].fileformat == 'unix'
    and line:byte(-1) == 13
  then
    offset = offset - 1
  end
  return offset
end

---@param buf integer
---@param text string
---@return string[]
local function split(buf, text)
  local format = vim.bo[buf].fileformat
  if format == 'dos' then
    text = text:gsub('\r\n', '\n')
  elseif format == 'mac' then
    text = text:gsub('\r\n?', '\n')
  end
  return vim.split(text, '\n', { plain = true })
end

---@param range table
---@return boolean
local function is_range(range)
  local from, to = range and range.start, range and range['end']
  return type(from) == 'table'
    and type(to) == 'table'
    and type(from.line) == 'number'
    and type(from.character) == 'number'
    and type(to.line) == 'number'
    and type(to.character) == 'number'
    and (from.line < to.line or (from.line == to.line and from.character <= to.character))
end

local function before(a, b)
  return a.line < b.line or (a.line == b.line and a.character < b.character)
end

--- Why these edits cannot be made in this buffer, or nil.
---@param buf integer
---@param edits table[]
---@return string?
local function objection(buf, edits)
  local options = vim.bo[buf]
  if not options.modifiable then
    return "the buffer is 'nomodifiable'"
  end
  if options.readonly then
    return "the buffer is 'readonly'"
  end
  local sorted, count = {}, api.nvim_buf_line_count(buf)
  for _, edit in ipairs(edits) do
    if not is_range(edit.range) or type(edit.newText) ~= 'string' then
      return 'malformed text edit'
    end
    if edit.range['end'].line > count then
      return ('line %d is past the end of the buffer (%d lines)'):format(
        edit.range['end'].line + 1,
        count
      )
    end
    if not encoding.can_hold(edit.newText, options.fileencoding) then
      return ('the text cannot be written in the encoding of the file (%s)'):format(
        options.fileencoding
      )
    end
    sorted[#sorted + 1] = edit.range
  end
  table.sort(sorted, function(a, b)
    return before(a.start, b.start) or (not before(b.start, a.start) and before(a['end'], b['end']))
  end)
  for i = 2, #sorted do
    if before(sorted[i].start, sorted[i - 1]['end']) then
      return 'overlapping text edits'
    end
  end
  return nil
end

--- One edit in buffer terms. `newline` is set when the edit decides how the file ends.
---@param buf integer
---@param edit table
---@return copydesk.Replacement, boolean? newline
local function translate(buf, edit)
  local count = api.nvim_buf_line_count(buf)
  local from, to = edit.range.start, edit.range['end']
  local lines = split(buf, edit.newText)
  local last_row = count - 1
  local last_length = #(api.nvim_buf_get_lines(buf, last_row, count, false)[1] or '')
  local first = { from.line, byte_column(buf, from.line, from.character) }
  local last = { to.line, byte_column(buf, to.line, to.character) }

  local ends_file = to.line >= count
    or (not vim.bo[buf].endofline and to.line == last_row and last[2] >= last_length)
  if not ends_file then
    return { first = first, last = last, lines = lines }, nil
  end
  last = { last_row, last_length }
  local newline ---@type boolean?
  if from.line >= count then -- an append after the last line ending
    if edit.newText == '' then
      return { first = last, last = last, lines = { '' } }, nil
    end
    first = last
    table.insert(lines, 1, '')
    newline = lines[#lines] == ''
    if newline then
      table.remove(lines)
    end
  elseif #lines > 1 and lines[#lines] == '' then
    newline = true
    table.remove(lines)
  elseif edit.newText == '' and first[2] == 0 then
    if first[1] > 0 then -- what remains ends with the line ending before `first`
      local row = first[1] - 1
      first = { row, #api.nvim_buf_get_lines(buf, row, row + 1, false)[1] }
      newline = true
    end
  elseif to.line >= count then
    newline = false
  end
  return { first = first, last = last, lines = lines }, newline
end

--- Closes the undo step being built, so that the next change begins one of its own. The global option is
--- set to itself: the buffer's own value, if it has one, stays.
---@param buf integer
local function break_undo(buf)
  api.nvim_buf_call(buf, function()
    vim.cmd('let &g:undolevels = &g:undolevels')
  end)
end

---@param buf integer
---@param newline boolean
local function set_final_newline(buf, newline)
  vim.bo[buf].endofline = newline
  if not newline then
    vim.bo[buf].fixendofline = false
  end
  -- The option alone is no change of the text: a version of its own comes from an empty one.
  local row = api.nvim_buf_line_count(buf) - 1
  local column = #api.nvim_buf_get_lines(buf, row, row + 1, false)[1]
  api.nvim_buf_set_text(buf, row, column, row, column, { '' })
end

---@param buf integer
---@param edits table[]
local function change(buf, edits)
  local indexed = {}
  for i, edit in ipairs(edits) do
    indexed[i] = { edit = edit, index = i }
  end
  table.sort(indexed, function(a, b)
    local x, y = a.edit.range.start, b.edit.range.start
    return before(y, x) or (not before(x, y) and a.index > b.index)
  end)
  local function replace_all()
    break_undo(buf)
    for _, entry in ipairs(indexed) do
      local new = translate(buf, entry.edit)
      local first, last = new.first, new.last
      api.nvim_buf_set_text(buf, first[1], first[2], last[1], last[2], new.lines)
    end
    break_undo(buf)
  end
  -- Only the edit nearest the end can decide how the file ends.
  local _, newline = translate(buf, indexed[1].edit)
  if newline == nil or newline == vim.bo[buf].endofline then
    client.in_one(replace_all)
    return
  end
  documents.change_whole(buf, function()
    replace_all()
    set_final_newline(buf, newline)
  end)
end

--- Loads a file for an edit, hidden and quietly.
---@param uri string
---@return integer?
local function load(uri)
  if not uri:match('^file:') then
    return nil
  end
  local buf = vim.fn.bufadd(vim.uri_to_fname(uri))
  vim.fn.bufload(buf)
  vim.bo[buf].buflisted = true
  documents.attach(buf)
  return buf
end

--- Checks one operation. Gives a step to take, or a refusal.
---@param operation table
---@param index integer
---@param made table<string, true> URIs created by earlier operations
---@return copydesk.Step?, table? refusal
local function check(operation, index, made)
  if operation.kind then
    local problem = resource.objection(operation)
    if problem then
      return nil, refuse(index, problem)
    end
    if operation.kind == 'create' then
      made[operation.uri] = true
    elseif operation.kind == 'rename' then
      made[operation.newUri] = true
    end
    return { uri = operation.uri or operation.newUri, operation = operation }
  end
  local document, edits = operation.textDocument, operation.edits
  if type(document) ~= 'table' or type(document.uri) ~= 'string' or type(edits) ~= 'table' then
    return nil, refuse(index, 'malformed document change')
  end
  local buf = documents.find(document.uri)
  if not buf then
    if made[document.uri] then
      return { uri = document.uri, edits = edits }
    end
    if type(document.version) == 'number' then
      return nil, refuse(index, 'the document is not open')
    end
    if document.uri:match('^untitled:') then
      return nil, refuse(index, 'the document is not open')
    end
    if not vim.uv.fs_stat(vim.uri_to_fname(document.uri)) then
      return nil, refuse(index, 'no such file')
    end
    buf = load(document.uri) --[[@as integer]]
  end
  if type(document.version) == 'number' and document.version ~= documents.version(buf) then
    return nil,
      refuse(
        index,
        ('the document changed: version %d, the edit is for %d'):format(
          documents.version(buf),
          document.version
        )
      )
  end
  local problem = objection(buf, edits)
  if problem then
    return nil, refuse(index, problem)
  end
  return { uri = document.uri, buf = buf, edits = edits }
end

---@param step copydesk.Step
---@return string? problem
local function take(step)
  if step.operation then
    return resource.run(step.operation)
  end
  local buf = step.buf or documents.find(step.uri) or load(step.uri)
  if not buf then
    return 'the document is not open'
  end
  if not step.buf then
    local problem = objection(buf, step.edits)
    if problem then
      return problem
    end
  end
  step.buf = buf
  if #step.edits > 0 then
    change(buf, step.edits)
  end
  return nil
end

--- Takes back the text changes of steps already made; each is one undo step.
---@param steps copydesk.Step[]
local function take_back(steps)
  for i = #steps, 1, -1 do
    local buf = steps[i].buf
    if buf and #steps[i].edits > 0 and api.nvim_buf_is_valid(buf) then
      api.nvim_buf_call(buf, function()
        pcall(vim.cmd, 'silent undo')
      end)
    end
  end
end

--- A pause in the typing, ms, and how long one is waited for.
local pause, patience = 30, 300

--- Waits until the buffer has not changed for a moment. A refusal sent in the middle of a burst of keys
--- would be answered by an edit that is stale again.
---@param buf integer
local function wait_for_pause(buf)
  local thread, is_main = coroutine.running()
  if not thread or is_main then
    return
  end
  local began, version = vim.uv.now(), documents.version(buf)
  local function look()
    local now = documents.version(buf)
    if now ~= version and vim.uv.now() - began < patience then
      version = now
      vim.defer_fn(look, pause)
      return
    end
    local ok, problem = coroutine.resume(thread)
    if not ok then
      log.error('a refusal could not be sent', problem)
    end
  end
  vim.defer_fn(look, pause)
  coroutine.yield()
end

---@param params table ApplyWorkspaceEditParams
---@return table ApplyWorkspaceEditResult
function M.apply(params)
  local steps, made = {}, {}
  for index, operation in ipairs(operations(type(params.edit) == 'table' and params.edit or {})) do
    local step, refusal = check(operation, index, made)
    if refusal then
      documents.send_state() -- with it goes whatever change made the edit stale
      local document = type(operation) == 'table' and operation.textDocument
      local buf = type(document) == 'table' and documents.find(tostring(document.uri))
      if buf and document.version ~= documents.version(buf) then
        wait_for_pause(buf)
        documents.send_state()
      end
      return refusal
    end
    steps[index] = step
  end
  for index, step in ipairs(steps) do
    local ok, problem = pcall(take, step)
    if not ok or problem then
      log.error('an edit could not be made', problem)
      take_back(vim.list_slice(steps, 1, index - 1))
      documents.send_state()
      return refuse(index, tostring(problem):sub(1, 500))
    end
  end
  -- The change itself travels before this and before the answer, not after the typing delay.
  documents.send_state()
  for _, step in ipairs(steps) do
    if step.edits then
      events.emit('EditApplied', { uri = step.uri, buf = step.buf })
    end
  end
  if not client.get() then
    return { applied = false, failureReason = 'the server is not running' }
  end
  return { applied = true }
end

return M
