--- Accepting and rejecting, and taking that back. The server does it; an answer comes when the text is in
--- the document.
local client = require('copydesk.client')
local events = require('copydesk.events')
local log = require('copydesk.log')
local review = require('copydesk.review')

local M = {}

local info, warn = vim.log.levels.INFO, vim.log.levels.WARN

---@type string[] tokens of decisions, the last one on top
local undoable = {}
--- Decisions whose answers are on their way, of which server, and what waits for them.
local deciding = { count = 0, server = nil } ---@type { count: integer, server: integer? }
local waiting = {} ---@type fun()[]

---@param count integer
---@param word string
---@return string
local function counted(count, word)
  return ('%d %s%s'):format(count, word, count == 1 and '' or 's')
end

---@param action 'accept'|'reject'
---@param result copydesk.protocol.ReviewResolveResult
local function report(action, result)
  local reasons, level = {}, info
  for _, conflict in ipairs(result.conflicts) do
    local reason = tostring(conflict.reason)
    if not vim.tbl_contains(reasons, reason) then
      reasons[#reasons + 1] = reason
    end
  end
  local left = review.pending()
  local text = ('%s %s; %s'):format(
    action == 'accept' and 'accepted' or 'rejected',
    counted(#result.resolved, 'hunk'),
    left == 0 and 'nothing is pending any more' or counted(left, 'hunk') .. ' pending'
  )
  if #reasons > 0 then
    level = warn
    text = text .. ' (' .. table.concat(reasons, '; ') .. ')'
  end
  log.tell(text, level)
end

--- Whether an answer is still to come; a server that ended gives none.
---@return boolean
local function is_deciding()
  local now = client.get()
  return deciding.count > 0 and now ~= nil and now.id == deciding.server
end

--- Does what waited for the answers.
local function go_on()
  local now = waiting
  waiting = {}
  for _, act in ipairs(now) do
    act()
  end
end

---@param action 'accept'|'reject'
---@param items copydesk.protocol.ReviewItem[]
---@param comment string?
local function resolve(action, items, comment)
  local server = client.get()
  deciding =
    { count = is_deciding() and deciding.count + 1 or 1, server = server and server.id or nil }
  client.request('copydesk/review/resolve', {
    action = action,
    items = items,
    comment = comment ~= '' and comment or nil,
  }, function(problem, result)
    deciding.count = deciding.count - 1
    if deciding.count == 0 then
      vim.schedule(go_on)
    end
    if problem or type(result) ~= 'table' then
      local reason = problem and problem.message or 'no answer'
      log.tell(('%s did not work: %s'):format(action, reason))
      return
    end
    if type(result.undoToken) == 'string' then
      undoable[#undoable + 1] = result.undoToken
    end
    report(action, result)
    events.emit('ReviewDecided', {
      action = action,
      resolved = result.resolved,
      conflicts = result.conflicts,
      undoToken = result.undoToken,
      pending = review.pending(),
    })
  end)
end

--- Once everything pending is known; says so where nothing is.
---@param then_do fun()
local function ready(then_do)
  review.ready(function(problem)
    if problem then
      log.tell(problem)
    elseif review.pending() == 0 then
      log.tell('nothing is pending', info)
    else
      then_do()
    end
  end)
end

---@param items copydesk.protocol.ReviewItem[]
---@param hunk_id string
local function add_hunk(items, hunk_id)
  for _, item in ipairs(items) do
    if item.hunkId == hunk_id then
      return
    end
  end
  items[#items + 1] = { hunkId = hunk_id }
end

--- The hunks of rows of a buffer; in the list of pending changes those of its entries.
---@param buf integer
---@param first integer 0-based
---@param last integer
---@return copydesk.protocol.ReviewItem[]
local function items_in(buf, first, last)
  local items = {} ---@type copydesk.protocol.ReviewItem[]
  if vim.bo[buf].buftype == 'quickfix' then
    local entries = require('copydesk.review.quickfix').hunk_ids()
    for row = first, last do
      if entries[row + 1] then
        add_hunk(items, entries[row + 1])
      end
    end
    return items
  end
  if first == last then
    local located = review.at(buf, first)
    return located and { { hunkId = located.hunk.hunkId } } or {}
  end
  local file = review.file(buf)
  for _, located in ipairs(file and review.located(file, buf) or {}) do
    local after = math.max(located.after, located.first + 1)
    local gone = located.first == located.after
    if located.first <= last + (gone and 1 or 0) and first < after or file.change == 'delete' then
      add_hunk(items, located.hunk.hunkId)
    end
  end
  return items
end

---@class copydesk.review.Rows
---@field first integer 0-based
---@field last integer

--- Decides the hunk under the cursor, or those that touch the rows.
---@param action 'accept'|'reject'
---@param rows copydesk.review.Rows?
---@param comment string?
function M.hunks(action, rows, comment)
  local buf = vim.api.nvim_get_current_buf()
  local row = vim.api.nvim_win_get_cursor(0)[1] - 1
  ready(function()
    local items = items_in(buf, rows and rows.first or row, rows and rows.last or row)
    if #items == 0 then
      log.tell('no pending hunk here; :Copydesk next goes to one', info)
      return
    end
    resolve(action, items, comment)
  end)
end

--- Decides all hunks of the current buffer's file.
---@param action 'accept'|'reject'
---@param comment string?
function M.file(action, comment)
  local buf = vim.api.nvim_get_current_buf()
  ready(function()
    local file = review.file(buf)
    if not file then
      log.tell('nothing is pending in this file', info)
      return
    end
    resolve(action, { { uri = file.uri } }, comment)
  end)
end

--- The hunks that the calls of the last turn have a part in.
---@return copydesk.protocol.ReviewItem[]
local function of_last_turn()
  local calls = {}
  for _, entry in ipairs(require('copydesk.session').entries()) do
    if entry.kind == 'user' then
      calls = {}
    elseif entry.call and entry.call.toolCallId then
      calls[entry.call.toolCallId] = true
    end
  end
  local items = {}
  for _, file in ipairs(review.files()) do
    for _, hunk in ipairs(file.hunks) do
      for _, id in ipairs(hunk.toolCallIds) do
        if calls[id] then
          add_hunk(items, hunk.hunkId)
        end
      end
    end
  end
  return items
end

M.scopes = { 'all', 'session', 'turn' }

--- Decides everything, or what the current session or its last turn did.
---@param action 'accept'|'reject'
---@param scope string one of `scopes`
---@param comment string?
function M.all(action, scope, comment)
  ready(function()
    local items
    if scope == 'all' then
      items = { { all = true } }
    elseif scope == 'turn' then
      items = of_last_turn()
    else
      local session = require('copydesk.session').current()
      items = session and { { sessionId = session.id } } or {}
    end
    if #items == 0 then
      log.tell('nothing of that is pending', info)
      return
    end
    resolve(action, items, comment)
  end)
end

--- Takes the last decision back; again, the one before it.
function M.undo()
  if is_deciding() then
    waiting[#waiting + 1] = M.undo
    return
  end
  local token = undoable[#undoable]
  if not token then
    log.tell('no decision to take back', info)
    return
  end
  client.start(function(unreachable)
    if unreachable then
      log.tell(unreachable)
      return
    end
    client.request('copydesk/review/undo', { undoToken = token }, function(problem)
      for i = #undoable, 1, -1 do
        if undoable[i] == token then
          table.remove(undoable, i)
        end
      end
      if problem then
        log.tell('the decision was not taken back: ' .. tostring(problem.message))
        return
      end
      local left = counted(review.pending(), 'hunk')
      log.tell('the last decision is taken back; ' .. left .. ' pending', info)
      events.emit('ReviewUndone', { undoToken = token, pending = review.pending() })
    end)
  end)
end

return M
