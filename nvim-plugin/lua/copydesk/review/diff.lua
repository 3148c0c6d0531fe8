--- `:Copydesk diff`: a file beside its text from before the pending changes. Closing it in any way decides
--- nothing and leaves no window, buffer or option behind.
local base = require('copydesk.review.base')
local log = require('copydesk.log')
local review = require('copydesk.review')

local M = {}

local api = vim.api
local info = vim.log.levels.INFO

---@class copydesk.review.DiffView
---@field uri string
---@field buf integer of the file
---@field win integer
---@field base_buf integer
---@field base_win integer
---@field group integer

---@type table<integer, copydesk.review.DiffView> by the buffer of the text before
local views = {}

--- Ends a view whose windows may be gone already.
---@param view copydesk.review.DiffView
local function close(view)
  if views[view.base_buf] ~= view then
    return
  end
  views[view.base_buf] = nil
  pcall(api.nvim_del_augroup_by_id, view.group)
  if api.nvim_win_is_valid(view.win) then
    api.nvim_win_call(view.win, function()
      vim.cmd('diffoff')
    end)
  end
  if
    api.nvim_win_is_valid(view.base_win) and api.nvim_win_get_buf(view.base_win) == view.base_buf
  then
    if not pcall(api.nvim_win_close, view.base_win, true) then -- the last window there is
      api.nvim_win_call(view.base_win, function()
        vim.cmd('diffoff')
      end)
    end
  end
end

---@param view copydesk.review.DiffView
---@return boolean
local function stands(view)
  return api.nvim_win_is_valid(view.win)
    and api.nvim_win_get_buf(view.win) == view.buf
    and api.nvim_win_is_valid(view.base_win)
    and api.nvim_win_get_buf(view.base_win) == view.base_buf
end

---@param view copydesk.review.DiffView
local function follow(view)
  view.group = api.nvim_create_augroup('copydesk.review.diff.' .. view.base_buf, {})
  -- The file may be in other windows too, so that no event of its own tells that it left this one.
  api.nvim_create_autocmd({ 'WinClosed', 'BufEnter', 'BufWinEnter', 'BufWipeout' }, {
    group = view.group,
    callback = function()
      vim.schedule(function()
        if not stands(view) then
          close(view)
        end
      end)
    end,
  })
end

---@param buf integer
---@return fun(): string[]
local function lines_of(buf)
  return function()
    return api.nvim_buf_is_loaded(buf) and api.nvim_buf_get_lines(buf, 0, -1, false) or {}
  end
end

---@param file copydesk.protocol.ReviewFile
---@param buf integer
---@param win integer
local function open(file, buf, win)
  local base_buf = base.buffer(file.uri)
  if views[base_buf] then
    return
  end
  vim.fn.bufload(base_buf)
  base.fill(base_buf, file.uri, lines_of(buf), function()
    if not api.nvim_win_is_valid(win) or api.nvim_win_get_buf(win) ~= buf then
      api.nvim_buf_delete(base_buf, { force = true })
      return
    end
    local base_win = api.nvim_open_win(base_buf, false, { split = 'left', win = win })
    local view =
      { uri = file.uri, buf = buf, win = win, base_buf = base_buf, base_win = base_win, group = 0 }
    views[base_buf] = view
    for _, each in ipairs({ base_win, win }) do
      api.nvim_win_call(each, function()
        vim.cmd('diffthis')
      end)
    end
    -- Both sides need the same height.
    vim.wo[base_win][0].winbar = vim.wo[win].winbar ~= '' and ' before the agent’s changes' or ''
    follow(view)
  end)
end

--- Opens the comparison for the current file; again closes it.
function M.toggle()
  local buf, win = api.nvim_get_current_buf(), api.nvim_get_current_win()
  for _, view in pairs(views) do
    if view.win == win or view.base_win == win then
      close(view)
      return
    end
  end
  review.ready(function(problem)
    local file = review.file(buf)
    if problem then
      log.tell(problem)
    elseif not file then
      log.tell('nothing is pending in this file', info)
    elseif file.change == 'delete' then
      log.tell('the file is deleted: there is nothing to compare', info)
    else
      open(file, buf, win)
    end
  end)
end

review.watchers.diff = function(told)
  for _, view in pairs(views) do
    if vim.tbl_contains(told, view.uri) and api.nvim_buf_is_valid(view.base_buf) then
      base.fill(view.base_buf, view.uri, lines_of(view.buf))
    end
  end
end

return M
