--- Text that is not in the buffer any more, as virtual lines: without tabs and control characters, wrapped
--- as the window wraps its own, and no more of it than can be looked at.
local M = {}

--- Lines shown of one place, and bytes of one line.
local most_removed, longest_removed = 24, 2000

--- One line of removed text in pieces of one highlight each, without tabs and control characters.
---@param text string
---@param words copydesk.review.Span[]?
---@param tabstop integer
---@return [string, string][], integer width
local function pieces(text, words, tabstop)
  local cut = #text > longest_removed
  if cut then
    text = text:sub(1, longest_removed + vim.str_utf_end(text, longest_removed))
  end
  local made, width, at = {}, 0, 0
  local function add(to, group)
    if to > at then
      local shown = text:sub(at + 1, to)
      if not shown:find('[^\32-\126]') then
        width = width + #shown
        made[#made + 1] = { shown, group }
        at = to
        return
      end
      shown = shown:gsub('[^\t]+', vim.fn.strtrans)
      local out = {}
      for piece, tab in shown:gmatch('([^\t]*)(\t?)') do
        width = width + vim.fn.strdisplaywidth(piece)
        out[#out + 1] = piece
        if tab ~= '' then
          local blanks = tabstop - width % tabstop
          width = width + blanks
          out[#out + 1] = (' '):rep(blanks)
        end
      end
      made[#made + 1] = { table.concat(out), group }
      at = to
    end
  end
  for _, span in ipairs(words or {}) do
    add(math.min(span[1], #text), 'CopydeskReviewDelete')
    add(math.min(span[2], #text), 'CopydeskReviewDeleteWord')
  end
  add(#text, 'CopydeskReviewDelete')
  if cut then
    made[#made + 1] = { '…', 'CopydeskReviewNote' }
    width = width + 1
  end
  return made, width
end

--- Breaks pieces where they reach the width.
---@param made [string, string][]
---@param width integer
---@return [string, string][][] rows, integer used columns of the last one
local function wrapped(made, width)
  local rows, row, used = {}, {}, 0
  for _, piece in ipairs(made) do
    local text, from = piece[1], 1
    local starts = vim.str_utf_pos(text)
    for i, at in ipairs(starts) do
      local cells = vim.fn.strdisplaywidth(text:sub(at, (starts[i + 1] or #text + 1) - 1))
      if used + cells > width then
        row[#row + 1] = { text:sub(from, at - 1), piece[2] }
        rows[#rows + 1], row, used, from = row, {}, 0, at
      end
      used = used + cells
    end
    row[#row + 1] = { text:sub(from), piece[2] }
  end
  rows[#rows + 1] = row
  return rows, used
end

--- Removed lines as virtual lines, coloured to the window's edge.
---@param part copydesk.review.Part
---@param wrap_at integer? columns; nil where lines do not wrap
---@param tabstop integer
---@param note string? said behind the first
---@param note_group string
---@return [string, string][][] lines, integer widest
function M.lines(part, wrap_at, tabstop, note, note_group)
  local virtual, widest = {}, 0
  local edge = math.max(vim.o.columns, 200)
  local shown = #part.old > most_removed and most_removed - 1 or #part.old
  for i = 1, shown do
    local made, width = pieces(part.old[i], part.old_words[i - 1], tabstop)
    widest = math.max(widest, width)
    local rows, used = { made }, width
    if wrap_at and width > wrap_at then
      rows, used = wrapped(made, wrap_at)
    end
    local last = rows[#rows]
    if i == 1 then
      local gone = #part.old == 1 and 'removed' or ('%d removed'):format(#part.old)
      local said = vim.fn.strdisplaywidth(gone .. (note and ', ' .. note or '')) + 2
      widest = math.max(widest, width + said)
      if wrap_at and used + said > wrap_at then
        last = {}
        rows[#rows + 1] = last
      end
      last[#last + 1] = { ' ' .. gone .. (note and ',' or ' '), 'CopydeskReviewNote' }
      if note then
        last[#last + 1] = { ' ' .. note .. ' ', note_group }
      end
    end
    last[#last + 1] = { (' '):rep(edge), 'CopydeskReviewDelete' }
    vim.list_extend(virtual, rows)
  end
  if shown < #part.old then
    local more = ('… %d more removed lines (:Copydesk diff)'):format(#part.old - shown)
    virtual[#virtual + 1] = { { more, 'CopydeskReviewNote' } }
  end
  return virtual, widest
end

return M
