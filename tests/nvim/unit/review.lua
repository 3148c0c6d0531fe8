--- Pending hunks as a puppet server tells them: how they are drawn.
local child = require('child')
local hunks = require('hunks')

local T = {}
local old = hunks.old
local new = hunks.new
local text = hunks.text
local range = hunks.range
local hunk = hunks.hunk
local file = hunks.file
local hunks_of = hunks.hunks_of
local tell = hunks.tell
local namespace = hunks.namespace
local count_marks = hunks.count_marks
local drawn = hunks.drawn
local three = hunks.three
local all_drawn = hunks.all_drawn

T['lines, removed lines and signs are drawn, and nothing in buffers without hunks'] = function()
  local c, buf = three()
  check(drawn(c, buf), all_drawn)
  local other = c:edit('c.txt')
  check(count_marks(c, other), 0)
  tell(c, { file(c, 'a.txt', {}) })
  c:wait('require("copydesk").status().hunks == 0')
  check(count_marks(c, buf), 0)
end

T['hunks move with the text, and are not drawn anew for it'] = function()
  local c, buf = three()
  local function ids()
    return c:lua([[return vim.tbl_map(function(mark) return mark[1] end,
        vim.api.nvim_buf_get_extmarks(..., ]] .. namespace .. [[, 0, -1, {}))]], buf)
  end
  local before = ids()
  c:type('ggOtyped<Esc>')
  c:wait('vim.api.nvim_buf_line_count(0) == 8')
  local moved =
    { '+6-6', '-8-8', '^2 one removed', '^5 four removed', '^8 six removed', '~2-2', '~5-5' }
  check(drawn(c, buf), moved)
  local hunks = hunks_of(c, 'a.txt')
  for _, each in ipairs(hunks) do
    each.range = range(each.range.start.line + 1, each.range['end'].line + 1)
  end
  tell(c, { file(c, 'a.txt', hunks, { version = c:version(buf) }) })
  c:server('copydesk/status')
  check(drawn(c, buf), moved)
  check(ids(), before, 'the same extmarks')
end

T['hunks told for an older text stay where they moved to'] = function()
  local c, buf = three()
  local old_version = c:version(buf)
  c:type('ggOtyped<Esc>')
  c:wait('vim.api.nvim_buf_line_count(0) == 8')
  local hunks = hunks_of(c, 'a.txt')
  table.remove(hunks, 1)
  tell(c, { file(c, 'a.txt', hunks, { version = old_version }) })
  c:wait('require("copydesk").status().hunks == 2')
  check(drawn(c, buf), { '+6-6', '-8-8', '^5 four removed', '^8 six removed', '~5-5' })
end

T['a hunk told anew is drawn as it is now'] = function()
  local c, buf = three()
  local hunks = hunks_of(c, 'a.txt')
  hunks[1].state, hunks[1].author = 'conflict', 'mixed'
  hunks[2].author = 'mixed'
  hunks[3].state = 'conflict'
  tell(c, { file(c, 'a.txt', hunks, { version = c:version(buf) }) })
  c:server('copydesk/status')
  check(drawn(c, buf), {
    '!1-1',
    '!7-7',
    '+5-5',
    '^1 one removed, conflict: you wrote inside',
    '^4 four removed, mixed: yours and the agent’s',
    '^7 six removed, conflict: you wrote inside',
    '~4-4',
  })
end

T['changed words are marked where most of a line is the same'] = function()
  local c = child.new({ files = { ['a.txt'] = 'let count = total + 1;\n' } })
  local buf = c:edit('a.txt')
  c:start()
  local uri = c:uri('a.txt')
  tell(c, {
    file(c, 'a.txt', {
      hunk('h1', uri, { 0, 1 }, { 0, 1 }, {
        oldText = 'let count = sum + 1;\n',
        newText = 'let count = total + 1;\n',
      }),
    }, { version = 0 }),
  })
  c:wait('require("copydesk").status().hunks == 1')
  check(drawn(c, buf), { '^1 let count = sum + 1; removed', 'word1:12-17', '~1-1' })
