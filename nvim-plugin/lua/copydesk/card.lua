--- Entries of the conversation as lines and highlights. Pure: no buffer, no window, no state.
local conversation = require('copydesk.conversation')

local M = {}

---@class copydesk.Mark
---@field row integer 0-based, within the block
---@field from integer? byte column; nil marks the whole line
---@field to integer? byte column, -1 for the end of the line
---@field group string
---@field rows integer? so many whole lines, under other marks
---@field conceal boolean? the line looks empty

---@class copydesk.Block
---@field lines string[]
---@field marks copydesk.Mark[]
---@field fold 'open'|'closed'|nil foldable from line `fold_from` on
---@field fold_from integer? 0-based, within the block
---@field location { path: string, line: integer? }?

local icons = {
  read = '→',
  edit = '✎',
  delete = '✗',
  move = '↷',
  search = '⌕',
  execute = '$',
  think = '∴',
  fetch = '↓',
  switch_mode = '⇄',
}

local statuses = {
  pending = { '○', 'waiting', 'CopydeskMuted' },
  in_progress = { '◐', 'running', 'CopydeskRunning' },
  in_review = { '◇', 'your review', 'CopydeskPermission' },
  paused = { '◌', 'paused', 'CopydeskCancelled' },
  completed = { '✓', 'done', 'CopydeskDone' },
  failed = { '✗', 'failed', 'CopydeskFailed' },
  cancelled = { '⊘', 'cancelled', 'CopydeskCancelled' },
}

--- Longest body shown; what is left out is counted in the card.
local max_lines = 1000

---@class copydesk.Builder
local Builder = {}
Builder.__index = Builder

---@return copydesk.Builder
local function builder()
  return setmetatable({ lines = {}, marks = {} }, Builder)
end

