--- What there is to show of a hunk: which of its lines are new, what stood there before, and which words
--- of a changed line differ. Pure text, no buffers.
local M = {}

--- Past these a hunk is shown whole, without looking for what is the same inside it.
local most_lines, longest_line = 2000, 1000

---@alias copydesk.review.Span [integer, integer] bytes, 0-based, the end not included

---@class copydesk.review.Part
---@field row integer where it begins, counted from the hunk's first row
---@field count integer rows of new text; none where text was only taken out
---@field old string[] lines that were there
---@field words table<integer, copydesk.review.Span[]> changed words by row from `row`, 0-based
---@field old_words table<integer, copydesk.review.Span[]> the same of `old`
---@field same boolean? no text differs, there is only something to be said of it

local function diff(a, b, options)
  options.result_type = 'indices'
  local compare = vim.text and vim.text.diff or vim.diff
  return compare(a, b, options) --[[@as integer[][] ]]
end

---@param list string[]
local function joined(list)
  return #list > 0 and table.concat(list, '\n') .. '\n' or ''
end

--- Words, runs of blanks, and everything else by the character; with where each begins and the end.
---@param line string
---@return string[], integer[]
local function tokens(line)
  local list, starts, at = {}, {}, 1
  while at <= #line do
    local _, stop = line:find('^[%w_\128-\255]+', at)
    if not stop then
      _, stop = line:find('^%s+', at)
    end
    stop = stop or at
    -- A line's own newline bytes would split the token in the comparison.
    list[#list + 1] = (line:sub(at, stop):gsub('\n', '\r'))
    starts[#starts + 1] = at - 1
    at = stop + 1
  end
  starts[#starts + 1] = #line
  return list, starts
end

--- The words in which two lines differ; nothing where little is the same.
---@param old string
---@param new string
---@return copydesk.review.Span[]?, copydesk.review.Span[]?
function M.words(old, new)
  if #old > longest_line or #new > longest_line then
    return nil, nil
  end
  local old_tokens, old_starts = tokens(old)
  local new_tokens, new_starts = tokens(new)
  local old_spans, new_spans, changed = {}, {}, 0
  local function add(spans, starts, first, count)
    if count > 0 then
      local from, to = starts[first], starts[first + count]
      spans[#spans + 1] = { from, to }
      changed = changed + to - from
    end
  end
  for _, hunk in ipairs(diff(joined(old_tokens), joined(new_tokens), {})) do
    add(old_spans, old_starts, hunk[1], hunk[2])
    add(new_spans, new_starts, hunk[3], hunk[4])
  end
  if changed > 0.7 * (#old + #new) then
    return nil, nil
  end
  return old_spans, new_spans
end

---@param old string[]
---@param new string[]
---@param row integer
---@return copydesk.review.Part
local function part(old, new, row)
  local made = { row = row, count = #new, old = old, words = {}, old_words = {} }
  for i = 1, math.min(#old, #new) do
    made.old_words[i - 1], made.words[i - 1] = M.words(old[i], new[i])
  end
  return made
end

--- Two parts of one row as one: the first has removed lines only.
---@param first copydesk.review.Part
---@param second copydesk.review.Part
---@return copydesk.review.Part
local function joint(first, second)
  local made = vim.tbl_extend('force', second, {
    old = vim.list_extend(vim.list_slice(first.old), second.old),
    old_words = {},
  })
  for at, spans in pairs(second.old_words) do
    made.old_words[at + #first.old] = spans
  end
  return made
end

--- A hunk in parts, in the order of the text. Lines that are the same on both sides are in none.
---@param old string[]
---@param new string[]
---@return copydesk.review.Part[]
function M.of(old, new)
  if #old == 0 or #new == 0 or #old + #new > most_lines then
    return { { row = 0, count = #new, old = old, words = {}, old_words = {} } }
  end
  if #old == 1 and #new == 1 then
    return old[1] ~= new[1] and { part(old, new, 0) } or {}
  end
  local parts = {} ---@type copydesk.review.Part[]
  for _, hunk in ipairs(diff(joined(old), joined(new), { linematch = 60 })) do
    local old_first, old_count, new_first, new_count = unpack(hunk)
    -- Where nothing is on a side, its number is that of the line before.
    local row = new_count > 0 and new_first - 1 or new_first
    local made = part(
      vim.list_slice(old, old_first, old_first + old_count - 1),
      vim.list_slice(new, new_first, new_first + new_count - 1),
      row
    )
    local last = parts[#parts]
    if last and last.count == 0 and last.row == row then
      parts[#parts] = joint(last, made)
    else
      parts[#parts + 1] = made
    end
  end
  return parts
end

return M
