--- The one connection to the server: started on first use, told about every document, restarted on
--- request. Callers get plain `request` and `notify`; nothing here knows what the methods mean.
local config = require('copydesk.config')
local events = require('copydesk.events')
local log = require('copydesk.log')

local M = {}

local since_0_11 = vim.fn.has('nvim-0.11') == 1

---@class copydesk.Connection
---@field client vim.lsp.Client?
---@field state 'stopped'|'starting'|'ready'
---@field stopping boolean the end was asked for
---@field waiting fun(problem: string?)[] called once the server is ready, or cannot be
---@field muted boolean? no notification leaves
---@field gathered table[]? parameters of the document changes that are held back
---@field problem string? why it is not running, for the person
local connection = { state = 'stopped', stopping = false, waiting = {} }

--- Modules that follow the connection; set by `init` so that this one needs none of them.
---@class copydesk.Listener
---@field ready fun(client: vim.lsp.Client)
---@field gone fun(message: string?)
---@field before_send fun()
M.listener = nil ---@type copydesk.Listener?

---@return string?
function M.problem()
  return connection.problem
end

---@return 'stopped'|'starting'|'ready'
function M.state()
  return connection.state
end

---@return vim.lsp.Client?
function M.get()
  return connection.state == 'ready' and connection.client or nil
end

--- Whether the server answers what this marker promises.
---@param marker string
---@return boolean
function M.offers(marker)
  local client = M.get()
  local markers = client
    and vim.tbl_get(client.server_capabilities, 'experimental', 'copydesk', marker)
  return markers ~= nil and markers ~= vim.NIL
end

local function settle(problem)
  local waiting = connection.waiting
  connection.waiting = {}
  connection.problem = problem
  for _, callback in ipairs(waiting) do
    local ok, fault = pcall(callback, problem)
    if not ok then
      log.error('a start callback failed', fault)
    end
  end
end

--- What ended is not what runs now when a restart was quick.
local function is_current(client_id)
  return connection.client ~= nil and connection.client.id == client_id
end

---@param code integer
---@param signal integer
---@return string
local function death_notice(code, signal)
  local how = signal ~= 0 and ('was killed by signal %d'):format(signal)
    or ('stopped with exit code %d'):format(code)
  return ('the server %s. :Copydesk restart starts it again (:Copydesk log shows why)'):format(how)
end

local function on_exit(code, signal, client_id)
  vim.schedule(function()
    if connection.client and not is_current(client_id) then
      return
    end
    local wanted = connection.stopping
    local message = not wanted and death_notice(code, signal) or nil
    connection.client, connection.state, connection.stopping = nil, 'stopped', false
    if M.listener then
      M.listener.gone(message)
    end
    settle(message or 'the server was stopped')
    events.emit('Exit', { code = code, signal = signal, expected = wanted })
    if message and vim.v.exiting == vim.NIL then
      log.tell(message)
    end
  end)
end

--- Lets `muted` and `in_one` hold back what vim.lsp sends by itself.
local function gate(client)
  local notify = client.rpc.notify
  client.rpc.notify = function(method, params, ...)
    if connection.muted then
      return true
    end
    if connection.gathered and method == 'textDocument/didChange' then
      table.insert(connection.gathered, params)
      return true
    end
    return notify(method, params, ...)
  end
end

--- Any notification makes vim.lsp send its changes first.
local function flush()
  M.notify('$/setTrace', { value = 'off' })
end

--- Runs `change`, which changes one document, and tells all of it at once: vim.lsp would send the first
--- part by itself, and for a moment the server would have a text that never was.
---@param change fun()
function M.in_one(change)
  if not M.get() then
    change()
    return
  end
  flush()
  connection.gathered = {}
  local ok, problem = pcall(change)
  flush()
  local gathered = connection.gathered or {}
  connection.gathered = nil
  local whole = table.remove(gathered, 1)
  for _, params in ipairs(gathered) do
    if params.textDocument.uri == whole.textDocument.uri then
      vim.list_extend(whole.contentChanges, params.contentChanges)
      whole.textDocument.version = params.textDocument.version
    else
      M.notify('textDocument/didChange', params)
    end
  end
  if whole then
    M.notify('textDocument/didChange', whole)
  end
  if not ok then
    error(problem, 0)
  end
end

--- Runs `change` while no notification leaves: what vim.lsp would tell of it goes nowhere, and the caller
--- tells it in a better way. What was waiting before is told first.
---@param change fun()
function M.muted(change)
  local client = M.get()
  if not client then
    change()
    return
  end
  flush()
  connection.muted = true
  local ok, problem = pcall(change)
  flush()
  connection.muted = false
  if not ok then
    error(problem, 0)
  end
end

local function on_init(client)
  gate(client)
  connection.client, connection.state = client, 'ready'
  if M.listener then
    M.listener.ready(client)
  end
  settle(nil)
  events.emit('Ready', { client_id = client.id })
end

local function on_error(code, fault)
  log.error('connection: ' .. tostring(vim.lsp.rpc.client_errors[code] or code), fault)
  vim.schedule(function()
    if connection.state == 'starting' then
      local message = 'the server did not start: '
        .. tostring(type(fault) == 'table' and fault.message or fault):sub(1, 300)
        .. ' (:checkhealth copydesk)'
      M.stop()
      settle(message)
    end
  end)
end

