--- Which buffers the server knows, under which URI and version, and how they stand: every listed file
--- buffer whatever its filetype, and unnamed ones as `untitled:copydesk-<bufnr>` (vim.lsp would send
--- them all as `file://`). vim.lsp keeps the named ones in step; the unnamed ones are kept here.
local client = require('copydesk.client')
local encoding = require('copydesk.encoding')
local log = require('copydesk.log')

local M = {}

local api = vim.api
local group_name = 'copydesk.documents'

---@class copydesk.Untitled
---@field version integer changedtick last told, or about to be
---@field pending boolean the text changed since it was last told

---@type table<integer, copydesk.Untitled>
local untitled = {}
--- Facts that only reading or writing the file changes, by buffer.
---@type table<integer, { eol: string, mtime: table?, size: integer? }>
local facts = {}
---@type table<integer, true> named buffers attached through vim.lsp
local named = {}
local state_scheduled = false

---@param buf integer
---@return boolean
local function wanted(buf)
  if not api.nvim_buf_is_loaded(buf) or not vim.bo[buf].buflisted or vim.bo[buf].buftype ~= '' then
    return false
  end
  local name = api.nvim_buf_get_name(buf)
  if name == '' then
    return true
  end
  return not name:match('^%a[%w+.-]+://') and vim.fn.isdirectory(name) == 0
end

---@param buf integer
---@return string
function M.text(buf)
  local ending = ({ dos = '\r\n', mac = '\r', unix = '\n' })[vim.bo[buf].fileformat] or '\n'
  local lines = api.nvim_buf_get_lines(buf, 0, -1, true)
  if #lines == 1 and lines[1] == '' and api.nvim_buf_get_name(buf) == '' then
    return ''
  end
  return table.concat(lines, ending) .. (vim.bo[buf].endofline and ending or '')
end

---@param buf integer
---@return string
function M.uri(buf)
  if untitled[buf] then
    return 'untitled:copydesk-' .. buf
  end
  return vim.uri_from_bufnr(buf)
end

---@param buf integer
---@return boolean
function M.attached(buf)
  return untitled[buf] ~= nil or named[buf] ~= nil
end

--- The version the server was last told, or is about to be told.
---@param buf integer
---@return integer
function M.version(buf)
  if untitled[buf] then
    return untitled[buf].version
  end
  return vim.lsp.util.buf_versions[buf] or 0
end

--- The loaded buffer a URI means, whatever way its path is spelled or linked.
---@param uri string
---@return integer?
function M.find(uri)
  local number = uri:match('^untitled:copydesk%-(%d+)$')
  if number then
    local buf = tonumber(number) --[[@as integer]]
    return untitled[buf] and api.nvim_buf_is_loaded(buf) and buf or nil
  end
  if not uri:match('^file:') then
    return nil
  end
  local path = vim.fs.normalize(vim.uri_to_fname(uri), { expand_env = false })
  local named_buffers = {}
  for _, buf in ipairs(api.nvim_list_bufs()) do
    local name = api.nvim_buf_is_loaded(buf) and api.nvim_buf_get_name(buf) or ''
    if name ~= '' and not name:match('^%a[%w+.-]+://') then
      if vim.fs.normalize(name, { expand_env = false }) == path then
        return buf
      end
      named_buffers[buf] = name
    end
  end
  local real = vim.uv.fs_realpath(path)
  if real then
    for buf, name in pairs(named_buffers) do
      if vim.uv.fs_realpath(name) == real then
        return buf
      end
    end
  end
  return nil
end

---@param buf integer
local function note_file(buf)
  local eol = ({ dos = 'crlf', mac = 'cr', unix = 'lf' })[vim.bo[buf].fileformat] or 'lf'
  if eol == 'lf' then
    for _, line in ipairs(api.nvim_buf_get_lines(buf, 0, -1, false)) do
      if line:byte(-1) == 13 then
        eol = 'mixed'
        break
      end
    end
  end
  local stat = vim.uv.fs_stat(api.nvim_buf_get_name(buf))
  facts[buf] = { eol = eol, mtime = stat and stat.mtime, size = stat and stat.size }
end