---@param text string
---@param group string?
function Builder:line(text, group)
  self.lines[#self.lines + 1] = text
  if group then
    self.marks[#self.marks + 1] = { row = #self.lines - 1, group = group, from = 0, to = -1 }
  end
end

--- A line of differently highlighted pieces: { text, group? }…
function Builder:pieces(pieces)
  local text = {}
  local column = 0
  for _, piece in ipairs(pieces) do
    text[#text + 1] = piece[1]
    if piece[2] and piece[1] ~= '' then
      self.marks[#self.marks + 1] =
        { row = #self.lines, from = column, to = column + #piece[1], group = piece[2] }
    end
    column = column + #piece[1]
  end
  self.lines[#self.lines + 1] = table.concat(text)
end

--- Lines of one kind.
---@param lines string[]
---@param group_of fun(line: string): string?, boolean? whole line
function Builder:body(lines, group_of)
  for _, line in ipairs(lines) do
    local group, whole = group_of(line)
    self.lines[#self.lines + 1] = line
    if group then
      self.marks[#self.marks + 1] = {
        row = #self.lines - 1,
        group = group,
        from = not whole and 0 or nil,
        to = not whole and -1 or nil,
      }
    end
  end
end

--- Adds what another builder holds as a fenced block, so that no Markdown is seen in it. The fences
--- look like empty lines.
---@param inner copydesk.Builder
function Builder:fenced(inner)
  local longest = 2
  for _, line in ipairs(inner.lines) do
    for run in line:gmatch('`+') do
      longest = math.max(longest, #run)
    end
  end
  local function fence()
    self:line(('`'):rep(longest + 1), 'CopydeskMuted')
    self.marks[#self.marks].conceal = true
  end
  fence()
  local offset = #self.lines
  -- Over the colours of the Markdown syntax, under our own.
  self.marks[#self.marks + 1] = { row = offset, rows = #inner.lines, group = 'CopydeskOutput' }
  for _, mark in ipairs(inner.marks) do
    mark.row = mark.row + offset
    self.marks[#self.marks + 1] = mark
  end
  vim.list_extend(self.lines, inner.lines)
  fence()
end

---@param ms integer
---@return string
local function duration(ms)
  if ms < 100 then
    return ''
  elseif ms < 60000 then
    return (' · %.1fs'):format(ms / 1000)
  end
  return (' · %dm%02ds'):format(math.floor(ms / 60000), math.floor(ms / 1000) % 60)
end

--- One line, whatever it holds.
---@param text any
---@return string
local function one_line(text)
  return (tostring(text):gsub('%s*\n%s*', ' ⏎ '))
end

---@param path string
---@return string
local function short(path)
  return vim.fn.fnamemodify(path, ':~:.')
end

--- Terminal bytes as lines: escape sequences stripped, overwritten text dropped.
---@param bytes string
---@return string[]
function M.screen_lines(bytes)
  local text = bytes
    :gsub('\27%][^\7\27]*\7', '')
    :gsub('\27%][^\7\27]*\27\\', '')
    :gsub('\27%[[0-?]*[ -/]*[@-~]', '')
    :gsub('\27[ -/]*[0-~]', '')
    :gsub('\r+\n', '\n')
  local lines = vim.split(text, '\n', { plain = true })
  if lines[#lines] == '' then
    lines[#lines] = nil
  end
  for i, line in ipairs(lines) do
    lines[i] = line:gsub('\r+$', ''):gsub('^.*\r', '')
  end
  return lines
end

---@param lines string[]
---@param from_end boolean keep the end rather than the beginning
---@return string[] lines, integer left_out
local function bounded(lines, from_end)
  if #lines <= max_lines then
    return lines, 0
  end
  local first = from_end and #lines - max_lines + 1 or 1
  return vim.list_slice(lines, first, first + max_lines - 1), #lines - max_lines
end

--- The path a patch line means. Git's own prefixes are taken off where the rest is a changed file.
---@param path string
---@param diff table
---@return string
local function patch_path(path, diff)
  local bare = path:match('^[ab]/(.*)')
  for _, change in ipairs(bare and type(diff.changes) == 'table' and diff.changes or {}) do
    for _, name in ipairs({ 'path', 'oldPath', 'newPath' }) do
      if change[name] and (change[name] == bare or change[name] == '/' .. bare) then
        return short(change[name])
      end
    end
  end
  return short(path)
end

---@param out copydesk.Builder
---@param diff table
function M.diff(out, diff)
  local patch = type(diff.patch) == 'table' and diff.patch.text
  if type(patch) ~= 'string' then
    for _, change in ipairs(type(diff.changes) == 'table' and diff.changes or {}) do
      local path = change.path or change.newPath or change.oldPath or '?'
      out:line(('%s %s'):format(tostring(change.operation), short(path)), 'CopydeskDiffFile')
    end
    return
  end
  local lines, header = {}, false
  for _, line in ipairs(vim.split(patch:gsub('\n$', ''), '\n', { plain = true })) do
    if line:match('^diff ') then
      header = true
    elseif line:match('^@@') then
      header = false
    end
    local renamed = line:match('^rename to (.*)')
    local path = header and (line:match('^%+%+%+ (.*)') or renamed)
    if path and path ~= '/dev/null' then
      lines[#lines + 1] = (renamed and '→ ' or '') .. patch_path(path, diff)
    elseif header and line:match('^%-%-%- ') and patch:find('\n+++ /dev/null', 1, true) then
      lines[#lines + 1] = patch_path(line:sub(5), diff) .. ' (deleted)'
    elseif not header then
      lines[#lines + 1] = line
    end
  end
  local shown, left_out = bounded(lines, false)
  out:body(shown, function(line)
    local first = line:sub(1, 1)
    if first == '+' then
      return 'CopydeskDiffAdd', true
    elseif first == '-' then
      return 'CopydeskDiffDelete', true
    elseif line:match('^@@') then
      return 'CopydeskDiffHunk'
    elseif first ~= ' ' and first ~= '\\' and first ~= '' then
      return 'CopydeskDiffFile'
    end
  end)
  if left_out > 0 then
    out:line(('… %d more lines'):format(left_out), 'CopydeskMuted')
  end
end

---@param out copydesk.Builder
---@param terminal copydesk.Terminal
local function terminal_body(out, terminal)
  local lines, left_out = bounded(M.screen_lines(terminal.output), true)
  local command = {}
  if terminal.command then
    command = vim.split(terminal.command, '\n', { plain = true })
    command[1] = '$ ' .. command[1]
  end
  if terminal.cut or left_out > 0 then
    out:line('… earlier output left out (o shows all)', 'CopydeskMuted')
  end
  local count = #command
  local at = 0
  out:body(vim.list_extend(vim.list_slice(command), lines), function()
    at = at + 1
    return at <= count and 'CopydeskCommand' or nil
  end)
  local exit = terminal.exit
  if exit and type(exit.signal) == 'string' then
    out:line('killed by ' .. exit.signal, 'CopydeskFailed')
  elseif exit and type(exit.exitCode) == 'number' then
    out:line(
      'exit code ' .. exit.exitCode,
      exit.exitCode == 0 and 'CopydeskMuted' or 'CopydeskFailed'
    )
  end
end

---@param out copydesk.Builder
---@param text string
local function plain(out, text)
  local lines, left_out = bounded(vim.split(text:gsub('\n$', ''), '\n', { plain = true }), false)
  vim.list_extend(out.lines, lines)
  if left_out > 0 then
    out:line(('… %d more lines'):format(left_out), 'CopydeskMuted')
  end
end

---@param out copydesk.Builder
---@param call table
---@param terminals table<string, copydesk.Terminal>
function M.content(out, call, terminals)
  for _, content in ipairs(type(call.content) == 'table' and call.content or {}) do
    if type(content) ~= 'table' then
      out:line('[malformed content]', 'CopydeskMuted')
    elseif content.type == 'content' then
      plain(out, conversation.text_of(content.content))
    elseif content.type == 'diff' then
      M.diff(out, content)
    elseif content.type == 'terminal' then
      local terminal = terminals[content.terminalId]
      if terminal then
        terminal_body(out, terminal)
      end
    elseif content.type == 'session' then
      out:line('↳ session ' .. tostring(content.sessionId), 'CopydeskMuted')
    else
      out:line(('[%s]'):format(tostring(content.type)), 'CopydeskMuted')
    end
  end
end

---@param call table
---@return { path: string, line: integer? }?
local function location(call)
  local first = type(call.locations) == 'table' and call.locations[1]
  if type(first) == 'table' and type(first.path) == 'string' then
    return { path = first.path, line = type(first.line) == 'number' and first.line or nil }
  end
  return nil
end

--- Keys for the command under the cursor.
M.command_keys = {
  { key = 'x', does = 'stop' },
  { key = 'b', does = 'to background' },
  { key = 'o', does = 'whole output' },
}

---@param entry copydesk.Entry
---@param terminals table<string, copydesk.Terminal>
---@param command_keys { key: string, does: string }[]
---@return copydesk.Block
local function tool_block(entry, terminals, command_keys)
  local out = builder()
  local call = entry.call or {}
  local status = call.status or 'pending'
  local in_review = vim.tbl_get(call, '_meta', 'copydesk', 'review')
  if status == 'in_progress' and type(in_review) == 'number' and in_review > 0 then
    status = 'in_review'
  end
  local look = statuses[status] or { '•', tostring(status), 'CopydeskMuted' }
  local took = entry.started and entry.ended and duration(entry.ended - entry.started) or ''
  if entry.begins_turn then
    out:line('')
    out:line('## Copydesk', 'CopydeskRole')
  end
  local card = builder()
  card:pieces({
    { look[1], look[3] },
    { ' ' },
    { icons[call.kind] or '•', 'CopydeskIcon' },
    { ' ' },
    { one_line(call.title or call.name or 'Tool call'), 'CopydeskCard' },
    { '  ' },
    { look[2] .. took, look[3] },
  })
  if status ~= 'pending' then -- until then the permission request shows it
    M.content(card, call, terminals)
  end
  if #command_keys > 0 and conversation.runs_command(call) then
    local pieces = {}
    for _, choice in ipairs(command_keys) do
      vim.list_extend(
        pieces,
        { { ' ' .. choice.key .. ' ', 'CopydeskKey' }, { choice.does .. '  ', 'CopydeskMuted' } }
      )
    end
    card:pieces(pieces)
  end
  local head = #out.lines + 1
  out:fenced(card)
  local fold
  local always = vim.tbl_get(call, '_meta', 'copydesk', 'fold') == 'always-open'
  if status == 'completed' or status == 'cancelled' then
    fold = always and 'open' or 'closed'
  elseif status == 'failed' then
    fold = 'open'
  end
  return {
    lines = out.lines,
    marks = out.marks,
    fold = fold,
    fold_from = head,
    location = location(call),
  }
end

---@param entry copydesk.Entry
---@return copydesk.Block
local function text_block(entry)
  local out = builder()
  out:line('')
  if entry.kind == 'user' then
    out:line('## You', 'CopydeskRole')
    out:line('')
  elseif entry.begins_turn then
    out:line('## Copydesk', 'CopydeskRole')
    out:line('')
  end
  local head = #out.lines
  if entry.kind == 'thought' then
    out:line('∴ Thinking', 'CopydeskThought')
  end
  vim.list_extend(out.lines, entry.lines or {})
  while entry.closed and #out.lines > head + 1 and out.lines[#out.lines]:match('^%s*$') do
    out.lines[#out.lines] = nil
  end
  local block = { lines = out.lines, marks = out.marks }
  if entry.kind == 'thought' and entry.closed then
    block.fold, block.fold_from = 'closed', head
    for row = head + 1, #out.lines - 1 do
      out.marks[#out.marks + 1] = { row = row, from = 0, to = -1, group = 'CopydeskThought' }
    end
  end
  return block
end

local plan_marks = {
  completed = { '✓', 'CopydeskDone' },
  in_progress = { '◐', 'CopydeskRunning' },
  cancelled = { '⊘', 'CopydeskMuted' },
}

---@param entry copydesk.Entry
---@return copydesk.Block
local function plan_block(entry)
  local out, inner = builder(), builder()
  local plan = entry.plan or {}
  if type(plan.content) == 'string' then
    out:line('')
    vim.list_extend(out.lines, vim.split(plan.content, '\n', { plain = true }))
    return { lines = out.lines, marks = out.marks }
  end
  inner:line('Plan', 'CopydeskRole')
  for _, item in ipairs(type(plan.entries) == 'table' and plan.entries or {}) do
    local look = plan_marks[item.status] or { '○', 'CopydeskMuted' }
    inner:pieces({ { look[1], look[2] }, { ' ' .. one_line(item.content) } })
  end
  out:fenced(inner)
  return { lines = out.lines, marks = out.marks }
end

local severities = {
  info = { 'ℹ', 'CopydeskNotice' },
  warning = { '⚠', 'CopydeskWarning' },
  error = { '✗', 'CopydeskError' },
}

---@param entry copydesk.Entry
---@return copydesk.Block
local function notice_block(entry)
  local out = builder()
  local look = severities[entry.severity] or severities.info
  out:line('')
  for i, line in ipairs(entry.lines or {}) do
    out:line((i == 1 and look[1] .. ' ' or '  ') .. line, look[2])
  end
  return { lines = out.lines, marks = out.marks }
end

---@param entry copydesk.Entry
---@param terminals table<string, copydesk.Terminal>
---@param command_keys { key: string, does: string }[]? shown on commands that run
---@return copydesk.Block
function M.block(entry, terminals, command_keys)
  if entry.kind == 'tool' then
    return tool_block(entry, terminals, command_keys or {})
  elseif entry.kind == 'plan' then
    return plan_block(entry)
  elseif entry.kind == 'notice' then
    return notice_block(entry)
  end
  return text_block(entry)
end

--- Keys that answer a permission, by the kind of option.
M.permission_keys = {
  { kind = 'allow_once', key = 'a' },
  { kind = 'allow_always', key = 'A' },
  { kind = 'reject_once', key = 'r' },
  { kind = 'reject_always', key = 'R' },
}

---@param out copydesk.Builder
---@param subject any
---@param terminals table<string, copydesk.Terminal>
local function permission_subject(out, subject, terminals)
  if type(subject) ~= 'table' then
    return
  end
  if subject.type == 'command' then
    out:body(vim.split(tostring(subject.command), '\n', { plain = true }), function()
      return 'CopydeskCommand'
    end)
    if type(subject.cwd) == 'string' then
      out:line('in ' .. vim.fn.fnamemodify(subject.cwd, ':~'), 'CopydeskMuted')
    end
  elseif subject.type == 'tool_call' and type(subject.toolCall) == 'table' then
    M.content(out, subject.toolCall, terminals)
  else
    plain(out, vim.inspect(subject))
  end
end

--- The programs that ask for a password.
---@param waiting copydesk.Secret[]
---@return copydesk.Block
function M.secrets_block(waiting)
  local whole, out = builder(), builder()
  if #waiting == 0 then
    return { lines = {}, marks = {} }
  end
  out:line(('━'):rep(24), 'CopydeskPermission')
  out:line('Password needed', 'CopydeskPermission')
  for _, secret in ipairs(waiting) do
    out:line(('%s asks: %s'):format(secret.job, one_line(secret.prompt)))
  end
  out:line('')
  out:pieces({ { ' p ', 'CopydeskKey' }, { 'Type it; the agent does not see it' } })
  whole:fenced(out)
  return { lines = whole.lines, marks = whole.marks }
end

--- The requests that wait, the oldest whole and the others by title.
---@param pending copydesk.Permission[]
---@param terminals table<string, copydesk.Terminal>
---@return copydesk.Block
function M.permission_block(pending, terminals)
  local whole, out = builder(), builder()
  local request = pending[1]
  if not request then
    return { lines = { '' }, marks = {} }
  end
  local params = request.params
  out:line(('━'):rep(24), 'CopydeskPermission')
  out:pieces({
    { 'Permission needed', 'CopydeskPermission' },
    { #pending > 1 and ('  1 of %d'):format(#pending) or '', 'CopydeskMuted' },
  })
  out:line(one_line(params.title))
  if type(params.description) == 'string' and params.description ~= '' then
    for _, line in ipairs(vim.split(params.description, '\n', { plain = true })) do
      out:line(line, 'CopydeskMuted')
    end
  end
  permission_subject(out, params.subject, terminals)
  out:line('')
  for _, choice in ipairs(M.permission_keys) do
    for _, option in ipairs(params.options) do
      if type(option) == 'table' and option.kind == choice.kind then
        out:pieces({ { ' ' .. choice.key .. ' ', 'CopydeskKey' }, { one_line(option.name) } })
      end
    end
  end
  for i = 2, #pending do
    out:line('then: ' .. one_line(pending[i].params.title), 'CopydeskMuted')
  end
  whole:fenced(out)
  return { lines = whole.lines, marks = whole.marks }
end

return M
