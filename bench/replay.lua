-- wrk's side of a run: replays a file of pre-signed requests in order, again from the top when it ends.
-- The file is a sequence of "<length>\n<that many bytes>" (bench/requests.py writes it). There is no response
-- function on purpose: with one, wrk would hand every answer to Lua and become the slow side itself.

local requests = {}
local count = 0
local position = 0

function init(args)
  local file = assert(io.open(args[1], "rb"))
  while true do
    local length = file:read("*l")
    if not length then break end
    count = count + 1
    requests[count] = file:read(tonumber(length))
  end
  file:close()
end

function request()
  position = position % count + 1
  return requests[position]
end

function done(summary, latency, _)
  local errors = summary.errors
  io.write(string.format(
    'RESULT {"operations": %d, "seconds": %.6f, "p50_ms": %.4f, "p99_ms": %.4f, "errors": %d}\n',
    summary.requests, summary.duration / 1e6, latency:percentile(50) / 1e3, latency:percentile(99) / 1e3,
    errors.connect + errors.read + errors.write + errors.status + errors.timeout))
end
