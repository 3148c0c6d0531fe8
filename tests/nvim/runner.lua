--- Runs test files and ends with `N passed, N failed`. A file returns a table of name → function; each
--- function runs alone and fails by an error.
--- Usage: nvim --clean --headless -l runner.lua FILE…
local here = vim.fs.dirname(vim.fs.normalize(debug.getinfo(1, 'S').source:sub(2)))
package.path = here .. '/?.lua;' .. package.path
local child = require('child')

local function shown(value)
  return type(value) == 'string' and ('%q'):format(value) or vim.inspect(value)
end

--- Fails where the two differ, at the caller's line.
function _G.check(got, expected, what)
  if not vim.deep_equal(got, expected) then
    error(
      ('%s\n  got      %s\n  expected %s'):format(what or 'differs', shown(got), shown(expected)),
      2
    )
  end
end

local passed, failed = 0, 0
local only = vim.env.ONLY
for _, file in ipairs(arg) do
  local tests = assert(loadfile(file))()
  local names = vim.tbl_keys(tests)
  table.sort(names)
  for _, name in ipairs(names) do
    local full = vim.fs.basename(file):gsub('%.lua$', '') .. ': ' .. name
    if not only or full:find(only, 1, true) then
      local ok, problem = xpcall(tests[name], function(problem)
        return vim.env.TRACE and debug.traceback(problem, 2) or problem
      end)
      child.stop_all()
      if ok then
        passed = passed + 1
        io.write('ok    ', full, '\n')
      else
        failed = failed + 1
        io.write('FAIL  ', full, '\n      ', tostring(problem):gsub('\n', '\n      '), '\n')
      end
      io.flush()
    end
  end
end
io.write(('%d passed, %d failed\n'):format(passed, failed))
os.exit(failed == 0 and passed > 0 and 0 or 1)
