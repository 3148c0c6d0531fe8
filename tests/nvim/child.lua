--- A Neovim of its own for each test, with the plugin installed and nothing else. It is driven from
--- outside, so its main loop, its modes and its screen are the real ones.
local M = {}

local here = vim.fs.dirname(vim.fs.normalize(debug.getinfo(1, 'S').source:sub(2)))
M.root = vim.fs.dirname(vim.fs.dirname(here))
M.fixtures = here .. '/fixtures'

---@class Child
---@field channel integer
---@field dir string a folder of its own
---@field work string the folder it works in
---@field env table<string, string>
---@field config table
local Child = {}
Child.__index = Child

local live = {}
local models = {}

--- Nothing of this machine's keys, proxies or configuration reaches the child.
local function inherited()
  local env = {}
  for name, value in pairs(vim.fn.environ()) do
    local upper = name:upper()
    local private = upper:match('_API_KEY$')
      or upper:match('_TOKEN$')
      or upper:match('_PROXY$')
      or upper:match('^N?VIM')
      or upper:match('^XDG_')
      or upper:match('^COPYDESK')
      or upper:match('^CLAUDE')
      or upper:match('^ANTHROPIC')
      or upper:match('^OPENAI')
      or upper:match('^GEMINI')
    if not private then
      env[name] = value
    end
  end
  return env
end

--- How long a condition may take before the test fails.
M.patience = 10000

