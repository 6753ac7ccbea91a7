/**
 * The part of node-redis that {@link redisRunLog} uses: a connected client of `createClient()` or of
 * `createCluster()`, version 5 or newer.
 */
export interface RedisLike {
  eval(script: string, options: RedisScriptInput): Promise<unknown>;
  evalSha(sha1: string, options: RedisScriptInput): Promise<unknown>;
  /** Makes a second client with the same settings: a connection that listens can do nothing else. */
  duplicate(): RedisSubscriberLike;
  on(type: 'error' | 'ready', listener: (error?: unknown) => void): unknown;
  off(type: 'error' | 'ready', listener: (error?: unknown) => void): unknown;
}

/** The part of node-redis that listens to channels. */
export interface RedisSubscriberLike {
  connect(): Promise<unknown>;
  subscribe(
    channel: string,
    listener: (message: string, channel: string) => void,
  ): Promise<unknown>;
  unsubscribe(channel: string): Promise<unknown>;
  on(type: 'error' | 'ready' | 'end', listener: (error?: unknown) => void): unknown;
  destroy(): unknown;
}

/** What a script is run with. */
export interface RedisScriptInput {
  keys: string[];
  arguments: string[];
}
