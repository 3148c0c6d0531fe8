--- Draws hunks into buffers: new lines, what stood there before as virtual lines, changed words, signs,
--- and in words what is not plain. Extmarks move with the text by themselves; a hunk is drawn anew only
--- where it is not as it was told. A buffer without hunks has no extmark of ours.
local documents = require('copydesk.documents')
local encoding = require('copydesk.encoding')
local parts = require('copydesk.review.parts')
local removed = require('copydesk.review.removed')

local M = {}

local api = vim.api
local ns = api.nvim_create_namespace('copydesk.review')
--- Apart from what is seen, since they are looked up with their ends.
local anchor_ns = api.nvim_create_namespace('copydesk.review.hunks')

local below_syntax, above_syntax = 90, 190
--- Columns by which a window's text may become narrower before its removed lines are looked at.
local margin = 40

---@class copydesk.review.Mark
---@field id integer
---@field row integer counted from the hunk's first row
---@field col integer

---@class copydesk.review.Drawn
---@field anchor integer extmark over the hunk's text
---@field marks copydesk.review.Mark[]
---@field hunk copydesk.protocol.Hunk as it was drawn
---@field look string how it was drawn
---@field top integer virtual lines above the buffer's first line
---@field widest integer columns of its longest removed line

---@class copydesk.review.Place in buffer terms, 0-based, columns in bytes
---@field row integer
---@field col integer
---@field end_row integer
---@field end_col integer

---@class copydesk.review.Canvas
---@field hunks table<string, copydesk.review.Drawn>
---@field top integer virtual lines above the buffer's first line
---@field widest integer columns of the longest removed line
---@field width integer? where it wraps
---@field file copydesk.protocol.ReviewFile as it was drawn

---@type table<integer, copydesk.review.Canvas>
local canvases = {}

---@param buf integer
---@param row integer
---@return string
local function line(buf, row)
  return api.nvim_buf_get_lines(buf, row, row + 1, false)[1] or ''
end

---@param buf integer
---@param range copydesk.protocol.Range
---@return copydesk.review.Place
function M.place(buf, range)
  local count = api.nvim_buf_line_count(buf)
  local function position(at)
    if at.line >= count then
      return count, 0
    elseif at.character == 0 then
      return at.line, 0
    end
    return at.line, encoding.byte_offset(line(buf, at.line), at.character)
  end
  local row, col = position(range.start)
  local end_row, end_col = position(range['end'])
  return { row = row, col = col, end_row = end_row, end_col = end_col }
end

--- The rows a place covers: the first and the one after the last.
---@param place copydesk.review.Place
---@return integer, integer
function M.rows(place)
  return place.row, place.end_col > 0 and place.end_row + 1 or place.end_row
end