--- Whether the file on disk is still the one the buffer was read from or written to.
---@param buf integer
---@return boolean
function M.file_unchanged(buf)
  local known = facts[buf]
  local stat = vim.uv.fs_stat(api.nvim_buf_get_name(buf))
  if not known or not stat or not known.mtime then
    return not stat
  end
  return stat.size == known.size
    and stat.mtime.sec == known.mtime.sec
    and stat.mtime.nsec == known.mtime.nsec
end

local function send_untitled(buf)
  local doc = untitled[buf]
  if not doc or not doc.pending or not api.nvim_buf_is_loaded(buf) then
    return
  end
  doc.pending = false
  client.notify('textDocument/didChange', {
    textDocument = { uri = M.uri(buf), version = doc.version },
    contentChanges = { { text = M.text(buf) } },
  })
end

--- Tells the server every change it has not heard of. vim.lsp's own pending changes follow with the
--- next message of ours, whatever that is.
function M.flush()
  for buf in pairs(untitled) do
    send_untitled(buf)
  end
end

--- Runs `change` and tells it as one new text, for what no change of lines can say: a final newline
--- that comes or goes.
---@param buf integer
---@param change fun()
function M.change_whole(buf, change)
  if untitled[buf] then
    change()
    untitled[buf].pending = true
    send_untitled(buf)
    return
  end
  client.muted(change)
  if named[buf] then
    client.notify('textDocument/didChange', {
      textDocument = { uri = M.uri(buf), version = M.version(buf) },
      contentChanges = { { text = M.text(buf) } },
    })
  end
end

local function attach_untitled(buf)
  untitled[buf] = { version = api.nvim_buf_get_changedtick(buf), pending = false }
  client.notify('textDocument/didOpen', {
    textDocument = {
      uri = M.uri(buf),
      languageId = vim.bo[buf].filetype ~= '' and vim.bo[buf].filetype or 'plaintext',
      version = untitled[buf].version,
      text = M.text(buf),
    },
  })
  local mine = untitled[buf]
  local function gone()
    if untitled[buf] == mine then
      M.detach(buf)
    end
    return true
  end
  api.nvim_buf_attach(buf, false, {
    on_lines = function(_, _, tick)
      if untitled[buf] ~= mine then
        return true
      end
      mine.version = tick
      if not mine.pending then
        mine.pending = true
        vim.schedule(function()
          send_untitled(buf)
        end)
      end
    end,
    on_reload = function()
      mine.version, mine.pending = api.nvim_buf_get_changedtick(buf), true
      send_untitled(buf)
    end,
    on_detach = gone,
  })
end

--- Makes the buffer known to the server, if it is one the server should know.
---@param buf integer
function M.attach(buf)
  local running = client.get()
  if not running or not api.nvim_buf_is_valid(buf) or M.attached(buf) or not wanted(buf) then
    return
  end
  note_file(buf)
  if api.nvim_buf_get_name(buf) == '' then
    attach_untitled(buf)
  elseif not encoding.valid(api.nvim_buf_get_lines(buf, 0, -1, false)) then
    facts[buf] = nil
    log.warn('not shown to the server, its bytes are not text', api.nvim_buf_get_name(buf))
    return
  elseif vim.lsp.buf_attach_client(buf, running.id) then
    named[buf] = true
  end
  M.schedule_state()
end

---@param buf integer
function M.detach(buf)
  local running = client.get()
  if untitled[buf] then
    local uri = M.uri(buf)
    untitled[buf] = nil
    client.notify('textDocument/didClose', { textDocument = { uri = uri } })
  elseif named[buf] then
    named[buf] = nil
    if running and vim.lsp.buf_is_attached(buf, running.id) then
      vim.lsp.buf_detach_client(buf, running.id)
    end
  end
  facts[buf] = nil
  M.schedule_state()
end

---@param buf integer
---@return table
local function describe(buf)
  local options = vim.bo[buf]
  return {
    uri = M.uri(buf),
    version = M.version(buf),
    dirty = options.modified,
    encoding = encoding.label(options.fileencoding),
    bom = options.bomb,
    eol = facts[buf] and facts[buf].eol or 'lf',
    finalNewline = options.endofline or (options.fixendofline and not options.binary),
    readOnly = options.readonly or not options.modifiable,
  }
end