--- Only utf-16: other servers on the same buffer would disagree with anything else.
local function capabilities()
  local all = vim.lsp.protocol.make_client_capabilities()
  all.general = all.general or {}
  all.general.positionEncodings = { 'utf-16' }
  all.workspace.workspaceEdit = vim.tbl_extend('force', all.workspace.workspaceEdit or {}, {
    documentChanges = true,
    resourceOperations = { 'create', 'rename', 'delete' },
    failureHandling = 'transactional',
    normalizesLineEndings = true,
  })
  all.experimental = {
    copydesk = {
      protocolVersion = 1,
      permission = vim.empty_dict(),
      save = vim.empty_dict(),
      editorState = vim.empty_dict(),
      review = vim.empty_dict(),
    },
  }
  return all
end

---@param settings table
---@return table
local function as_object(settings)
  return next(settings) and settings or vim.empty_dict()
end

--- The configuration for vim.lsp, also of use to `vim.lsp.enable('copydesk')`.
---@return vim.lsp.ClientConfig
function M.lsp_config()
  local options = config.get()
  local init_options = vim.tbl_extend('force', {}, options.settings)
  if options.trusted ~= nil then
    init_options.trusted = options.trusted
  end
  return {
    name = 'copydesk',
    cmd = options.cmd,
    root_dir = M.root(),
    offset_encoding = 'utf-16',
    settings = options.settings,
    init_options = as_object(init_options),
    capabilities = capabilities(),
    handlers = require('copydesk.handlers').table(),
    on_init = on_init,
    on_exit = on_exit,
    on_error = on_error,
  }
end

---@return string
function M.root()
  local root = since_0_11 and vim.fs.root(0, { { '.copydesk', '.git' } })
    or vim.fs.root(0, { '.copydesk', '.git' })
  return vim.fs.normalize(root or vim.uv.cwd() or '.')
end

---@param cmd string[]
---@return string
local function missing(cmd)
  return ('the program "%s" was not found. Install it, or set vim.g.copydesk = { cmd = { "/path/to/copydesk", "lsp" } }'):format(
    cmd[1]
  )
end

--- Starts the server unless it runs, and calls back when it is ready or cannot be.
---@param callback fun(problem: string?)
function M.start(callback)
  if connection.state == 'ready' then
    callback(nil)
    return
  end
  connection.waiting[#connection.waiting + 1] = callback
  if connection.state == 'starting' then
    return
  end
  local settings = M.lsp_config()
  local cmd = settings.cmd --[[@as string[] ]]
  if vim.fn.executable(cmd[1]) == 0 then
    settle(missing(cmd))
    return
  end
  connection.state, connection.stopping = 'starting', false
  local ok, id, problem
  if since_0_11 then
    ok, id, problem = pcall(vim.lsp.start, settings, { attach = false, silent = true })
  else
    ok, id, problem = pcall(vim.lsp.start_client, settings)
  end
  if not ok or not id then
    connection.state = 'stopped'
    local why = tostring(problem or id)
    log.error('the server could not be started', why)
    settle('the server could not be started: ' .. why .. ' (:checkhealth copydesk)')
    return
  end
  connection.client = vim.lsp.get_client_by_id(id)
end

--- Asks the server to end; after `force_ms` it is ended by force.
---@param callback fun()?
function M.stop(callback)
  local client = connection.client
  if not client then
    if callback then
      callback()
    end
    return
  end
  connection.stopping = true
  if callback then
    connection.waiting[#connection.waiting + 1] = callback
  end
  local function ask(force)
    if since_0_11 then
      client:stop(force)
    else
      client.stop(force)
    end
  end
  ask(false)
  vim.defer_fn(function()
    if is_current(client.id) then
      ask(true)
    end
  end, 3000)
end

--- Everything typed so far reaches the server before the message that may depend on it.
local function before_send(client)
  if M.listener then
    M.listener.before_send()
  end
  if not since_0_11 then -- its `request` flushes the current buffer only
    pcall(function()
      require('vim.lsp._changetracking').flush(client)
    end)
  end
end

--- Sends a request; what changed in the buffers goes first. The callback may come with an error.
---@param method string
---@param params table
---@param callback fun(problem: lsp.ResponseError?, result: any)
function M.request(method, params, callback)
  local client = M.get()
  if not client then
    callback({ code = -32803, message = connection.problem or 'the server is not running' }, nil)
    return
  end
  before_send(client)
  local function handler(problem, result)
    local ok, fault = pcall(callback, problem, result)
    if not ok then
      log.error('the answer to ' .. method .. ' could not be used', fault)
    end
  end
  -- A buffer number would flush only that buffer: nil flushes all.
  local sent
  if since_0_11 then
    sent = client:request(method, params, handler)
  else
    sent = client.request(method, params, handler)
  end
  if not sent then
    callback({ code = -32803, message = 'the server is not running' }, nil)
  end
end

--- The same for what no log may hold: vim.lsp writes whole messages into its own where that is asked for.
---@param method string
---@param params table
---@param callback fun(problem: lsp.ResponseError?, result: any)
function M.request_unlogged(method, params, callback)
  local lsp_log = require('vim.lsp.log')
  local level = lsp_log.get_level()
  lsp_log.set_level(vim.log.levels.OFF)
  local ok, problem = pcall(M.request, method, params, callback)
  lsp_log.set_level(level)
  if not ok then
    log.error(method .. ' could not be sent', problem)
  end
end

---@param method string
---@param params table
function M.notify(method, params)
  local client = M.get()
  if not client then
    return
  end
  before_send(client)
  if since_0_11 then
    client:notify(method, params)
  else
    client.notify(method, params)
  end
end

--- Passes changed settings on to a running server.
function M.settings_changed()
  if connection.client then
    local settings = config.get().settings
    connection.client.settings = settings
    M.notify('workspace/didChangeConfiguration', { settings = as_object(settings) })
  end
end

return M
