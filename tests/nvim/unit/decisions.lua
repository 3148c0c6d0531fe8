--- Pending hunks as a puppet server tells them: how they are found, decided, listed and compared.
local hunks = require('hunks')

local T = {}
local old = hunks.old
local new = hunks.new
local text = hunks.text
local hunk = hunks.hunk
local file = hunks.file
local hunks_of = hunks.hunks_of
local tell = hunks.tell
local namespace = hunks.namespace
local drawn = hunks.drawn
local three = hunks.three
local all_drawn = hunks.all_drawn

T['next and prev go round, with counts, across files'] = function()
  local c, a = three()
  tell(c, {
    file(
      c,
      'b.txt',
      { hunk('b1', c:uri('b.txt'), { 0, 1 }, { 0, 1 }, { oldText = 'B\n', newText = 'b\n' }) }
    ),
  })
  c:wait('require("copydesk").status().hunks == 4')
  local function at()
    return c:lua([[return vim.fn.expand('%:t') .. ':' .. vim.fn.line('.')]])
  end
  local function go(command, expected)
    c:cmd('Copydesk ' .. command)
    check(at(), expected, command)
  end
  c:cmd('normal! G')
  go('prev', 'a.txt:4')
  go('next', 'a.txt:7')
  go('next', 'b.txt:1')
  go('next', 'a.txt:1')
  go('next 2', 'a.txt:7')
  go('prev', 'a.txt:4')
  go('prev 2', 'b.txt:1')
  c:cmd('buffer ' .. a)
  c:cmd('5')
  go('prev', 'a.txt:4')
  c:cmd('1')
  c:lua([[vim.keymap.set('n', 'Q', '<Plug>(CopydeskNext)')]])
  c:cmd('1')
  c:type('2Q')
  c:wait([[vim.fn.line('.') == 7]])
  c:edit('c.txt')
  go('next', 'a.txt:1')
  c:cmd('edit c.txt')
  go('prev', 'b.txt:1')
end

T['two hunks in one line are both reached'] = function()
  local c, buf = three()
  local hunks = hunks_of(c, 'a.txt')
  hunks[4] = hunk('h4', c:uri('a.txt'), { 6, 7 }, { 6, 7 }, { oldText = 'SEVEN\n' })
  tell(c, { file(c, 'a.txt', hunks, { version = c:version(buf) }) })
  c:wait('require("copydesk").status().hunks == 4')
  local seen = {}
  for i = 1, 5 do
    c:cmd('Copydesk next')
    seen[i] = c:lua([[return vim.fn.line('.')]])
  end
  check(seen, { 4, 7, 7, 1, 4 })
end

T['next never takes a window of another kind'] = function()
  local c = three()
  c:cmd('Copydesk chat')
  check(c:lua('return vim.bo.filetype'), 'copydesk-input')
  c:cmd('stopinsert')
  c:cmd('Copydesk next')
  check(c:lua([[return vim.fn.expand('%:t')]]), 'a.txt')
  check(c:lua('return #vim.api.nvim_list_wins()'), 3)
end

local function resolved(c)
  return c:received('copydesk/review/resolve')
end

