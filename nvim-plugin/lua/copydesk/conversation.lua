--- One conversation as the server tells it: entries in order, tool calls, terminals, options, state.
--- Nothing is decided here; updates patch what is kept, and the view draws what changed.
local events = require('copydesk.events')
local log = require('copydesk.log')

local M = {}

---@class copydesk.Entry
---@field key string
---@field kind 'user'|'agent'|'thought'|'tool'|'plan'|'notice'
---@field lines string[]? text of messages and notices
---@field call table? merged ToolCallUpdate
---@field plan table?
---@field severity string?
---@field begins_turn boolean? first thing the agent says after the person
---@field closed boolean? something else came after it
---@field started integer? ms
---@field ended integer? ms
---@field block copydesk.Block? what is drawn

---@class copydesk.Terminal
---@field command string?
---@field cwd string?
---@field output string bytes so far, at most the last `output_limit`
---@field cut boolean earlier output was dropped
---@field exit table?
---@field drawing boolean? will be drawn shortly

---@class copydesk.Session
---@field id string
---@field entries copydesk.Entry[]
---@field by_key table<string, copydesk.Entry>
---@field terminals table<string, copydesk.Terminal>
---@field terminal_owner table<string, copydesk.Entry>
---@field options table[] SessionConfigOption
---@field state string idle | running | requires_action | …
---@field usage table?
---@field title string?
---@field seq integer?
---@field view copydesk.View? set while this conversation is shown

--- What draws a conversation.
---@class copydesk.View
---@field reset fun()
---@field changed fun(entry: copydesk.Entry)
---@field appended fun(entry: copydesk.Entry, text: string)
---@field header fun()

--- Bytes of a terminal's output that are kept, the last ones.
local output_limit = 256 * 1024

---@param id string
---@return copydesk.Session
function M.new(id)
  return {
    id = id,
    entries = {},
    by_key = {},
    terminals = {},
    terminal_owner = {},
    options = {},
    state = 'idle',
  }
end

---@param session copydesk.Session
---@param entry copydesk.Entry
local function draw(session, entry)
  if session.view then
    session.view.changed(entry)
  end
end