---@param buf integer
---@param text string
---@return string[]
local function lines_of(buf, text)
  if vim.bo[buf].fileformat == 'dos' then
    text = text:gsub('\r\n', '\n')
  elseif vim.bo[buf].fileformat == 'mac' then
    text = text:gsub('\r', '\n')
  end
  local lines = vim.split(text, '\n', { plain = true })
  if lines[#lines] == '' then
    table.remove(lines)
  end
  return lines
end

--- Old and new lines of a hunk at a place, whole lines both.
---@param buf integer
---@param hunk copydesk.protocol.Hunk
---@param place copydesk.review.Place
---@return string[] old, string[] new, integer first row
local function sides(buf, hunk, place)
  local first, after = M.rows(place)
  if place.col == 0 and place.end_col == 0 then
    return lines_of(buf, hunk.oldText), api.nvim_buf_get_lines(buf, first, after, false), first
  end
  -- It begins or ends inside a line: what surrounds it there is the same on both sides.
  local before = line(buf, place.row):sub(1, place.col)
  local behind = place.end_col > 0 and line(buf, place.end_row):sub(place.end_col + 1) or ''
  local old = vim.split(before .. hunk.oldText:gsub('\r\n', '\n') .. behind, '\n', { plain = true })
  if old[#old] == '' then
    table.remove(old)
  end
  return old, api.nvim_buf_get_lines(buf, first, math.max(after, first + 1), false), first
end

--- Whether a hunk's text is what stands at a place.
---@param buf integer
---@param hunk copydesk.protocol.Hunk
---@param place copydesk.review.Place
---@return boolean
local function stands_at(buf, hunk, place)
  local count = api.nvim_buf_line_count(buf)
  if place.row > count or place.end_row > count then
    return false
  end
  local there
  if place.end_row == count then
    there = api.nvim_buf_get_lines(buf, place.row, count, false)
    if there[1] then
      there[1] = there[1]:sub(place.col + 1)
    end
  else
    there = api.nvim_buf_get_text(buf, place.row, place.col, place.end_row, place.end_col, {})
    if there[#there] == '' then
      table.remove(there)
    end
  end
  return vim.deep_equal(there, lines_of(buf, hunk.newText))
end

--- How a buffer is shown: removed lines wrap as its own do, and where it is compared side by side they are
--- left out, since they would tear the two sides apart.
---@class copydesk.review.Layout
---@field side_by_side boolean
---@field width integer? where long lines wrap; nil where they do not

---@param buf integer
---@return copydesk.review.Layout
local function layout_of(buf)
  local layout = { side_by_side = false }
  for _, win in ipairs(vim.fn.win_findbuf(buf)) do
    if vim.wo[win].diff then
      layout.side_by_side = true
    end
    if vim.wo[win].wrap then
      local info = vim.fn.getwininfo(win)[1]
      local width = math.max(20, info.width - info.textoff)
      layout.width = math.min(layout.width or width, width)
    end
  end
  return layout
end

--- All that a hunk's looks depend on beside itself.
---@param buf integer
---@param layout copydesk.review.Layout
---@param note string?
---@param widest integer
---@return string
local function look_of(buf, layout, note, widest)
  local wraps = layout.width and widest > layout.width and layout.width
  return ('%s %s %s %d %s'):format(
    layout.side_by_side,
    layout.width ~= nil,
    wraps,
    vim.bo[buf].tabstop,
    note
  )
end

--- What is to be said of a hunk in words, if anything.
---@param file copydesk.protocol.ReviewFile
---@param hunk copydesk.protocol.Hunk
---@return string? note, string group
local function note_of(file, hunk)
  if hunk.state == 'conflict' then
    return 'conflict: you wrote inside', 'CopydeskReviewConflict'
  end
  if hunk.author == 'mixed' then
    return 'mixed: yours and the agent’s', 'CopydeskReviewNote'
  end
  if file.hunks[1] == hunk then
    if file.change == 'add' then
      return 'new file', 'CopydeskReviewNote'
    elseif file.change == 'rename' and type(file.oldUri) == 'string' then
      return 'moved from ' .. vim.fs.basename(vim.uri_to_fname(file.oldUri)), 'CopydeskReviewNote'
    elseif file.change == 'delete' then
      return 'file deleted', 'CopydeskReviewNote'
    end
  end
  return nil, 'CopydeskReviewNote'
end

---@param part copydesk.review.Part
---@param hunk copydesk.protocol.Hunk
---@return string sign, string group
local function sign_of(part, hunk)
  if hunk.state == 'conflict' then
    return '!', 'CopydeskReviewConflict'
  elseif part.count == 0 then
    return '-', 'CopydeskReviewSignDelete'
  elseif #part.old == 0 and not part.same then
    return '+', 'CopydeskReviewSignAdd'
  end
  return '~', 'CopydeskReviewSignChange'
end

---@param buf integer
---@param drawn copydesk.review.Drawn
local function erase(buf, drawn)
  api.nvim_buf_del_extmark(buf, anchor_ns, drawn.anchor)
  for _, mark in ipairs(drawn.marks) do
    api.nvim_buf_del_extmark(buf, ns, mark.id)
  end
end

--- Draws one hunk at a place.
---@param buf integer
---@param file copydesk.protocol.ReviewFile
---@param hunk copydesk.protocol.Hunk
---@param place copydesk.review.Place
---@param layout copydesk.review.Layout
---@return copydesk.review.Drawn
local function draw(buf, file, hunk, place, layout)
  local count = api.nvim_buf_line_count(buf)
  local old, new, first = sides(buf, hunk, place)
  local marks, top, widest = {}, 0, 0 ---@type copydesk.review.Mark[], integer, integer
  local function mark(row, col, options)
    options.strict = false
    local id = api.nvim_buf_set_extmark(buf, ns, row, col, options)
    marks[#marks + 1] = { id = id, row = row - place.row, col = col }
    if options.virt_lines and row == 0 and options.virt_lines_above then
      top = top + #options.virt_lines
    end
  end
  local note, note_group = note_of(file, hunk)
  local shown = parts.of(old, new)
  local ending ---@type string?
  if #shown == 0 or (#old == 0 and #new == 0) then -- the file's name, or how its last line ends
    local modified = file.change == 'modify'
    local row = modified and math.max(0, #new - 1) or 0
    shown = { { row = row, count = 1, old = {}, words = {}, old_words = {}, same = true } }
    ending = modified and 'the line ending' or nil
  end
  for index, part in ipairs(shown) do
    local row = first + part.row
    local sign, sign_group = sign_of(part, hunk)
    local said = index == 1 and (note or ending) or nil
    local is_shown_removed = #part.old > 0 and not layout.side_by_side
    if part.count > 0 then
      if not layout.side_by_side and not part.same then
        mark(row, 0, {
          end_row = row + part.count,
          end_col = 0,
          hl_group = 'CopydeskReviewAdd',
          hl_eol = true,
          priority = below_syntax,
        })
      end
      mark(row, 0, {
        end_row = part.count > 1 and row + part.count - 1 or nil, -- this row has the sign too
        end_col = part.count > 1 and 0 or nil,
        sign_text = sign,
        sign_hl_group = sign_group,
        priority = below_syntax,
      })
      for at, spans in pairs(layout.side_by_side and {} or part.words) do
        for _, span in ipairs(spans) do
          mark(row + at, span[1], {
            end_col = span[2],
            hl_group = 'CopydeskReviewWord',
            priority = above_syntax,
          })
        end
      end
      if said and not is_shown_removed then
        mark(row, 0, { virt_text = { { ' ' .. said .. ' ', note_group } }, hl_mode = 'replace' })
      end
    end
    local at_end = row >= count
    if is_shown_removed then
      local virtual, wide = removed.lines(part, layout.width, vim.bo[buf].tabstop, said, note_group)
      widest = math.max(widest, wide)
      mark(at_end and count - 1 or row, 0, {
        virt_lines = virtual,
        virt_lines_above = not at_end,
        virt_lines_overflow = not layout.width and vim.fn.has('nvim-0.11') == 1 and 'scroll' or nil,
      })
    end
    if part.count == 0 then
      mark(
        at_end and count - 1 or row,
        0,
        { sign_text = sign, sign_hl_group = sign_group, priority = below_syntax }
      )
    end
  end
  local anchor = api.nvim_buf_set_extmark(buf, anchor_ns, place.row, place.col, {
    end_row = place.end_row,
    end_col = place.end_col,
    strict = false,
  })
  return {
    anchor = anchor,
    marks = marks,
    hunk = hunk,
    look = look_of(buf, layout, note, widest),
    top = top,
    widest = widest,
  }
end

--- Where the anchors of a buffer are, by extmark.
---@param buf integer
---@return table<integer, copydesk.review.Place>
local function anchors(buf)
  local found = {}
  for _, mark in ipairs(api.nvim_buf_get_extmarks(buf, anchor_ns, 0, -1, { details = true })) do
    local details = mark[4] --[[@as table]]
    found[mark[1]] = {
      row = mark[2],
      col = mark[3],
      end_row = details.end_row or mark[2],
      end_col = details.end_col or mark[3],
    }
  end
  return found
end

--- Where the rest is.
---@param buf integer
---@return table<integer, [integer, integer]>
local function seen(buf)
  local found = {}
  for _, mark in ipairs(api.nvim_buf_get_extmarks(buf, ns, 0, -1, {})) do
    found[mark[1]] = { mark[2], mark[3] }
  end
  return found
end

--- Whether all that was drawn of a hunk is still in its place beside the anchor.
---@param drawn copydesk.review.Drawn
---@param anchor copydesk.review.Place
---@param at table<integer, [integer, integer]>
---@return boolean
local function whole(drawn, anchor, at)
  for _, mark in ipairs(drawn.marks) do
    local there = at[mark.id]
    if not there or there[1] - anchor.row ~= mark.row or there[2] ~= mark.col then
      return false
    end
  end
  return true
end

---@param a copydesk.review.Place
---@param b copydesk.review.Place
---@return boolean
local function same_place(a, b)
  return a.row == b.row and a.col == b.col and a.end_row == b.end_row and a.end_col == b.end_col
end

---@param a copydesk.protocol.Hunk
---@param b copydesk.protocol.Hunk
---@return boolean
local function alike(a, b)
  return a.newText == b.newText
    and a.oldText == b.oldText
    and a.state == b.state
    and a.author == b.author
end

--- Lines above the first one are out of sight until a window is scrolled to them.
---@param buf integer
---@param top integer
local function uncover(buf, top)
  for _, win in ipairs(vim.fn.win_findbuf(buf)) do
    api.nvim_win_call(win, function()
      local view = vim.fn.winsaveview()
      if view.topline == 1 and view.topfill < top then
        vim.fn.winrestview({ topfill = top })
      end
    end)
  end
end

--- Virtual lines at a window's lower edge may else stay as they were.
---@param buf integer
local function repaint(buf)
  for _, win in ipairs(vim.fn.win_findbuf(buf)) do
    if api.nvim__redraw then
      api.nvim__redraw({ win = win, valid = false })
    end
  end
end

local watching = false
local watch_widths ---@type fun()

--- While a removed line may wrap: draws again where a window's text has become wider or narrower, which
--- nothing but its being drawn tells (the signs alone make it narrower).
function watch_widths()
  if watching == (next(canvases) ~= nil) then
    return
  end
  watching = not watching
  local function on_win(_, _, buf)
    local canvas = canvases[buf]
    if canvas and canvas.width and canvas.widest > canvas.width - margin then
      vim.schedule(function()
        local wraps = canvases[buf] == canvas and layout_of(buf).width
        if wraps and wraps ~= canvas.width then
          M.show(buf, canvas.file)
          repaint(buf)
        end
      end)
    end
    return false
  end
  api.nvim_set_decoration_provider(ns, watching and { on_win = on_win } or {})
end

--- Draws a file's hunks, all anew only where they are not yet as told. Hunks told for an older text stay
--- where they moved to; new ones of those are drawn where their text stands, or with the next telling.
---@param buf integer
---@param file copydesk.protocol.ReviewFile
function M.show(buf, file)
  local canvas = canvases[buf] or { hunks = {} }
  local layout = layout_of(buf)
  local current = file.version == documents.version(buf)
  local at, marks = anchors(buf), seen(buf)
  local kept = {} ---@type table<string, copydesk.review.Drawn>
  local top, widest = 0, 0
  for _, hunk in ipairs(file.hunks) do
    local drawn = canvas.hunks[hunk.hunkId]
    local there = drawn and at[drawn.anchor]
    local place ---@type copydesk.review.Place?
    if current then
      place = M.place(buf, hunk.range)
    else
      place = M.place(buf, hunk.range)
      if there and (stands_at(buf, hunk, there) or not stands_at(buf, hunk, place)) then
        place = there
      elseif not stands_at(buf, hunk, place) then
        place = nil
      end
    end
    if
      drawn
      and place
      and there
      and same_place(place, there)
      and drawn.look == look_of(buf, layout, note_of(file, hunk), drawn.widest)
      and alike(drawn.hunk, hunk)
      and whole(drawn, place, marks)
    then
      drawn.hunk = hunk
      kept[hunk.hunkId] = drawn
    elseif place then
      if drawn then
        erase(buf, drawn)
      end
      kept[hunk.hunkId] = draw(buf, file, hunk, place, layout)
    end
    if kept[hunk.hunkId] then
      top = top + kept[hunk.hunkId].top
      widest = math.max(widest, kept[hunk.hunkId].widest)
    end
  end
  for id, drawn in pairs(canvas.hunks) do
    if not kept[id] then
      erase(buf, drawn)
    end
  end
  if next(kept) == nil then
    canvases[buf] = nil
  else
    local more_above = top > (canvas.top or 0)
    canvas.hunks, canvas.top, canvas.widest = kept, top, widest
    canvas.width, canvas.file = layout.width, file
    canvases[buf] = canvas
    if more_above then
      uncover(buf, top)
    end
  end
  watch_widths()
end

--- Takes everything of ours out of a buffer.
---@param buf integer
function M.clear(buf)
  if canvases[buf] and api.nvim_buf_is_valid(buf) then
    api.nvim_buf_clear_namespace(buf, ns, 0, -1)
    api.nvim_buf_clear_namespace(buf, anchor_ns, 0, -1)
  end
  canvases[buf] = nil
  watch_widths()
end

--- Buffers with something drawn in them.
---@return integer[]
function M.buffers()
  return vim.tbl_keys(canvases)
end

--- Where a buffer's hunks are now, by id.
---@param buf integer
---@return table<string, copydesk.review.Place>
function M.places(buf)
  local places = {}
  local canvas = canvases[buf]
  local at = canvas and anchors(buf) or {}
  for id, drawn in pairs(canvas and canvas.hunks or {}) do
    places[id] = at[drawn.anchor]
  end
  return places
end

--- Shows what was removed above the first line when a window has come back to it.
---@param win integer
function M.scrolled(win)
  local canvas = canvases[api.nvim_win_get_buf(win)]
  if canvas and canvas.top > 0 then
    uncover(api.nvim_win_get_buf(win), canvas.top)
  end
end

return M
