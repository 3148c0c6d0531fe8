--- Highlight groups, all `default` links: a colour scheme or the person may set any of them.
local M = {}

M.links = {
  CopydeskTitle = 'Title',
  CopydeskRole = 'Title',
  CopydeskMuted = 'Comment',
  CopydeskThought = 'Comment',
  CopydeskCard = 'Normal',
  CopydeskIcon = 'Special',
  CopydeskRunning = 'DiagnosticInfo',
  CopydeskDone = 'DiagnosticOk',
  CopydeskFailed = 'DiagnosticError',
  CopydeskCancelled = 'DiagnosticWarn',
  CopydeskDiffAdd = 'DiffAdd',
  CopydeskDiffDelete = 'DiffDelete',
  CopydeskDiffHunk = 'Comment',
  CopydeskDiffFile = 'Directory',
  CopydeskReviewAdd = 'DiffAdd',
  CopydeskReviewDelete = 'DiffDelete',
  CopydeskReviewWord = 'DiffText',
  CopydeskReviewDeleteWord = 'DiffText',
  CopydeskReviewSignAdd = 'Added',
  CopydeskReviewSignChange = 'Changed',
  CopydeskReviewSignDelete = 'Removed',
  CopydeskReviewNote = 'Comment',
  CopydeskReviewConflict = 'DiagnosticWarn',
  CopydeskCommand = 'String',
  CopydeskOutput = 'Normal',
  CopydeskPermission = 'WarningMsg',
  CopydeskKey = 'Special',
  CopydeskNotice = 'DiagnosticInfo',
  CopydeskWarning = 'DiagnosticWarn',
  CopydeskError = 'DiagnosticError',
}

local done = false

function M.define()
  if done then
    return
  end
  done = true
  local function set()
    for name, target in pairs(M.links) do
      vim.api.nvim_set_hl(0, name, { link = target, default = true })
    end
  end
  set()
  vim.api.nvim_create_autocmd('ColorScheme', {
    group = vim.api.nvim_create_augroup('copydesk.highlights', {}),
    callback = set,
  })
end

return M
