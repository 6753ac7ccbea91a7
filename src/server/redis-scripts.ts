/** A Lua script; Redis runs each as one step that no other command can come between. */
export interface RedisScript {
  readonly text: string;
}

// The hash of a run: `epoch`, `meta` (JSON), `status`, `next` (the first free offset), `lease` (the
// time it runs out), `cancel`, `until` (the time an ended log goes). All times are those of Redis, in
// ms, so that no process's clock counts. The stream has the id `<offset + 1>-0` for each event, because
// 0-0 is none.
//
// The hash outlives the stream: it is then the tombstone.
const prelude = `
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)

-- A log that has ended and is gone. One without events never had a stream.
local function isEvicted(status, next, ends)
  return status ~= 'running' and
    (now >= tonumber(ends) or (tonumber(next) > 0 and redis.call('EXISTS', KEYS[2]) == 0))
end

-- Ends the log: keeps it for 'retention', and what is known of the run for 'tombstones'.
local function finish(status, retention, tombstones, wake)
  redis.call('HSET', KEYS[1], 'status', status, 'until', now + tonumber(retention))
  redis.call('HDEL', KEYS[1], 'lease', 'cancel')
  redis.call('PEXPIRE', KEYS[1], tombstones)
  redis.call('PEXPIRE', KEYS[2], retention)
  redis.call('PUBLISH', wake, '')
end

-- Ends the log of a producer that died, or of a log that lost its end.
local function lose(next, event, retention, tombstones, wake)
  local top = redis.call('XREVRANGE', KEYS[2], '+', '-', 'COUNT', 1)[1]
  if top then next = tonumber(string.match(top[1], '^%d+')) end
  redis.call('XADD', KEYS[2], string.format('%.0f-0', next + 1), 'e', event)
  redis.call('HSET', KEYS[1], 'next', next + 1)
  finish('lost', retention, tombstones, wake)
end
`;

/** Give `lua` what every script needs. */
const script = (lua: string): RedisScript => ({ text: prelude + lua });

/** Keys: run, log, cancel. Arguments: epoch, meta, lease, tombstones. */
export const createScript: RedisScript = script(`
local known = redis.call('HMGET', KEYS[1], 'epoch', 'status', 'next', 'until', 'cancel')
if known[1] then
  if isEvicted(known[2], known[3], known[4]) then return {} end
  -- The same epoch again: the answer to the first call was lost on its way.
  return { known[1], known[1] == ARGV[1] and 1 or 0, known[5] and 1 or 0 }
end
local cancelled = redis.call('DEL', KEYS[3])
redis.call('DEL', KEYS[2])
redis.call('HSET', KEYS[1], 'epoch', ARGV[1], 'meta', ARGV[2], 'status', 'running', 'next', 0,
  'lease', now + tonumber(ARGV[3]))
if cancelled == 1 then redis.call('HSET', KEYS[1], 'cancel', 1) end
redis.call('PEXPIRE', KEYS[1], ARGV[4])
return { ARGV[1], 1, cancelled }
`);

/**
 * Keys: run, log. Arguments: epoch, offset of the first event, wake channel, error event, retention,
 * tombstones, how many events to keep (0: all), time to keep a log that nobody renews, events.
 */
export const appendScript: RedisScript = script(`
local known = redis.call('HMGET', KEYS[1], 'epoch', 'status', 'next', 'cancel')
if known[1] ~= ARGV[1] or known[2] ~= 'running' then return { -1 } end
local next, first, count = tonumber(known[3]), tonumber(ARGV[2]), #ARGV - 8
local over = first + count
local cancelled = known[4] and 1 or 0
if count == 0 then return { next, cancelled } end
-- Written before: the answer to the first call was lost on its way.
if next >= over then return { over, cancelled } end
if next ~= first or (next > 0 and redis.call('EXISTS', KEYS[2]) == 0) then
  -- Redis came back with an older log. What followers have read cannot be written a second time.
  lose(next, ARGV[4], ARGV[5], ARGV[6], ARGV[3])
  return { -1 }
end
for index = 1, count do
  redis.call('XADD', KEYS[2], string.format('%.0f-0', first + index), 'e', ARGV[8 + index])
end
redis.call('HSET', KEYS[1], 'next', over)
if first == 0 then redis.call('PEXPIRE', KEYS[2], ARGV[8]) end
if ARGV[7] ~= '0' then redis.call('XTRIM', KEYS[2], 'MAXLEN', '~', ARGV[7]) end
redis.call('PUBLISH', ARGV[3], string.format('%.0f', over))
return { over, cancelled }
`);

/**
 * Keys: run, log. Arguments: first offset, how many events, how many bytes of them.
 * Gives epoch, status, next, rest of the lease, and the first offset with the events behind it.
 */
