--- What a person does in Neovim, with the real server and a scripted model.
local child = require('child')

local T = {}

--- A zombie has ended too.
local function gone(pid)
  local file = io.open(('/proc/%d/stat'):format(pid))
  local stat = file and file:read('*a') or ''
  if file then
    file:close()
  end
  return stat == '' or stat:match('%) (%a)') == 'Z'
end

local pending = 'require("copydesk").status().pending > 0'

local function edit_step(file, old, new)
  return {
    calls = { { name = 'Edit', input = { file_path = file, old_string = old, new_string = new } } },
  }
end

local function read_step(file)
  return { calls = { { name = 'Read', input = { file_path = file } } } }
end

T['unsaved text is seen, the edit is approved, and lands in the buffer alone'] = function()
  local model = child.model({
    read_step('a.txt'),
    edit_step('a.txt', 'two', 'TWO'),
    { text = 'All **done**.' },
  })
  local c = child.with_server(model, { files = { ['a.txt'] = 'one\ntwo\nthree\n' } })
  local buf = c:edit('a.txt')
  c:type('ggOunsaved<Esc>')
  c:wait('vim.api.nvim_buf_line_count(0) == 4')
  c:cmd('Copydesk send shout the second line')
  c:wait(pending)
  check(c:lines(buf), { 'unsaved', 'one', 'two', 'three' }, 'nothing changes before the answer')
  check(c:lua('return vim.api.nvim_get_current_buf()'), buf, 'the focus stays')
  c:cmd('Copydesk approve')
  c:wait('#turns > 0')
  check(c:lua('return turns'), { 'end_turn' })
  check(c:lines(buf), { 'unsaved', 'one', 'TWO', 'three' })
  check(c:disk('a.txt'), 'one\ntwo\nthree\n')
  check(model.saw('unsaved'), true)
  check(c:lua('return vim.bo[...].modified', buf), true)
  local transcript = c:lua(
    [[return table.concat(vim.api.nvim_buf_get_lines(vim.fn.bufnr('copydesk://transcript'), 0, -1, false), '\n')]]
  )
  for _, part in ipairs({ 'shout the second line', 'a.txt', '-two\n+TWO', 'All **done**.' }) do
    check(transcript:find(part, 1, true) ~= nil, true, 'the transcript shows ' .. part)
  end
  c:type('u')
  c:wait(('vim.api.nvim_buf_get_lines(%d, 2, 3, false)[1] == "two"'):format(buf))
  check(c:lines(buf), { 'unsaved', 'one', 'two', 'three' }, 'one undo takes back the edit only')
  c:type('u')
  c:wait(('vim.api.nvim_buf_line_count(%d) == 3'):format(buf))
  check(c:lines(buf), { 'one', 'two', 'three' })
end

T['a file that a command changes is shown as it is, and its change can be taken back'] = function()
  local script = "sed -i 's/two/TWO/' a.txt; sed -i 's/one/ONE/' b.txt"
  local model = child.model({
    { calls = { { name = 'Bash', input = { command = script, description = 'shout' } } } },
    { text = 'Done.' },
  })
  local c = child.with_server(model, {
    files = { ['a.txt'] = 'one\ntwo\nthree\n', ['b.txt'] = 'one\n' },
  })
  local other = c:edit('b.txt')
  c:type('Gomine<Esc>')
  c:wait(('vim.api.nvim_buf_line_count(%d) == 2'):format(other))
  c:cmd('set hidden')
  local buf = c:edit('a.txt')
  c:cmd('Copydesk send shout')
  c:wait(pending)
  c:cmd('Copydesk approve')
  c:wait('#turns > 0')
  check(c:lines(buf), { 'one', 'TWO', 'three' })
  check(c:lua('return vim.bo[...].modified', buf), false)
  check(c:lines(other), { 'one', 'mine' }, 'unsaved text stays')
  check(model.saw('[changed: a.txt +1 −1'), true)
  check(model.saw('while the editor holds unsaved text'), true)
  c:cmd('Copydesk rejectall')
  c:wait(('vim.api.nvim_buf_get_lines(%d, 1, 2, false)[1] == "two"'):format(buf))