--- Starts Neovim in folders that are there.
---@return Child
local function start(self)
  self.channel = vim.fn.jobstart({
    vim.v.progpath,
    '--clean',
    '--headless',
    '--embed',
    '-n',
    '--cmd',
    'set runtimepath^=' .. M.root .. '/nvim-plugin',
  }, { rpc = true, cwd = self.work, env = self.env, clear_env = true })
  assert(self.channel > 0, 'Neovim did not start')
  live[#live + 1] = self
  self:lua('vim.g.copydesk = ...; vim.o.lines = 40; vim.o.columns = 120', self.config)
  -- Messages are kept instead of shown: nothing may wait for <Enter>.
  self:lua([[
    told = {}
    vim.notify = function(message, level) told[#told + 1] = { message = message, level = level } end
  ]])
  return self
end

---@param options { env: table<string, string>?, config: table?, files: table<string, string>?, keep_config: boolean? }?
---@return Child
function M.new(options)
  options = options or {}
  local dir = vim.uv.fs_realpath(vim.fn.tempname()) or vim.fn.tempname()
  vim.fn.mkdir(dir .. '/work', 'p')
  dir = vim.uv.fs_realpath(dir)
  for name, text in pairs(options.files or {}) do
    local path = dir .. '/work/' .. name
    vim.fn.mkdir(vim.fs.dirname(path), 'p')
    local file = assert(io.open(path, 'wb'))
    file:write(text)
    file:close()
  end
  local env = inherited()
  env.HOME = dir .. '/home'
  for _, name in ipairs({ 'CONFIG', 'STATE', 'CACHE', 'DATA' }) do
    env['XDG_' .. name .. '_HOME'] = dir .. '/' .. name:lower()
  end
  env.XDG_RUNTIME_DIR = dir .. '/run'
  vim.fn.mkdir(env.XDG_RUNTIME_DIR, 'p', 448)
  vim.fn.mkdir(env.HOME, 'p')
  for name, value in pairs(options.env or {}) do
    env[name] = value
  end
  return start(setmetatable({
    dir = dir,
    work = dir .. '/work',
    env = env,
    config = options.config or { cmd = { 'python3', M.fixtures .. '/server.py' } },
  }, Child))
end

--- Quits this Neovim and starts another in the same folders.
---@return Child
function Child:again()
  pcall(self.cmd, self, 'qall!')
  vim.fn.jobwait({ self.channel }, M.patience)
  return start(setmetatable({
    dir = self.dir,
    work = self.work,
    env = self.env,
    config = self.config,
  }, Child))
end

--- Runs Lua in the child and gives what it returns.
function Child:lua(code, ...)
  return vim.rpcrequest(self.channel, 'nvim_exec_lua', code, { ... })
end

function Child:cmd(command)
  return vim.rpcrequest(self.channel, 'nvim_command', command)
end

--- Types keys as a person does: through the input queue.
function Child:type(keys)
  vim.rpcrequest(self.channel, 'nvim_input', keys)
end

function Child:mode()
  return vim.rpcrequest(self.channel, 'nvim_get_mode').mode
end

--- Waits until the Lua expression is true in the child; gives its value.
function Child:wait(expression, what)
  local value
  local ok = vim.wait(M.patience, function()
    value = self:lua('return ' .. expression)
    return value and value ~= vim.NIL
  end, 10)
  if not ok then
    local messages = self:lua('return vim.inspect(told)')
    error(('waited in vain for %s; told: %s'):format(what or expression, messages), 2)
  end
  return value
end

function Child:lines(buf)
  return vim.rpcrequest(self.channel, 'nvim_buf_get_lines', buf or 0, 0, -1, false)
end

function Child:edit(name)
  self:cmd('edit ' .. vim.fn.fnameescape(self.work .. '/' .. name))
  return self:lua('return vim.api.nvim_get_current_buf()')
end

function Child:disk(name)
  local file = assert(io.open(self.work .. '/' .. name, 'rb'))
  local text = file:read('*a')
  file:close()
  return text
end

function Child:uri(name)
  return vim.uri_from_fname(self.work .. '/' .. name)
end

--- Starts the server and a session, and waits for both.
function Child:start()
  self:lua([[require('copydesk').new(function(problem) started = problem or 'ok' end)]])
  local result = self:wait('started', 'the session to begin')
  assert(result == 'ok', result)
end

--- A request to the puppet server.
function Child:server(method, params)
  return self:lua(
    [[
    local method, params = ...
    local client = require('copydesk.client').get()
    local result = vim.fn.has('nvim-0.11') == 1 and client:request_sync(method, params, 5000)
      or vim.fn.has('nvim-0.11') == 0 and client.request_sync(method, params, 5000)
    return result and result.result
  ]],
    method,
    params or vim.empty_dict()
  )
end

--- All messages of one method the puppet server got.
function Child:received(method)
  local found = {}
  for _, message in ipairs(self:server('fixture/received').messages) do
    if message.method == method then
      found[#found + 1] = message.params or vim.NIL
    end
  end
  return found
end

local request_id = 1000

--- The puppet server asks; gives the answer.
function Child:ask(method, params)
  local id = self:ask_async(method, params)
  return self:answer(id, method)
end

function Child:ask_async(method, params)
  request_id = request_id + 1
  self:server('fixture/send', { message = { id = request_id, method = method, params = params } })
  return request_id
end

function Child:answer(id, what)
  local answer
  local ok = vim.wait(M.patience, function()
    for _, message in ipairs(self:server('fixture/received').messages) do
      if message.id == id and not message.method then
        answer = message
      end
    end
    return answer ~= nil
  end, 10)
  assert(ok, 'no answer to ' .. (what or id))
  return answer.result, answer.error
end

function Child:tell(method, params)
  self:server('fixture/send', { message = { method = method, params = params } })
end

--- A session/update.
function Child:update(update, session)
  self.seq = (self.seq or 0) + 1
  self:tell('session/update', {
    sessionId = session or 's1',
    update = update,
    _meta = { copydesk = { seq = self.seq } },
  })
end

function Child:version(buf)
  return self:lua('return require("copydesk.documents").version(...)', buf)
end

--- One text edit, as the server sends it.
function Child:apply(uri, version, edits)
  local list = {}
  for i, edit in ipairs(edits) do
    list[i] = {
      range = {
        start = { line = edit[1], character = edit[2] },
        ['end'] = { line = edit[3], character = edit[4] },
      },
      newText = edit[5],
    }
  end
  return self:ask('workspace/applyEdit', {
    edit = {
      documentChanges = { { textDocument = { uri = uri, version = version }, edits = list } },
    },
  })
end

--- The text the server has of a document, from all it was sent.
function Child:server_text(uri)
  local text
  for _, message in ipairs(self:server('fixture/received').messages) do
    local document = type(message.params) == 'table' and message.params.textDocument
    if document and document.uri == uri then
      if message.method == 'textDocument/didOpen' then
        text = document.text
      elseif message.method == 'textDocument/didClose' then
        text = nil
      elseif message.method == 'textDocument/didChange' then
        for _, change in ipairs(message.params.contentChanges) do
          if change.range then
            local from = M.offset(text, change.range.start)
            local to = M.offset(text, change.range['end'])
            text = text:sub(1, from) .. change.text .. text:sub(to + 1)
          else
            text = change.text
          end
        end
      end
    end
  end
  return text
end

--- Byte offset of a UTF-16 position.
function M.offset(text, position)
  local at = 0
  for _ = 1, position.line do
    local newline = text:find('\n', at + 1, true)
    if not newline then
      return #text
    end
    at = newline
  end
  local stop = (text:find('\r?\n', at + 1) or #text + 1) - 1
  local units = 0
  while at < stop and units < position.character do
    local byte = text:byte(at + 1)
    local length = byte < 0x80 and 1 or byte < 0xE0 and 2 or byte < 0xF0 and 3 or 4
    units = units + (length == 4 and 2 or 1)
    at = at + length
  end
  return at
end

--- Serves scripted model answers; `requests()` gives what was asked so far.
---@param steps table[] as in tests/scenarios
function M.model(steps)
  local file = vim.fn.tempname()
  vim.fn.writefile({ vim.json.encode(steps) }, file)
  local lines, rest = {}, ''
  local job = vim.fn.jobstart({ 'python3', M.root .. '/tests/scenarios/model.py', file }, {
    on_stdout = function(_, data)
      rest = rest .. data[1]
      for i = 2, #data do
        lines[#lines + 1] = rest
        rest = data[i]
      end
    end,
  })
  models[#models + 1] = job
  assert(vim.wait(M.patience, function()
    return #lines > 0
  end, 10))
  local port = assert(tonumber(lines[1]))
  local model = {}
  --- Requests that offer tools, in order.
  function model.requests()
    local found = {}
    for i = 2, #lines do
      local request = vim.json.decode(lines[i])
      if type(request.tools) == 'table' and #request.tools > 0 then
        found[#found + 1] = request
      end
    end
    return found
  end
  --- Texts of all tool results the model was sent.
  function model.results()
    local found = {}
    local requests = model.requests()
    for _, message in ipairs(#requests > 0 and requests[#requests].messages or {}) do
      if message.role == 'tool' then
        found[#found + 1] = type(message.content) == 'string' and message.content
          or vim.inspect(message.content)
      end
    end
    return found
  end
  --- Whether a tool result with this text has reached the model. What it was sent is read from a pipe, so
  --- it may be a moment behind the editor.
  function model.saw(text)
    return vim.wait(M.patience, function()
      return table.concat(model.results(), '\n'):find(text, 1, true) ~= nil
    end, 10)
  end
  model.settings = {
    model = 'mock/test',
    providers = {
      mock = {
        protocol = 'openai',
        base_url = ('http://127.0.0.1:%d/v1'):format(port),
        api_key = 'test',
      },
    },
    models = { ['mock/test'] = { dialect = 'claude', context_window = 200000 } },
  }
  return model
end

--- A child whose server is the real one, talking to that model.
function M.with_server(model, options)
  options = options or {}
  options.config = vim.tbl_extend('force', {
    cmd = { assert(vim.env.COPYDESK_BIN, 'COPYDESK_BIN is not set'), 'lsp' },
    settings = model.settings,
    trusted = true,
  }, options.config or {})
  local self = M.new(options)
  self:lua([[
    turns = {}
    vim.api.nvim_create_autocmd('User', {
      pattern = 'CopydeskTurnFinished',
      callback = function(event) turns[#turns + 1] = event.data.stopReason end,
    })
  ]])
  return self
end

function M.stop_all()
  for _, job in ipairs(models) do
    pcall(vim.fn.jobstop, job)
  end
  models = {}
  for _, child in ipairs(live) do
    pcall(vim.fn.jobstop, child.channel)
    vim.fn.jobwait({ child.channel }, 2000)
    vim.fn.delete(child.dir, 'rf')
  end
  live = {}
end

return M
