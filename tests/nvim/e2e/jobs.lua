--- What runs is in the person's hands: passwords, with the real server.
local child = require('child')

local T = {}

local transcript =
  [[table.concat(vim.api.nvim_buf_get_lines(vim.fn.bufnr('copydesk://transcript'), 0, -1, false), '\n')]]

--- A child whose agent need not ask before it runs something.
local function with_auto(model, options)
  options = vim.tbl_extend('force', options or {}, {
    config = { settings = vim.tbl_extend('force', model.settings, { mode = 'auto' }) },
  })
  return child.with_server(model, options)
end

local function shows(c, part)
  c:wait(('%s:find(%q, 1, true)'):format(transcript, part), 'the transcript to show ' .. part)
end

local function terminal_step(input)
  return { calls = { { name = 'Terminal', input = input } } }
end

local getpass =
  [[python3 -c "import getpass; print('got', len(getpass.getpass('Password: ')), 'characters')"]]

--- Everything Neovim and the server have written, and what a macro or a history could hold.
local function kept(c)
  c:cmd('wshada!')
  local texts = {
    c:lua([[
      local all = { vim.fn.execute('messages'), vim.fn.getreg(':'), vim.inspect(told) }
      for _, name in ipairs({ 'cmd', 'input', 'search', 'expr', 'debug' }) do
        for i = 1, vim.fn.histnr(name) do all[#all + 1] = vim.fn.histget(name, i) end
      end
      for byte = string.byte('a'), string.byte('z') do
        all[#all + 1] = vim.fn.getreg(string.char(byte))
      end
      return table.concat(all, '\n')
    ]]),
  }
  for _, path in ipairs(vim.fs.find(function()
    return true
  end, { path = c.dir, type = 'file', limit = math.huge })) do
    local file = assert(io.open(path, 'rb'))
    texts[#texts + 1] = path .. '\n' .. file:read('*a')
    file:close()
  end
  return texts
end

T['a password goes to the program that asks, and nowhere else'] = function()
  local model = child.model({
    terminal_step({ action = 'start', command = getpass, wait_for = 'characters' }),
    terminal_step({ action = 'read', wait_for = 'characters', timeout = 30000 }),
    { text = 'Done.' },
  })
  local c = with_auto(model)
  c:lua([[
    asked = {}
    vim.api.nvim_create_autocmd('User', {
      pattern = 'CopydeskPasswordAsked',
      callback = function(event) asked[#asked + 1] = event.data.prompt end,
    })
    require('vim.lsp.log').set_level('TRACE')
  ]])
  local buf = c:edit('a.txt')
  c:cmd('Copydesk send log in')
  c:type('imine')
  shows(c, 'Password needed')
  check(c:lua('return asked'), { 'Password:' })
  check(c:mode(), 'i', 'typing is not stolen')
  check(c:lines(buf), { 'mine' })
  c:type('<Esc>:Copydesk password<CR>')
  c:wait([[vim.fn.getcmdprompt() == 'term-1: Password: ']])
  c:type('hunter2<CR>')
  c:wait('#turns > 0')
  check(model.saw('got 7 characters'), true)
  c:wait(('not %s:find("Password needed", 1, true)'):format(transcript))
  check(c:lines(buf), { 'mine' })
  local log = c:lua([[return table.concat(vim.fn.readfile(vim.lsp.get_log_path()), '\n')]])
  check(log:find('session/prompt', 1, true) ~= nil, true, 'the log holds what is sent')
  for _, text in ipairs(kept(c)) do
    check(text:find('hunter2', 1, true) == nil, true, text:match('^[^\n]*'))
  end
  check(table.concat(model.results(), '\n'):find('hunter2', 1, true), nil)
end

T['giving up types nothing, and a password in a command or a macro is refused'] = function()
  local model = child.model({
    terminal_step({ action = 'start', command = getpass, wait_for = 'characters' }),
    { text = 'It is your turn.' },
  })
  local c = with_auto(model)
  c:cmd('Copydesk chat')
  c:cmd('Copydesk send log in')
  c:wait('#turns > 0')
  shows(c, 'term-1 asks: Password:')
  c:lua([[vim.api.nvim_set_current_win(vim.fn.bufwinid('copydesk://transcript'))]])
  c:type('p')
  c:wait([[vim.fn.getcmdprompt() == 'term-1: Password: ']])
  c:type('wrong<Esc>')
  c:wait([[vim.fn.mode() == 'n']])
  shows(c, 'Password needed')
  c:type(':Copydesk password hunter2<CR>')
  c:wait('vim.inspect(told):find("not in the command", 1, true)')
  check(c:lua([[return vim.fn.histget('cmd', -1)]]):find('hunter2', 1, true), nil)
  c:type('<C-w>jqa:Copydesk password<CR>')
  c:wait('vim.inspect(told):find("macro", 1, true)')
  c:type('q:Copydesk password term-1<CR>')
  c:wait([[vim.fn.getcmdprompt() == 'term-1: Password: ']])
  c:type('<CR>')
  c:wait(('not %s:find("Password needed", 1, true)'):format(transcript))
  c:cmd('Copydesk password')
  c:wait('vim.inspect(told):find("no such program asks", 1, true)')
end

local function run_step(command)
  return { calls = { { name = 'Bash', input = { command = command, description = 'run' } } } }
end

--- Whether a program with these arguments runs.
local function runs(...)
  local wanted = table.concat({ ... }, '\0') .. '\0'
  for name in vim.fs.dir('/proc') do
    local file = name:match('^%d+$') and io.open('/proc/' .. name .. '/cmdline', 'rb')
    local line = file and file:read('*a')
    if file then
      file:close()
    end
    if line == wanted then
      return true
    end
  end
  return false
end

local function wait_for_end_of(...)
  local program = { ... }
  local ended = vim.wait(child.patience, function()
    return not runs(unpack(program))
  end, 20)
  check(ended, true, table.concat(program, ' ') .. ' has ended')
end

--- Puts the cursor on the line of the transcript that holds the text.
local function go_to(c, part)
  shows(c, part)
  c:lua(
    [[
    local win = vim.fn.bufwinid('copydesk://transcript')
    vim.api.nvim_set_current_win(win)
    vim.fn.cursor(1, 1)
    vim.fn.search('\\V' .. ..., 'W')
  ]],
    part
  )
end

T['a running command is stopped from its card, and the turn goes on'] = function()
  local model = child.model({
    run_step('echo begun; sleep 3141.25'),
    { text = 'As you like.' },
  })
  local c = with_auto(model)
  c:cmd('Copydesk send wait')
  shows(c, '\nbegun\n')
  shows(c, ' x stop   b to background')
  go_to(c, 'to background')
  check(runs('sleep', '3141.25'), true)
  c:type('x')
  c:wait('#turns > 0')
  wait_for_end_of('sleep', '3141.25')
  check(c:lua('return turns'), { 'end_turn' })
  check(c:lua(('return %s:find("to background", 1, true)'):format(transcript)), vim.NIL)
end

T['a running command goes to the background from its card, and is stopped there'] = function()
  local model = child.model({
    run_step('echo begun; sleep 3142.25; echo ended'),
    { text = 'It goes on.' },
  })
  local c = with_auto(model)
  c:cmd('Copydesk send wait')
  shows(c, '\nbegun\n')
  go_to(c, 'to background')
  c:type('b')
  c:wait('#turns > 0')
  c:wait('vim.inspect(told):find("goes on as job-1", 1, true)')
  check(runs('sleep', '3142.25'), true, 'it goes on')
  c:cmd('Copydesk kill job-1')
  wait_for_end_of('sleep', '3142.25')
end

T['the commands stop and send to the background without the cursor on a card'] = function()
  local model = child.model({
    run_step('echo begun; sleep 3143.25'),
    run_step('echo second; sleep 3144.25'),
    { text = 'Done.' },
  })
  local c = with_auto(model)
  local buf = c:edit('a.txt')
  c:cmd('Copydesk background')
  c:wait('vim.inspect(told):find("no command runs in the foreground", 1, true)')
  c:cmd('Copydesk send wait')
  shows(c, '\nbegun\n')
  c:cmd('Copydesk background')
  shows(c, '\nsecond\n')
  c:cmd('Copydesk kill')
  c:wait('#turns > 0')
  wait_for_end_of('sleep', '3144.25')
  check(runs('sleep', '3143.25'), true, 'the job goes on')
  c:cmd('Copydesk kill')
  wait_for_end_of('sleep', '3143.25')
  check(c:lua('return vim.api.nvim_get_current_buf()'), buf, 'the focus stays')
end

local function buffer_lines(c, name)
  return c:lua([[return vim.api.nvim_buf_get_lines(vim.fn.bufnr('^' .. ... .. '$'), 0, -1, false)]], name)
end

T['jobs are listed, typed into and stopped in the list'] = function()
  local model = child.model({
    terminal_step({ action = 'start', command = 'cat', quiet = 100 }),
    { calls = { { name = 'Bash', input = {
      command = 'sleep 3145.25',
      description = 'wait',
      run_in_background = true,
    } } } },
    { text = 'Both run.' },
  })
  local c = with_auto(model)
  c:cmd('Copydesk send begin')
  c:wait('#turns > 0')
  c:cmd('Copydesk jobs')
  local function line(number)
    return ('(vim.api.nvim_buf_get_lines(vim.fn.bufnr("^copydesk://jobs$"), %d, %d, false)[1] or "")'):format(
      number - 1,
      number
    )
  end
  c:wait(line(1) .. [[:find('^term%-1%s+running%s+%d+s%s+cat$')]])
  c:wait(line(2) .. [[:find('^job%-1%s+running%s+%d+s%s+sleep 3145.25$')]])
  check(c:lua('return vim.fn.bufname()'), 'copydesk://jobs')
  c:type('i')
  c:wait([[vim.fn.getcmdprompt() == 'Type into term-1: ']])
  c:type('hello there<CR>')
  c:wait([[vim.fn.mode() == 'n']])
  local shown = [[table.concat(vim.api.nvim_buf_get_lines(vim.fn.bufnr('^copydesk://output/term-1$'), 0, -1, false), '\n')]]
  c:type('<CR>')
  c:wait([[vim.fn.bufname() == 'copydesk://output/term-1']])
  local seen = vim.wait(child.patience, function()
    c:type('R')
    return c:lua('return ' .. shown) == 'hello there\nhello there'
  end, 50)
  check(seen, true, 'what was typed and what came back')
  c:type('q')
  c:wait([[vim.fn.bufname() == 'copydesk://jobs']])
  c:type('s')
  c:wait([[vim.fn.getcmdprompt() == 'Columns x rows of term-1: ' and vim.fn.getcmdline() == '80x24']])
  c:type('<C-u>100x30<CR>')
  c:wait([[vim.fn.mode() == 'n']])
  local resized = vim.wait(child.patience, function()
    c:type('s')
    c:wait([[vim.fn.getcmdprompt() == 'Columns x rows of term-1: ']])
    local is_so = c:lua('return vim.fn.getcmdline()') == '100x30'
    c:type('<C-c>')
    c:wait([[vim.fn.mode() == 'n']])
    return is_so
  end, 50)
  check(resized, true, 'the list knows the new size')
  c:cmd('Copydesk input job-1')
  c:wait('vim.inspect(told):find("no such program runs as job-1", 1, true)')
  c:type('jx')
  wait_for_end_of('sleep', '3145.25')
  c:wait(line(2) .. [[:find('stopped', 1, true)]])
  c:type('q')
  c:wait([[vim.fn.bufname() ~= 'copydesk://jobs']])
  c:cmd('Copydesk kill term-1')
  c:wait('vim.inspect(told):find("term-1: stop", 1, true)')
end

T['colours of commands are never shown raw'] = function()
  local command = [[printf '\033[1;31mred\033[0m \033]0;a title\007 and \033[38;5;2mgreen\033[m\n]]
    .. [[10%%\r100%%\n\033[2K\033[1A\033(Bend\n'; sleep 0.1; printf '\033[32'; sleep 0.2; printf 'mcut\033[0m\n']]
  local model = child.model({ run_step(command), { text = 'Done.' } })
  local c = with_auto(model)
  c:cmd('Copydesk send print')
  c:wait('#turns > 0')
  shows(c, 'red  and green\n100%\nend\ncut\n')
  c:cmd('Copydesk output')
  c:wait([[vim.fn.bufname() == 'copydesk://output/term-1']])
  local expected = { 'red  and green', '100%', 'end', 'cut' }
  check(buffer_lines(c, 'copydesk://output/term-1'), expected)
  -- The card shows the command as it was given, which names the sequences without being any.
  check(c:lua('return ' .. transcript):find('\27', 1, true), nil)
end

--- Whether a `sleep` of this length runs anywhere.
local function sleeps(seconds)
  for name in vim.fs.dir('/proc') do
    local file = name:match('^%d+$') and io.open(('/proc/%s/cmdline'):format(name))
    local words = file and file:read('*a')
    if file then
      file:close()
    end
    if words == ('sleep\0%s\0'):format(seconds) then
      return true
    end
  end
  return false
end

T['nothing outlives a killed Neovim'] = function()
  local model = child.model({
    {
      calls = {
        {
          name = 'Bash',
          input = {
            command = '(setsid sleep 3191.25 &); sleep 3191.25 & sleep 3191.25',
            run_in_background = true,
          },
        },
      },
    },
    { text = 'It runs.' },
  })
  local c = with_auto(model)
  c:cmd('Copydesk send begin')
  c:wait('#turns > 0')
  local runs = vim.wait(child.patience, function()
    return sleeps('3191.25')
  end, 20)
  check(runs, true, 'it runs')
  vim.uv.kill(c:lua('return vim.uv.os_getpid()'), 'sigkill')
  local ended = vim.wait(5000, function()
    return not sleeps('3191.25')
  end, 20)
  check(ended, true, 'nothing is left')
end

T['a long output is read page by page, a short one is there at once'] = function()
  local model = child.model({
    run_step('seq 1 40000'),
    run_step('echo short; echo; echo "end"'),
    { text = 'Done.' },
  })
  local c = with_auto(model)
  c:cmd('Copydesk send count')
  c:wait('#turns > 0')
  c:cmd('Copydesk output')
  c:wait([[vim.fn.bufname() == 'copydesk://output/term-2']])
  check(buffer_lines(c, 'copydesk://output/term-2'), { 'short', '', 'end' })
  c:type('q')
  go_to(c, 'seq 1 40000')
  c:type('o')
  c:wait([[vim.fn.bufname() == 'copydesk://output/term-1']])
  local first = #buffer_lines(c, 'copydesk://output/term-1')
  check(first > 1000 and first < 20000, true, 'one page: ' .. first)
  local whole = vim.wait(child.patience, function()
    c:type('G')
    return c:lua('return vim.fn.getline("$")') == '40000'
  end, 20)
  check(whole, true, 'the end comes')
  local expected = {}
  for i = 1, 40000 do
    expected[i] = tostring(i)
  end
  check(buffer_lines(c, 'copydesk://output/term-1'), expected)
  check(c:lua('return vim.bo.modifiable'), false)
end

return T