end

T['text removed at the end, inside a line, and all of it'] = function()
  local c =
    child.new({ files = { ['a.txt'] = 'one\n', ['b.txt'] = 'one two three', ['c.txt'] = '' } })
  local a, b, d = c:edit('a.txt'), c:edit('b.txt'), c:edit('c.txt')
  c:start()
  local function at(line, from, to)
    return {
      start = { line = line, character = from },
      ['end'] = { line = line, character = to },
    }
  end
  tell(c, {
    file(c, 'a.txt', {
      hunk('a1', c:uri('a.txt'), { 1, 1 }, { 1, 2 }, { oldText = 'two\nthree\n', newText = '' }),
    }, { version = 0 }),
    file(c, 'b.txt', {
      hunk('b1', c:uri('b.txt'), { 0, 0 }, { 0, 0 }, {
        range = at(0, 4, 7),
        oldText = 'zwei',
        newText = 'two',
      }),
    }, { version = 0 }),
    file(c, 'c.txt', {
      hunk('c1', c:uri('c.txt'), { 0, 0 }, { 0, 1 }, { oldText = 'gone\n', newText = '' }),
    }, { version = 0 }),
  })
  c:wait('require("copydesk").status().hunks == 3')
  check(drawn(c, a), { '-1-1', 'v1 three', 'v1 two 2 removed' })
  check(drawn(c, b), { '^1 one zwei three removed', 'word1:4-7', '~1-1' })
  check(drawn(c, d), { '-1-1', '^1 gone removed' })
end

T['a hunk is shown by what differs in it'] = function()
  local c = child.new()
  local function shows(before, after, expected)
    local shown = c:lua(
      [[
      return vim.tbl_map(function(part)
        local words = 0
        for _, spans in pairs(part.old_words) do words = words + #spans end
        return { part.row, part.count, table.concat(part.old, '|'), words }
      end, require('copydesk.review.parts').of(...))
    ]],
      before,
      after
    )
    check(shown, expected)
  end
  shows({}, { 'a', 'b' }, { { 0, 2, '', 0 } })
  shows({ 'a', 'b' }, {}, { { 0, 0, 'a|b', 0 } })
  shows({ 'a' }, { 'a' }, {})
  shows({ 'a', 'same', 'c' }, { 'same', 'c', 'd' }, { { 0, 0, 'a', 0 }, { 2, 1, '', 0 } })
  shows({ 'gone', 'one two three' }, { 'one 2 three' }, { { 0, 1, 'gone|one two three', 1 } })
  shows({ 'same', 'gone' }, { 'same' }, { { 1, 0, 'gone', 0 } })
  shows({ 'x = 1' }, { 'entirely other text' }, { { 0, 1, 'x = 1', 0 } })
end

T['a moved file and one whose last line ends otherwise say so'] = function()
  local c = child.new({ files = { ['a.txt'] = 'one\ntwo\n', ['b.txt'] = 'one\ntwo' } })
  local a, b = c:edit('a.txt'), c:edit('b.txt')
  c:start()
  local files = {
    file(c, 'a.txt', {
      hunk('a1', c:uri('a.txt'), { 0, 0 }, { 0, 0 }, { oldText = '', newText = '' }),
    }, { version = 0, change = 'rename', oldUri = c:uri('x/old.txt') }),
    file(c, 'b.txt', {
      hunk('b1', c:uri('b.txt'), { 0, 0 }, { 1, 2 }, {
        range = { start = { line = 1, character = 0 }, ['end'] = { line = 1, character = 3 } },
        oldText = 'two\n',
        newText = 'two',
      }),
    }, { version = 0 }),
  }
  c:server('fixture/answers', { ['copydesk/review/list'] = { rev = 1, files = files } })
  tell(c, files)
  c:wait('require("copydesk").status().hunks == 2')
  check(drawn(c, a), { 'note1 moved from old.txt ', '~1-1' })
  check(drawn(c, b), { 'note2 the line ending ', '~2-2' })
  c:cmd('Copydesk review')
  c:wait('vim.bo.buftype == "quickfix"')
  check(c:lua('return vim.fn.getqflist()[1].text'), '+0 −0 moved from old.txt  ')
