--- From hunk to hunk, across files, and the text object.
local log = require('copydesk.log')
local review = require('copydesk.review')

local M = {}

local api = vim.api
local info = vim.log.levels.INFO

--- The hunk gone to last: of several in one line it is the one the cursor is on.
local last_hunk ---@type string?

--- A window for files: the current one, else another of the tab page, else a new one.
local function go_to_window()
  local function fits(win)
    return vim.bo[api.nvim_win_get_buf(win)].buftype == ''
      and api.nvim_win_get_config(win).relative == ''
      and not vim.wo[win].previewwindow
  end
  if fits(0) or (vim.b.copydesk_review_uri and not vim.wo.diff) then
    return
  end
  local wins = { vim.fn.win_getid(vim.fn.winnr('#')) }
  vim.list_extend(wins, api.nvim_tabpage_list_wins(0))
  for _, win in ipairs(wins) do
    if win ~= 0 and api.nvim_win_is_valid(win) and fits(win) then
      api.nvim_set_current_win(win)
      return
    end
  end
  vim.cmd('topleft vsplit')
  vim.cmd('setlocal nowinfixbuf')
end

--- Shows a file in a window for files. A deleted one is shown as it was.
---@param file copydesk.protocol.ReviewFile
---@return string? problem
local function open(file)
  go_to_window()
  if file.change == 'delete' then
    require('copydesk.review.base').open(file)
    return nil
  end
  local buf = review.buffer(file)
  if not buf then
    buf = vim.fn.bufadd(vim.fn.fnamemodify(vim.uri_to_fname(file.uri), ':.'))
    vim.bo[buf].buflisted = true
  end
  if buf ~= api.nvim_get_current_buf() then
    local ok, problem = pcall(vim.cmd --[[@as function]], 'buffer ' .. buf)
    if not ok then
      return (tostring(problem):gsub('^.-(E%d+:)', '%1'))
    end
  end
  return nil
end

--- Goes to a hunk of a file, and says which of how many it is.
---@param file copydesk.protocol.ReviewFile
---@param number integer of the file's hunks
---@param of_all string its number of all files' hunks
local function go(file, number, of_all)
  local from = api.nvim_get_current_buf()
  vim.cmd("normal! m'")
  local problem = open(file)
  if problem then
    log.tell(problem)
    return
  end
  local list = review.located(file)
  local located = list[number]
  if not located then
    return
  end
  if file.change ~= 'delete' then
    local last = api.nvim_buf_line_count(0)
    api.nvim_win_set_cursor(0, { math.max(1, math.min(located.first + 1, last)), 0 })
    vim.cmd('normal! zv')
  end
  last_hunk = located.hunk.hunkId
  local state = located.hunk.state == 'conflict' and ' (conflict)' or ''
  local name = vim.fn.fnamemodify(vim.uri_to_fname(file.uri), ':~:.')
  local message = ('hunk %d of %d%s'):format(number, #list, state)
  if from ~= api.nvim_get_current_buf() or #review.files() > 1 then
    message = ('%s: %s, %s in all'):format(name, message, of_all)
  end
  api.nvim_echo({ { message } }, false, {})
end

--- Goes `count` hunks on, or back where it is negative; past the last of a file to the next file's, and
--- after all of them round.
---@param count integer
function M.step(count)
  review.ready(function(problem)
    if problem then
      log.tell(problem)
      return
    end
    local all = {} ---@type { file: copydesk.protocol.ReviewFile, number: integer }[]
    local here ---@type integer?
    local buf, row = api.nvim_get_current_buf(), api.nvim_win_get_cursor(0)[1] - 1
    local current, uri = review.file(buf), review.uri(buf)
    local before = 0 -- hunks before the cursor
    local last_row = api.nvim_buf_line_count(buf) - 1
    for _, file in ipairs(review.files()) do
      for number, located in ipairs(review.located(file, file == current and buf or nil)) do
        local first = math.min(located.first, last_row)
        all[#all + 1] = { file = file, number = number }
        if file == current and (file.change == 'delete' or first == row) then
          here = located.hunk.hunkId == last_hunk and #all or here or #all
        elseif uri and (file.uri < uri or (file == current and first < row)) then
          before = before + 1
        end
      end
    end
    if #all == 0 then
      log.tell('nothing is pending', info)
      return
    end
    local at
    if here then
      at = here + count
    elseif count > 0 then
      at = before + count
    else
      at = before + 1 + count
    end
    at = (at - 1) % #all + 1
    go(all[at].file, all[at].number, ('%d of %d'):format(at, #all))
  end)
end

--- Selects the hunk under the cursor linewise: the text object.
function M.select()
  local located = review.at(api.nvim_get_current_buf(), api.nvim_win_get_cursor(0)[1] - 1)
  if not located or located.first == located.after then
    return
  end
  local mode = api.nvim_get_mode().mode
  if mode:match('^[vV\22]') then
    vim.cmd('normal! \27')
  end
  api.nvim_win_set_cursor(0, { located.first + 1, 0 })
  vim.cmd('normal! V')
  api.nvim_win_set_cursor(0, { math.min(located.after, api.nvim_buf_line_count(0)), 0 })
end

return M
