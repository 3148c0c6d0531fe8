--- The stories of tests/scenarios, played in Neovim with the real server.
local child = require('child')

local T = {}
local scenarios = child.root .. '/tests/scenarios'

local function read_json(path)
  local file = assert(io.open(path, 'rb'))
  local text = file:read('*a')
  file:close()
  return vim.json.decode(text)
end

local function read(path)
  local file = io.open(path, 'rb')
  local text = file and file:read('*a') or nil
  if file then
    file:close()
  end
  return text
end

local function workspace(folder)
  local files = {}
  for path in vim.fs.dir(folder, { depth = 20 }) do
    local text = read(folder .. '/' .. path)
    if text then
      files[path] = text
    end
  end
  return files
end

local function open_unsaved(c, path, text)
  c:edit(path)
  c:lua(
    [[
    local lines = vim.split(..., '\n', { plain = true })
    if lines[#lines] == '' then table.remove(lines) end
    vim.api.nvim_buf_set_lines(0, 0, -1, false, lines)
  ]],
    text
  )
end

local function play(folder)
  local story, expected = read_json(folder .. '/story.json'), read_json(folder .. '/expect.json')
  local model = child.model(read_json(folder .. '/model.json'))
  local c = child.with_server(model, { files = workspace(folder .. '/workspace') })
  c:cmd('set hidden')
  for path, text in pairs(read_json(folder .. '/unsaved.json')) do
    open_unsaved(c, path, text)
  end
  c:lua(
    [[
    local kind, cancel_when = ...
    vim.api.nvim_create_autocmd('User', {
      pattern = 'CopydeskPermissionRequested',
      callback = function() require('copydesk.permission').answer(kind) end,
    })
    cancel_when = cancel_when ~= vim.NIL and cancel_when or nil
    function cancel_once()
      for _, entry in ipairs(require('copydesk.session').entries()) do
        if cancel_when and entry.call and entry.call.kind == cancel_when
          and entry.call.status == 'in_progress' then
          cancel_when = nil
          vim.cmd('Copydesk stop')
        end
      end
      return #turns > 0
    end
  ]],
    story.permission or vim.NIL,
    story.cancel_when or vim.NIL
  )
  if story.mode then
    c:start()
    c:cmd('Copydesk mode ' .. story.mode)
    c:wait(('require("copydesk").status().mode == %q'):format(story.mode))
  end
  c:cmd('Copydesk send ' .. story.prompt)
  c:wait('cancel_once()', 'the turn to end')

  check(c:lua('return turns'), { expected.stop }, 'stop reason')
  local said, cards = {}, {}
  local entries = c:lua([[
    return vim.tbl_map(function(entry)
      local call = entry.call or {}
      return { kind = entry.kind, text = table.concat(entry.lines or {}, '\n'), call = { kind = call.kind, status = call.status } }
    end, require('copydesk.session').entries())
  ]])
  for _, entry in ipairs(entries) do
    if entry.kind == 'agent' then
      said[#said + 1] = entry.text
    elseif entry.kind == 'tool' then
      cards[#cards + 1] = entry.call
    end
  end
  check(table.concat(said), expected.said, 'said')
  check(cards, expected.cards, 'cards')
  for path, text in pairs(expected.buffers) do
    local buf = c:lua('return vim.fn.bufnr(...)', c.work .. '/' .. path)
    check(c:lua('return require("copydesk.documents").text(...)', buf), text, 'buffer ' .. path)
  end
  for path, text in pairs(expected.disk) do
    check(read(c.work .. '/' .. path), text ~= vim.NIL and text or nil, 'disk ' .. path)
  end
  for _, text in ipairs(expected.model_saw) do
    check(model.saw(text), true, 'the model saw ' .. text)
  end
  if expected.model_requests then
    check(#model.requests(), expected.model_requests, 'model requests')
  end
  check(c:lua('return vim.v.errmsg'), '', 'errors')
end

for name, kind in vim.fs.dir(scenarios) do
  if kind == 'directory' and vim.uv.fs_stat(scenarios .. '/' .. name .. '/story.json') then
    T[name] = function()
      play(scenarios .. '/' .. name)
    end
  end
end

return T
