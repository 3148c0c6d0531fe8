--- The person's options: `vim.g.copydesk` and `setup()` merged over the defaults. Settings for the
--- server pass through untouched; only the options of this plugin are checked here.
local M = {}

---@class copydesk.Config
---@field cmd string[] command that starts the server
---@field settings table<string, any> the server's settings, same keys as its config file
---@field trusted boolean? whether the folder is trusted; nil leaves that to the server
---@field width number columns of the chat window; below 1 a share of the screen
---@field input_height integer lines of the chat's input window
---@field open_on_send boolean show the chat, unfocused, when a prompt is sent
---@field notify boolean report waiting permissions with vim.notify while the chat is hidden

---@type copydesk.Config
local defaults = {
  cmd = { 'copydesk', 'lsp' },
  settings = {},
  trusted = nil,
  width = 0.4,
  input_height = 5,
  open_on_send = true,
  notify = true,
}

--- Options by type; each is described in the help.
M.types = {
  cmd = 'table',
  settings = 'table',
  trusted = 'boolean',
  width = 'number',
  input_height = 'number',
  open_on_send = 'boolean',
  notify = 'boolean',
}

---@type table<string, any>
local from_setup = {}

--- What is wrong with the options, one sentence each.
---@param options table
---@return string[]
function M.problems(options)
  local found = {}
  local names = vim.tbl_keys(options)
  table.sort(names, function(a, b)
    return tostring(a) < tostring(b)
  end)
  for _, name in ipairs(names) do
    local want = M.types[name]
    if not want then
      found[#found + 1] = ('unknown option "%s" (see :help copydesk-options)'):format(name)
    elseif type(options[name]) ~= want then
      found[#found + 1] = ('option "%s" must be a %s, not a %s'):format(
        name,
        want,
        type(options[name])
      )
    end
  end
  if type(options.cmd) == 'table' then
    for _, word in ipairs(options.cmd) do
      if type(word) ~= 'string' then
        found[#found + 1] = 'option "cmd" must be a list of strings'
        break
      end
    end
    if #options.cmd == 0 then
      found[#found + 1] = 'option "cmd" is empty'
    end
  end
  return found
end

---@return table
function M.given()
  local global = vim.g.copydesk
  return vim.tbl_extend('force', type(global) == 'table' and global or {}, from_setup)
end

--- The options in force. An option of the wrong type counts as not given.
---@return copydesk.Config
function M.get()
  local options = vim.tbl_extend('force', {}, defaults)
  for name, value in pairs(M.given()) do
    if
      M.types[name] == type(value) and not (name == 'cmd' and #M.problems({ cmd = value }) > 0)
    then
      options[name] = value
    end
  end
  return options
end

---@param options table?
function M.set(options)
  from_setup = options or {}
end

return M
