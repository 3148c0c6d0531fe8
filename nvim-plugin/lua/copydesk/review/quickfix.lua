--- `:Copydesk review`: all pending hunks in a quickfix list that follows while it is there.
local log = require('copydesk.log')
local review = require('copydesk.review')

local M = {}

local api = vim.api
local title = 'Copydesk: pending changes'

local list_id ---@type integer?
---@type table<integer, true> buffers that exist only because the list names them
local made = {}

---@param text string
---@return integer
local function count_lines(text)
  local _, count = text:gsub('\n', '')
  return text ~= '' and text:sub(-1) ~= '\n' and count + 1 or count
end

---@param located copydesk.review.Located
---@return string
local function describe(located)
  local file, hunk = located.file, located.hunk
  local said = ('+%d −%d'):format(count_lines(hunk.newText), count_lines(hunk.oldText))
  if hunk.state == 'conflict' then
    said = said .. ' conflict'
  elseif hunk.author == 'mixed' then
    said = said .. ' mixed'
  end
  if file.change == 'add' then
    said = said .. ' new file'
  elseif file.change == 'delete' then
    said = said .. ' file deleted'
  elseif file.change == 'rename' and type(file.oldUri) == 'string' then
    said = said .. ' moved from ' .. vim.fs.basename(vim.uri_to_fname(file.oldUri))
  end
  local text = hunk.newText ~= '' and hunk.newText or hunk.oldText
  local first = text:match('[^\n]*%S[^\n]*') or ''
  return said .. '  ' .. vim.trim(first):sub(1, 200)
end

---@return table[]
local function items()
  local list = {}
  for _, file in ipairs(review.files()) do
    local buf = review.buffer(file)
    local name, shown
    if file.change == 'delete' then
      name = require('copydesk.review.base').name(file.uri)
      shown = vim.fn.fnamemodify(vim.uri_to_fname(file.uri), ':~:.')
    elseif not buf then
      name = vim.uri_to_fname(file.uri)
    end
    for _, located in ipairs(review.located(file)) do
      list[#list + 1] = {
        bufnr = buf,
        filename = name,
        module = shown,
        lnum = located.first + 1,
        text = describe(located),
        user_data = { hunkId = located.hunk.hunkId },
      }
    end
  end
  return list
end

--- Buffers that only an older list named go.
---@param list table[]
local function drop_unused(list)
  local wanted = {}
  for _, item in ipairs(list) do
    wanted[item.bufnr] = true
  end
  for buf in pairs(made) do
    if not wanted[buf] then
      made[buf] = nil
      local unused = api.nvim_buf_is_valid(buf)
        and not api.nvim_buf_is_loaded(buf)
        and not vim.bo[buf].buflisted
      if unused then
        pcall(api.nvim_buf_delete, buf, { force = true })
      end
    end
  end
end

---@param action ' '|'r'
local function set(action)
  local before = {}
  for _, buf in ipairs(api.nvim_list_bufs()) do
    before[buf] = true
  end
  local what = { title = title, items = items() }
  if action == 'r' then
    what.id = list_id
    what.idx = math.min(vim.fn.getqflist({ id = list_id, idx = 0 }).idx, #what.items)
    if what.idx == 0 then
      what.idx = nil
    end
  end
  vim.fn.setqflist({}, action, what)
  local now = vim.fn.getqflist({ id = action == 'r' and list_id or 0, items = 0 }).items
  for _, item in ipairs(now) do
    if not before[item.bufnr] then
      made[item.bufnr] = true
    end
  end
  drop_unused(now)
end

---@return boolean
local function alive()
  return list_id ~= nil and vim.fn.getqflist({ id = list_id }).id == list_id
end

--- Opens the list.
function M.open()
  review.ready(function(problem)
    if problem then
      log.tell(problem)
      return
    end
    if review.pending() == 0 then
      log.tell('nothing is pending', vim.log.levels.INFO)
      return
    end
    local current = vim.fn.getqflist({ id = 0 }).id
    if alive() and current == list_id then
      set('r')
    else
      set(' ')
      list_id = vim.fn.getqflist({ id = 0 }).id
    end
    vim.cmd('botright copen')
  end)
end

--- Hunks by the lines of the quickfix window.
---@return table<integer, string>
function M.hunk_ids()
  local ids = {}
  for i, item in ipairs(vim.fn.getqflist()) do
    local data = item.user_data
    ids[i] = type(data) == 'table' and data.hunkId or nil
  end
  return ids
end

review.watchers.quickfix = function(_, changed)
  if #changed > 0 and alive() then
    set('r')
  end
end

return M
