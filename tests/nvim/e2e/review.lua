--- Changes of the agent beside what the person has on the screen: windows, marks and buffers stay as they are.
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
  return c
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

local function decide(c, action)
  c:lua(
    [[
    local client = vim.lsp.get_clients({ name = 'copydesk' })[1]
    client:exec_cmd({ title = '', command = 'copydesk.' .. ..., arguments = { { all = true } } })
  ]],
    action
  )
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
  check(c:lua('return vim.fn.line(".", vim.fn.bufwinid(...))', a), 4, 'the cursor stays on its line')
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
    local c =
      desk({ ['a.txt'] = 'one\ntwo\n' }, { read_step('a.txt'), edit_step('a.txt', 'two', 'TWO') })
    c:cmd(close == 'tabclose!' and 'tabnew' or 'split')
    local a = c:edit('a.txt')
    c:cmd('Copydesk send shout')
    c:wait('#turns > 0')
    c:wait(('#vim.diagnostic.get(%d) == 1'):format(a))
    c:cmd('write')
    if close == 'only!' then
      c:cmd('wincmd p')
    end
    c:cmd(close)
    check(c:disk('a.txt'), 'one\nTWO\n', close)
    a = c:edit('a.txt')
    c:wait(('#vim.diagnostic.get(%d) == 1'):format(a), 'still pending after ' .. close)
    check(c:lines(a), { 'one', 'TWO' }, close)
    decide(c, 'reject')
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
    c:wait(('#vim.diagnostic.get(%d) == 1'):format(a))
    decide(c, action)
    c:wait(('#vim.diagnostic.get(%d) == 0'):format(a))
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
  local c =
    desk({ ['a.txt'] = 'one\ntwo\n' }, { read_step('a.txt'), edit_step('a.txt', 'two', 'TWO') })
  local a = c:edit('a.txt')
  c:cmd('Copydesk send shout')
  c:wait('#turns > 0')
  decide(c, 'accept')
  c:wait(('#vim.diagnostic.get(%d) == 0'):format(a))
  c:type('u')
  c:wait(('vim.api.nvim_buf_get_lines(%d, 1, 2, false)[1] == "two"'):format(a))
  check(c:lines(a), { 'one', 'two' })
end

return T
