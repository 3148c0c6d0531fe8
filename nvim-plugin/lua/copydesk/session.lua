--- The sessions of this connection, and what the person asks of them. The current one is shown.
local client = require('copydesk.client')
local conversation = require('copydesk.conversation')
local events = require('copydesk.events')
local log = require('copydesk.log')

local M = {}

---@type table<string, copydesk.Session>
local sessions = {}
local current ---@type copydesk.Session?
--- Kept from a connection that ended, so that the transcript stays readable.
local orphaned ---@type copydesk.Entry[]?
local creating ---@type fun(problem: string?, session: copydesk.Session?)[]?
local server = {} ---@type table last copydesk/status/didChange

--- What draws the current session; set by `chat`.
M.view = nil ---@type copydesk.View?

local function tell_view(method, ...)
  if M.view then
    M.view[method](...)
  end
end

---@return copydesk.Session?
function M.current()
  return current
end

---@return copydesk.Entry[]
function M.entries()
  return current and current.entries or orphaned or {}
end

---@return table
function M.server()
  return server
end

--- Handles `session/update`. What cannot be understood is logged and changes nothing.
---@param params table
function M.update(params)
  local session, update = sessions[params.sessionId], params.update
  if type(update) ~= 'table' or type(update.sessionUpdate) ~= 'string' then
    log.warn('an update without a kind', params)
    return
  end
  if not session then
    if type(params.sessionId) ~= 'string' then
      log.warn('an update without a session', params)
      return
    end
    session = conversation.new(params.sessionId) -- may arrive before the answer that names it
    sessions[params.sessionId] = session
  end
  local seq = vim.tbl_get(params, '_meta', 'copydesk', 'seq')
  if type(seq) == 'number' then
    if session.seq and seq > session.seq + 1 then
      log.warn(('updates %d to %d are missing'):format(session.seq + 1, seq - 1))
    end
    session.seq = seq
  end
  conversation.apply(session, update)
  require('copydesk.secrets').follow(params.sessionId, update)
  if update.sessionUpdate == 'terminal_update' and type(update.exitStatus) == 'table' then
    require('copydesk.documents').reload_changed()
    require('copydesk.joblist').refresh()
  end
  if session == current then
    tell_view('header')
  end
end

--- Handles `copydesk/status/didChange`.
---@param params table
function M.server_status(params)
  server = params
  tell_view('header')
  events.emit('StatusChanged', params)
end

---@param problem any
---@return string
local function message_of(problem)
  return type(problem) == 'table' and tostring(problem.message) or tostring(problem)
end

---@param session copydesk.Session
local function make_current(session)
  if orphaned then
    for i, entry in ipairs(orphaned) do
      table.insert(session.entries, i, entry)
    end
    orphaned = nil
  end
  if current then
    current.view = nil
  end
  current, session.view = session, M.view
  tell_view('reset')
end

