--- `User Copydesk…` autocommands, so that statuslines and the person's own configuration can follow.
local M = {}

M.names = {
  'Ready',
  'Exit',
  'TurnStarted',
  'TurnFinished',
  'PermissionRequested',
  'PermissionResolved',
  'PasswordAsked',
  'EditApplied',
  'ReviewChanged',
  'ReviewDecided',
  'ReviewUndone',
  'StatusChanged',
}

---@param name 'Ready'|'Exit'|'TurnStarted'|'TurnFinished'|'PermissionRequested'|'PermissionResolved'|'PasswordAsked'|'EditApplied'|'ReviewChanged'|'ReviewDecided'|'ReviewUndone'|'StatusChanged'
---@param data table
function M.emit(name, data)
  local ok, problem = pcall(vim.api.nvim_exec_autocmds, 'User', {
    pattern = 'Copydesk' .. name,
    modeline = false,
    data = data,
  })
  if not ok then
    require('copydesk.log').error('an autocommand for Copydesk' .. name .. ' failed', problem)
  end
end

return M
