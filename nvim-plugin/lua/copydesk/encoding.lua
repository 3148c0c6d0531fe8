--- Text encodings: Vim's names to WHATWG labels, whether text survives a file's encoding, UTF-16 columns.
local M = {}

local labels = {
  ['latin1'] = 'iso-8859-1',
  ['utf-16'] = 'utf-16be',
  ['ucs-2'] = 'utf-16be',
  ['ucs-2be'] = 'utf-16be',
  ['ucs-2le'] = 'utf-16le',
  ['sjis'] = 'shift_jis',
  ['cp932'] = 'shift_jis',
  ['euc-cn'] = 'gbk',
  ['cp936'] = 'gbk',
  ['cp949'] = 'euc-kr',
  ['cp950'] = 'big5',
  ['macroman'] = 'macintosh',
}

---@param fileencoding string
---@return string
function M.label(fileencoding)
  if fileencoding == '' then
    return 'utf-8'
  end
  local page = fileencoding:match('^cp(125%d)$')
  return page and 'windows-' .. page or labels[fileencoding] or fileencoding
end

--- Whether a file with this encoding can hold the text. Vim itself would write `¿` without a word.
---@param text string
---@param fileencoding string
---@return boolean
function M.can_hold(text, fileencoding)
  if
    fileencoding == ''
    or fileencoding:match('^utf')
    or fileencoding:match('^ucs%-4')
    or not text:find('[\128-\255]')
  then
    return true
  end
  local there = vim.iconv(text, 'utf-8', fileencoding)
  return there ~= nil and vim.iconv(there, fileencoding, 'utf-8') == text
end

--- Length of the UTF-8 sequence at `at`, or nil where the bytes are none.
---@param text string
---@param at integer 1-based
---@return integer?
local function sequence(text, at)
  local first = text:byte(at)
  if first < 0x80 then
    return 1
  end
  local length = first >= 0xF0 and first < 0xF5 and 4
    or first >= 0xE0 and first < 0xF0 and 3
    or first >= 0xC2 and first < 0xE0 and 2
    or nil
  if not length then
    return nil
  end
  for offset = 1, length - 1 do
    local byte = text:byte(at + offset)
    if not byte or byte < 0x80 or byte > 0xBF then
      return nil
    end
  end
  return length
end

--- Whether all lines are valid UTF-8.
---@param lines string[]
---@return boolean
function M.valid(lines)
  for _, line in ipairs(lines) do
    local at = line:find('[\128-\255]')
    while at and at <= #line do
      local length = sequence(line, at)
      if not length then
        return false
      end
      at = line:find('[\128-\255]', at + length)
    end
  end
  return true
end

---@param text string
---@return integer
function M.utf16_length(text)
  local at, units = 1, 0
  while at <= #text do
    local length = sequence(text, at) or 1
    units = units + (length == 4 and 2 or 1)
    at = at + length
  end
  return units
end

--- Byte offset of a UTF-16 column; a column past the end or inside a pair means the nearest before it.
---@param line string
---@param column integer
---@return integer
function M.byte_offset(line, column)
  local at, units = 1, 0
  while at <= #line do
    local length = sequence(line, at) or 1
    local width = length == 4 and 2 or 1
    if units + width > column then
      break
    end
    units = units + width
    at = at + length
  end
  return at - 1
end

return M
