--- Pending hunks of a small file for unit tests, and what is drawn of them.
local child = require('child')

local old = { 'one', 'two', 'three', 'four', 'five', 'six', 'seven' }
local new = { 'ONE', 'two', 'three', 'fore', 'extra', 'five', 'seven' }

local function text(list, first, last)
  local lines = vim.list_slice(list, first + 1, last)
  return #lines > 0 and table.concat(lines, '\n') .. '\n' or ''
end

local function range(first, last)
  return { start = { line = first, character = 0 }, ['end'] = { line = last, character = 0 } }
end

--- A hunk over whole lines: rows of the new text and of the old one, ends not included.
local function hunk(id, uri, rows, old_rows, fields)
  return vim.tbl_extend('force', {
    hunkId = id,
    uri = uri,
    range = range(rows[1], rows[2]),
    baseRange = range(old_rows[1], old_rows[2]),
    oldText = text(old, old_rows[1], old_rows[2]),
    newText = text(new, rows[1], rows[2]),
    state = 'pending',
    author = 'agent',
    sessionId = 's1',
    toolCallIds = { 't1' },
  }, fields or {})
end

local function file(c, name, hunks, fields)
  return vim.tbl_extend(
    'force',
    { uri = c:uri(name), change = 'modify', hunks = hunks },
    fields or {}
  )
end

local function hunks_of(c, name)
  local uri = c:uri(name)
  return {
    hunk('h1', uri, { 0, 1 }, { 0, 1 }),
    hunk('h2', uri, { 3, 5 }, { 3, 4 }),
    hunk('h3', uri, { 6, 6 }, { 5, 6 }),
  }
end

local function tell(c, files)
  c:tell('copydesk/review/didChange', { rev = 1, files = files })
end

local namespace = [[vim.api.nvim_get_namespaces()['copydesk.review'] ]]

local function count_marks(c, buf)
  return c:lua('return #vim.api.nvim_buf_get_extmarks(..., ' .. namespace .. ', 0, -1, {})', buf)
end

--- What is drawn, in the order of the text: signs with their rows, removed lines, words, notes.
local function drawn(c, buf)
  return c:lua([[
    local found = {}
    for _, mark in ipairs(vim.api.nvim_buf_get_extmarks(..., ]] .. namespace .. [[, 0, -1, { details = true })) do
      local row, d = mark[2] + 1, mark[4]
      if d.sign_text then
        found[#found + 1] = ('%s%d-%d'):format(vim.trim(d.sign_text), row, (d.end_row or mark[2]) + 1)
      end
      for _, line in ipairs(d.virt_lines or {}) do
        local said = vim.iter(line):map(function(piece) return piece[1] end):join('')
        found[#found + 1] = ('%s%d %s'):format(d.virt_lines_above and '^' or 'v', row, vim.trim(said))
      end
      if d.virt_text then
        found[#found + 1] = ('note%d%s'):format(row, d.virt_text[1][1])
      end
      if d.hl_group == 'CopydeskReviewWord' then
        found[#found + 1] = ('word%d:%d-%d'):format(row, mark[3], d.end_col)
      end
    end
    table.sort(found)
    return found
  ]], buf)
end

--- A child with `a.txt` open and its three hunks told.
local function three(fields, options)
  local c = child.new(vim.tbl_extend('force', {
    files = {
      ['a.txt'] = table.concat(new, '\n') .. '\n',
      ['b.txt'] = 'b\n',
      ['c.txt'] = 'plain\n',
    },
  }, options or {}))
  c:cmd('set hidden')
  local buf = c:edit('a.txt')
  c:start()
  c:server('fixture/answers', {
    ['copydesk/review/list'] = {
      rev = 1,
      files = { file(c, 'a.txt', hunks_of(c, 'a.txt'), { version = 0 }) },
    },
    ['copydesk/review/base'] = { text = table.concat(old, '\n') .. '\n' },
    ['copydesk/review/resolve'] = { rev = 2, resolved = { 'h1' }, conflicts = {}, undoToken = 'u1' },
    ['copydesk/review/undo'] = { rev = 3 },
  })
  tell(c, {
    file(
      c,
      'a.txt',
      hunks_of(c, 'a.txt'),
      vim.tbl_extend('force', { version = c:version(buf) }, fields or {})
    ),
  })
  c:wait('require("copydesk").status().hunks == 3')
  c:lua([[require('copydesk.review').ready(function() listed = true end)]])
  c:wait('listed')
  return c, buf
end

local all_drawn = {
  '+5-5',
  '-7-7',
  '^1 one removed',
  '^4 four removed',
  '^7 six removed',
  'note',
  '~1-1',
  '~4-4',
}
table.remove(all_drawn, 6)

return {
  old = old,
  new = new,
  text = text,
  range = range,
  hunk = hunk,
  file = file,
  hunks_of = hunks_of,
  tell = tell,
  namespace = namespace,
  count_marks = count_marks,
  drawn = drawn,
  three = three,
  all_drawn = all_drawn,
}
