--- Pending changes with the real server: decided, undone, kept, beside what the person has on the screen.
local child = require('child')

local T = {}

local function edit_step(file, old, new)
  return {
    calls = { { name = 'Edit', input = { file_path = file, old_string = old, new_string = new } } },
  }
end

local function read_step(file)
  return { calls = { { name = 'Read', input = { file_path = file } } } }
end

--- Neovim with these files and a model that takes these steps, every edit allowed.
local function desk(files, steps)
  local model = child.model(steps)
  local settings = vim.tbl_extend('force', model.settings, { mode = 'edit' })
  local c = child.with_server(model, { files = files, config = { settings = settings } })
  c:cmd('set hidden')
  return c, model
end

--- What is on the screen: windows with buffer and cursor, and which one has the focus.
local function screen(c)
  return c:lua([[
    local windows = {}
    for _, win in ipairs(vim.api.nvim_list_wins()) do
      windows[#windows + 1] = { win, vim.api.nvim_win_get_buf(win), vim.api.nvim_win_get_cursor(win) }
    end
    return { windows, vim.api.nvim_get_current_win(), #vim.api.nvim_list_tabpages() }
  ]])
end

local function pending(count)
  return ('require("copydesk").status().hunks == %d'):format(count)
end

local before = 'one\ntwo\nthree\nfour\nfive\nsix\nseven\n'
local after = 'ONE\ntwo\nthree\nFOUR\nfive\nsix\nSEVEN\n'

local function write_step(file, text)
  return { calls = { { name = 'Write', input = { file_path = file, content = text } } } }
end

--- Neovim with `a.txt` open and three hunks in it; gives the buffer and the model too.
local function three(steps)
  local all = { read_step('a.txt'), write_step('a.txt', after), { text = 'done' } }
  vim.list_extend(all, steps or {})
  local c, model = desk({ ['a.txt'] = before, ['mine.txt'] = 'mine\n' }, all)
  local buf = c:edit('a.txt')
  c:cmd('Copydesk send shout')
  c:wait('#turns > 0')
  c:wait(pending(3))
  return c, buf, model
end

local function text(c, buf)
  return table.concat(c:lines(buf), '\n') .. '\n'
end

local function marks(c, buf)
  return c:lua('return #vim.api.nvim_buf_get_extmarks(..., -1, 0, -1, {})', buf)
end

T['a file in another window shows the edit at once, nothing moves there'] = function()
  local c = desk(
    { ['a.txt'] = 'one\ntwo\nthree\n', ['mine.txt'] = 'mine\n' },
    { read_step('a.txt'), edit_step('a.txt', 'two', 'TWO\nand more') }
  )
  local a = c:edit('a.txt')
  c:cmd('normal! G')
  c:cmd('split')
  local mine = c:edit('mine.txt')
  local before = screen(c)
  c:cmd('Copydesk send shout')
  c:wait('#turns > 0')
  check(c:lines(a), { 'one', 'TWO', 'and more', 'three' })
  check(c:lines(mine), { 'mine' })
  check(c:disk('a.txt'), 'one\ntwo\nthree\n')
  local now = screen(c)
  check(now[2], before[2], 'the focus stays')
  check(now[3], before[3], 'no tab page comes up')
  for index, window in ipairs(before[1]) do
    check({ now[1][index][1], now[1][index][2] }, { window[1], window[2] }, 'windows stay')
  end
  check(
    c:lua('return vim.fn.line(".", vim.fn.bufwinid(...))', a),
    4,
    'the cursor stays on its line'
  )
end

T['keys typed in another file while five edits arrive stay there'] = function()
  local files, steps = { ['mine.txt'] = '' }, {}
  for n = 1, 5 do
    files[n .. '.txt'] = 'old\n'
    vim.list_extend(steps, { read_step(n .. '.txt'), edit_step(n .. '.txt', 'old', 'new') })
  end
  local c = desk(files, steps)
  c:edit('1.txt')
  local mine = c:edit('mine.txt')
  c:cmd('Copydesk chat')
  c:lua('vim.api.nvim_set_current_win(vim.fn.bufwinid(...))', mine)
  local before = screen(c)
  c:cmd('Copydesk send all of them')
  local typed = ''
  c:type('i')
  local ended = vim.wait(child.patience, function()
    typed = typed .. 'x'
    c:type('x')
    return c:lua('return #turns > 0')
  end, 20)
  check(ended, true)
  check(c:mode(), 'i', 'insert mode goes on')
  c:type('<Esc>')
  c:wait('vim.api.nvim_get_mode().mode == "n"')
  check(c:lines(mine), { typed })
  local now = screen(c)
  check({ now[2], now[3], #now[1] }, { before[2], before[3], #before[1] })
  check(c:disk('5.txt'), 'new\n')
end

T['closing windows and buffers decides nothing'] = function()
  for _, close in ipairs({ 'quit!', 'wincmd c', 'tabclose!', 'only!', 'bdelete!', 'hide' }) do
    local c = desk(
      { ['a.txt'] = 'one\ntwo\n' },
      { read_step('a.txt'), edit_step('a.txt', 'two', 'TWO') }
    )
    c:cmd(close == 'tabclose!' and 'tabnew' or 'split')
    local a = c:edit('a.txt')
    c:cmd('Copydesk send shout')
    c:wait('#turns > 0')
    c:wait(pending(1))
    c:cmd('write')
    if close == 'only!' then
      c:cmd('wincmd p')
    end
    c:cmd(close)
    check(c:disk('a.txt'), 'one\nTWO\n', close)
    a = c:edit('a.txt')
    c:wait(pending(1), 'still pending after ' .. close)
    check(c:lines(a), { 'one', 'TWO' }, close)
    c:cmd('Copydesk rejectall')
    c:wait(('vim.api.nvim_buf_get_lines(%d, 1, 2, false)[1] == "two"'):format(a))
    child.stop_all()
  end
end

T['after the review nothing of it is left in the editor'] = function()
  for _, action in ipairs({ 'accept', 'reject' }) do
    local c = desk(
      { ['a.txt'] = 'one\ntwo\nthree\n' },
      { read_step('a.txt'), edit_step('a.txt', 'two', 'TWO') }
    )
    local a = c:edit('a.txt')
    local function left()
      return c:lua([[
        local marks = 0
        for _, buf in ipairs(vim.api.nvim_list_bufs()) do
          if vim.api.nvim_buf_is_loaded(buf) then
            for name, space in pairs(vim.api.nvim_get_namespaces()) do
              if not name:find('semantic') then
                marks = marks + #vim.api.nvim_buf_get_extmarks(buf, space, 0, -1, {})
              end
            end
          end
        end
        return { marks, vim.fn.execute('ls!'):gsub('line %d+', ''):gsub('%+', ' ') }
      ]])
    end
    c:cmd('Copydesk chat')
    c:cmd('wincmd p')
    local chat_closed = left()
    c:cmd('Copydesk send shout')
    c:wait('#turns > 0')
    c:wait(pending(1))
    c:cmd('Copydesk ' .. action .. 'all')
    c:wait(pending(0))
    local now = left()
    check(#vim.split(now[2], '\n'), #vim.split(chat_closed[2], '\n'), 'no buffer is left')
    check(
      c:lua('return #vim.api.nvim_buf_get_extmarks(..., -1, 0, -1, {})', a),
      0,
      'no mark is left'
    )
    check(c:lines(a), { 'one', action == 'accept' and 'TWO' or 'two', 'three' })
    child.stop_all()
  end
end

T['undo works after accepting'] = function()
  local c = desk(
    { ['a.txt'] = 'one\ntwo\n' },
    { read_step('a.txt'), edit_step('a.txt', 'two', 'TWO') }
  )
  local a = c:edit('a.txt')
  c:cmd('Copydesk send shout')
  c:wait('#turns > 0')
  c:cmd('Copydesk acceptall')
  c:wait(pending(0))
  c:type('u')
  c:wait(('vim.api.nvim_buf_get_lines(%d, 1, 2, false)[1] == "two"'):format(a))
  check(c:lines(a), { 'one', 'two' })
end

T['all orders of accepting and rejecting give one text, and leave no mark'] = function()
  for _, order in ipairs({ { 1, 4, 7 }, { 4, 7, 1 }, { 7, 1, 4 }, { 7, 4, 1 } }) do
    local c, buf = three()
    check(marks(c, buf) > 0, true)
    for index, line in ipairs(order) do
      c:cmd(tostring(line))
      c:cmd('Copydesk ' .. (line == 4 and 'accept' or 'reject'))
      c:wait(pending(3 - index))
    end
    check(text(c, buf), 'one\ntwo\nthree\nFOUR\nfive\nsix\nseven\n')
    c:wait(('#vim.api.nvim_buf_get_extmarks(%d, -1, 0, -1, {}) == 0'):format(buf))
    child.stop_all()
  end
end

T['one hunk accepted, one rejected, one amended: the agent hears of each'] = function()
  local c, buf, model = three({ { text = 'I see' } })
  c:cmd('1')
  c:cmd('Copydesk accept')
  c:wait(pending(2))
  c:cmd('4')
  c:cmd('Copydesk reject do not shout')
  c:wait(pending(1))
  c:cmd('7')
  c:type('0la-or-nine-<Esc>')
  c:wait([[vim.iter(require('copydesk.review').files()):any(function(file)
    return file.hunks[1].author == 'mixed'
  end)]])
  c:cmd('Copydesk accept')
  c:wait('#told > 0 and told[#told].message:find("nothing is pending any more", 1, true)')
  check(text(c, buf), 'ONE\ntwo\nthree\nfour\nfive\nsix\nSE-or-nine-VEN\n')
  c:cmd('Copydesk send go on')
  c:wait('#turns > 1')
  vim.wait(child.patience, function()
    return #model.requests() == 4
  end, 10)
  local said = vim.inspect(model.requests()[4])
  for _, words in ipairs({ 'accepted', 'rejected', 'do not shout', 'SE-or-nine-VEN' }) do
    check(said:find(words, 1, true) ~= nil, true, words)
  end
end

T['decisions are taken back one after the other'] = function()
  local c, buf = three()
  c:cmd('Copydesk acceptall')
  c:wait(pending(0))
  c:cmd('Copydesk undo')
  c:wait(pending(3))
  c:cmd('1')
  c:cmd('Copydesk reject')
  c:wait(pending(2))
  c:cmd('Copydesk! reject')
  c:wait(pending(0))
  check(text(c, buf), before)
  c:cmd('Copydesk undo')
  c:wait(pending(2))
  c:cmd('Copydesk undo')
  c:wait(pending(3))
  check(text(c, buf), after)
end

T['rejecting is one undo step, and u brings the change back'] = function()
  local c, buf = three()
  c:type('Gomine<Esc>')
  c:wait('vim.api.nvim_get_current_line() == "mine"')
  c:cmd('Copydesk! reject')
  c:wait(pending(0))
  check(text(c, buf), before .. 'mine\n')
  c:type('u')
  c:wait(('vim.api.nvim_buf_get_lines(%d, 0, 1, false)[1] == "ONE"'):format(buf))
  check(text(c, buf), after .. 'mine\n')
  c:type('u')
  c:wait(('vim.api.nvim_buf_line_count(%d) == 7'):format(buf))
  check(text(c, buf), after)
  c:type('u')
  c:wait(('vim.api.nvim_buf_get_lines(%d, 0, 1, false)[1] == "one"'):format(buf))
  check(text(c, buf), before)
end

T['u on a pending change drops it, and what is drawn of it'] = function()
  local c, buf = three()
  c:type('u')
  c:wait(pending(0))
  check(text(c, buf), before)
  c:wait(('#vim.api.nvim_buf_get_extmarks(%d, -1, 0, -1, {}) == 0'):format(buf))
end

T['a formatter that runs on saving runs once, after the last decision'] = function()
  local c, buf = three()
  c:lua(
    [[
    formatted, edits = 0, 0
    vim.api.nvim_create_autocmd('BufWritePre', { buffer = ..., callback = function(event)
      formatted = formatted + 1
      local lines = vim.api.nvim_buf_get_lines(event.buf, 0, -1, false)
      for i, line in ipairs(lines) do lines[i] = vim.trim(line) .. ';' end
      vim.api.nvim_buf_set_lines(event.buf, 0, -1, false, lines)
    end })
    vim.api.nvim_create_autocmd('User', { pattern = 'CopydeskEditApplied', callback = function() edits = edits + 1 end })
  ]],
    buf
  )
  c:cmd('Copydesk! accept')
  c:wait(pending(0))
  c:wait('formatted == 1')
  local formatted = after:gsub('\n', ';\n')
  c:wait(('not vim.bo[%d].modified'):format(buf))
  check(c:disk('a.txt'), formatted)
  check(text(c, buf), formatted)
  check(c:lua('return { formatted, edits }'), { 1, 0 }, 'nothing is applied again')
end

T['saving and an auto-save accept nothing'] = function()
  local c, buf = three()
  c:lua(
    [[vim.api.nvim_create_autocmd('TextChanged', { callback = function() vim.cmd('silent! write') end })]]
  )
  c:cmd('write')
  c:type('Gomore<Esc>')
  c:wait(('not vim.bo[%d].modified'):format(buf))
  check(c:disk('a.txt'), after .. 'more\n')
  check(c:lua('return require("copydesk").status().hunks'), 3)
  c:cmd('Copydesk rejectall')
  c:wait(pending(0))
  check(text(c, buf), before .. 'more\n')
end

T['hunks are drawn again after Neovim was started anew'] = function()
  local c, buf = three()
  c:cmd('write')
  c:wait(('not vim.bo[%d].modified'):format(buf))
  c:cmd('Copydesk restart')
  c:wait('#told > 0 and told[#told].message:find("restarted", 1, true)')
  c:wait(pending(3))
  c:wait(('#vim.api.nvim_buf_get_extmarks(%d, -1, 0, -1, {}) > 0'):format(buf))
  local again = c:again()
  local opened = again:edit('a.txt')
  check(again:lua('return require("copydesk").status().state'), 'stopped')
  again:cmd('Copydesk next')
  again:wait(pending(3))
  again:wait('vim.api.nvim_win_get_cursor(0)[1] == 4')
  again:wait(('#vim.api.nvim_buf_get_extmarks(%d, -1, 0, -1, {}) > 0'):format(opened))
  again:cmd('4')
  again:cmd('Copydesk reject')
  again:wait(pending(2))
  check(text(again, opened), (after:gsub('FOUR', 'four')))
end

T['made, deleted and closed files are listed, shown and decided'] = function()
  local c = desk(
    { ['closed.txt'] = 'old\n', ['gone.txt'] = 'gone\nfor good\n', ['mine.txt'] = 'mine\n' },
    {
      read_step('closed.txt'),
      edit_step('closed.txt', 'old', 'new'),
      write_step('made.txt', 'made\n'),
      read_step('gone.txt'),
      { calls = { { name = 'Delete', input = { paths = { 'gone.txt' }, reason = 'unused' } } } },
      { text = 'done' },
    }
  )
  c:edit('mine.txt')
  c:cmd('Copydesk send tidy up')
  c:wait('require("copydesk").status().pending > 0 or #turns > 0')
  c:cmd('Copydesk approve')
  c:wait('#turns > 0')
  c:wait(pending(3))
  c:cmd('Copydesk review')
  c:wait('vim.bo.buftype == "quickfix"')
  local items =
    c:lua([[return vim.tbl_map(function(item) return item.text end, vim.fn.getqflist())]])
  check(items, {
    '+1 −1  new',
    '+0 −2 file deleted  gone',
    '+1 −0 new file  made',
  })
  c:cmd('2cc')
  c:wait('vim.api.nvim_buf_line_count(0) == 2')
  check(c:lines(), { 'gone', 'for good' })
  c:cmd('Copydesk reject')
  c:wait(pending(2))
  check(c:disk('gone.txt'), 'gone\nfor good\n')
  c:wait([[vim.fn.expand('%:t') == 'gone.txt' and vim.bo.buftype == '']])
  c:cmd('Copydesk next')
  check(c:lua([[return vim.fn.expand('%:t')]]), 'made.txt')
  c:wait('#vim.api.nvim_buf_get_extmarks(0, -1, 0, -1, {}) > 0')
  c:cmd('Copydesk reject')
  c:wait(pending(1))
  check(vim.uv.fs_stat(c.work .. '/made.txt'), nil)
  c:cmd('Copydesk next')
  check(c:lua([[return vim.fn.expand('%:t')]]), 'closed.txt')
  c:cmd('Copydesk accept')
  c:wait(pending(0))
  check(c:disk('closed.txt'), 'new\n')
end

T['a thousand hunks are rejected at once'] = function()
  local lines = {}
  for i = 1, 10000 do
    lines[i] = ('line %05d %s'):format(i, i % 10 == 0 and 'needle' or 'straw')
  end
  local all = table.concat(lines, '\n') .. '\n'
  local edit = edit_step('a.txt', 'needle', 'NEEDLE')
  edit.calls[1].input.replace_all = true
  local c = desk({ ['a.txt'] = all }, { read_step('a.txt'), edit, { text = 'done' } })
  local buf = c:edit('a.txt')
  c:cmd('Copydesk send shout')
  c:wait('#turns > 0')
  c:wait(pending(1000))
  c:cmd('Copydesk! reject')
  c:wait(pending(0))
  check(text(c, buf) == all, true)
  check(marks(c, buf), 0)
end

T['the comparison shows the text from before, and follows typing and decisions'] = function()
  local c, buf = three()
  c:cmd('Copydesk diff')
  c:wait('#vim.api.nvim_list_wins() > 1 and vim.wo.diff')
  local base = c:lua([[return vim.fn.bufnr('copydesk-base')]])
  check(text(c, base), before)
  c:type('Goadded by me<Esc>')
  c:wait(('vim.api.nvim_buf_line_count(%d) == 8'):format(base))
  c:cmd('1')
  c:cmd('Copydesk accept')
  c:wait(('vim.api.nvim_buf_get_lines(%d, 0, 1, false)[1] == "ONE"'):format(base))
  check(text(c, base), 'ONE' .. before:sub(4) .. 'added by me\n')
  c:cmd('quit')
  check(c:lua('return require("copydesk").status().hunks'), 2)
  check(text(c, buf), after .. 'added by me\n')
end

--- Where hunks are drawn, and where the server has them.
local function places(c)
  return c:lua([[
    local review, draw = require('copydesk.review'), require('copydesk.review.draw')
    local client = vim.lsp.get_clients({ name = 'copydesk' })[1]
    -- What was typed goes first; the answer is for that text.
    local list
    require('copydesk.client').request('copydesk/review/list', vim.empty_dict(), function(_, result) list = result end)
    vim.wait(5000, function() return list end, 1)
    local buf, drawn, told = vim.api.nvim_get_current_buf(), {}, {}
    for id, place in pairs(draw.places(buf)) do
      drawn[id] = vim.inspect(place)
    end
    for _, file in ipairs(list.files) do
      for _, hunk in ipairs(file.hunks) do
        told[hunk.hunkId] = vim.inspect(draw.place(buf, hunk.range))
      end
    end
    return { drawn, told }
  ]])
end

T['whatever is typed, hunks are drawn where the server has them'] = function()
  for seed = 1, 4 do
    math.randomseed(seed)
    local c, buf = three()
    local keys = {
      function(row)
        return row .. 'GOnew above<Esc>'
      end,
      function(row)
        return row .. 'Gonew below<Esc>'
      end,
      function(row)
        return row .. 'GA at the end<Esc>'
      end,
      function(row)
        return row .. 'GIé日𝒳<Esc>'
      end,
      function(row)
        return row .. 'Gdd'
      end,
      function(row)
        return row .. 'GJ'
      end,
      function(row)
        return row .. 'Gyypp'
      end,
      function()
        return 'u'
      end,
    }
    for _ = 1, 25 do
      local count = c:lua('return vim.api.nvim_buf_line_count(0)')
      c:type(keys[math.random(#keys)](math.random(count)))
      c:lua('return 0') -- the keys are in the buffer
    end
    c:wait(
      [[vim.iter(require('copydesk.review').files()):all(function(file)
      return file.version == vim.lsp.util.buf_versions[vim.api.nvim_get_current_buf()]
    end)]],
      'the hunks of the last text'
    )
    local seen = places(c)
    check(seen[1], seen[2], 'seed ' .. seed .. '\n' .. text(c, buf))
    check(c:lua('return vim.v.errmsg'), '')
    c:cmd('Copydesk acceptall')
    c:wait(pending(0))
    check(marks(c, buf), 0)
    child.stop_all()
  end
end

return T
