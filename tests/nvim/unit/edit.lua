--- workspace/applyEdit, against a puppet server.
local child = require('child')

local T = {}

local function opened(text, name)
  local c = child.new({ files = { [name or 'a.txt'] = text } })
  local buf = c:edit(name or 'a.txt')
  c:start()
  return c, buf, c:uri(name or 'a.txt')
end

--- The buffer after one edit, and that the server was told the same.
local function edits_to(text, edits, expected)
  local c, buf, uri = opened(text)
  check(c:apply(uri, c:version(buf), edits), { applied = true })
  check(c:lines(buf), expected)
  check(c:server_text(uri), c:lua('return require("copydesk.documents").text(...)', buf))
  return c, buf
end

T['replaces inside a line'] = function()
  edits_to('one\ntwo\nthree\n', { { 1, 0, 1, 3, 'TWO' } }, { 'one', 'TWO', 'three' })
end

T['several edits count from the same text'] = function()
  edits_to(
    'one\ntwo\nthree\n',
    { { 0, 0, 0, 0, 'zero\n' }, { 1, 0, 2, 0, '' }, { 2, 5, 2, 5, '!' } },
    { 'zero', 'one', 'three!' }
  )
end

T['what belongs together is told as one change'] = function()
  local c, buf, uri = opened('one\ntwo\nthree\n')
  c:lua(
    [[
    local client, buf = require('copydesk.client'), ...
    client.in_one(function()
      for row = 2, 0, -1 do
        vim.api.nvim_buf_set_text(buf, row, 0, row, 1, { 'X' })
        client.notify('$/setTrace', { value = 'off' }) -- sends what waits
      end
    end)
  ]],
    buf
  )
  local told = c:received('textDocument/didChange')
  check(#told, 1)
  check(#told[1].contentChanges, 3)
  check(told[1].textDocument, { uri = uri, version = c:version(buf) })
  check(c:server_text(uri), 'Xne\nXwo\nXhree\n')
  c:type('Golast<Esc>')
  c:wait('vim.api.nvim_buf_line_count(0) == 4')
  check(c:server_text(uri), 'Xne\nXwo\nXhree\nlast\n')
end

T['inserts at one place keep their order'] = function()
  edits_to('x\n', { { 0, 0, 0, 0, 'a' }, { 0, 0, 0, 0, 'b' } }, { 'abx' })
end

T['appends after the last line'] = function()
  edits_to('one\n', { { 1, 0, 1, 0, 'two\nthree\n' } }, { 'one', 'two', 'three' })
end

T['replaces the last line with its ending'] = function()
  edits_to('one\ntwo\n', { { 1, 0, 2, 0, 'TWO\n' } }, { 'one', 'TWO' })
end

T['deletes the last line'] = function()
  edits_to('one\ntwo\n', { { 1, 0, 2, 0, '' } }, { 'one' })
end

T['a removed final newline stays removed on disk'] = function()
  local c = edits_to('one\ntwo\n', { { 1, 0, 2, 0, 'TWO' } }, { 'one', 'TWO' })
  check(#c:received('textDocument/didChange'), 1, 'told as one change')
  c:cmd('write')
  check(c:disk('a.txt'), 'one\nTWO')
end

T['a final newline is added'] = function()
  local c = edits_to('one', { { 0, 3, 0, 3, '\n' } }, { 'one' })
  check(#c:received('textDocument/didChange'), 1, 'told as one change')
  c:type('ox<Esc>')
  c:wait('vim.api.nvim_buf_line_count(0) == 2')
  check(c:server_text(c:uri('a.txt')), 'one\nx\n')
  c:type('u')
  c:wait('vim.api.nvim_buf_line_count(0) == 1')
  c:cmd('write')
  check(c:disk('a.txt'), 'one\n')
end

T['replaces the whole text'] = function()
  edits_to('one\ntwo\n', { { 0, 0, 2, 0, 'x\ny\n' } }, { 'x', 'y' })
end

T['fills an empty file'] = function()
  local c, buf, uri = opened('')
  check(c:apply(uri, c:version(buf), { { 0, 0, 0, 0, 'x\ny' } }), { applied = true })
  check(c:lines(buf), { 'x', 'y' })
end

T['columns are UTF-16'] = function()
  edits_to('𝒳é日x\n', { { 0, 2, 0, 3, 'e' }, { 0, 4, 0, 5, 'X' } }, { '𝒳e日X' })
end

T['a CRLF file stays one'] = function()
  local c, buf = edits_to(
    'one\r\ntwo\r\n',
    { { 1, 0, 1, 3, 'TWO\r\nthree' } },
    { 'one', 'TWO', 'three' }
  )
  check(c:lua('return vim.bo[...].fileformat', buf), 'dos')
  c:cmd('write')
  check(c:disk('a.txt'), 'one\r\nTWO\r\nthree\r\n')
end

T['mixed line endings of other lines are kept'] = function()
  local c = edits_to(
    'one\r\ntwo\nthree\r\n',
    { { 1, 0, 1, 3, 'TWO' } },
    { 'one\r', 'TWO', 'three\r' }
  )
  c:cmd('write')
  check(c:disk('a.txt'), 'one\r\nTWO\nthree\r\n')
end

T['a stale edit is refused, also right after opening'] = function()
  local c, buf, uri = opened('one\ntwo\n')
  local version = c:version(buf)
  c:lua('vim.api.nvim_buf_set_lines(..., 0, 0, false, { "USER" })', buf)
  local result = c:apply(uri, version, { { 0, 0, 0, 3, 'ONE' } })
  check(result.applied, false)
  check(result.failedChange, 0)
  check(result.failureReason:match('changed') ~= nil, true)
  check(c:lines(buf), { 'USER', 'one', 'two' })
  check(c:server_text(uri), 'USER\none\ntwo\n', 'the change that made it stale was told at once')
end

T['a stale second document leaves the first alone'] = function()
  local c = child.new({ files = { ['a.txt'] = 'a\n', ['b.txt'] = 'b\n' } })
  local a, b = c:edit('a.txt'), c:edit('b.txt')
  c:start()
  local function change(name, version)
    return {
      textDocument = { uri = c:uri(name), version = version },
      edits = {
        {
          range = { start = { line = 0, character = 0 }, ['end'] = { line = 0, character = 1 } },
          newText = 'AGENT',
        },
      },
    }
  end
  local version = c:version(b)
  c:lua('vim.api.nvim_buf_set_lines(..., 0, 0, false, { "USER" })', b)
  local result = c:ask('workspace/applyEdit', {
    edit = { documentChanges = { change('a.txt', c:version(a)), change('b.txt', version) } },
  })
  check({ result.applied, result.failedChange }, { false, 1 })
  check(c:lines(a), { 'a' })
  check(c:lines(b), { 'USER', 'b' })
end

T['nomodifiable and readonly are refused'] = function()
  for _, option in ipairs({ 'nomodifiable', 'readonly' }) do
    local c, buf, uri = opened('one\n')
    c:cmd('setlocal ' .. option)
    local result = c:apply(uri, c:version(buf), { { 0, 0, 0, 3, 'ONE' } })
    check(result.applied, false)
    check(result.failureReason:find(option, 1, true) ~= nil, true)
    check(c:lines(buf), { 'one' })
  end
end

T['what the encoding cannot hold is refused'] = function()
  local c, buf, uri = opened('caf\233\n')
  check(c:lua('return vim.bo[...].fileencoding', buf), 'latin1')
  local result = c:apply(uri, c:version(buf), { { 0, 0, 0, 0, '日' } })
  check(result.applied, false)
  check(c:apply(uri, c:version(buf), { { 0, 0, 0, 0, 'ü' } }), { applied = true })
  c:cmd('write')
  check(c:disk('a.txt'), '\252caf\233\n')
end

T['ranges out of bounds and overlaps are refused'] = function()
  local c, buf, uri = opened('one\n')
  check(c:apply(uri, c:version(buf), { { 5, 0, 6, 0, 'x' } }).applied, false)
  check(c:apply(uri, c:version(buf), { { 0, 0, 0, 2, 'x' }, { 0, 1, 0, 3, 'y' } }).applied, false)
  check(c:apply(uri, c:version(buf), { { 0, 2, 0, 1, 'x' } }).applied, false)
  check(c:lines(buf), { 'one' })
end

T['malformed requests are answered'] = function()
  local c = opened('one\n')
  for _, params in ipairs({
    { edit = 3 },
    { edit = { documentChanges = { 1 } } },
    { edit = { documentChanges = { { textDocument = {}, edits = {} } } } },
    { edit = { documentChanges = { { kind = 'explode' } } } },
  }) do
    local result, problem = c:ask('workspace/applyEdit', params)
    check(result ~= nil and problem == nil, true)
  end
end

T['one undo takes back only the edit'] = function()
  local c, buf, uri = opened('one\ntwo\nthree\n')
  c:type('ggOmine<Esc>')
  c:wait('vim.api.nvim_buf_line_count(0) == 4')
  c:apply(uri, c:version(buf), { { 2, 0, 2, 3, 'TWO' } })
  check(c:lines(buf), { 'mine', 'one', 'TWO', 'three' })
  c:type('u')
  c:wait('vim.api.nvim_buf_get_lines(0, 2, 3, false)[1] == "two"')
  check(c:lines(buf), { 'mine', 'one', 'two', 'three' })
end

T['in insert mode an edit is an undo step of its own and the cursor stays'] = function()
  local c, buf, uri = opened('one\ntwo\nthree\n')
  c:type('Goab')
  c:wait('vim.api.nvim_buf_get_lines(0, 3, 4, false)[1] == "ab"')
  c:apply(uri, c:version(buf), { { 0, 0, 1, 0, 'ONE\nmore\n' } })
  check(c:mode(), 'i')
  c:type('cd')
  c:wait('vim.api.nvim_buf_get_lines(0, 4, 5, false)[1] == "abcd"')
  check(c:lines(buf), { 'ONE', 'more', 'two', 'three', 'abcd' })
  c:type('<Esc>')
  c:wait('vim.api.nvim_get_mode().mode == "n"')
  c:type('u')
  c:wait('vim.api.nvim_buf_get_lines(0, -2, -1, false)[1] ~= "abcd"')
  check(c:lines(buf), { 'ONE', 'more', 'two', 'three', 'ab' })
  c:type('u')
  c:wait('vim.api.nvim_buf_line_count(0) == 4')
  check(c:lines(buf), { 'one', 'two', 'three', 'ab' })
end

T['the undo options of the buffer stay'] = function()
  local c, buf, uri = opened('one\n')
  c:cmd('setglobal undolevels=77')
  c:cmd('setlocal undolevels=5')
  c:apply(uri, c:version(buf), { { 0, 0, 0, 3, 'ONE' } })
  check(c:lua('return { vim.go.undolevels, vim.bo[...].undolevels }', buf), { 77, 5 })
end

T['marks, extmarks, folds and cursor stay with their text'] = function()
  local lines = {}
  for i = 1, 50 do
    lines[i] = 'line ' .. i
  end
  local c, buf, uri = opened(table.concat(lines, '\n') .. '\n')
  c:cmd('set foldmethod=manual')
  c:cmd('20,25fold')
  c:cmd('30mark a')
  c:lua('mark = vim.api.nvim_buf_set_extmark(0, vim.api.nvim_create_namespace("t"), 39, 0, {})')
  c:lua('vim.api.nvim_win_set_cursor(0, { 45, 3 })')
  c:apply(uri, c:version(buf), { { 4, 0, 5, 0, 'new\nlines\n' } })
  check(
    c:lua([[return {
      vim.api.nvim_win_get_cursor(0),
      vim.api.nvim_buf_get_mark(0, 'a')[1],
      vim.api.nvim_buf_get_extmark_by_id(0, vim.api.nvim_create_namespace('t'), mark, {})[1],
      vim.fn.foldclosed(21), vim.fn.foldclosedend(21),
    }]]),
    { { 46, 3 }, 31, 40, 21, 26 }
  )
end

T['a hidden buffer is edited without a window or focus change'] = function()
  local c = child.new({ files = { ['a.txt'] = 'a\n', ['b.txt'] = 'b\n' } })
  c:cmd('set hidden')
  local a = c:edit('a.txt')
  local b = c:edit('b.txt')
  c:start()
  c:lua([[
    seen = {}
    vim.api.nvim_create_autocmd({ 'WinEnter', 'BufEnter', 'WinNew', 'TabEnter' }, {
      callback = function(event) seen[#seen + 1] = event.event end,
    })
  ]])
  check(c:apply(c:uri('a.txt'), c:version(a), { { 0, 0, 0, 1, 'A' } }), { applied = true })
  check(c:lines(a), { 'A' })
  check(
    c:lua('return { seen, vim.api.nvim_get_current_buf(), #vim.api.nvim_list_wins() }'),
    { {}, b, 1 }
  )
  check(c:disk('a.txt'), 'a\n')
end

T['the change and the dirty flag are told before the answer'] = function()
  local c, buf, uri = opened('one\n')
  c:apply(uri, c:version(buf), { { 0, 0, 0, 3, 'ONE' } })
  c:apply(uri, c:version(buf), { { 0, 0, 0, 3, 'TWO' } })
  local order, last_state = {}, nil
  for _, message in ipairs(c:server('fixture/received').messages) do
    if message.method == 'textDocument/didChange' then
      order[#order + 1] = 'change'
    elseif message.method == 'copydesk/editor/didChangeState' then
      last_state = message.params.documents[1]
    elseif not message.method and message.result and message.result.applied then
      order[#order + 1] = 'answer'
      check(last_state.dirty, true)
    end
  end
  check(order, { 'change', 'answer', 'change', 'answer' })
end

T['URIs with odd characters and symbolic links find their buffer'] = function()
  local name = 'odd [1] #é%20.txt'
  local c, buf = opened('x\n', name)
  local encoded = c:uri(name):gsub('%%(%x%x)', function(hex)
    return '%' .. hex:upper()
  end)
  check(c:apply(encoded, c:version(buf), { { 0, 0, 0, 1, 'y' } }), { applied = true })
  check(c:lines(buf), { 'y' })
  vim.uv.fs_symlink(c.work, c.dir .. '/link')
  local linked = vim.uri_from_fname(c.dir .. '/link/' .. name)
  check(c:apply(linked, c:version(buf), { { 0, 0, 0, 1, 'z' } }), { applied = true })
  check(c:lines(buf), { 'z' })
end

T['an unnamed buffer is edited by its own URI'] = function()
  local c = child.new()
  c:start()
  c:type('ihello<Esc>')
  c:wait('vim.api.nvim_get_current_line() == "hello"')
  local buf = c:lua('return vim.api.nvim_get_current_buf()')
  local uri = 'untitled:copydesk-' .. buf
  check(c:server_text(uri), 'hello\n')
  check(c:apply(uri, c:version(buf), { { 0, 0, 0, 5, 'HELLO' } }), { applied = true })
  check(c:lines(buf), { 'HELLO' })
  check(c:server_text(uri), 'HELLO\n')
end

local function operation(c, change)
  return c:ask('workspace/applyEdit', { edit = { documentChanges = { change } } })
end

T['create never truncates'] = function()
  local c, _, uri = opened('one\n')
  check(operation(c, { kind = 'create', uri = uri }).applied, false)
  check(
    operation(c, { kind = 'create', uri = uri, options = { ignoreIfExists = true } }).applied,
    false
  )
  check(operation(c, { kind = 'create', uri = uri, options = { overwrite = true } }).applied, false)
  check(c:disk('a.txt'), 'one\n')
  check(operation(c, { kind = 'create', uri = c:uri('new/b.txt') }), { applied = true })
  check(c:disk('new/b.txt'), '')
  local again = { kind = 'create', uri = c:uri('new/b.txt'), options = { ignoreIfExists = true } }
  check(operation(c, again), { applied = true })
end

T['delete keeps unsaved text, and the window when it deletes'] = function()
  local c, buf, uri = opened('one\n')
  c:lua('vim.api.nvim_buf_set_lines(..., 0, 0, false, { "USER" })', buf)
  check(operation(c, { kind = 'delete', uri = uri }).applied, false)
  check(c:lines(buf), { 'USER', 'one' })
  c:cmd('write')
  check(operation(c, { kind = 'delete', uri = uri }), { applied = true })
  check(vim.uv.fs_stat(c.work .. '/a.txt'), nil)
  check(
    c:lua('return { #vim.api.nvim_list_wins(), vim.api.nvim_buf_is_loaded(...) }', buf),
    { 1, false }
  )
end

T['rename takes the buffer along and replaces nothing'] = function()
  local c, buf, uri = opened('one\n')
  vim.fn.writefile({ 'b' }, c.work .. '/b.txt', 'b')
  check(operation(c, { kind = 'rename', oldUri = uri, newUri = c:uri('b.txt') }).applied, false)
  check(c:disk('b.txt'), 'b')
  check(
    operation(c, { kind = 'rename', oldUri = uri, newUri = c:uri('c.txt') }),
    { applied = true }
  )
  check(c:disk('c.txt'), 'one\n')
  check(c:lua('return vim.fs.basename(vim.api.nvim_buf_get_name(...))', buf), 'c.txt')
  check(c:server_text(c:uri('c.txt')), 'one\n')
  check(c:server_text(uri), nil)
  c:type('ix<Esc>')
  c:wait('vim.api.nvim_get_current_line() == "xone"')
  c:cmd('write')
  check(c:disk('c.txt'), 'xone\n')
end

return T
