--- The list of programs that run for the agent, in a window of its own. It is made anew when something was
--- done to one, when one begins or ends, and on request; never by a clock.
local jobs = require('copydesk.jobs')
local log = require('copydesk.log')
local output = require('copydesk.output')
local secrets = require('copydesk.secrets')

local M = {}

local api = vim.api

local list = nil ---@type { buf: integer, jobs: copydesk.protocol.JobInfo[] }?
local ns = api.nvim_create_namespace('copydesk.jobs')

local keys = '<CR> output · i type a line, or a password · s set the size · x stop · R again · q close'

---@param ms number
---@return string
local function duration(ms)
  local seconds = math.floor(ms / 1000)
  return seconds < 60 and ('%ds'):format(seconds)
    or ('%dm%02ds'):format(math.floor(seconds / 60), seconds % 60)
end

---@param job copydesk.protocol.JobInfo
---@return string line, string group
local function line_of(job)
  local secret = jobs.secret_prompt(job)
  local code = type(job.exitCode) == 'number' and (' (%d)'):format(job.exitCode) or ''
  local line = ('%-8s %-11s %7s  %s%s'):format(
    job.jobId,
    job.status .. code,
    duration(job.elapsedMs),
    secret and ('asks: %s  '):format(secret) or '',
    (job.command:gsub('%s+', ' '))
  )
  line = line:gsub('%c', ' ')
  local group = secret and 'CopydeskPermission'
    or jobs.is_running(job) and 'CopydeskRunning'
    or job.status == 'completed' and 'CopydeskDone'
    or 'CopydeskMuted'
  return line, group
end

local function draw()
  if not list then
    return
  end
  local lines, groups = {}, {}
  for i, job in ipairs(list.jobs) do
    lines[i], groups[i] = line_of(job)
  end
  if #lines == 0 then
    lines, groups = { 'Nothing runs in the background.' }, { 'CopydeskMuted' }
  end
  vim.bo[list.buf].modifiable = true
  api.nvim_buf_set_lines(list.buf, 0, -1, false, lines)
  vim.bo[list.buf].modifiable = false
  for i, group in ipairs(groups) do
    api.nvim_buf_set_extmark(list.buf, ns, i - 1, 0, { end_col = #lines[i], hl_group = group })
  end
end

--- Asks for the list again, if it is shown.
function M.refresh()
  if not list then
    return
  end
  jobs.list(function(problem, all)
    if problem then
      log.tell(problem)
    elseif list then
      list.jobs = all
      draw()
    end
  end)
end

---@param act fun(job: copydesk.protocol.JobInfo)
local function with_job(act)
  return function()
    local job = list and list.jobs[api.nvim_win_get_cursor(0)[1]]
    if job then
      act(job)
    end
  end
end

---@return integer buf
local function make()
  local buf = api.nvim_create_buf(false, true)
  api.nvim_buf_set_name(buf, 'copydesk://jobs')
  vim.bo[buf].bufhidden = 'wipe'
  vim.bo[buf].undolevels = -1
  vim.bo[buf].filetype = 'copydesk-jobs'
  api.nvim_create_autocmd('BufWipeout', {
    buffer = buf,
    callback = function()
      list = nil
    end,
  })
  local function map(key, act, description)
    vim.keymap.set(
      'n',
      key,
      act,
      { buffer = buf, nowait = true, desc = 'Copydesk: ' .. description }
    )
  end
  map(
    '<CR>',
    with_job(function(job)
      output.open(job.sessionId, job.jobId)
    end),
    'output'
  )
  map('i', with_job(M.type), 'type a line')
  map('s', with_job(M.resize), 'set the size')
  map(
    'x',
    with_job(function(job)
      jobs.stop(job, M.refresh)
    end),
    'stop'
  )
  map('R', M.refresh, 'list again')
  map('q', '<Cmd>close<CR>', 'close')
  return buf
end

--- Lets the person type a line into a program: a password, if it asks for one.
---@param job copydesk.protocol.JobInfo
function M.type(job)
  jobs.find(job.sessionId, job.jobId, function(problem, now)
    if problem or not now or not now.takesInput then
      log.tell(problem or (job.jobId .. ' takes no input'), vim.log.levels.INFO)
      return
    end
    if jobs.secret_prompt(now) then
      secrets.answer(now)
      return
    end
    vim.ui.input({ prompt = ('Type into %s: '):format(now.jobId) }, function(line)
      if line then
        jobs.type_line(now, line, function(fault)
          if fault then
            log.tell(fault)
          end
        end)
      end
    end)
  end)
end

--- Lets the person give a terminal another size.
---@param job copydesk.protocol.JobInfo
function M.resize(job)
  if not jobs.is_running(job) or type(job.cols) ~= 'number' then
    log.tell(job.jobId .. ' has no size', vim.log.levels.INFO)
    return
  end
  local prompt = ('Columns x rows of %s: '):format(job.jobId)
  vim.ui.input({ prompt = prompt, default = ('%dx%d'):format(job.cols, job.rows) }, function(size)
    if not size then
      return
    end
    local cols, rows = size:match('^%s*(%d+)%s*[x×, ]+%s*(%d+)%s*$')
    if not cols then
      log.tell('a size is two numbers, as in 100x30')
      return
    end
    jobs.resize(job, assert(tonumber(cols)), assert(tonumber(rows)), function(problem)
      if problem then
        log.tell(problem)
      end
      M.refresh()
    end)
  end)
end

--- Shows the list, with the cursor in it.
function M.open()
  local win = list and vim.fn.bufwinid(list.buf) or -1
  if win ~= -1 then
    api.nvim_set_current_win(win)
  else
    list = { buf = make(), jobs = {} }
    api.nvim_open_win(list.buf, true, { split = 'below', win = -1, height = 8 })
    vim.wo[0][0].wrap = false
    vim.wo[0][0].winbar = '%#CopydeskMuted# ' .. keys .. '%*'
  end
  M.refresh()
end

return M
