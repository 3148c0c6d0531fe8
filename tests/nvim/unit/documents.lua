--- Which documents the server knows and what it is told of them.
local child = require('child')

local T = {}

local function uris_opened(c)
  local uris = {}
  for _, params in ipairs(c:received('textDocument/didOpen')) do
    uris[#uris + 1] = params.textDocument.uri
  end
  table.sort(uris)
  return uris
end

local function last_state(c)
  local states = c:received('copydesk/editor/didChangeState')
  local by_uri = {}
  for _, document in ipairs(states[#states].documents) do
    by_uri[document.uri] = document
  end
  return by_uri
end

T['nothing is loaded or started before the first command'] = function()
  local c = child.new({ files = { ['a.txt'] = 'a\n' } })
  c:edit('a.txt')
  check(
    c:lua([[
      local loaded = {}
      for name in pairs(package.loaded) do
        if name:match('^copydesk') then loaded[#loaded + 1] = name end
      end
      return { loaded, #vim.lsp.get_clients(), vim.fn.exists(':Copydesk') }
    ]]),
    { {}, 0, 2 }
  )
end

T['the cost of the plugin file at startup is printed'] = function()
  local c = child.new()
  local times = c:lua([[
    local path = vim.api.nvim_get_runtime_file('plugin/copydesk.lua', false)[1]
    local times = {}
    for i = 1, 20 do
      vim.g.loaded_copydesk = nil
      local before = vim.uv.hrtime()
      dofile(path)
      times[i] = (vim.uv.hrtime() - before) / 1e6
    end
    table.sort(times)
    return times
  ]])
  io.write(('      plugin/copydesk.lua: %.3f ms\n'):format(times[10]))
  check(#times, 20)
end

T['the handshake offers what is there and no more'] = function()
  local c = child.new({
    config = {
      cmd = { 'python3', child.fixtures .. '/server.py' },
      settings = { model = 'mock/test', permissions = { allow = { 'Read' } } },
      trusted = true,
    },
  })
  c:start()
  local init = c:received('initialize')[1]
  check(init.capabilities.general.positionEncodings, { 'utf-16' })
  check(init.capabilities.experimental.copydesk, {
    protocolVersion = 1,
    permission = vim.empty_dict(),
    save = vim.empty_dict(),
    editorState = vim.empty_dict(),
    review = vim.empty_dict(),
  })
  check(init.initializationOptions, {
    model = 'mock/test',
    permissions = { allow = { 'Read' } },
    trusted = true,
  })
  check(c:received('session/new')[1].cwd, c.work)
end

T['trust is only claimed where the person set it'] = function()
  local c = child.new()
  c:start()
  check(c:received('initialize')[1].initializationOptions.trusted, nil)
end

T['settings given later are passed on'] = function()
  local c = child.new()
  c:start()
  c:lua([[require('copydesk').setup({ settings = { mode = 'plan' } })]])
  check(c:received('workspace/didChangeConfiguration')[1], { settings = { mode = 'plan' } })
end

T['every listed file buffer is opened, whatever its type, later ones too'] = function()
  local c = child.new({ files = { ['a.weird'] = 'a\n', ['b.lua'] = 'b\n', ['c'] = 'c\n' } })
  c:cmd('set hidden')
  c:edit('a.weird')
  c:edit('b.lua')
  c:start()
  c:edit('c')
  c:cmd('help')
  c:cmd('terminal true')
  c:wait('require("copydesk.documents").attached(vim.fn.bufnr("/c$"))')
  check(uris_opened(c), { c:uri('a.weird'), c:uri('b.lua'), c:uri('c') })
end

T['unnamed buffers have URIs of their own, and become files when written'] = function()
  local c = child.new()
  c:start()
  c:cmd('set hidden')
  c:type('ione<Esc>')
  c:wait('vim.api.nvim_get_current_line() == "one"')
  c:cmd('enew')
  c:type('itwo<Esc>')
  c:wait('vim.api.nvim_get_current_line() == "two"')
  local second = c:lua('return vim.api.nvim_get_current_buf()')
  c:wait('require("copydesk.documents").attached(vim.api.nvim_get_current_buf())')
  check(c:server_text('untitled:copydesk-1'), 'one\n')
  check(c:server_text('untitled:copydesk-' .. second), 'two\n')
  c:cmd('write named.txt')
  check(c:server_text('untitled:copydesk-' .. second), nil)
  check(c:server_text(c:uri('named.txt')), 'two\n')
  for _, uri in ipairs(uris_opened(c)) do
    check(uri ~= 'file://', true)
  end
end

T['typing reaches the server before a request that depends on it'] = function()
  local c = child.new({ files = { ['a.txt'] = 'a\n' } })
  c:edit('a.txt')
  c:start()
  c:type('ccunsaved<Esc>')
  c:wait('vim.api.nvim_get_current_line() == "unsaved"')
  c:cmd('Copydesk send go')
  local seen
  for _, message in ipairs(c:server('fixture/received').messages) do
    if message.method == 'textDocument/didChange' then
      seen = 'changed'
    elseif message.method == 'session/prompt' then
      check(seen, 'changed')
      seen = 'prompted'
    end
  end
  check(seen, 'prompted')
  check(c:server_text(c:uri('a.txt')), 'unsaved\n')
end

T['the state of each document is told: encoding, ending, dirty, read-only'] = function()
  local c = child.new({
    files = {
      ['plain'] = 'a\n',
      ['bom'] = '\239\187\191a\n',
      ['latin'] = 'caf\233\n',
      ['dos'] = 'a\r\nb\r\n',
      ['mixed'] = 'a\r\nb\n',
    },
  })
  c:cmd('set hidden')
  for _, name in ipairs({ 'plain', 'bom', 'latin', 'dos', 'mixed' }) do
    c:edit(name)
  end
  c:start()
  c:cmd('setlocal readonly')
  c:cmd('buffer plain')
  c:type('ix<Esc>')
  c:wait('vim.bo.modified')
  local ok = vim.wait(child.patience, function()
    local state = last_state(c)[c:uri('plain')]
    return state and state.dirty
  end, 10)
  check(ok, true)
  local state = last_state(c)
  local function of(name, field)
    return state[c:uri(name)][field]
  end
  check({ of('bom', 'encoding'), of('bom', 'bom') }, { 'utf-8', true })
  check({ of('latin', 'encoding'), of('latin', 'bom') }, { 'iso-8859-1', false })
  check({ of('plain', 'eol'), of('dos', 'eol'), of('mixed', 'eol') }, { 'lf', 'crlf', 'mixed' })
  check({ of('mixed', 'readOnly'), of('plain', 'readOnly') }, { true, false })
  check({ of('mixed', 'dirty'), of('plain', 'dirty') }, { false, true })
  check(of('plain', 'version'), c:version(c:lua('return vim.fn.bufnr("plain")')))
end

T['a reloaded and a wiped buffer are told'] = function()
  local c = child.new({ files = { ['a.txt'] = 'a\n' } })
  local buf = c:edit('a.txt')
  c:start()
  vim.fn.writefile({ 'longer than before' }, c.work .. '/a.txt')
  c:cmd('edit!')
  check(c:server_text(c:uri('a.txt')), 'longer than before\n')
  c:wait('require("copydesk.documents").attached(' .. buf .. ')')
  c:type('ix<Esc>')
  c:wait('vim.bo.modified')
  check(c:server_text(c:uri('a.txt')), 'xlonger than before\n')
  c:cmd('bwipeout!')
  check(c:server_text(c:uri('a.txt')), nil)
end

local function save(c, ...)
  return c:ask('copydesk/editor/save', { uris = { ... } }).results
end

T['saving writes with autocommands, and reports what it cannot'] = function()
  local c = child.new({ files = { ['a.txt'] = 'a\n', ['b.txt'] = 'b\n', ['c.txt'] = 'c\n' } })
  c:cmd('set hidden confirm')
  c:start()
  c:cmd('autocmd BufWritePre * let g:wrote = get(g:, "wrote", 0) + 1')
  for _, name in ipairs({ 'c.txt', 'b.txt', 'a.txt' }) do
    c:edit(name)
    c:lua('vim.api.nvim_buf_set_lines(0, 0, 1, false, { "changed" })')
  end
  vim.fn.writefile({ 'someone else was here' }, c.work .. '/c.txt')
  c:cmd('buffer b.txt | setlocal readonly | buffer a.txt')
  local results = save(c, c:uri('a.txt'), c:uri('b.txt'), c:uri('c.txt'), c:uri('none.txt'))
  check(
    { results[1].saved, results[2].saved, results[3].saved, results[4].saved },
    { true, false, false, false }
  )
  check(results[3].reason:match('changed on disk') ~= nil, true)
  check(c:disk('a.txt'), 'changed\n')
  check(c:disk('b.txt'), 'b\n')
  check(c:disk('c.txt'), 'someone else was here\n')
  check(c:lua('return vim.g.wrote'), 1)
  check(last_state(c)[c:uri('a.txt')].dirty, false)
end

T['a write that fails is reported'] = function()
  local c = child.new({ files = { ['d/a.txt'] = 'a\n' } })
  c:edit('d/a.txt')
  c:start()
  c:cmd('autocmd BufWritePre * throw "no"')
  c:lua('vim.api.nvim_buf_set_lines(0, 0, 1, false, { "changed" })')
  local result = save(c, c:uri('d/a.txt'))[1]
  check(result.saved, false)
  check(result.reason:match('no') ~= nil, true)
end

T['bytes that are not text are not sent'] = function()
  local c = child.new({ files = { ['a.bin'] = 'a\255\254b\n' } })
  c:cmd('edit ++enc=utf-8 ++bad=keep a.bin')
  c:start()
  check(uris_opened(c), {})
end

return T
