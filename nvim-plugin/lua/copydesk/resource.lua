--- Creating, renaming and deleting files for the server. Nothing is overwritten or truncated, and no
--- buffer with unsaved text is renamed or closed.
local documents = require('copydesk.documents')

local M = {}

local api = vim.api
local uv = vim.uv

---@param uri any
---@return string?
local function path_of(uri)
  return type(uri) == 'string' and uri:match('^file:') and vim.uri_to_fname(uri) or nil
end

---@param uri string
---@return integer?
local function unsaved(uri)
  local buf = documents.find(uri)
  return buf and vim.bo[buf].modified and buf or nil
end

--- Why the operation cannot be done, or nil.
---@param operation table CreateFile, RenameFile or DeleteFile
---@return string?
function M.objection(operation)
  local options = type(operation.options) == 'table' and operation.options or {}
  if operation.kind == 'create' then
    local path = path_of(operation.uri)
    if not path then
      return 'only files can be created'
    end
    local stat = uv.fs_lstat(path)
    if stat and not (options.ignoreIfExists and stat.size == 0) then
      return 'the file exists'
    end
    if unsaved(operation.uri) and not options.ignoreIfExists then
      return 'a buffer with unsaved text has this name'
    end
    return nil
  elseif operation.kind == 'rename' then
    local from, to = path_of(operation.oldUri), path_of(operation.newUri)
    if not from or not to then
      return 'only files can be renamed'
    end
    local stat = uv.fs_lstat(from)
    if not stat then
      return 'no such file'
    elseif stat.type == 'directory' then
      return 'a folder'
    elseif uv.fs_lstat(to) or documents.find(operation.newUri) then
      return 'the new name is taken'
    elseif unsaved(operation.oldUri) then
      return 'the buffer has unsaved text'
    end
    return nil
  elseif operation.kind == 'delete' then
    local path = path_of(operation.uri)
    if not path then
      return 'only files can be deleted'
    end
    local stat = uv.fs_lstat(path)
    if not stat then
      return not options.ignoreIfNotExists and 'no such file' or nil
    elseif stat.type == 'directory' then
      return 'a folder'
    elseif unsaved(operation.uri) then
      return 'the buffer has unsaved text'
    end
    return nil
  end
  return 'unknown operation ' .. tostring(operation.kind)
end

---@param path string
---@return string? problem
local function create(path)
  if uv.fs_lstat(path) then
    return nil -- an empty one, or the check would have refused
  end
  vim.fn.mkdir(vim.fs.dirname(path), 'p')
  local file, problem = uv.fs_open(path, 'wx', 420) -- 0644
  if not file then
    return problem
  end
  uv.fs_close(file)
  return nil
end

---@param operation table
---@return string? problem
local function rename(operation)
  local from, to = path_of(operation.oldUri), path_of(operation.newUri)
  vim.fn.mkdir(vim.fs.dirname(to), 'p')
  local buf = documents.find(operation.oldUri)
  -- A link fails where the name is taken; a plain rename would replace what is there.
  local linked, problem = uv.fs_link(from, to)
  if linked then
    uv.fs_unlink(from)
  elseif uv.fs_lstat(to) then
    return problem
  else
    local moved, fault = uv.fs_rename(from, to)
    if not moved then
      return fault
    end
  end
  if buf then
    api.nvim_buf_set_name(buf, to) -- BufFilePre and Post tell the server
    local old = vim.fn.bufnr('^' .. vim.fn.fnameescape(from) .. '$')
    if old > 0 and old ~= buf and not vim.bo[old].buflisted then
      pcall(api.nvim_buf_delete, old, {})
    end
    api.nvim_buf_call(buf, function()
      vim.cmd('silent! edit') -- otherwise the next :write says the file exists
    end)
  end
  return nil
end

---@param operation table
---@return string? problem
local function delete(operation)
  local path = path_of(operation.uri)
  if not uv.fs_lstat(path) then
    return nil
  end
  local buf = documents.find(operation.uri)
  local gone, problem = uv.fs_unlink(path)
  if not gone then
    return problem
  end
  if buf and not vim.bo[buf].modified then
    for _, win in ipairs(vim.fn.win_findbuf(buf)) do -- the window stays, with another buffer
      local other = vim.fn.bufnr('#')
      local replacement = other > 0 and other ~= buf and vim.bo[other].buflisted and other
        or api.nvim_create_buf(true, false)
      pcall(api.nvim_win_set_buf, win, replacement)
    end
    pcall(api.nvim_buf_delete, buf, {})
  end
  return nil
end

--- Does what `objection` found nothing against.
---@param operation table
---@return string? problem
function M.run(operation)
  if operation.kind == 'create' then
    return create(path_of(operation.uri) --[[@as string]])
  elseif operation.kind == 'rename' then
    return rename(operation)
  end
  return delete(operation)
end

return M
