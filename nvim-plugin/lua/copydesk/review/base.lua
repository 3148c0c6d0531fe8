--- Buffers with the text from before the agent's pending changes: one side of a comparison, and all there
--- is to see of a deleted file. They are not listed and go with their last window.
local client = require('copydesk.client')
local log = require('copydesk.log')
local review = require('copydesk.review')

local M = {}

local api = vim.api
local ns = api.nvim_create_namespace('copydesk.review.base')
local scheme = 'copydesk-base://'

---@param uri string
---@return string
function M.name(uri)
  return scheme .. (uri:match('^file:') and vim.uri_to_fname(uri) or uri)
end

--- Replaces what differs, so that windows keep their place.
---@param buf integer
---@param lines string[]
local function set_lines(buf, lines)
  local old = api.nvim_buf_get_lines(buf, 0, -1, false)
  local first, last = 0, 0
  while first < math.min(#old, #lines) and old[first + 1] == lines[first + 1] do
    first = first + 1
  end
  while last < math.min(#old, #lines) - first and old[#old - last] == lines[#lines - last] do
    last = last + 1
  end
  if first == #old and #old == #lines then
    return
  end
  vim.bo[buf].modifiable = true
  api.nvim_buf_set_lines(
    buf,
    first,
    #old - last,
    false,
    vim.list_slice(lines, first + 1, #lines - last)
  )
  vim.bo[buf].modifiable, vim.bo[buf].modified = false, false
end

--- Makes a buffer one of ours.
---@param buf integer
---@param uri string
local function dress(buf, uri)
  local options = vim.bo[buf]
  options.buftype, options.bufhidden, options.swapfile = 'nofile', 'wipe', false
  options.buflisted, options.undolevels, options.modifiable = false, -1, false
  vim.b[buf].copydesk_review_uri = uri
  local filetype = vim.filetype.match({ filename = vim.uri_to_fname(uri), buf = buf })
  if filetype and filetype ~= options.filetype then
    options.filetype = filetype
  end
end

--- Fills a buffer with the text before the pending changes; with `fallback` where nothing is pending.
---@param buf integer
---@param uri string
---@param fallback fun(): string[]
---@param callback fun()?
function M.fill(buf, uri, fallback, callback)
  client.request('copydesk/review/base', { uri = uri }, function(problem, result)
    if not api.nvim_buf_is_valid(buf) then
      return
    end
    if problem or type(result) ~= 'table' or type(result.text) ~= 'string' then
      set_lines(buf, fallback())
    else
      local lines = vim.split(result.text:gsub('\r\n', '\n'), '\n', { plain = true })
      if lines[#lines] == '' and #lines > 1 then
        table.remove(lines)
      end
      set_lines(buf, lines)
    end
    dress(buf, uri)
    if callback then
      callback()
    end
  end)
end

--- A new buffer of that name, or the one there is.
---@param uri string
---@return integer
function M.buffer(uri)
  local buf = vim.fn.bufadd(M.name(uri))
  vim.bo[buf].buflisted = false
  return buf
end

---@param buf integer
local function mark_deleted(buf)
  api.nvim_buf_clear_namespace(buf, ns, 0, -1)
  api.nvim_buf_set_extmark(buf, ns, 0, 0, {
    end_row = api.nvim_buf_line_count(buf),
    hl_group = 'CopydeskReviewDelete',
    hl_eol = true,
    strict = false,
    priority = 90,
    virt_lines = { { { 'deleted by the agent; this is what it was', 'CopydeskReviewNote' } } },
    virt_lines_above = true,
  })
  for _, win in ipairs(vim.fn.win_findbuf(buf)) do
    api.nvim_win_call(win, function()
      vim.fn.winrestview({ topline = 1, topfill = 1 })
    end)
  end
end

---@param buf integer
---@param uri string
local function show_deleted(buf, uri)
  dress(buf, uri)
  M.fill(buf, uri, function()
    return { '' }
  end, function()
    mark_deleted(buf)
  end)
end

--- Shows a deleted file as it was, in the current window.
---@param file copydesk.protocol.ReviewFile
function M.open(file)
  local buf = M.buffer(file.uri)
  if buf == api.nvim_get_current_buf() then
    return
  end
  local ok, problem = pcall(vim.cmd --[[@as function]], 'buffer ' .. buf)
  if not ok then
    log.tell((tostring(problem):gsub('^.-(E%d+:)', '%1')))
  end
end

--- A deleted file that is back is shown itself again.
review.watchers.base = function(_, changed)
  for _, uri in ipairs(changed) do
    local path = uri:match('^file:') and vim.uri_to_fname(uri)
    local buf = vim.fn.bufnr('^' .. vim.fn.escape(M.name(uri), '*?[]{}~\\,') .. '$')
    local marked = buf > 0
      and api.nvim_buf_is_loaded(buf)
      and #api.nvim_buf_get_extmarks(buf, ns, 0, -1, {}) > 0
    if marked and path and vim.uv.fs_stat(path) then
      local back = vim.fn.bufadd(path)
      vim.bo[back].buflisted = true
      for _, win in ipairs(vim.fn.win_findbuf(buf)) do
        vim.fn.bufload(back)
        pcall(api.nvim_win_set_buf, win, back)
      end
    end
  end
end

api.nvim_create_autocmd('BufReadCmd', {
  group = api.nvim_create_augroup('copydesk.review.base', {}),
  pattern = scheme .. '*',
  callback = function(event)
    for _, file in ipairs(review.files()) do
      if M.name(file.uri) == event.match and file.change == 'delete' then
        show_deleted(event.buf, file.uri)
        return
      end
    end
  end,
})

return M
