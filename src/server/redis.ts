export type { RedisLike, RedisScriptInput, RedisSubscriberLike } from './redis-like.ts';
export { type RedisRunLogOptions, redisRunLog } from './redis-run-log.ts';
