--- Commands, permissions and the chat, against a puppet server.
local child = require('child')

local T = {}

local function started(options)
  local c = child.new(options)
  c:start()
  c:cmd('Copydesk chat')
  return c
end

local function transcript(c)
  return c:lua(
    [[return vim.api.nvim_buf_get_lines(vim.fn.bufnr('copydesk://transcript'), 0, -1, false)]]
  )
end

local function text(c)
  return table.concat(transcript(c), '\n')
end

local function wait_text(c, part)
  c:wait(
    ([[table.concat(vim.api.nvim_buf_get_lines(vim.fn.bufnr('copydesk://transcript'), 0, -1, false), '\n'):find(%q, 1, true)]]):format(
      part
    ),
    part
  )
end

local function count(c, part)
  local _, n = text(c):gsub(vim.pesc(part), '')
  return n
end

local function say(c, piece, id)
  c:update({
    sessionUpdate = 'agent_message_chunk',
    messageId = id or 'a1',
    content = { type = 'text', text = piece },
  })
end

local function permission(c, more)
  return c:ask_async(
    'session/request_permission',
    vim.tbl_extend('force', {
      sessionId = 's1',
      title = 'Run tests',
      description = 'the command is not known to be harmless',
      subject = { type = 'command', command = 'cargo test\n--all', cwd = c.work },
      options = {
        { optionId = 'once', name = 'Allow once', kind = 'allow_once' },
        { optionId = 'always', name = 'Always allow', kind = 'allow_always' },
        { optionId = 'no', name = 'Reject', kind = 'reject_once' },
      },
      _meta = { copydesk = { requestId = 'p1' } },
    }, more or {})
  )
end