---@return table?
local function active()
  local buf = api.nvim_get_current_buf()
  if not M.attached(buf) then
    return nil
  end
  local function position(row, column)
    local line = api.nvim_buf_get_lines(buf, row, row + 1, false)[1] or ''
    return { line = row, character = encoding.utf16_length(line:sub(1, column)) }
  end
  local cursor = api.nvim_win_get_cursor(0)
  local at = position(cursor[1] - 1, cursor[2])
  local first, last = vim.fn.line('w0'), vim.fn.line('w$')
  return {
    uri = M.uri(buf),
    selections = { { start = at, ['end'] = at } },
    visibleRanges = { { start = position(first - 1, 0), ['end'] = position(last - 1, math.huge) } },
  }
end

--- All open documents and how they stand, now.
function M.send_state()
  state_scheduled = false
  if not client.get() then
    return
  end
  local documents = {}
  for _, set in ipairs({ named, untitled }) do
    for buf in pairs(set) do
      if api.nvim_buf_is_loaded(buf) then
        documents[#documents + 1] = describe(buf)
      end
    end
  end
  table.sort(documents, function(a, b)
    return a.uri < b.uri
  end)
  client.notify('copydesk/editor/didChangeState', {
    active = active(),
    documents = documents,
  })
end

--- The same, once for all that happens until the main loop is idle.
function M.schedule_state()
  if state_scheduled or not client.get() then
    return
  end
  state_scheduled = true
  vim.schedule(function()
    if state_scheduled then
      M.send_state()
    end
  end)
end

--- A later event may have given the buffer a type of its own (terminal, help): look again when idle.
local function attach_soon(event)
  vim.schedule(function()
    M.attach(event.buf)
    M.schedule_state()
  end)
end

--- Attaches every loaded listed buffer, and later ones as they come.
function M.follow()
  untitled, named, facts = {}, {}, {}
  local group = api.nvim_create_augroup(group_name, {})
  local function on(names, callback)
    api.nvim_create_autocmd(names, { group = group, callback = callback })
  end
  on({ 'BufReadPost', 'BufNewFile', 'BufEnter', 'BufAdd' }, attach_soon)
  on('BufFilePre', function(event)
    if M.attached(event.buf) then
      M.detach(event.buf)
    end
  end)
  on('BufFilePost', function(event)
    M.attach(event.buf)
  end)
  on('BufWritePost', function(event)
    if untitled[event.buf] and api.nvim_buf_get_name(event.buf) ~= '' then
      M.detach(event.buf)
      M.attach(event.buf)
    end
    if M.attached(event.buf) then
      note_file(event.buf)
      M.schedule_state()
    end
  end)
  on('BufReadPost', function(event)
    if M.attached(event.buf) then
      note_file(event.buf)
    end
  end)
  on('BufModifiedSet', M.schedule_state)
  on({ 'BufUnload', 'BufDelete' }, function(event)
    if untitled[event.buf] then
      M.detach(event.buf)
    end
    named[event.buf], facts[event.buf] = nil, nil
    M.schedule_state()
  end)
  on('OptionSet', function(event)
    local name = event.match
    if name == 'buftype' or name == 'buflisted' then
      local buf = api.nvim_get_current_buf()
      if M.attached(buf) and not wanted(buf) then
        M.detach(buf)
      end
    elseif
      vim.tbl_contains({ 'fileencoding', 'fileformat', 'readonly', 'modifiable', 'bomb' }, name)
    then
      M.schedule_state()
    end
  end)
  for _, buf in ipairs(api.nvim_list_bufs()) do
    M.attach(buf)
  end
  M.send_state()
end

--- A command ended and may have changed files: buffers without unsaved text show them as they are now,
--- where Neovim may read them anew by itself.
function M.reload_changed()
  for _, buf in ipairs(api.nvim_list_bufs()) do
    local reads = vim.bo[buf].autoread
    if reads == nil then
      reads = vim.o.autoread
    end
    if reads and named[buf] and wanted(buf) and not vim.bo[buf].modified then
      vim.cmd('silent! checktime ' .. buf)
    end
  end
end

--- The server is gone: what it knew counts no more.
function M.forget()
  untitled, named, facts = {}, {}, {}
  state_scheduled = false
  pcall(api.nvim_del_augroup_by_name, group_name)
end

return M