--- A message is over when something else begins; thoughts then fold.
---@param session copydesk.Session
local function close_message(session)
  local last = session.entries[#session.entries]
  if last and (last.kind == 'thought' or last.kind == 'agent') and not last.closed then
    last.closed = true
    draw(session, last)
  end
end

---@param session copydesk.Session
---@param key string
---@param kind string
---@return copydesk.Entry entry, boolean is_new
local function entry_of(session, key, kind)
  local known = session.by_key[key]
  if known then
    return known, false
  end
  close_message(session)
  local last = session.entries[#session.entries]
  ---@type copydesk.Entry
  local entry = {
    key = key,
    kind = kind,
    begins_turn = kind ~= 'user' and kind ~= 'notice' and (not last or last.kind == 'user'),
  }
  session.entries[#session.entries + 1] = entry
  session.by_key[key] = entry
  return entry, true
end

---@param content any ContentBlock or a list of them
---@return string
local function text_of(content)
  if type(content) ~= 'table' then
    return ''
  end
  if content.type then
    content = { content }
  end
  local parts = {}
  for _, block in ipairs(content) do
    if type(block) == 'table' then
      local resource = type(block.resource) == 'table' and block.resource or {}
      if type(block.text) == 'string' then
        parts[#parts + 1] = block.text
      elseif type(resource.text) == 'string' then
        parts[#parts + 1] = resource.text
      else
        parts[#parts + 1] = ('[%s]'):format(
          tostring(block.title or block.name or block.uri or resource.uri or block.type)
        )
      end
    end
  end
  return table.concat(parts, '\n')
end
M.text_of = text_of

---@param session copydesk.Session
---@param key string
---@param kind string
---@param text string
local function append_text(session, key, kind, text)
  local entry, is_new = entry_of(session, key, kind)
  if is_new or not entry.lines then
    entry.lines = vim.split(text, '\n', { plain = true })
    draw(session, entry)
    return
  end
  local more = vim.split(text, '\n', { plain = true })
  entry.lines[#entry.lines] = entry.lines[#entry.lines] .. more[1]
  for i = 2, #more do
    entry.lines[#entry.lines + 1] = more[i]
  end
  if session.view then
    session.view.appended(entry, text)
  end
end

---@param session copydesk.Session
---@param key string
---@param kind string
---@param text string
local function set_text(session, key, kind, text)
  local entry = entry_of(session, key, kind)
  entry.lines = vim.split(text, '\n', { plain = true })
  draw(session, entry)
end

--- A line of the plugin's own in the transcript.
---@param session copydesk.Session
---@param severity 'info'|'warning'|'error'
---@param text string
function M.note(session, severity, text)
  local entry = entry_of(session, 'note:' .. #session.entries + 1, 'notice')
  entry.severity = severity
  entry.lines = vim.split(text, '\n', { plain = true })
  draw(session, entry)
end

--- Whether a call runs a command in the foreground.
---@param call table
---@return boolean
function M.runs_command(call)
  return call.kind == 'execute' and call.status == 'in_progress'
end

local final = { completed = true, failed = true, cancelled = true }

--- ACP patch: an absent field stays, null clears, a value replaces; `_meta` is patched by its own keys.
---@param kept table
---@param update table
local function patch(kept, update)
  for name, value in pairs(update) do
    if name == '_meta' and type(value) == 'table' then
      kept._meta = vim.tbl_extend('force', kept._meta or {}, value)
    elseif value == vim.NIL then
      kept[name] = nil
    elseif name ~= 'sessionUpdate' then
      kept[name] = value
    end
  end
end

---@param session copydesk.Session
---@param entry copydesk.Entry
local function adopt_terminals(session, entry)
  for _, content in ipairs(type(entry.call.content) == 'table' and entry.call.content or {}) do
    if type(content) == 'table' and content.type == 'terminal' and content.terminalId then
      session.terminal_owner[content.terminalId] = entry
    end
  end
end

---@param session copydesk.Session
---@param id string
---@return copydesk.Terminal
local function terminal_of(session, id)
  session.terminals[id] = session.terminals[id] or { output = '', cut = false }
  return session.terminals[id]
end

---@param session copydesk.Session
---@param id string
---@param data any base64
---@param replace boolean?
local function add_output(session, id, data, replace)
  local terminal = terminal_of(session, id)
  local ok, bytes = pcall(vim.base64.decode, data)
  if not ok then
    log.warn('terminal output is not base64', data)
    return
  end
  terminal.output = replace and bytes or terminal.output .. bytes
  if #terminal.output > output_limit then
    terminal.output = terminal.output:sub(-output_limit)
    terminal.cut = true
  end
end

--- Output comes in small pieces; its card is drawn at most ten times a second.
---@param session copydesk.Session
---@param id string
local function draw_terminal(session, id)
  local owner, terminal = session.terminal_owner[id], terminal_of(session, id)
  if not owner or terminal.drawing then
    return
  end
  terminal.drawing = true
  vim.defer_fn(function()
    terminal.drawing = nil
    draw(session, owner)
  end, 100)
end

---@type table<string, fun(session: copydesk.Session, update: table)>
local updates = {}

function updates.user_message(session, update)
  set_text(session, 'user:' .. update.messageId, 'user', text_of(update.content))
end

function updates.user_message_chunk(session, update)
  append_text(session, 'user:' .. update.messageId, 'user', text_of(update.content))
end

function updates.agent_message(session, update)
  set_text(session, 'agent:' .. update.messageId, 'agent', text_of(update.content))
end

function updates.agent_message_chunk(session, update)
  append_text(session, 'agent:' .. update.messageId, 'agent', text_of(update.content))
end

function updates.agent_thought(session, update)
  set_text(session, 'thought:' .. update.messageId, 'thought', text_of(update.content))
end

function updates.agent_thought_chunk(session, update)
  append_text(session, 'thought:' .. update.messageId, 'thought', text_of(update.content))
end

function updates.tool_call_update(session, update)
  local entry, is_new = entry_of(session, 'tool:' .. update.toolCallId, 'tool')
  entry.call = entry.call or {}
  patch(entry.call, update)
  local status = entry.call.status
  if not entry.started and (status == 'in_progress' or (is_new and status ~= 'pending')) then
    entry.started = vim.uv.now()
  end
  if final[status] and not entry.ended then
    entry.ended = vim.uv.now()
  end
  adopt_terminals(session, entry)
  draw(session, entry)
end

function updates.tool_call_content_chunk(session, update)
  local entry = entry_of(session, 'tool:' .. update.toolCallId, 'tool')
  entry.call = entry.call or { toolCallId = update.toolCallId }
  local content = type(entry.call.content) == 'table' and entry.call.content or {}
  content[#content + 1] = update.content
  entry.call.content = content
  adopt_terminals(session, entry)
  draw(session, entry)
end

function updates.terminal_update(session, update)
  local terminal = terminal_of(session, update.terminalId)
  if type(update.command) == 'string' then
    terminal.command = update.command
  end
  if type(update.cwd) == 'string' then
    terminal.cwd = update.cwd
  end
  if type(update.exitStatus) == 'table' then
    terminal.exit = update.exitStatus
  end
  if type(update.output) == 'table' then
    add_output(session, update.terminalId, update.output.data, true)
  end
  draw_terminal(session, update.terminalId)
end

function updates.terminal_output_chunk(session, update)
  add_output(session, update.terminalId, update.data)
  draw_terminal(session, update.terminalId)
end

function updates.plan_update(session, update)
  local plan = update.plan
  local entry = entry_of(session, 'plan:' .. tostring(plan.planId), 'plan')
  entry.plan = plan
  draw(session, entry)
end

function updates.plan_removed(session, update)
  local entry = session.by_key['plan:' .. tostring(update.planId)]
  if entry then
    entry.plan = { entries = {} }
    draw(session, entry)
  end
end

function updates.config_option_update(session, update)
  session.options = type(update.configOptions) == 'table' and update.configOptions or {}
end

--- The conversation ends just before this prompt now.
---@param session copydesk.Session
---@param prompt string
local function rewind(session, prompt)
  local first = session.by_key['user:' .. prompt]
  if not first then
    return
  end
  while #session.entries > 0 do
    local entry = table.remove(session.entries)
    session.by_key[entry.key] = nil
    if entry == first then
      break
    end
  end
  if session.view then
    session.view.reset()
  end
end

function updates.session_info_update(session, update)
  local extra = type(update._meta) == 'table' and update._meta.copydesk
  if type(extra) == 'table' and type(extra.rewound) == 'string' then
    rewind(session, extra.rewound)
  end
  if update.title ~= nil then
    session.title = update.title ~= vim.NIL and update.title or nil
  end
end

function updates.usage_update(session, update)
  session.usage = { used = update.used, size = update.size }
end

function updates.notice(session, update)
  local text = tostring(update.title)
  if type(update.description) == 'string' then
    text = text .. '\n' .. update.description
  end
  M.note(session, update.severity, text)
end

local stop_notes = {
  max_tokens = 'Stopped: the answer reached the model’s length limit.',
  max_turn_requests = 'Stopped: the turn reached its limit of model requests.',
  refusal = 'The model refused to go on.',
  cancelled = 'Stopped.',
}

function updates.state_update(session, update)
  local was = session.state
  session.state = tostring(update.state)
  if was == 'idle' and session.state ~= 'idle' then
    events.emit('TurnStarted', { sessionId = session.id })
  elseif was ~= 'idle' and session.state == 'idle' then
    close_message(session)
    local reason = update.stopReason
    if reason == 'error' then
      local fault = type(update.error) == 'table' and update.error.message or nil
      M.note(session, 'error', 'The turn failed' .. (fault and ': ' .. fault or '.'))
    elseif stop_notes[reason] then
      M.note(session, reason == 'cancelled' and 'info' or 'warning', stop_notes[reason])
    end
    events.emit('TurnFinished', { sessionId = session.id, stopReason = reason })
  end
end

local silent = { available_commands_update = true, replay_complete = true, session_message = true }

--- Takes one update. What cannot be understood is logged and changes nothing else.
---@param session copydesk.Session
---@param update table
function M.apply(session, update)
  local handle = updates[update.sessionUpdate]
  if not handle then
    if not silent[update.sessionUpdate] then
      log.info('unknown update ' .. update.sessionUpdate)
    end
    return
  end
  local ok, problem = pcall(handle, session, update)
  if not ok then
    log.error('an update could not be used', { problem, update })
  end
end

--- Shows a prompt the server has taken but not shown itself.
---@param session copydesk.Session
---@param message_id string
---@param text string
function M.show_prompt(session, message_id, text)
  if not session.by_key['user:' .. message_id] then
    set_text(session, 'user:' .. message_id, 'user', text)
  end
end

--- The server is gone: what ran is over.
---@param session copydesk.Session
function M.cut_off(session)
  for _, entry in ipairs(session.entries) do
    if entry.kind == 'tool' and not final[entry.call.status] then
      entry.call.status = 'cancelled'
      entry.ended = vim.uv.now()
      draw(session, entry)
    end
  end
  close_message(session)
  if session.state ~= 'idle' then
    session.state = 'idle'
    events.emit('TurnFinished', { sessionId = session.id, stopReason = 'cancelled' })
  end
end

return M
