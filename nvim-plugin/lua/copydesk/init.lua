--- The Lua API: `setup`, `chat`, `send`, `new`, `status`. Wires the modules together on first use; before
--- that nothing runs and no server is started.
local M = {}

local began = false

--- Sets options. Not needed: `vim.g.copydesk` does the same.
---@param options table? see |copydesk-options|
function M.setup(options)
  local config = require('copydesk.config')
  config.set(options)
  local problems = config.problems(config.given())
  if #problems > 0 then
    require('copydesk.log').tell(table.concat(problems, '; '), vim.log.levels.WARN)
  end
  if began then
    require('copydesk.client').settings_changed()
  end
end

--- Wires everything together, once.
function M.begin()
  if began then
    return
  end
  began = true
  local client = require('copydesk.client')
  local documents = require('copydesk.documents')
  local permission = require('copydesk.permission')
  local session = require('copydesk.session')
  require('copydesk.highlights').define()
  require('copydesk.chat').follow()
  client.listener = {
    ready = documents.follow,
    before_send = documents.flush,
    gone = function(message)
      require('copydesk.review').forget()
      documents.forget()
      permission.drop_all()
      require('copydesk.secrets').forget()
      session.connection_lost(message)
    end,
  }
end

--- Opens the chat with the cursor in its input, and starts the server.
function M.chat()
  M.begin()
  require('copydesk.chat').open({ focus = 'input' })
  require('copydesk.session').ensure(function(problem)
    if problem then
      require('copydesk.log').tell(problem)
    end
  end)
end

--- Sends a prompt; shows the chat without moving the focus.
---@param text string
---@param callback fun(problem: string?)?
function M.send(text, callback)
  M.begin()
  if require('copydesk.config').get().open_on_send then
    require('copydesk.chat').open()
  end
  require('copydesk.session').prompt(text, callback)
end

--- Begins a new session.
---@param callback fun(problem: string?)?
function M.new(callback)
  M.begin()
  require('copydesk.session').new(function(problem)
    if callback then
      callback(problem)
    end
  end)
end

--- Ends the server if it runs and starts it again.
---@param callback fun(problem: string?)?
function M.restart(callback)
  M.begin()
  local client = require('copydesk.client')
  client.stop(function()
    -- Called as the old server ends; the new one is begun after that is done.
    vim.schedule(function()
      require('copydesk.session').new(callback or function() end)
    end)
  end)
end

---@class copydesk.Status
---@field state 'stopped'|'starting'|'idle'|'running'|'requires_action'|string
---@field busy boolean
---@field pending integer permissions that wait for an answer
---@field hunks integer pending hunks of all files
---@field hunks_here integer those of the current buffer
---@field mode string?
---@field model string?
---@field session string?
---@field message string?
---@field problem string? why the server is not running

--- How things stand, for statuslines. Cheap, starts nothing.
---@return copydesk.Status
function M.status()
  if not began then
    return { state = 'stopped', busy = false, pending = 0, hunks = 0, hunks_here = 0 }
  end
  local client = require('copydesk.client')
  local session = require('copydesk.session')
  local review = require('copydesk.review')
  local current = session.current()
  local connection = client.state()
  local state = connection == 'ready' and (current and current.state or 'idle') or connection
  local function value(id)
    local option = session.option(id)
    return option and option.currentValue or nil
  end
  return {
    state = state,
    busy = state ~= 'idle' and state ~= 'stopped',
    pending = #require('copydesk.permission').pending(),
    hunks = review.pending(),
    hunks_here = review.pending(vim.api.nvim_get_current_buf()),
    mode = value('mode'),
    model = value('model'),
    session = current and current.id or nil,
    message = session.server().message,
    problem = connection ~= 'ready' and client.problem() or nil,
  }
end

--- `:Copydesk status`: what runs, with which model, and what is wrong.
function M.report_status()
  local client = require('copydesk.client')
  local status = M.status()
  local lines = { 'state: ' .. status.state }
  local function add(name, value)
    if value ~= nil and value ~= vim.NIL then
      lines[#lines + 1] = ('%s: %s'):format(name, tostring(value))
    end
  end
  add('mode', status.mode)
  add('model', status.model)
  add('pending permissions', status.pending)
  add('pending hunks', status.hunks)
  add('problem', status.problem)
  local function show()
    require('copydesk.log').tell(table.concat(lines, '\n'), vim.log.levels.INFO)
  end
  if not client.get() then
    show()
    return
  end
  client.request('copydesk/status', vim.empty_dict(), function(problem, result)
    if not problem and type(result) == 'table' then
      add('server', result.version)
      add('log', result.logPath)
      for _, trouble in ipairs(type(result.problems) == 'table' and result.problems or {}) do
        add(
          'problem',
          type(trouble) == 'table' and (trouble.message or vim.inspect(trouble)) or trouble
        )
      end
    end
    show()
  end)
end

---@param path string
local function open_file(path)
  vim.cmd('tabedit ' .. vim.fn.fnameescape(path))
  vim.cmd('normal! G')
end

--- Opens the server's log where it tells of one, else this plugin's.
function M.open_log()
  local own = require('copydesk.log').path()
  local client = require('copydesk.client')
  if not client.get() then
    open_file(own)
    return
  end
  client.request('copydesk/status', vim.empty_dict(), function(problem, result)
    local path = not problem and type(result) == 'table' and result.logPath
    open_file(type(path) == 'string' and vim.uv.fs_stat(path) and path or own)
  end)
end

return M