export const readScript: RedisScript = script(`
local known = redis.call('HMGET', KEYS[1], 'epoch', 'status', 'next', 'lease', 'until')
if not known[1] then return {} end
if isEvicted(known[2], known[3], known[5]) then return { known[1], 'evicted' } end
local next = tonumber(known[3])
if next > 0 and redis.call('EXISTS', KEYS[2]) == 0 then return { known[1], 'gone' } end
local answer = { known[1], known[2], known[3], (tonumber(known[4]) or now) - now, 0 }
local position, left, bytes = tonumber(ARGV[1]) + 1, tonumber(ARGV[2]), tonumber(ARGV[3])
while left > 0 and bytes > 0 and position <= next do
  local step = math.min(left, 20)
  local entries = redis.call('XRANGE', KEYS[2], string.format('%.0f-0', position), '+', 'COUNT', step)
  for _, entry in ipairs(entries) do
    local at = tonumber(string.match(entry[1], '^%d+'))
    if #answer == 5 then
      answer[5] = string.format('%.0f', at - 1)
    elseif at ~= position then
      -- A hole: the rest is for the next call.
      return answer
    end
    answer[#answer + 1] = entry[2][2]
    position = at + 1
    bytes = bytes - #entry[2][2]
  end
  if #entries < step then break end
  left = left - step
end
return answer
`);

/** Keys: run, log. Gives epoch, from, next, status, meta. */
export const headScript: RedisScript = script(`
local known = redis.call('HMGET', KEYS[1], 'epoch', 'next', 'status', 'meta', 'until')
if not known[1] then return {} end
local next = tonumber(known[2])
local gone = next > 0 and redis.call('EXISTS', KEYS[2]) == 0
if gone or isEvicted(known[3], next, known[5]) then return { 'evicted' } end
local first = redis.call('XRANGE', KEYS[2], '-', '+', 'COUNT', 1)[1]
local from = first and tonumber(string.match(first[1], '^%d+')) - 1 or next
return { known[1], string.format('%.0f', from), known[2], known[3], known[4] }
`);

/** Keys: run, log. Arguments: epoch, status, wake channel, retention, tombstones. */
export const endScript: RedisScript = script(`
local known = redis.call('HMGET', KEYS[1], 'epoch', 'status')
if known[1] ~= ARGV[1] or known[2] ~= 'running' then return 0 end
finish(ARGV[2], ARGV[4], ARGV[5], ARGV[3])
return 1
`);

/** Keys: run, log. Arguments: epoch, lease, retention, tombstones. Gives whether it is kept, and whether it is cancelled. */
export const leaseScript: RedisScript = script(`
local known = redis.call('HMGET', KEYS[1], 'epoch', 'status', 'cancel')
if known[1] ~= ARGV[1] or known[2] ~= 'running' then return { 0 } end
redis.call('HSET', KEYS[1], 'lease', now + tonumber(ARGV[2]))
redis.call('PEXPIRE', KEYS[1], ARGV[4])
redis.call('PEXPIRE', KEYS[2], ARGV[3])
return { 1, known[3] and 1 or 0 }
`);

/**
 * Keys: run, log. Arguments: error event, retention, tombstones, wake channel. Ends a run whose lease
 * has run out. Gives 1 where this call ended it, else 0 with the rest of the lease, or -1.
 */
export const expireScript: RedisScript = script(`
local known = redis.call('HMGET', KEYS[1], 'status', 'lease', 'next')
if known[1] ~= 'running' then return { -1 } end
local rest = tonumber(known[2]) - now
if rest > 0 then return { 0, rest } end
lose(tonumber(known[3]), ARGV[1], ARGV[2], ARGV[3], ARGV[4])
return { 1 }
`);

/** Keys: run, log, cancel. Arguments: control channel, message, how long a cancel waits for its run. */
export const cancelScript: RedisScript = script(`
local status = redis.call('HGET', KEYS[1], 'status')
if not status then
  redis.call('SET', KEYS[3], 1, 'PX', ARGV[3])
elseif status == 'running' then
  redis.call('HSET', KEYS[1], 'cancel', 1)
else
  return 0
end
redis.call('PUBLISH', ARGV[1], ARGV[2])
return 1
`);

/** Arguments: channel, message. The key only says which node to ask. */
export const publishScript: RedisScript = {
  text: `return redis.call('PUBLISH', ARGV[1], ARGV[2])`,
};

/** Keys: a set of leases. Arguments: how many. Gives the runs to look at. */
export const dueScript: RedisScript = script(`
return redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', now, 'LIMIT', 0, ARGV[1])
`);

/** Keys: a set of leases. Arguments: a run, and in how many ms to look at it; less than 0: never. */
export const watchScript: RedisScript = script(`
if tonumber(ARGV[2]) < 0 then return redis.call('ZREM', KEYS[1], ARGV[1]) end
return redis.call('ZADD', KEYS[1], now + tonumber(ARGV[2]), ARGV[1])
`);