end

T['tabs, wide and odd characters, long lines and long hunks stay inside the window'] = function()
  local removed = { '\tindented\t\1', ('日本語'):rep(60), ('x'):rep(5000) }
  for i = 4, 60 do
    removed[i] = 'line ' .. i
  end
  local c = child.new({ files = { ['a.txt'] = 'one\n' } })
  local buf = c:edit('a.txt')
  c:start()
  c:cmd('set tabstop=4')
  tell(c, {
    file(c, 'a.txt', {
      hunk('h1', c:uri('a.txt'), { 0, 0 }, { 0, 60 }, {
        oldText = table.concat(removed, '\n') .. '\n',
        newText = '',
      }),
    }, { version = 0 }),
  })
  c:wait('require("copydesk").status().hunks == 1')
  local lines = c:lua([[
    local mark = vim.iter(vim.api.nvim_buf_get_extmarks(..., ]] .. namespace .. [[, 0, -1, { details = true }))
      :find(function(mark) return mark[4].virt_lines end)
    local info = vim.fn.getwininfo(vim.api.nvim_get_current_win())[1]
    return vim.iter(mark[4].virt_lines):map(function(line)
      local said = vim.iter(line):map(function(piece) return piece[1] end):join('')
      said = said:gsub(' +$', '')
      return { text = said, fits = vim.fn.strdisplaywidth(said) <= info.width }
    end):totable()
  ]], buf)
  check(lines[1].text:match('^    indented%s+%^A 60 removed$') ~= nil, true, lines[1].text)
  for _, line in ipairs(lines) do
    check(line.fits, true, line.text)
  end
  check(lines[#lines].text, '… 37 more removed lines (:Copydesk diff)')
  check(#lines < 60, true)
end

T['a CRLF buffer is drawn like another'] = function()
  local c = child.new({ files = { ['a.txt'] = 'ONE\r\ntwo\r\n' } })
  local buf = c:edit('a.txt')
  c:start()
  tell(c, {
    file(c, 'a.txt', {
      hunk('h1', c:uri('a.txt'), { 0, 1 }, { 0, 1 }, { oldText = 'one\r\n', newText = 'ONE\r\n' }),
    }),
  })
  c:wait('require("copydesk").status().hunks == 1')
  check(drawn(c, buf), { '^1 one removed', '~1-1' })
end

T['a file that is opened, reloaded or closed has its hunks when it is shown'] = function()
  local c = three()
  local second = hunk(
    'b1',
    c:uri('b.txt'),
    { 0, 1 },
    { 0, 1 },
    { oldText = 'B\n', newText = 'b\n' }
  )
  tell(c, { file(c, 'b.txt', { second }) })
  c:wait('require("copydesk").status().hunks == 4')
  local buf = c:edit('b.txt')
  local shown = { '^1 B removed', '~1-1' }
  c:wait('require("copydesk").status().hunks_here == 1')
  c:wait(([[#vim.api.nvim_buf_get_extmarks(%d, %s, 0, -1, {}) > 0]]):format(buf, namespace))
  check(drawn(c, buf), shown)
  c:cmd('edit!')
  c:wait(([[#vim.api.nvim_buf_get_extmarks(%d, %s, 0, -1, {}) > 0]]):format(buf, namespace))
  check(drawn(c, buf), shown)
  c:cmd('bwipeout')
  check(c:lua('return require("copydesk").status().hunks'), 4)
end

T['the top of the file shows what was removed above it'] = function()
  local c = three()
  check(c:lua('return vim.fn.winsaveview().topfill'), 1)
  c:lua('vim.o.lines = 10; vim.cmd("resize 4 | redraw")')
  c:type('G')
  c:wait('vim.fn.line("w0") > 1')
  c:cmd('redraw')
  c:type('gg')
  c:wait('vim.fn.line("w0") == 1 and vim.fn.winsaveview().topfill == 1')
end

T['fifty reviews leave what they found'] = function()
  local c, buf = three()
  tell(c, { file(c, 'a.txt', {}) })
  c:wait('require("copydesk").status().hunks == 0')
  local function there()
    return c:lua([[
      local marks = 0
      for _, b in ipairs(vim.api.nvim_list_bufs()) do
        marks = marks + #vim.api.nvim_buf_get_extmarks(b, -1, 0, -1, {})
      end
      return { marks, #vim.api.nvim_list_bufs(), #vim.api.nvim_list_wins(), #vim.api.nvim_get_autocmds({}) }
    ]])
  end
  -- What is loaded once stays.
  c:lua([[require('copydesk.review.diff'); require('copydesk.review.quickfix')]])
  local before = there()
  for _ = 1, 50 do
    local hunks = hunks_of(c, 'a.txt')
    tell(c, { file(c, 'a.txt', hunks, { version = c:version(buf) }) })
    c:wait('require("copydesk").status().hunks == 3')
    c:cmd('Copydesk diff')
    c:wait('#vim.api.nvim_list_wins() == 2')
    c:cmd('Copydesk diff')
    c:wait('#vim.api.nvim_list_wins() == 1')
    tell(c, { file(c, 'a.txt', {}) })
    c:wait('require("copydesk").status().hunks == 0')
  end
  check(there(), before)
end

T['side by side and in diff mode no lines are put between'] = function()
  local c, buf = three()
  c:cmd('vsplit c.txt | diffthis | wincmd p | diffthis')
  c:wait(('vim.wo[%d].diff'):format(c:lua('return vim.fn.bufwinid(...)', buf)))
  c:wait(
    '#vim.iter(vim.api.nvim_buf_get_extmarks('
      .. buf
      .. ', '
      .. namespace
      .. ', 0, -1, { details = true })):filter(function(m) return m[4].virt_lines end):totable() == 0'
  )
  c:cmd('diffoff!')
  c:wait(
    '#vim.iter(vim.api.nvim_buf_get_extmarks('
      .. buf
      .. ', '
      .. namespace
      .. ', 0, -1, { details = true })):filter(function(m) return m[4].virt_lines end):totable() == 3'
  )
end

T['what is malformed is not drawn, and raises no errors'] = function()
  local c, buf = three()
  local bad = hunk('h1', c:uri('a.txt'), { 400, 500 }, { 0, 1 })
  for _, files in ipairs({
    'nothing',
    { 7 },
    { { uri = 3 } },
    { { uri = c:uri('a.txt'), change = 'modify', hunks = { { hunkId = 'x' } } } },
    { { uri = c:uri('a.txt'), change = 'modify', hunks = { false } } },
  }) do
    tell(c, files)
  end
  c:server('copydesk/status')
  check(drawn(c, buf), all_drawn)
  tell(c, { file(c, 'a.txt', { bad }, { version = c:version(buf) }) })
  local function other(id)
    return vim.tbl_extend('force', bad, { hunkId = id })
  end
  tell(c, {
    file(c, 'b.txt', { other('h2') }, { version = 9 }),
    file(c, 'nowhere.txt', { other('h3') }),
  })
  c:wait('require("copydesk").status().hunks == 3')
  c:cmd('Copydesk next')
  check(c:lua('return vim.v.errmsg'), '')
end

T['hunks that were cut are asked for whole, once at a time'] = function()
  local c, buf = three()
  local hunks = hunks_of(c, 'a.txt')
  local cut = vim.deepcopy(hunks)
  cut[1].newText, cut[1]._meta = '', { copydesk = { cut = true } }
  hunks[1].oldText = 'uno\n'
  c:server('fixture/answers', {
    ['copydesk/review/list'] = {
      rev = 2,
      files = { file(c, 'a.txt', hunks, { version = c:version(buf) }) },
    },
  })
  tell(c, { file(c, 'a.txt', cut, { version = c:version(buf) }) })
  tell(c, { file(c, 'a.txt', {}, { _meta = { copydesk = { omitted = 3 } } }) })
  c:wait(
    [[vim.iter(vim.api.nvim_buf_get_extmarks(0, ]]
      .. namespace
      .. [[, 0, -1, { details = true })):any(function(m)
    return m[4].virt_lines and m[4].virt_lines[1][1][1] == 'uno'
  end)]]
  )
  local lists = c:received('copydesk/review/list')
  check({ lists[1], lists[2] }, { { uri = c:uri('a.txt') }, { uri = c:uri('a.txt') } })
end

T['a server that ends takes its drawings along'] = function()
  local c, buf = three()
  pcall(c.server, c, 'fixture/exit', { code = 3 })
  c:wait('require("copydesk").status().state == "stopped"')
  check(count_marks(c, buf), 0)
  check(c:lua('return require("copydesk").status().hunks'), 0)
  check(
    c:lua([[return pcall(vim.api.nvim_get_autocmds, { group = 'copydesk.review' })]]),
    false,
    'nothing is followed any more'
  )
end

T['without hunks nothing is followed, with them it is while they are there'] = function()
  local c = child.new({ files = { ['a.txt'] = 'one\n' } })
  c:edit('a.txt')
  c:start()
  local function followed()
    return c:lua([[return (pcall(vim.api.nvim_get_autocmds, { group = 'copydesk.review' }))]])
  end
  check(followed(), false)
  tell(c, { file(c, 'a.txt', { hunk('h', c:uri('a.txt'), { 0, 1 }, { 0, 1 }) }, { version = 0 }) })
  c:wait('require("copydesk").status().hunks == 1')
  check(followed(), true)
  tell(c, { file(c, 'a.txt', {}) })
  c:wait('require("copydesk").status().hunks == 0')
  check(followed(), false)
end

T['a thousand hunks in a large buffer are drawn, and what that costs is printed'] = function()
  local lines = {}
  for i = 1, 100000 do
    lines[i] = ('line %06d %s'):format(i, ('x'):rep(88))
  end
  local c = child.new({ files = { ['a.txt'] = table.concat(lines, '\n') .. '\n' } })
  local buf = c:edit('a.txt')
  c:start()
  local hunks = {}
  for i = 1, 1000 do
    local row = i * 100 - 1
    hunks[i] = hunk('h' .. i, c:uri('a.txt'), { row, row + 1 }, { row, row + 1 }, {
      oldText = lines[row + 1]:gsub('line', 'Line') .. '\n',
      newText = lines[row + 1] .. '\n',
    })
  end
  local times = c:lua(
    [[
    local review, files = require('copydesk.review'), ...
    local function timed(change)
      local began = vim.uv.hrtime()
      change()
      return ('%.1f ms'):format((vim.uv.hrtime() - began) / 1e6)
    end
    local update = function() review.update({ rev = 1, files = files }) end
    local keys = timed(function() for _ = 1, 100 do vim.api.nvim_buf_set_text(0, 0, 0, 0, 0, { 'x' }) vim.cmd('redraw') end end)
    vim.cmd('silent undo')
    files[1].version = require('copydesk.documents').version(0)
    local plain = timed(function() for row = 1, 2000, 40 do vim.fn.winrestview({ topline = row * 40 }) vim.cmd('redraw') end end)
    local first, again = timed(update), timed(update)
    local typed = timed(function() for _ = 1, 100 do vim.api.nvim_buf_set_text(0, 0, 0, 0, 0, { 'x' }) vim.cmd('redraw') end end)
    local scrolled = timed(function() for row = 1, 2000, 40 do vim.fn.winrestview({ topline = row * 40 }) vim.cmd('redraw') end end)
    return ('drawn %s, told again %s, 100 keys %s, 50 screens %s (without hunks: %s, %s)'):format(first, again, typed, scrolled, keys, plain)
  ]],
    { file(c, 'a.txt', hunks, { version = 0 }) }
  )
  io.write('      ', times, '\n')
  check(c:lua('return require("copydesk").status().hunks'), 1000)
  tell(c, { file(c, 'a.txt', {}) })
  c:wait('require("copydesk").status().hunks == 0')
  check(count_marks(c, buf), 0)
end

return T
