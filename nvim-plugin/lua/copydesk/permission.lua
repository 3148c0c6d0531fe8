--- Permission requests of the server, oldest first. Each is answered exactly once: by the person, by
--- another client (`copydesk/request/resolved`), or as cancelled when the connection ends.
local events = require('copydesk.events')
local log = require('copydesk.log')

local M = {}

---@class copydesk.Permission
---@field id string
---@field session string
---@field params table RequestPermissionRequest
---@field thread thread
---@field asked integer ms, vim.uv.now()

---@type copydesk.Permission[]
local queue = {}
local count = 0

--- Called after the queue changed; set by `chat`.
M.changed = nil ---@type fun()?

---@return copydesk.Permission[]
function M.pending()
  return queue
end

local function take(request)
  for i, other in ipairs(queue) do
    if other == request then
      table.remove(queue, i)
      return true
    end
  end
  return false
end

---@param request copydesk.Permission
---@param outcome table
---@param by string
local function finish(request, outcome, by)
  if not take(request) then
    return
  end
  local ok, problem = coroutine.resume(request.thread, { outcome = outcome })
  if not ok then
    log.error('a permission answer could not be sent', problem)
  end
  events.emit('PermissionResolved', {
    requestId = request.id,
    sessionId = request.session,
    outcome = outcome.outcome,
    optionId = outcome.optionId,
    by = by,
  })
  if M.changed then
    M.changed()
  end
end

--- Handles `session/request_permission`: returns the person's answer when there is one.
---@param params table
---@return table
function M.ask(params)
  local thread, is_main = coroutine.running()
  if not thread or is_main or type(params.options) ~= 'table' then
    return { outcome = { outcome = 'cancelled' } }
  end
  count = count + 1
  local id = vim.tbl_get(params, '_meta', 'copydesk', 'requestId')
  ---@type copydesk.Permission
  local request = {
    id = id ~= nil and tostring(id) or 'request-' .. count,
    session = tostring(params.sessionId),
    params = params,
    thread = thread,
    asked = vim.uv.now(),
  }
  queue[#queue + 1] = request
  vim.schedule(function()
    if M.changed then
      M.changed()
    end
    events.emit('PermissionRequested', {
      requestId = request.id,
      sessionId = request.session,
      title = params.title,
    })
  end)
  return coroutine.yield()
end

---@param request copydesk.Permission
---@param kind string
---@return table? option
local function option_of(request, kind)
  for _, option in ipairs(request.params.options) do
    if type(option) == 'table' and option.kind == kind then
      return option
    end
  end
  return nil
end

--- Answers the oldest request, or the one given, with the option of this kind. Says what was answered, or
--- why nothing was.
---@param kind 'allow_once'|'allow_always'|'reject_once'|'reject_always'
---@param feedback string?
---@param request copydesk.Permission?
---@return boolean answered, string message
function M.answer(kind, feedback, request)
  request = request or queue[1]
  if not request then
    return false, 'no permission is pending'
  end
  local option = option_of(request, kind)
  if not option then
    return false, 'this request does not offer that answer'
  end
  local outcome = { outcome = 'selected', optionId = option.optionId }
  if feedback and feedback ~= '' then
    outcome._meta = { copydesk = { feedback = feedback } }
  end
  finish(request, outcome, 'person')
  return true, ('%s: %s'):format(tostring(option.name), tostring(request.params.title))
end

--- Handles `copydesk/request/resolved`: answered elsewhere, or no longer needed.
---@param params table
function M.resolved(params)
  for _, request in ipairs(queue) do
    if request.id == tostring(params.requestId) then
      finish(request, { outcome = 'cancelled' }, tostring(params.by or 'elsewhere'))
      return
    end
  end
end

--- The connection ended: nobody waits for the answers any more.
function M.drop_all()
  for _, request in ipairs(vim.list_slice(queue)) do
    finish(request, { outcome = 'cancelled' }, 'connection')
  end
end

return M