local function told(c)
  local messages = {}
  for _, message in ipairs(c:lua('return told')) do
    messages[#messages + 1] = message.message
  end
  return table.concat(messages, '\n')
end

T['a prompt typed in the input is sent and cleared'] = function()
  local c = started()
  c:type('ihello<CR>there<C-s>')
  wait_text(c, 'hello\nthere')
  check(c:received('session/prompt')[1], {
    sessionId = 's1',
    prompt = { { type = 'text', text = 'hello\nthere' } },
  })
  c:wait([[vim.deep_equal(vim.api.nvim_buf_get_lines(0, 0, -1, false), { '' })]])
end

T['a prompt shown by the server is not shown twice'] = function()
  local c = started()
  c:update({
    sessionUpdate = 'user_message',
    messageId = 'm1',
    content = { { type = 'text', text = 'do it' } },
  })
  c:cmd('Copydesk send do it')
  wait_text(c, 'do it')
  check(count(c, 'do it'), 1)
end

T['text streams in at the end and the window follows'] = function()
  local c = started()
  local expected = {}
  for i = 1, 100 do
    say(c, ('word%d '):format(i) .. (i % 10 == 0 and '\n' or ''))
    expected[#expected + 1] = ('word%d '):format(i) .. (i % 10 == 0 and '\n' or '')
  end
  wait_text(c, 'word100')
  check(text(c):find(table.concat(expected), 1, true) ~= nil, true)
  check(
    c:lua([[
      local buf = vim.fn.bufnr('copydesk://transcript')
      local win = vim.fn.win_findbuf(buf)[1]
      return vim.api.nvim_win_get_cursor(win)[1] == vim.api.nvim_buf_line_count(buf)
    ]]),
    true
  )
end

T['a finished card folds, a failed one stays open, unknown kinds draw'] = function()
  local c = started()
  c:update({
    sessionUpdate = 'tool_call_update',
    toolCallId = 't1',
    title = 'Read a.txt',
    kind = 'read',
    status = 'in_progress',
  })
  wait_text(c, 'Read a.txt  running')
  c:update({
    sessionUpdate = 'tool_call_update',
    toolCallId = 't1',
    status = 'completed',
    content = { { type = 'content', content = { type = 'text', text = '1\tone\n2\t```\n' } } },
  })
  wait_text(c, 'Read a.txt  done')
  c:update({
    sessionUpdate = 'tool_call_update',
    toolCallId = 't2',
    title = 'Odd',
    kind = 'teleport',
    status = 'failed',
    content = {
      { type = 'hologram', x = 1 },
      { type = 'content', content = { type = 'text', text = 'broken' } },
    },
  })
  wait_text(c, 'broken')
  check(
    c:lua([[
      local buf = vim.fn.bufnr('copydesk://transcript')
      local win = vim.fn.win_findbuf(buf)[1]
      return vim.api.nvim_win_call(win, function()
        local function row(text) return vim.fn.search(text, 'nw') end
        return { vim.fn.foldclosed(row('1\tone')) == row('Read a.txt'), vim.fn.foldclosed(row('broken')) }
      end)
    ]]),
    { true, -1 }
  )
  check(text(c):find('[hologram]', 1, true) ~= nil, true)
end

T['a card whose changes wait for review says so'] = function()
  local c = started()
  local card = {
    sessionUpdate = 'tool_call_update',
    toolCallId = 't1',
    title = 'Edit a.txt',
    kind = 'edit',
    status = 'in_progress',
    _meta = { copydesk = { review = 2 } },
  }
  c:update(card)
  wait_text(c, '◇ ✎ Edit a.txt  your review')
  card._meta.copydesk.review, card.status = 0, 'completed'
  c:update(card)
  wait_text(c, '✓ ✎ Edit a.txt  done')
end

T['a diff is shown with its colours'] = function()
  local c = started()
  c:update({
    sessionUpdate = 'tool_call_update',
    toolCallId = 't1',
    title = 'Edit a.txt +1 −1',
    kind = 'edit',
    status = 'in_progress',
    content = {
      {
        type = 'diff',
        changes = { { operation = 'modify', path = c.work .. '/a.txt' } },
        patch = {
          format = 'git_patch',
          text = ('diff --git %s %s\nindex 1..2\n--- %s\n+++ %s\n@@ -1,2 +1,2 @@\n one\n-two\n+TWO\n'):format(
            c.work .. '/a.txt',
            c.work .. '/a.txt',
            c.work .. '/a.txt',
            c.work .. '/a.txt'
          ),
        },
      },
    },
  })
  wait_text(c, '+TWO')
  check(text(c):find('a.txt\n@@ -1,2 +1,2 @@\n one\n-two\n+TWO', 1, true) ~= nil, true)
  check(text(c):find('index 1', 1, true), nil)
  check(
    c:lua([[
      local buf = vim.fn.bufnr('copydesk://transcript')
      local found = {}
      for _, mark in ipairs(vim.api.nvim_buf_get_extmarks(buf, -1, 0, -1, { details = true })) do
        local line = vim.api.nvim_buf_get_lines(buf, mark[2], mark[2] + 1, false)[1]
        if mark[4].line_hl_group then found[line] = mark[4].line_hl_group end
      end
      return found
    ]]),
    { ['-two'] = 'CopydeskDiffDelete', ['+TWO'] = 'CopydeskDiffAdd' }
  )
end

T['terminal output arrives in pieces, without escape sequences'] = function()
  local c = started()
  c:update({ sessionUpdate = 'terminal_update', terminalId = 'x', command = 'make', cwd = c.work })
  c:update({
    sessionUpdate = 'tool_call_update',
    toolCallId = 't1',
    title = 'Run make',
    kind = 'execute',
    status = 'in_progress',
    content = { { type = 'terminal', terminalId = 'x' } },
  })
  local output = '\27[31mred\27[0m é 10%\r100%\r\nend\27]0;title\7\n'
  for i = 1, #output do
    c:update({
      sessionUpdate = 'terminal_output_chunk',
      terminalId = 'x',
      data = vim.base64.encode(output:sub(i, i)),
    })
  end
  c:update({ sessionUpdate = 'terminal_update', terminalId = 'x', exitStatus = { exitCode = 2 } })
  wait_text(c, 'exit code 2')
  check(text(c):find('$ make\n100%\nend\n', 1, true) ~= nil, true)
end

T['approve answers the oldest request once, and does nothing when there is none'] = function()
  local c = started()
  c:cmd('Copydesk approve')
  check(told(c):match('no permission is pending') ~= nil, true)
  local first = permission(c)
  local second = permission(c, { title = 'Second', _meta = { copydesk = { requestId = 'p2' } } })
  c:wait('require("copydesk").status().pending == 2')
  wait_text(c, 'cargo test\n--all')
  wait_text(c, '1 of 2')
  c:cmd('Copydesk approve')
  check(c:answer(first), { outcome = { outcome = 'selected', optionId = 'once' } })
  check(c:lua('return require("copydesk").status().pending'), 1)
  wait_text(c, 'Second')
  c:cmd('Copydesk deny use make instead')
  check(c:answer(second), {
    outcome = {
      outcome = 'selected',
      optionId = 'no',
      _meta = { copydesk = { feedback = 'use make instead' } },
    },
  })
  check(c:lua('return require("copydesk").status().pending'), 0)
  c:wait(
    [[not table.concat(vim.api.nvim_buf_get_lines(vim.fn.bufnr('copydesk://transcript'), 0, -1, false)):find('Permission')]]
  )
end

T['an answer the request does not offer is not invented'] = function()
  local c = started()
  permission(c, { options = { { optionId = 'no', name = 'Reject', kind = 'reject_once' } } })
  c:wait('require("copydesk").status().pending == 1')
  c:cmd('Copydesk approve')
  c:cmd('Copydesk! deny')
  check(c:lua('return require("copydesk").status().pending'), 1)
end

T['keys in the transcript answer'] = function()
  for key, option in pairs({ a = 'once', A = 'always', r = 'no' }) do
    local c = started()
    local id = permission(c)
    c:wait('require("copydesk").status().pending == 1')
    c:cmd('Copydesk pending')
    c:type(key)
    check(c:answer(id).outcome.optionId, option)
  end
end

T['a request answered elsewhere goes away'] = function()
  local c = started()
  local id = permission(c)
  c:wait('require("copydesk").status().pending == 1')
  c:tell('copydesk/request/resolved', { requestId = 'p1', by = 'other', outcome = 'allow' })
  c:wait('require("copydesk").status().pending == 0')
  check(c:answer(id), { outcome = { outcome = 'cancelled' } })
end

T['a request while the chat is hidden is announced and there on reopening'] = function()
  local c = child.new()
  c:start()
  permission(c)
  c:wait('#told > 0')
  check(told(c):match('Run tests') ~= nil, true)
  check(c:mode(), 'n')
  c:cmd('Copydesk pending')
  wait_text(c, 'cargo test')
end

T['stop cancels a running turn'] = function()
  local c = started()
  c:cmd('Copydesk stop')
  check(#c:received('session/cancel'), 0)
  c:update({ sessionUpdate = 'state_update', state = 'running' })
  c:wait('require("copydesk").status().state == "running"')
  c:cmd('Copydesk stop')
  check(c:received('session/cancel'), { { sessionId = 's1' } })
  c:update({ sessionUpdate = 'state_update', state = 'idle', stopReason = 'cancelled' })
  wait_text(c, 'Stopped.')
end

T['clearing the prompt stops nothing'] = function()
  local c = started()
  c:update({ sessionUpdate = 'state_update', state = 'running' })
  c:wait('require("copydesk").status().state == "running"')
  local clearings =
    { '<C-u>', '<C-w><C-w>', '<Esc>cc<Esc>', '<Esc>ggdG', '<C-c>:%d<CR>', '<C-c><C-c>:%d<CR>' }
  for _, clearing in ipairs(clearings) do
    c:type('ihalf said' .. clearing .. '<Esc>ggdG')
    c:wait([[vim.deep_equal(vim.api.nvim_buf_get_lines(0, 0, -1, false), { '' })]])
  end
  check(#c:received('session/cancel'), 0)
  check(c:lua('return require("copydesk").status().state'), 'running')
  c:type('<C-c>')
  check(c:received('session/cancel'), { { sessionId = 's1' } })
end

T['closing either window by any means closes the chat and it comes back'] = function()
  for _, how in ipairs({ 'quit', 'close', 'bdelete', 'bwipeout!', 'only' }) do
    for _, which in ipairs({ 'transcript', 'input' }) do
      local c = started({ files = { ['a.txt'] = 'a\n' } })
      say(c, 'before ')
      wait_text(c, 'before')
      c:lua(
        [[vim.api.nvim_set_current_win(vim.fn.win_findbuf(vim.fn.bufnr('copydesk://' .. ...))[1])]],
        which
      )
      if how == 'only' then
        c:cmd('wincmd t')
      end
      c:cmd(how)
      c:wait('#vim.api.nvim_list_wins() == 1', how .. ' of ' .. which)
      say(c, 'after')
      c:wait(
        [[vim.tbl_get(require('copydesk.session').entries(), 1, 'lines', 1) == 'before after']]
      )
      c:cmd('Copydesk chat')
      wait_text(c, 'before after')
      check(c:lua('return #vim.api.nvim_list_wins()'), 3, how .. ' of ' .. which)
    end
  end
end

T['a draft survives the deletion of its buffer'] = function()
  local c = started()
  c:type('idraft<Esc>')
  c:wait('vim.api.nvim_get_current_line() == "draft"')
  c:cmd('bwipeout!')
  c:cmd('Copydesk chat')
  c:wait('vim.api.nvim_get_current_line() == "draft"')
end

T['the chat alone on screen can be quit'] = function()
  local c = started()
  c:cmd('wincmd t | quit')
  pcall(c.cmd, c, 'quit')
  local ended = vim.wait(child.patience, function()
    return vim.fn.jobwait({ c.channel }, 0)[1] ~= -1
  end, 20)
  check(ended, true)
end

T['malformed updates change nothing and raise no errors'] = function()
  local c = started()
  for _, update in ipairs({
    { sessionUpdate = 'agent_message_chunk' },
    { sessionUpdate = 'tool_call_update' },
    {
      sessionUpdate = 'tool_call_update',
      toolCallId = 't',
      content = 'text',
      locations = 3,
      title = { 1 },
    },
    { sessionUpdate = 'tool_call_content_chunk', toolCallId = 'u', content = 7 },
    { sessionUpdate = 'terminal_output_chunk', terminalId = 'x', data = '***' },
    { sessionUpdate = 'plan_update', plan = 3 },
    { sessionUpdate = 'usage_update', used = 'x' },
    { sessionUpdate = 'from_the_future' },
    { sessionUpdate = 'config_option_update', configOptions = { 3 } },
    { nothing = 1 },
  }) do
    c:update(update)
  end
  c:tell('session/update', { sessionId = 5 })
  c:tell('session/update', nil)
  say(c, 'still here', 'later')
  wait_text(c, 'still here')
  check(c:lua('return vim.v.errmsg'), '')
  check(told(c), '')
end

T['a missing program is one message with what to do'] = function()
  local c = child.new({ config = { cmd = { '/nowhere/copydesk', 'lsp' } } })
  c:cmd('Copydesk chat')
  check(told(c):match('/nowhere/copydesk') ~= nil and told(c):match('vim.g.copydesk') ~= nil, true)
  check(#c:lua('return told'), 1)
  check(c:lua('return require("copydesk").status().state'), 'stopped')
end

T['a program that ends at once is told, not repeated'] = function()
  local c = child.new({ config = { cmd = { 'sh', '-c', 'exit 3' } } })
  c:cmd('Copydesk chat')
  c:wait('#told > 0')
  check(told(c):match('exit code 3') ~= nil and told(c):match(':Copydesk restart') ~= nil, true)
end

T['a dying server is told, its prompts and cards end, restart brings it back'] = function()
  local c = started()
  say(c, 'half a sen')
  c:update({ sessionUpdate = 'state_update', state = 'running' })
  c:update({
    sessionUpdate = 'tool_call_update',
    toolCallId = 't1',
    title = 'Run x',
    status = 'in_progress',
  })
  permission(c)
  c:wait('require("copydesk").status().pending == 1')
  c:lua([[require('copydesk.client').request('fixture/exit', { code = 7 }, function() end)]])
  c:wait('require("copydesk").status().state == "stopped"')
  check(told(c):match('exit code 7') ~= nil and told(c):match(':Copydesk restart') ~= nil, true)
  check(c:lua('return require("copydesk").status().pending'), 0)
  wait_text(c, 'Run x  cancelled')
  c:cmd('Copydesk restart')
  c:wait('require("copydesk").status().state == "idle"')
  wait_text(c, 'half a sen')
  c:cmd('Copydesk send again')
  wait_text(c, 'again')
end

T['restart of a running server keeps the transcript'] = function()
  local c = started({ files = { ['a.txt'] = 'a\n' } })
  say(c, 'kept')
  wait_text(c, 'kept')
  c:cmd('wincmd t')
  c:edit('a.txt')
  c:lua('told = {}')
  c:cmd('Copydesk restart')
  c:wait('told[1] and told[1].message:match("restarted")')
  wait_text(c, 'kept')
  check(c:server_text(c:uri('a.txt')), 'a\n')
end

T['mode and model are set and completed from what the server offers'] = function()
  local c = started()
  check(
    c:lua([[return vim.fn.getcompletion('Copydesk mode ', 'cmdline')]]),
    { 'ask', 'plan', 'edit', 'auto' }
  )
  check(c:lua([[return vim.fn.getcompletion('Copydesk model ', 'cmdline')]]), { 'mock/test' })
  check(c:lua([[return vim.fn.getcompletion('Copydesk mo', 'cmdline')]]), { 'mode', 'model' })
  c:cmd('Copydesk mode plan')
  check(c:received('session/set_config_option')[1], {
    sessionId = 's1',
    configId = 'mode',
    type = 'id',
    value = 'plan',
  })
end

T['trust is told to the server'] = function()
  local c = started()
  c:server('fixture/answers', { ['copydesk/trust'] = vim.empty_dict() })
  c:cmd('Copydesk trust')
  c:wait('#told > 0')
  check(c:received('copydesk/trust')[1], { root = vim.uri_from_fname(c.work), trusted = true })
end

T['a question carries the selected lines'] = function()
  local c = child.new({ files = { ['a.lua'] = 'one\ntwo\nthree\n' } })
  c:edit('a.lua')
  c:start()
  c:cmd('2,3Copydesk ask why?')
  local prompt = c:received('session/prompt')[1].prompt[1].text
  check(prompt, 'why?\n\nSelected in a.lua, lines 2 to 3:\n```lua\ntwo\nthree\n```')
end

T['every subcommand is documented, and so is every option, event and group'] = function()
  local c = child.new()
  local help = table.concat(vim.fn.readfile(child.root .. '/nvim-plugin/doc/copydesk.txt'), '\n')
  local wanted = c:lua([[
    local tags = {}
    for name in pairs(require('copydesk.commands').subcommands) do tags[#tags + 1] = ':Copydesk-' .. name end
    for name in pairs(require('copydesk.highlights').links) do tags[#tags + 1] = 'hl-' .. name end
    for name in pairs(require('copydesk.config').types) do tags[#tags + 1] = 'copydesk-option-' .. name end
    for _, name in ipairs(require('copydesk.events').names) do tags[#tags + 1] = 'Copydesk' .. name end
    for _, mode in ipairs({ 'n', 'x', 'o' }) do
      for _, map in ipairs(vim.api.nvim_get_keymap(mode)) do
        if map.lhs:find('^<Plug>%(Copydesk') then tags[#tags + 1] = map.lhs end
      end
    end
    return tags
  ]])
  local missing = {}
  for _, tag in ipairs(wanted) do
    if not help:find('*' .. tag .. '*', 1, true) then
      missing[#missing + 1] = tag
    end
  end
  check(missing, {})
end

T['events carry their data'] = function()
  local c = child.new()
  c:lua([[
    seen = {}
    vim.api.nvim_create_autocmd('User', {
      pattern = 'Copydesk*',
      callback = function(event) seen[event.match] = event.data end,
    })
  ]])
  c:start()
  c:update({ sessionUpdate = 'state_update', state = 'running' })
  permission(c)
  c:wait('seen.CopydeskPermissionRequested')
  c:cmd('Copydesk approve')
  c:update({ sessionUpdate = 'state_update', state = 'idle', stopReason = 'end_turn' })
  c:tell(
    'copydesk/status/didChange',
    { kind = 'normal', busy = false, pendingPermissions = 0, pendingHunks = 0 }
  )
  c:wait('seen.CopydeskStatusChanged')
  check(c:lua('return seen.CopydeskTurnFinished'), { sessionId = 's1', stopReason = 'end_turn' })
  check(c:lua('return seen.CopydeskPermissionResolved').optionId, 'once')
  check(c:lua('return seen.CopydeskTurnStarted').sessionId, 's1')
end

T['the health check runs with and without a server'] = function()
  local c = child.new({ config = { cmd = { '/nowhere/copydesk' }, colour = 'red' } })
  c:cmd('checkhealth copydesk')
  local report = table.concat(c:lines(), '\n')
  check(report:find('was not found', 1, true) ~= nil, true)
  check(report:find('unknown option "colour"', 1, true) ~= nil, true)
  local d = child.new()
  d:start()
  d:cmd('checkhealth copydesk')
  check(table.concat(d:lines(), '\n'):find('protocol version 1', 1, true) ~= nil, true)
end

T['namespaces and autocommand groups carry the name'] = function()
  local c = started()
  check(
    c:lua([[
      local names = {}
      for name in pairs(vim.api.nvim_get_namespaces()) do
        if name:match('copydesk') then names[#names + 1] = name end
      end
      return #names > 0
    ]]),
    true
  )
end

T['a conversation that was taken back ends before the prompt'] = function()
  local c = started()
  c:update({
    sessionUpdate = 'user_message',
    messageId = 'u1',
    content = { { type = 'text', text = 'first prompt' } },
  })
  say(c, 'first answer', 'a1')
  c:update({
    sessionUpdate = 'user_message',
    messageId = 'u2',
    content = { { type = 'text', text = 'second prompt' } },
  })
  say(c, 'second answer', 'a2')
  wait_text(c, 'second answer')
  c:update({
    sessionUpdate = 'session_info_update',
    _meta = { copydesk = { rewound = 'u2' } },
  })
  say(c, 'what follows', 'a3')
  wait_text(c, 'what follows')
  check({ count(c, 'first prompt'), count(c, 'first answer'), count(c, 'second') }, { 1, 1, 0 })
end

local function asks_password(c, job)
  c:update({
    sessionUpdate = 'tool_call_update',
    toolCallId = 't-' .. job,
    title = 'Log in',
    kind = 'execute',
    status = 'in_progress',
    _meta = { copydesk = { secretInput = { jobId = job, prompt = 'Pass\27word:' } } },
  })
end

T['a program that asks for a password is told of once while the chat is hidden'] = function()
  local c = child.new()
  c:start()
  asks_password(c, 'term-1')
  asks_password(c, 'term-1')
  asks_password(c, 'term-2')
  c:wait('#told == 2')
  check(
    told(c),
    'copydesk: term-1 asks: Pass word: (:Copydesk password)\n'
      .. 'copydesk: term-2 asks: Pass word: (:Copydesk password)'
  )
  c:cmd('Copydesk chat')
  wait_text(c, 'term-1 asks: Pass word:\nterm-2 asks: Pass word:')
  check(c:lua([[return vim.fn.getcompletion('Copydesk password ', 'cmdline')]]), { 'term-1', 'term-2' })
end

T['a program that ends or no longer asks needs no password'] = function()
  local c = started()
  for _, job in ipairs({ 'term-1', 'term-2', 'term-3' }) do
    asks_password(c, job)
  end
  wait_text(c, 'term-3 asks')
  c:update({ sessionUpdate = 'tool_call_update', toolCallId = 't-term-2', title = 'Log in' })
  c:update({
    sessionUpdate = 'tool_call_update',
    toolCallId = 't-term-3',
    _meta = { copydesk = vim.empty_dict() },
  })
  c:update({ sessionUpdate = 'terminal_update', terminalId = 'term-1', exitStatus = { exitCode = 0 } })
  say(c, 'told')
  wait_text(c, 'told')
  check({ count(c, 'term-1 asks'), count(c, 'term-2 asks'), count(c, 'term-3 asks') }, { 0, 1, 0 })
  c:server('fixture/answers', { ['copydesk/job/list'] = { jobs = {} } })
  c:cmd('Copydesk password')
  c:wait('vim.inspect(told):find("no such program asks", 1, true)')
  check(count(c, 'Password needed'), 0)
  check(#c:received('copydesk/job/write'), 0)
end

T['a password is not typed into a program that stopped asking meanwhile'] = function()
  local c = started()
  local function job(prompt)
    return {
      jobId = 'term-1', sessionId = 's1', toolCallId = 't', terminalId = 'term-1', label = '',
      command = 'login', status = 'running', elapsedMs = 1, takesInput = true, secretPrompt = prompt,
    }
  end
  asks_password(c, 'term-1')
  wait_text(c, 'term-1 asks')
  c:server('fixture/answers', { ['copydesk/job/list'] = { jobs = { job('Password:') } } })
  c:type('<Esc>:Copydesk password<CR>')
  c:wait([[vim.fn.getcmdprompt() == 'term-1: Password: ']])
  c:server('fixture/answers', { ['copydesk/job/list'] = { jobs = { job(vim.NIL) } } })
  c:type('hunter2<CR>')
  c:wait('vim.inspect(told):find("does not ask for a password any more", 1, true)')
  check(#c:received('copydesk/job/write'), 0)
  check(count(c, 'Password needed'), 0)
end

return T