end

T['typing goes on in insert mode while the edit arrives'] = function()
  local model = child.model({ read_step('a.txt'), edit_step('a.txt', 'one', 'ONE\nand more') })
  local c = child.with_server(model, { files = { ['a.txt'] = 'one\ntwo\n' } })
  local buf = c:edit('a.txt')
  c:cmd('Copydesk send change it')
  c:wait(pending)
  c:type('Gofirst ')
  c:wait('vim.api.nvim_get_current_line() == "first "')
  c:cmd('Copydesk approve')
  c:wait('vim.api.nvim_buf_get_lines(' .. buf .. ', 0, 1, false)[1] == "ONE"')
  check(c:mode(), 'i')
  c:type('second')
  c:wait('vim.api.nvim_get_current_line() == "first second"')
  check(c:lines(buf), { 'ONE', 'and more', 'two', 'first second' })
  c:wait('#turns > 0')
  c:type('<Esc>uu')
  c:wait('vim.api.nvim_buf_get_lines(' .. buf .. ', 0, 1, false)[1] == "one"')
  check(c:lines(buf), { 'one', 'two', 'first ' })
end

T['twenty edits arrive while the person types: nothing is lost'] = function()
  local lines, steps = {}, { read_step('a.txt') }
  for i = 1, 20 do
    lines[i] = ('line %02d'):format(i)
    steps[#steps + 1] = edit_step('a.txt', lines[i], ('LINE %02d'):format(i))
  end
  local model = child.model(steps)
  local c = child.with_server(model, {
    files = { ['a.txt'] = table.concat(lines, '\n') .. '\n' },
    config = {
      settings = vim.tbl_extend(
        'force',
        model.settings,
        { mode = 'edit', edits = { save = 'never' } }
      ),
    },
  })
  local buf = c:edit('a.txt')
  c:cmd('Copydesk send shout')
  local typed = {}
  local ended = vim.wait(60000, function()
    typed[#typed + 1] = 'mine ' .. #typed
    c:type('Go' .. typed[#typed] .. '<Esc>')
    return c:lua('return #turns > 0')
  end, 200)
  check(ended, true)
  c:type('Goend<Esc>')
  c:wait('vim.api.nvim_get_current_line() == "end"')
  local expected = {}
  for i = 1, 20 do
    expected[i] = ('LINE %02d'):format(i)
  end
  vim.list_extend(expected, typed)
  expected[#expected + 1] = 'end'
  local unlike = vim.tbl_filter(function(result)
    return not result:match('^Changed') and not result:find('line 01', 1, true)
  end, model.results())
  check(unlike, {}, 'every edit landed')
  check(c:lines(buf), expected)
  check(c:lua('return turns'), { 'end_turn' })
end

--- One edit of a file open and clean in the editor, approved; gives the child after the turn.
local function approved(files, name, steps)
  local model = child.model(steps)
  local c = child.with_server(model, { files = files })
  local buf = c:edit(name)
  c:cmd('Copydesk send go')
  c:wait(pending)
  c:cmd('Copydesk approve')
  c:wait('#turns > 0')
  check(c:lua('return turns'), { 'end_turn' }, table.concat(model.results(), '\n'))
  return c, buf, model
end

local function card_statuses(c)
  return c:lua([[
    local statuses = {}
    for _, entry in ipairs(require('copydesk.session').entries()) do
      if entry.call then statuses[#statuses + 1] = entry.call.status end
    end
    return statuses
  ]])
end

T['a clean buffer is saved once the edit is approved'] = function()
  local c, buf = approved(
    { ['a.txt'] = 'one\ntwo\n' },
    'a.txt',
    { read_step('a.txt'), edit_step('a.txt', 'two', 'TWO') }
  )
  check(c:lines(buf), { 'one', 'TWO' })
  check(c:disk('a.txt'), 'one\nTWO\n')
  check(c:lua('return vim.bo[...].modified', buf), false)
end

T['a CRLF file stays one on disk'] = function()
  local c = approved(
    { ['a.txt'] = 'one\r\ntwo\r\n' },
    'a.txt',
    { read_step('a.txt'), edit_step('a.txt', 'two', 'TWO\nthree') }
  )
  check(c:disk('a.txt'), 'one\r\nTWO\r\nthree\r\n')
end

T['a text without final newline is written as it is'] = function()
  local write =
    { calls = { { name = 'Write', input = { file_path = 'a.txt', content = 'x\ny' } } } }
  local c = approved({ ['a.txt'] = 'one\ntwo\n' }, 'a.txt', { read_step('a.txt'), write })
  check(card_statuses(c), { 'completed', 'completed' })
  check(c:disk('a.txt'), 'x\ny')
end

T['an empty open file is filled'] = function()
  local write =
    { calls = { { name = 'Write', input = { file_path = 'a.txt', content = 'x\ny\n' } } } }
  local c, buf = approved({ ['a.txt'] = '' }, 'a.txt', { read_step('a.txt'), write })
  check(card_statuses(c), { 'completed', 'completed' })
  check(c:lines(buf), { 'x', 'y' })
  check(c:disk('a.txt'), 'x\ny\n')
end

T['a file without final newline keeps that'] = function()
  local c = approved(
    { ['a.txt'] = 'one\ntwo' },
    'a.txt',
    { read_step('a.txt'), edit_step('a.txt', 'two', 'TWO') }
  )
  check(card_statuses(c), { 'completed', 'completed' })
  check(c:disk('a.txt'):gsub('\n$', ''), 'one\nTWO')
end

T['a rejection changes nothing and its words reach the model'] = function()
  local model =
    child.model({ read_step('a.txt'), edit_step('a.txt', 'one', 'ONE'), { text = 'As you like.' } })
  local c = child.with_server(model, { files = { ['a.txt'] = 'one\n' } })
  local buf = c:edit('a.txt')
  c:cmd('Copydesk send change it')
  c:wait(pending)
  c:cmd('Copydesk deny keep it small')
  c:wait('#turns > 0')
  check(c:lines(buf), { 'one' })
  check(model.saw('rejected'), true)
  check(model.saw('keep it small'), true)
end

T['a never saved buffer is read and edited'] = function()
  local c, model
  model = child.model({
    read_step('untitled:copydesk-1'),
    edit_step('untitled:copydesk-1', 'draft', 'final'),
  })
  c = child.with_server(model)
  c:type('imy draft<Esc>')
  c:wait('vim.api.nvim_get_current_line() == "my draft"')
  c:cmd('Copydesk send finish it')
  c:wait(pending)
  c:cmd('Copydesk approve')
  c:wait('#turns > 0')
  check(c:lines(1), { 'my final' })
end

T['a hidden buffer is edited, windows and focus stay'] = function()
  local model = child.model({ read_step('a.txt'), edit_step('a.txt', 'one', 'ONE') })
  local c = child.with_server(model, { files = { ['a.txt'] = 'one\n', ['b.txt'] = 'b\n' } })
  c:cmd('set hidden')
  local a = c:edit('a.txt')
  c:lua('vim.api.nvim_buf_set_lines(..., 1, 1, false, { "mine" })', a)
  local b = c:edit('b.txt')
  c:cmd('Copydesk send change it')
  c:wait(pending)
  c:cmd('Copydesk approve')
  c:wait('#turns > 0')
  check(c:lines(a), { 'ONE', 'mine' })
  check(c:lua('return vim.api.nvim_get_current_buf()'), b)
  check(c:disk('a.txt'), 'one\n')
end

T['a latin1 file stays one'] = function()
  local model = child.model({ read_step('a.txt'), edit_step('a.txt', 'caf', 'Caf') })
  local c = child.with_server(model, { files = { ['a.txt'] = 'caf\233\nend\n' } })
  local buf = c:edit('a.txt')
  c:lua('vim.api.nvim_buf_set_lines(..., 1, 2, false, { "END" })', buf)
  c:cmd('Copydesk send change it')
  c:wait(pending)
  c:cmd('Copydesk approve')
  c:wait('#turns > 0')
  check(c:lines(buf), { 'Café', 'END' })
  c:cmd(('call win_execute(bufwinid(%d), "write")'):format(buf))
  check(c:disk('a.txt'), 'Caf\233\nEND\n')
end

T['stop ends a running command and the turn'] = function()
  local model = child.model({
    { calls = { { name = 'Bash', input = { command = 'sleep 3600', description = 'wait' } } } },
  })
  local c = child.with_server(model)
  c:cmd('Copydesk send wait')
  c:wait(pending)
  c:cmd('Copydesk approve')
  c:wait(
    'vim.iter(require("copydesk.session").entries()):any(function(e) return e.call and e.call.status == "in_progress" end)'
  )
  c:cmd('Copydesk stop')
  c:wait('#turns > 0')
  check(c:lua('return turns'), { 'cancelled' })
  check(#model.requests(), 1)
end

T['command output is in the card'] = function()
  local model = child.model({
    {
      calls = {
        {
          name = 'Bash',
          input = { command = 'echo from the shell; exit 3', description = 'echo' },
        },
      },
    },
  })
  local c = child.with_server(model)
  c:cmd('Copydesk send run it')
  c:wait(pending)
  local transcript =
    [[table.concat(vim.api.nvim_buf_get_lines(vim.fn.bufnr('copydesk://transcript'), 0, -1, false), '\n')]]
  c:wait(transcript .. [[:find('echo from the shell; exit 3', 1, true)]])
  c:cmd('Copydesk approve')
  c:wait('#turns > 0')
  c:wait(transcript .. [[:find('\nfrom the shell\n', 1, true)]])
end

T['mode and model come from the server'] = function()
  local model = child.model({})
  local c = child.with_server(model)
  c:start()
  check(
    c:lua([[return vim.fn.getcompletion('Copydesk mode ', 'cmdline')]]),
    { 'ask', 'plan', 'edit', 'auto' }
  )
  c:cmd('Copydesk mode edit')
  c:wait('require("copydesk").status().mode == "edit"')
  check(c:lua('return require("copydesk").status().model'), 'mock/test')
end

T['a killed server is told and restart goes on'] = function()
  local model = child.model({ { text = 'first' }, { text = 'second' } })
  local c = child.with_server(model)
  c:cmd('Copydesk send hello')
  c:wait('#turns > 0')
  local pid = c:server('copydesk/status').pid
  vim.uv.kill(pid, 'sigkill')
  c:wait('#told > 0')
  check(c:lua('return told[1].message'):match(':Copydesk restart') ~= nil, true)
  c:cmd('Copydesk restart')
  c:wait('require("copydesk").status().state == "idle"')
  c:cmd('Copydesk send again')
  c:wait('#turns > 1')
  check(c:lua('return turns'), { 'end_turn', 'end_turn' })
end

T['a dead model endpoint is an error in the chat, and the server lives'] = function()
  local c = child.with_server({
    settings = {
      model = 'mock/test',
      providers = {
        mock = { protocol = 'openai', base_url = 'http://127.0.0.1:9/v1', api_key = 'x' },
      },
    },
  })
  c:cmd('Copydesk send hello')
  c:wait('#turns > 0', 'the turn to end')
  c:wait(
    'vim.iter(require("copydesk.session").entries()):any(function(e) return e.kind == "notice" and e.severity == "error" end)'
  )
  check(c:lua('return require("copydesk").status().state'), 'idle')
end

T['quitting Neovim ends the server'] = function()
  local model = child.model({})
  local c = child.with_server(model)
  c:start()
  local pid = c:server('copydesk/status').pid
  pcall(c.cmd, c, 'qall!')
  check(
    vim.wait(child.patience, function()
      return gone(pid)
    end, 20),
    true
  )
end

return T
