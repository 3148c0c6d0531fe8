--- `:Copydesk` and its subcommands. Everything listed here works; nothing else is offered.
local log = require('copydesk.log')

local M = {}

local info = vim.log.levels.INFO

---@class copydesk.Subcommand
---@field run fun(text: string, command: table)
---@field complete (fun(lead: string): string[])?

local function copydesk()
  return require('copydesk')
end

local function tell_problem(problem)
  if problem then
    log.tell(problem)
  end
end

---@param id 'mode'|'model'
---@return copydesk.Subcommand
local function option_command(id)
  local function set(value)
    require('copydesk.session').set_option(id, value, function(problem)
      if problem then
        log.tell(('%s was not changed: %s'):format(id, problem))
      end
    end)
  end
  return {
    run = function(text)
      if text ~= '' then
        set(text)
        return
      end
      local session = require('copydesk.session')
      session.ensure(function(problem)
        local choices = session.choices(id)
        if problem or #choices == 0 then
          log.tell(problem or ('the server offers no choice of ' .. id))
          return
        end
        local current = (session.option(id) or {}).currentValue
        vim.ui.select(choices, {
          prompt = 'Copydesk ' .. id,
          format_item = function(choice)
            local mark = choice.value == current and '● ' or '  '
            local detail = type(choice.description) == 'string' and ': ' .. choice.description or ''
            return mark .. choice.name .. detail
          end,
        }, function(choice)
          if choice then
            set(choice.value)
          end
        end)
      end)
    end,
    complete = function()
      local values = {}
      for _, choice in ipairs(require('copydesk.session').choices(id)) do
        values[#values + 1] = choice.value
      end
      return values
    end,
  }
end

---@param text string
---@param command table
---@return string
local function with_selection(text, command)
  if command.range == 0 then
    return text
  end
  local lines = vim.api.nvim_buf_get_lines(0, command.line1 - 1, command.line2, false)
  local name = vim.api.nvim_buf_get_name(0)
  name = name ~= '' and vim.fn.fnamemodify(name, ':.') or 'an unnamed buffer'
  return ('%s\n\nSelected in %s, lines %d to %d:\n```%s\n%s\n```'):format(
    text,
    name,
    command.line1,
    command.line2,
    vim.bo.filetype,
    table.concat(lines, '\n')
  )
end

---@param action 'accept'|'reject'
---@return copydesk.Subcommand
local function decide_command(action)
  return {
    run = function(text, command)
      local decide = require('copydesk.review.decide')
      if command.bang then
        decide.file(action, text)
        return
      end
      local rows = command.range > 0 and { first = command.line1 - 1, last = command.line2 - 1 }
        or nil
      decide.hunks(action, rows, text)
    end,
  }
end

---@param action 'accept'|'reject'
---@return copydesk.Subcommand
local function decide_all_command(action)
  return {
    run = function(text)
      local decide = require('copydesk.review.decide')
      local scope, comment = text:match('^(%S*)%s*(.*)$')
      scope = scope ~= '' and scope or 'all'
      if not vim.tbl_contains(decide.scopes, scope) then
        log.tell(
          ('%sall of what? %s, then words for the agent if you like'):format(
            action,
            table.concat(decide.scopes, ', ')
          ),
          vim.log.levels.WARN
        )
        return
      end
      decide.all(action, scope, comment)
    end,
    complete = function()
      return require('copydesk.review.decide').scopes
    end,
  }
end

---@param direction 1|-1
---@return copydesk.Subcommand
local function step_command(direction)
  return {
    run = function(text, command)
      local count = tonumber(text) or (command.range > 0 and command.line2) or 1
      require('copydesk.review.go').step(direction * math.max(1, math.floor(count)))
    end,
  }
end

local function report(answered, message)
  log.tell(message, answered and info or vim.log.levels.WARN)
end

---@return string[] programs that ask for a password
local function asking()
  return vim.tbl_map(function(secret)
    return secret.job
  end, require('copydesk.secrets').waiting())
end

---@type table<string, copydesk.Subcommand>
M.subcommands = {
  chat = {
    run = function()
      copydesk().chat()
    end,
  },
  close = {
    run = function()
      require('copydesk.chat').close()
    end,
  },
  new = {
    run = function()
      copydesk().new(tell_problem)
    end,
  },
  send = {
    run = function(text)
      if text == '' then
        log.tell('send what? :Copydesk send TEXT', vim.log.levels.WARN)
        return
      end
      copydesk().send(text, tell_problem)
    end,
  },
  ask = {
    run = function(text, command)
      if text ~= '' then
        copydesk().send(with_selection(text, command), tell_problem)
        return
      end
      vim.ui.input({ prompt = 'Ask Copydesk: ' }, function(answer)
        if answer and answer ~= '' then
          copydesk().send(with_selection(answer, command), tell_problem)
        end
      end)
    end,
  },
  stop = {
    run = function()
      if not require('copydesk.session').stop() then
        log.tell('nothing is running', info)
      end
    end,
  },
  approve = {
    run = function(_, command)
      local kind = command.bang and 'allow_always' or 'allow_once'
      report(require('copydesk.permission').answer(kind))
    end,
  },
  deny = {
    run = function(text, command)
      local kind = command.bang and 'reject_always' or 'reject_once'
      report(require('copydesk.permission').answer(kind, text))
    end,
  },
  pending = {
    run = function()
      if #require('copydesk.permission').pending() == 0 then
        log.tell('no permission is pending', info)
        return
      end
      require('copydesk.chat').open_pending()
    end,
  },
  password = {
    run = function(text)
      -- Anything but a program's name may be the password itself.
      if text ~= '' and not vim.tbl_contains(asking(), text) then
        vim.fn.histdel('cmd', '\\V' .. vim.fn.escape(text, '\\'))
        log.tell('type the password when you are asked, not in the command', vim.log.levels.WARN)
        return
      end
      require('copydesk.secrets').type(text)
    end,
    complete = asking,
  },
  jobs = {
    run = function()
      require('copydesk.joblist').open()
    end,
  },
  input = {
    run = function(text)
      require('copydesk.jobs').choose(text, {
        can = function(job)
          return job.takesInput
        end,
      }, require('copydesk.joblist').type)
    end,
  },
  output = {
    run = function()
      require('copydesk.chat').open_output()
    end,
  },
  kill = {
    run = function(text)
      local session, jobs = require('copydesk.session'), require('copydesk.jobs')
      local now, call = session.current(), session.running_command()
      if text == '' and now and call then
        jobs.stop_call(now.id, call)
        return
      end
      jobs.choose(text, {
        can = function()
          return true
        end,
      }, jobs.stop)
    end,
  },
  background = {
    run = function()
      local session = require('copydesk.session')
      local now, call = session.current(), session.running_command()
      if now and call then
        require('copydesk.jobs').to_background(now.id, call)
      else
        log.tell('no command runs in the foreground', info)
      end
    end,
  },
  next = step_command(1),
  prev = step_command(-1),
  accept = decide_command('accept'),
  reject = decide_command('reject'),
  acceptall = decide_all_command('accept'),
  rejectall = decide_all_command('reject'),
  undo = {
    run = function()
      require('copydesk.review.decide').undo()
    end,
  },
  review = {
    run = function()
      require('copydesk.review.quickfix').open()
    end,
  },
  diff = {
    run = function()
      require('copydesk.review.diff').toggle()
    end,
  },
  mode = option_command('mode'),
  model = option_command('model'),
  trust = {
    run = function(_, command)
      local trusted = not command.bang
      require('copydesk.session').trust(trusted, function(problem)
        if problem then
          log.tell(problem)
        else
          log.tell(trusted and 'this folder is trusted' or 'this folder is not trusted', info)
        end
      end)
    end,
  },
  status = {
    run = function()
      copydesk().report_status()
    end,
  },
  log = {
    run = function()
      copydesk().open_log()
    end,
  },
  restart = {
    run = function()
      copydesk().restart(function(problem)
        if problem then
          log.tell(problem)
        else
          log.tell('restarted', info)
        end
      end)
    end,
  },
}

---@return string[]
local function names()
  local list = vim.tbl_keys(M.subcommands)
  table.sort(list)
  return list
end

---@param command table as given to nvim_create_user_command
function M.run(command)
  local name, text = command.args:match('^%s*(%S*)%s*(.-)%s*$')
  if name == '' then
    name = 'chat'
  end
  local subcommand = M.subcommands[name]
  if not subcommand then
    log.tell(('no subcommand "%s". There are: %s'):format(name, table.concat(names(), ', ')))
    return
  end
  copydesk().begin()
  subcommand.run(text, command)
end

---@param lead string
---@param line string
---@param position integer
---@return string[]
function M.complete(lead, line, position)
  local before = line:sub(1, position):match('Copydesk!?%s+(.*)$') or ''
  local name = before:match('^(%S+)%s')
  local candidates
  if not name then
    candidates = names()
  else
    local subcommand = M.subcommands[name]
    candidates = subcommand and subcommand.complete and subcommand.complete(lead) or {}
  end
  return vim.tbl_filter(function(candidate)
    return vim.startswith(candidate, lead)
  end, candidates)
end

return M