--- Begins a session and makes it the current one.
---@param callback fun(problem: string?, session: copydesk.Session?)
function M.new(callback)
  if creating then
    creating[#creating + 1] = callback
    return
  end
  creating = { callback }
  local function done(problem, session)
    local callbacks = creating or {}
    creating = nil
    for _, call in ipairs(callbacks) do
      call(problem, session)
    end
  end
  client.start(function(problem)
    if problem then
      done(problem)
      return
    end
    client.request('session/new', { cwd = client.root(), mcpServers = {} }, function(fault, result)
      if fault or type(result) ~= 'table' or type(result.sessionId) ~= 'string' then
        done('no session could be begun: ' .. message_of(fault or 'malformed answer'))
        return
      end
      local session = sessions[result.sessionId] or conversation.new(result.sessionId)
      sessions[session.id] = session
      if type(result.configOptions) == 'table' then
        session.options = result.configOptions
      end
      make_current(session)
      done(nil, session)
    end)
  end)
end

--- The current session, begun if there is none.
---@param callback fun(problem: string?, session: copydesk.Session?)
function M.ensure(callback)
  if current and client.get() then
    callback(nil, current)
  else
    M.new(callback)
  end
end

--- Sends a prompt. The callback says why it was not accepted, if so.
---@param text string
---@param callback fun(problem: string?)?
function M.prompt(text, callback)
  callback = callback or function() end
  M.ensure(function(problem, session)
    if problem or not session then
      callback(problem)
      return
    end
    local params = { sessionId = session.id, prompt = { { type = 'text', text = text } } }
    client.request('session/prompt', params, function(fault, result)
      if fault then
        conversation.note(session, 'error', 'Not sent: ' .. message_of(fault))
        callback(message_of(fault))
        return
      end
      local id = type(result) == 'table' and result.messageId
      if type(id) == 'string' then
        conversation.show_prompt(session, id, text)
      end
      callback(nil)
    end)
  end)
end

--- The last command of the current session that runs in the foreground.
---@return table? call
function M.running_command()
  for index = #M.entries(), 1, -1 do
    local call = M.entries()[index].call
    if call and conversation.runs_command(call) then
      return call
    end
  end
  return nil
end

--- The terminal a card shows.
---@param entry copydesk.Entry
---@return string? id
function M.terminal_of(entry)
  local content = entry.call and entry.call.content
  for _, part in ipairs(type(content) == 'table' and content or {}) do
    if type(part) == 'table' and part.type == 'terminal' then
      return part.terminalId
    end
  end
  return nil
end

--- That of the last card with one.
---@return string? id
function M.last_terminal()
  for index = #M.entries(), 1, -1 do
    local id = M.terminal_of(M.entries()[index])
    if id then
      return id
    end
  end
  return nil
end

--- Cancels the running turn.
---@return boolean sent
function M.stop()
  if not current or current.state == 'idle' then
    return false
  end
  client.notify('session/cancel', { sessionId = current.id })
  return true
end

---@param id string
---@return table?
function M.option(id)
  for _, option in ipairs(current and current.options or {}) do
    if type(option) == 'table' and option.configId == id then
      return option
    end
  end
  return nil
end

--- The values an option offers, groups flattened.
---@param id string
---@return { value: string, name: string, description: string? }[]
function M.choices(id)
  local option = M.option(id)
  local choices = {}
  for _, item in ipairs(option and type(option.options) == 'table' and option.options or {}) do
    if type(item.options) == 'table' then
      vim.list_extend(choices, item.options)
    else
      choices[#choices + 1] = item
    end
  end
  return choices
end

---@param id string
---@param value string
---@param callback fun(problem: string?)
function M.set_option(id, value, callback)
  M.ensure(function(problem, session)
    if problem or not session then
      callback(problem)
      return
    end
    local params = { sessionId = session.id, configId = id, type = 'id', value = value }
    client.request('session/set_config_option', params, function(fault, result)
      if fault then
        callback(message_of(fault))
        return
      end
      if type(result) == 'table' and type(result.configOptions) == 'table' then
        session.options = result.configOptions
      end
      tell_view('header')
      callback(nil)
    end)
  end)
end

--- Trusts the folder, or no longer; the server remembers it.
---@param trusted boolean
---@param callback fun(problem: string?)
function M.trust(trusted, callback)
  client.start(function(problem)
    if problem then
      callback(problem)
      return
    end
    local params = { root = vim.uri_from_fname(client.root()), trusted = trusted }
    client.request('copydesk/trust', params, function(fault)
      callback(fault and message_of(fault) or nil)
    end)
  end)
end

--- The connection ended: what ran is over, what was said stays readable.
---@param message string?
function M.connection_lost(message)
  server = {}
  if current then
    conversation.cut_off(current)
    local severity = message and 'error' or 'info'
    conversation.note(
      current,
      severity,
      message and 'Copydesk: ' .. message or 'The server was stopped.'
    )
    orphaned = current.entries
  end
  sessions, current = {}, nil
  tell_view('header')
end

return M
