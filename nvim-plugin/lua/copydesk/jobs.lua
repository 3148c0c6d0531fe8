--- The programs that run for the agent, as the server lists them, and what the person does to one. Nothing
--- is kept here: each call asks the server how things stand.
local client = require('copydesk.client')
local log = require('copydesk.log')

local M = {}

---@param problem any
---@return string
local function message_of(problem)
  return type(problem) == 'table' and tostring(problem.message) or tostring(problem)
end

--- What is there, or is not because the server wrote null.
---@param value any
---@return any
local function given(value)
  return value ~= vim.NIL and value or nil
end

---@param job copydesk.protocol.JobInfo
---@return boolean
function M.is_running(job)
  return job.status == 'running' or job.status == 'stopping'
end

--- What the job's program asks, if it waits for a password.
---@param job copydesk.protocol.JobInfo
---@return string?
function M.secret_prompt(job)
  return given(job.secretPrompt)
end

---@param callback fun(problem: string?, jobs: copydesk.protocol.JobInfo[])
function M.list(callback)
  client.request('copydesk/job/list', vim.empty_dict(), function(problem, result)
    local jobs = not problem and type(result) == 'table' and result.jobs
    callback(problem and message_of(problem) or nil, type(jobs) == 'table' and jobs or {})
  end)
end

--- The job as it is now.
---@param session string
---@param id string
---@param callback fun(problem: string?, job: copydesk.protocol.JobInfo?)
function M.find(session, id, callback)
  M.list(function(problem, jobs)
    for _, job in ipairs(jobs) do
      if job.sessionId == session and job.jobId == id then
        callback(nil, job)
        return
      end
    end
    callback(problem)
  end)
end

---@class copydesk.Page
---@field bytes string
---@field next integer first byte of the next page
---@field total integer bytes there are
---@field running boolean more may come

--- A page of what a program printed.
---@param session string
---@param id string
---@param offset integer bytes
---@param callback fun(problem: string?, page: copydesk.Page?)
function M.read(session, id, offset, callback)
  local params = { sessionId = session, jobId = id, offset = offset }
  client.request('copydesk/job/read', params, function(problem, result)
    if problem then
      callback(message_of(problem))
      return
    end
    local ok, bytes = pcall(vim.base64.decode, result.data)
    if not ok then
      callback('the output cannot be read')
      return
    end
    callback(nil, {
      bytes = bytes,
      next = result.next,
      total = result.total,
      running = result.running == true,
    })
  end)
end

--- Types a line into a terminal. It is written nowhere on the way.
---@param job copydesk.protocol.JobInfo
---@param line string
---@param callback fun(problem: string?)
function M.type_line(job, line, callback)
  local params = { sessionId = job.sessionId, jobId = job.jobId, text = line .. '\r' }
  client.request_unlogged('copydesk/job/write', params, function(problem)
    callback(problem and message_of(problem) or nil)
  end)
end

--- Gives a terminal another size.
---@param job copydesk.protocol.JobInfo
---@param cols integer
---@param rows integer
---@param callback fun(problem: string?)
function M.resize(job, cols, rows, callback)
  local params = { sessionId = job.sessionId, jobId = job.jobId, cols = cols, rows = rows }
  client.request('copydesk/job/resize', params, function(problem)
    callback(problem and message_of(problem) or nil)
  end)
end

---@param name string
---@param after fun()?
---@return fun(problem: any, result: any)
local function reporting_stop(name, after)
  return function(problem, result)
    if after then
      after()
    end
    if problem then
      log.tell(message_of(problem))
      return
    end
    local status = type(result) == 'table' and result.status or 'stopping'
    log.tell(('%s: %s'):format(name, status), vim.log.levels.INFO)
  end
end

--- Stops a job with all it started.
---@param job copydesk.protocol.JobInfo
---@param after fun()?
function M.stop(job, after)
  local params = { sessionId = job.sessionId, jobId = job.jobId }
  client.request('copydesk/job/kill', params, reporting_stop(job.jobId, after))
end

--- Stops what a call runs: its job, if it has become or begun one, else the call.
---@param session string
---@param call table
function M.stop_call(session, call)
  M.list(function(problem, all)
    if problem then
      log.tell(problem)
      return
    end
    for _, job in ipairs(all) do
      local its_own = job.sessionId == session and job.toolCallId == call.toolCallId
      if its_own and M.is_running(job) then
        M.stop(job)
        return
      end
    end
    if call.status ~= 'in_progress' then
      log.tell('this does not run any more', vim.log.levels.INFO)
      return
    end
    local params = { sessionId = session, toolCallId = call.toolCallId }
    client.request('copydesk/toolCall/cancel', params, reporting_stop('the command'))
  end)
end

--- Lets a command go on as a job, so that the agent need not wait for it.
---@param session string
---@param call table
function M.to_background(session, call)
  local params = { sessionId = session, toolCallId = call.toolCallId }
  client.request('copydesk/toolCall/background', params, function(problem, result)
    if problem then
      log.tell(message_of(problem))
    else
      log.tell(('goes on as %s'):format(tostring(result.jobId)), vim.log.levels.INFO)
    end
  end)
end

---@class copydesk.Wanted
---@field can fun(job: copydesk.protocol.JobInfo): boolean
---@field none? string what is said where there is none
---@field label? fun(job: copydesk.protocol.JobInfo): string
---@field on_none? fun()

---@param job copydesk.protocol.JobInfo
---@return string
local function label(job)
  return ('%s  %s'):format(job.jobId, (job.command:gsub('%s+', ' ')))
end

--- Calls back with one of those that run: the one named, the only one, or the one the person chooses.
---@param id string empty for any
---@param wanted copydesk.Wanted
---@param callback fun(job: copydesk.protocol.JobInfo)
function M.choose(id, wanted, callback)
  M.list(function(problem, all)
    local fitting = vim.tbl_filter(function(job)
      return M.is_running(job) and (id == '' or job.jobId == id) and wanted.can(job)
    end, all)
    if problem then
      log.tell(problem)
    elseif #fitting == 0 then
      if wanted.on_none then
        wanted.on_none()
      end
      log.tell(wanted.none or ('no such program runs' .. (id == '' and '' or ' as ' .. id)), vim.log.levels.INFO)
    elseif #fitting == 1 then
      callback(fitting[1])
    else
      vim.ui.select(fitting, {
        prompt = 'Which program?',
        format_item = wanted.label or label,
      }, function(job)
        if job then
          callback(job)
        end
      end)
    end
  end)
end

return M
