--- `:checkhealth copydesk`.
local M = {}

local health = vim.health

local function check_editor()
  if vim.fn.has('nvim-0.10') == 1 then
    health.ok('Neovim ' .. tostring(vim.version()))
  else
    health.error('Neovim 0.10 or newer is needed', { 'This is ' .. tostring(vim.version()) })
  end
  if
    pcall(vim.treesitter.language.add, 'markdown')
    and #vim.api.nvim_get_runtime_file('parser/markdown.*', true) > 0
  then
    health.ok('tree-sitter parser for Markdown')
  else
    health.info('no tree-sitter parser for Markdown: the chat uses the regex syntax')
  end
end

local function check_options()
  local config = require('copydesk.config')
  local problems = config.problems(config.given())
  for _, problem in ipairs(problems) do
    health.warn(problem, { 'See :help copydesk-options' })
  end
  if #problems == 0 then
    health.ok('options')
  end
end

local function check_program()
  local cmd = require('copydesk.config').get().cmd
  if vim.fn.executable(cmd[1]) == 0 then
    health.error(('"%s" was not found'):format(cmd[1]), {
      'Install it so that it is on the PATH of Neovim',
      'or set vim.g.copydesk = { cmd = { "/path/to/copydesk", "lsp" } }',
    })
    return
  end
  local path = vim.fn.exepath(cmd[1])
  local result = vim.system({ path, '--version' }, { text = true, timeout = 3000 }):wait()
  if result.code == 0 then
    health.ok(('%s (%s)'):format(vim.trim(result.stdout or ''), path))
  else
    health.warn(('%s --version failed'):format(path), { vim.trim(result.stderr or '') })
  end
end

local function check_server()
  local client = require('copydesk.client')
  local running = client.get()
  if not running then
    local problem = client.problem()
    if problem then
      health.error('the server is not running: ' .. problem)
    else
      health.info('the server is not running; the first :Copydesk command starts it')
    end
    return
  end
  health.ok(
    ('the server is running (client %d, root %s)'):format(running.id, running.config.root_dir)
  )
  local protocol =
    vim.tbl_get(running.server_capabilities, 'experimental', 'copydesk', 'protocolVersion')
  if protocol == 1 then
    health.ok('protocol version 1')
  else
    health.warn('protocol version ' .. tostring(protocol) .. ', this plugin speaks 1')
  end
  local answer, done = nil, false
  client.request('copydesk/status', vim.empty_dict(), function(problem, result)
    answer, done = not problem and result or nil, true
  end)
  vim.wait(2000, function()
    return done
  end)
  if type(answer) ~= 'table' then
    health.warn('the server did not tell its status')
    return
  end
  for _, field in ipairs({ 'version', 'model', 'logPath' }) do
    if type(answer[field]) == 'string' then
      health.info(field .. ': ' .. answer[field])
    end
  end
  for _, problem in ipairs(type(answer.problems) == 'table' and answer.problems or {}) do
    health.warn(type(problem) == 'table' and (problem.message or vim.inspect(problem)) or problem)
  end
end

local function check_review()
  local review = require('copydesk.review')
  local pending = review.pending()
  if pending > 0 then
    health.info(
      ('%d pending hunks in %d files (:Copydesk review)'):format(pending, #review.files())
    )
  end
  if vim.o.signcolumn == 'no' then
    health.info('\'signcolumn\' is "no": changes are drawn without their signs')
  end
end

function M.check()
  health.start('copydesk')
  check_editor()
  check_options()
  check_program()
  check_server()
  check_review()
  health.info('log of this plugin: ' .. require('copydesk.log').path())
end

return M
