--- `copydesk/editor/save`: writes buffers as `:write` does, autocommands included, and reports what could
--- not be written. Nothing here may open a prompt.
local documents = require('copydesk.documents')

local M = {}

local api = vim.api

---@param buf integer
---@return string? problem
local function write(buf)
  if vim.bo[buf].buftype ~= '' or api.nvim_buf_get_name(buf) == '' then
    return 'the buffer has no file'
  end
  if vim.bo[buf].readonly then
    return "the buffer is 'readonly'"
  end
  if not vim.bo[buf].modified then
    return nil
  end
  if not documents.file_unchanged(buf) then
    return 'the file changed on disk since it was read'
  end
  local confirm = vim.o.confirm
  vim.o.confirm = false
  local ok, problem = pcall(api.nvim_buf_call, buf, function()
    vim.cmd('silent write')
  end)
  vim.o.confirm = confirm
  if not ok then
    return (tostring(problem):gsub('^.-(E%d+:)', '%1'))
  end
  if vim.bo[buf].modified then
    return 'still modified after :write'
  end
  return nil
end

---@param params { uris: string[] }
---@return { results: { uri: string, saved: boolean, reason: string? }[] }
function M.save(params)
  local results = {}
  for index, uri in ipairs(type(params.uris) == 'table' and params.uris or {}) do
    local buf = type(uri) == 'string' and documents.find(uri) or nil
    local problem
    if buf then
      problem = write(buf)
    else
      problem = 'not open'
    end
    results[index] = { uri = uri, saved = problem == nil, reason = problem }
  end
  documents.send_state()
  return { results = results }
end

return M
