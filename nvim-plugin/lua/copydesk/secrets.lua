--- Programs that wait for a password. Only the person types one, when they ask to: no prompt opens by itself.
--- What is typed goes to the program and is kept nowhere, and only while the program asks for it.
local config = require('copydesk.config')
local events = require('copydesk.events')
local jobs = require('copydesk.jobs')
local log = require('copydesk.log')

local M = {}

---@class copydesk.Secret
---@field session string
---@field call string whose card says so
---@field job string
---@field prompt string

---@type copydesk.Secret[]
local waiting = {}

--- Draws the programs that ask; set by `chat`, as is what tells whether they can be seen.
M.changed = nil ---@type fun()?
M.visible = nil ---@type (fun(): boolean)?

local info, warn = vim.log.levels.INFO, vim.log.levels.WARN

--- Programs that ask, as far as the server has told, the first to ask first.
---@return copydesk.Secret[]
function M.waiting()
  return waiting
end

local function changed()
  if M.changed then
    M.changed()
  end
end

---@param is_over fun(secret: copydesk.Secret): boolean
local function drop(is_over)
  local count = #waiting
  waiting = vim.tbl_filter(function(secret)
    return not is_over(secret)
  end, waiting)
  if #waiting < count then
    changed()
  end
end

---@param session string
---@param job string
local function drop_job(session, job)
  drop(function(secret)
    return secret.session == session and secret.job == job
  end)
end

--- One line without control characters: what a program asks is its own choice.
---@param text any
---@return string
local function one_line(text)
  return (tostring(text):gsub('%c+', ' '))
end

---@param secret copydesk.Secret
local function add(secret)
  for _, known in ipairs(waiting) do
    local same = known.session == secret.session and known.job == secret.job
    if same and known.prompt == secret.prompt then
      known.call = secret.call
      return
    end
  end
  drop_job(secret.session, secret.job)
  waiting[#waiting + 1] = secret
  changed()
  if config.get().notify and not (M.visible and M.visible()) then
    log.tell(
      ('%s asks: %s (:Copydesk password)'):format(secret.job, secret.prompt),
      vim.log.levels.WARN
    )
  end
  events.emit('PasswordAsked', {
    sessionId = secret.session,
    jobId = secret.job,
    prompt = secret.prompt,
  })
end

--- Takes note of what an update says about passwords.
---@param session string
---@param update table
function M.follow(session, update)
  if update.sessionUpdate == 'terminal_update' and type(update.exitStatus) == 'table' then
    drop_job(session, update.terminalId)
    return
  end
  local extra = update.sessionUpdate == 'tool_call_update'
    and vim.tbl_get(update, '_meta', 'copydesk')
  if type(extra) ~= 'table' then
    return
  end
  local asked = extra.secretInput
  if type(asked) == 'table' and type(asked.jobId) == 'string' then
    add({
      session = session,
      call = update.toolCallId,
      job = asked.jobId,
      prompt = one_line(asked.prompt),
    })
  else
    drop(function(secret)
      return secret.session == session and secret.call == update.toolCallId
    end)
  end
end

--- The connection ended, and the programs with it.
function M.forget()
  drop(function()
    return true
  end)
end

--- Asks the person. Nothing typed is shown, nor kept by Neovim.
---@param job copydesk.protocol.JobInfo
---@return string? nil when they gave up
local function ask(job)
  local prompt = ('%s: %s '):format(job.jobId, one_line(jobs.secret_prompt(job)))
  local ok, answer = pcall(vim.fn.inputsecret, { prompt = prompt, cancelreturn = vim.NIL })
  return ok and type(answer) == 'string' and answer or nil
end

---@param job copydesk.protocol.JobInfo
local function no_longer(job)
  drop_job(job.sessionId, job.jobId)
  log.tell(job.jobId .. ' does not ask for a password any more; nothing was typed', info)
end

--- Asks for the password and types it, if the program still asks for one by then: anything else would show it.
---@param job copydesk.protocol.JobInfo
function M.answer(job)
  if vim.fn.reg_recording() ~= '' then
    log.tell('a macro is being recorded and would hold the password: end it first', warn)
    return
  end
  local answer = ask(job)
  if not answer then
    return
  end
  jobs.find(job.sessionId, job.jobId, function(problem, now)
    if problem then
      log.tell(problem)
    elseif not now or jobs.secret_prompt(now) ~= jobs.secret_prompt(job) then
      no_longer(job)
    else
      jobs.type_line(now, answer, function(fault)
        if fault then
          log.tell(fault)
        else
          drop_job(job.sessionId, job.jobId)
        end
      end)
    end
  end)
end

--- Lets the person type the password that a program asks for: the one named, or the only one.
---@param id string empty for any
function M.type(id)
  jobs.choose(id, {
    can = function(job)
      return jobs.secret_prompt(job) ~= nil
    end,
    none = 'no such program asks for a password',
    label = function(job)
      return ('%s `%s`: %s'):format(job.jobId, one_line(job.command), jobs.secret_prompt(job))
    end,
    on_none = id == '' and M.forget or nil,
  }, M.answer)
end

return M
