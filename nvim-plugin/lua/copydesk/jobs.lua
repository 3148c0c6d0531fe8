--- The programs that run for the agent, as the server lists them, and what the person does to one. Nothing
--- is kept here: each call asks the server how things stand.
local client = require('copydesk.client')

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

return M