T['accept and reject send the hunk under the cursor, rows, the file, or all'] = function()
  local c, buf = three()
  local uri = c:uri('a.txt')
  local function sends(command, expected)
    local before = #resolved(c)
    c:cmd(command)
    local all = resolved(c)
    check(#all, before + 1, command)
    check(all[#all], expected, command)
  end
  c:cmd('5')
  sends('Copydesk accept', { action = 'accept', items = { { hunkId = 'h2' } } })
  c:cmd('6') -- just above removed text
  sends('Copydesk reject', { action = 'reject', items = { { hunkId = 'h3' } } })
  sends('Copydesk reject not like this', {
    action = 'reject',
    items = { { hunkId = 'h3' } },
    comment = 'not like this',
  })
  sends('2,4Copydesk accept', { action = 'accept', items = { { hunkId = 'h2' } } })
  sends('%Copydesk reject', {
    action = 'reject',
    items = { { hunkId = 'h1' }, { hunkId = 'h2' }, { hunkId = 'h3' } },
  })
  sends('Copydesk! accept', { action = 'accept', items = { { uri = uri } } })
  sends('Copydesk acceptall', { action = 'accept', items = { { all = true } } })
  sends('Copydesk rejectall session too much', {
    action = 'reject',
    items = { { sessionId = 's1' } },
    comment = 'too much',
  })
  c:update({ sessionUpdate = 'user_message', messageId = 'm', content = {} })
  c:update({ sessionUpdate = 'tool_call_update', toolCallId = 't1', title = 'Edit', kind = 'edit' })
  c:server('copydesk/status')
  sends('Copydesk rejectall turn', {
    action = 'reject',
    items = { { hunkId = 'h1' }, { hunkId = 'h2' }, { hunkId = 'h3' } },
  })
  local before = #resolved(c)
  c:cmd('Copydesk rejectall sesion')
  c:cmd('2')
  c:cmd('Copydesk accept')
  check(#resolved(c), before)
  check(c:lua('return told[#told].message'):find('no pending hunk here', 1, true) ~= nil, true)
  c:lua([[vim.keymap.set({ 'n', 'x' }, 'Q', '<Plug>(CopydeskAccept)')]])
  c:type('ggVjjjQ')
  c:wait('vim.api.nvim_get_mode().mode == "n"')
  check(resolved(c)[before + 1].items, { { hunkId = 'h1' }, { hunkId = 'h2' } })
  check(c:lua('return vim.bo[...].modified', buf), false)
end

T['decisions are said, with what the server has to say of them'] = function()
  local c = three()
  c:lua([[
    seen = {}
    vim.api.nvim_create_autocmd('User', {
      pattern = 'CopydeskReview*',
      callback = function(event) seen[event.match] = event.data end,
    })
  ]])
  c:server('fixture/answers', {
    ['copydesk/review/resolve'] = {
      rev = 2,
      resolved = { 'h1' },
      conflicts = { { hunkId = 'h1', reason = 'what you wrote inside it was kept' } },
      undoToken = 'u1',
    },
  })
  c:cmd('1')
  c:cmd('Copydesk reject')
  c:wait('seen.CopydeskReviewDecided')
  check(c:lua('return seen.CopydeskReviewDecided.undoToken'), 'u1')
  check(
    c:lua('return told[#told].message'),
    'copydesk: rejected 1 hunk; 3 hunks pending (what you wrote inside it was kept)'
  )
  c:cmd('Copydesk undo')
  c:wait('seen.CopydeskReviewUndone')
  check(c:received('copydesk/review/undo'), { { undoToken = 'u1' } })
  local before = c:lua('return #told')
  c:cmd('Copydesk undo')
  check(c:lua('return told[...].message', before + 1), 'copydesk: no decision to take back')
  tell(c, { file(c, 'a.txt', {}) })
  c:wait('seen.CopydeskReviewChanged')
  check(c:lua('return seen.CopydeskReviewChanged'), { uris = { c:uri('a.txt') }, pending = 0 })
end

T['the text object is the hunk'] = function()
  local c, buf = three()
  c:lua([[vim.keymap.set({ 'o', 'x' }, 'ih', '<Plug>(CopydeskHunk)')]])
  c:cmd('5')
  c:type('yih')
  c:wait([[vim.fn.getreg('"') == "fore\nextra\n"]])
  c:cmd('5')
  c:type('vih<Esc>')
  c:wait([[vim.fn.line("'<") == 4 and vim.fn.line("'>") == 5]])
  c:cmd('2')
  c:type('dih')
  c:wait('vim.api.nvim_get_mode().mode == "n"')
  check(c:lines(buf), new)
end

T['the list of pending hunks jumps, follows and leaves nothing behind'] = function()
  local c, buf = three()
  local function buffers()
    return c:lua(
      [[return vim.tbl_map(function(b) return vim.fn.fnamemodify(vim.fn.bufname(b), ':t') end, vim.tbl_filter(function(b) return vim.bo[b].buftype ~= 'quickfix' end, vim.api.nvim_list_bufs()))]]
    )
  end
  local before = buffers()
  tell(c, {
    file(
      c,
      'b.txt',
      { hunk('b1', c:uri('b.txt'), { 0, 1 }, { 0, 1 }, { oldText = 'B\n', newText = 'b\n' }) }
    ),
    file(c, 'd.txt', {
      hunk('d1', c:uri('d.txt'), { 0, 0 }, { 0, 1 }, { oldText = 'dead\n', newText = '' }),
    }, { change = 'delete' }),
  })
  c:wait('require("copydesk").status().hunks == 5')
  c:cmd('Copydesk review')
  local function shown()
    return c:lua(
      [[return vim.tbl_map(function(item) return item.lnum .. ' ' .. item.text end, vim.fn.getqflist())]]
    )
  end
  check(shown(), {
    '1 +1 −1  ONE',
    '4 +2 −1  fore',
    '7 +0 −1  six',
    '1 +1 −1  b',
    '1 +0 −1 file deleted  dead',
  })
  check(c:lua('return vim.bo.buftype'), 'quickfix')
  c:cmd('2')
  c:type('<CR>')
  c:wait([[vim.fn.expand('%:t') == 'a.txt' and vim.fn.line('.') == 4]])
  local hunks = hunks_of(c, 'a.txt')
  hunks[1].state = 'conflict'
  table.remove(hunks, 2)
  tell(c, { file(c, 'a.txt', hunks, { version = c:version(buf) }) })
  c:wait('#vim.fn.getqflist() == 4')
  check(shown()[1], '1 +1 −1 conflict  ONE')
  c:cmd('cwindow | wincmd b')
  c:cmd('2')
  c:cmd('Copydesk accept')
  check(resolved(c)[1].items, { { hunkId = 'h3' } })
  c:cmd('4')
  c:type('<CR>')
  c:wait([[vim.api.nvim_buf_get_name(0):find('copydesk-base://', 1, true)]])
  c:wait('vim.api.nvim_buf_line_count(0) == 7')
  check(c:lua('return vim.bo.modifiable'), false)
  c:cmd('Copydesk reject')
  check(resolved(c)[2].items, { { hunkId = 'd1' } })
  c:cmd('buffer ' .. buf)
  c:cmd('cclose')
  tell(c, { file(c, 'a.txt', {}), file(c, 'b.txt', {}), file(c, 'd.txt', {}) })
  c:wait('require("copydesk").status().hunks == 0')
  check(#c:lua('return vim.fn.getqflist()'), 0)
  check(buffers(), before)
end

T['closing the comparison in any way decides nothing and leaves nothing'] = function()
  for _, close in ipairs({
    'wincmd h | quit',
    'wincmd h | close',
    'tabclose',
    'wincmd h | bdelete',
    'wincmd h | only',
    'only',
    'quit',
    'wincmd h | bwipeout',
    'Copydesk diff',
    'edit c.txt',
  }) do
    local c, buf = three()
    c:cmd('tab split')
    local before = c:lua([[return vim.fn.execute('ls!')]])
    c:cmd('Copydesk diff')
    c:wait([[#vim.fn.filter(vim.api.nvim_tabpage_list_wins(0), 'getwinvar(v:val, "&diff")') == 2]])
    check(c:lua('return vim.api.nvim_get_current_buf()'), buf, 'the focus stays')
    c:cmd(close)
    c:wait(
      [[vim.iter(vim.api.nvim_list_wins()):all(function(win) return not vim.wo[win].diff end)]],
      'diff mode to end after ' .. close
    )
    if close ~= 'wincmd h | only' then
      c:wait(
        [[vim.iter(vim.api.nvim_list_bufs()):all(function(b)
        return not vim.api.nvim_buf_get_name(b):find('copydesk-base', 1, true)
      end)]],
        'the other text to go after ' .. close
      )
    end
    if close ~= 'wincmd h | only' and close ~= 'edit c.txt' then
      c:cmd('buffer ' .. buf)
      check(
        c:lua([[return vim.fn.execute('ls!')]]):gsub('line %d+', ''),
        (before:gsub('line %d+', '')),
        close
      )
    end
    check(resolved(c), {}, close)
    check(c:lua('return require("copydesk").status().hunks'), 3)
    c:wait(
      ([[#vim.iter(vim.api.nvim_buf_get_extmarks(%d, %s, 0, -1, { details = true }))
      :filter(function(m) return m[4].virt_lines end):totable() == 3]]):format(buf, namespace),
      close
    )
    check(drawn(c, buf), all_drawn, close)
  end
end

T['the comparison follows, and hunks are decided on both its sides'] = function()
  local c, buf = three()
  c:cmd('Copydesk diff')
  c:wait('#vim.api.nvim_list_wins() == 2')
  c:cmd('wincmd h')
  check(c:lines(), old)
  c:cmd('6')
  c:cmd('Copydesk reject')
  check(resolved(c)[1].items, { { hunkId = 'h3' } })
  c:server('fixture/answers', {
    ['copydesk/review/base'] = { text = 'ONE\n' .. text(old, 1, 7) },
  })
  local hunks = hunks_of(c, 'a.txt')
  table.remove(hunks, 1)
  tell(c, { file(c, 'a.txt', hunks, { version = c:version(buf) }) })
  c:wait('vim.api.nvim_buf_get_lines(0, 0, 1, false)[1] == "ONE"')
  c:cmd('wincmd l')
  check(c:lua('return vim.api.nvim_get_current_buf()'), buf)
end

return T
