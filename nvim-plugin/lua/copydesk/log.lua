--- A log file of the plugin's own, bounded: past 1 MB the older half of the story goes to `.old`.
local M = {}

local limit = 1024 * 1024

---@return string
function M.path()
  return vim.fs.joinpath(vim.fn.stdpath('log') --[[@as string]], 'copydesk-nvim.log')
end

---@param level 'ERROR'|'WARN'|'INFO'
---@param message string
---@param detail any?
local function write(level, message, detail)
  local path = M.path()
  local stat = vim.uv.fs_stat(path)
  if stat and stat.size > limit then
    vim.uv.fs_rename(path, path .. '.old')
  elseif not stat then
    vim.fn.mkdir(vim.fs.dirname(path), 'p')
  end
  local file = io.open(path, 'a')
  if not file then
    return
  end
  local text = detail == nil and ''
    or ' ' .. (type(detail) == 'string' and detail or vim.inspect(detail))
  file:write(os.date('%Y-%m-%d %H:%M:%S '), level, ' ', message, text:sub(1, 4000), '\n')
  file:close()
end

function M.error(message, detail)
  write('ERROR', message, detail)
end

function M.warn(message, detail)
  write('WARN', message, detail)
end

function M.info(message, detail)
  write('INFO', message, detail)
end

--- A message the person should see.
---@param message string
---@param level integer? one of vim.log.levels, default ERROR
function M.tell(message, level)
  write('INFO', 'told: ' .. message)
  vim.notify('copydesk: ' .. message, level or vim.log.levels.ERROR, { title = 'Copydesk' })
end

return M
