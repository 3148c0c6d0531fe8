--- What the server may send, by method. A request is always answered: a handler that fails or returns
--- nothing would leave the server waiting.
local log = require('copydesk.log')

local M = {}

---@param method string
---@param handle fun(params: table): any
---@param fallback any answer when the handler fails
local function request(method, handle, fallback)
  return function(_, params)
    local ok, result = pcall(handle, type(params) == 'table' and params or {})
    if not ok then
      log.error(method .. ' failed', result)
      local answer = type(fallback) == 'function' and fallback(result) or fallback
      return answer
    end
    if result == nil then
      return vim.NIL
    end
    return result
  end
end

---@param method string
---@param handle fun(params: table)
local function notification(method, handle)
  return function(_, params)
    local ok, problem = pcall(handle, type(params) == 'table' and params or {})
    if not ok then
      log.error(method .. ' could not be shown', { problem, params })
    end
    return vim.NIL
  end
end

---@return table<string, lsp.Handler>
function M.table()
  local requests = {
    ['workspace/applyEdit'] = {
      function(params)
        return require('copydesk.edit').apply(params)
      end,
      function(problem)
        return { applied = false, failureReason = tostring(problem):sub(1, 500) }
      end,
    },
    ['copydesk/editor/save'] = {
      function(params)
        return require('copydesk.save').save(params)
      end,
      { results = {} },
    },
    ['session/request_permission'] = {
      function(params)
        return require('copydesk.permission').ask(params)
      end,
      { outcome = { outcome = 'cancelled' } },
    },
  }
  local notifications = {
    ['session/update'] = function(params)
      require('copydesk.session').update(params)
    end,
    ['copydesk/request/resolved'] = function(params)
      require('copydesk.permission').resolved(params)
    end,
    ['copydesk/review/didChange'] = function(params)
      require('copydesk.review').update(params)
    end,
    ['copydesk/status/didChange'] = function(params)
      require('copydesk.session').server_status(params)
    end,
  }
  local all = {}
  for method, entry in pairs(requests) do
    all[method] = request(method, entry[1], entry[2])
  end
  for method, handle in pairs(notifications) do
    all[method] = notification(method, handle)
  end
  return all
end

return M
