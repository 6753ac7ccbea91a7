/** The names of what a run log keeps on Redis. */
export interface RedisKeys {
  /** What is known of a run: a hash. */
  run(runId: string): string;
  /** The events of a run: a stream. */
  log(runId: string): string;
  /** That a run is to be cancelled once it is known: a string. */
  cancel(runId: string): string;
  /** The channel that tells of new events of a run. */
  wake(runId: string): string;
  /** The channel of what processes tell each other. */
  readonly control: string;
  /** The sorted sets of runs by the time their lease is to be looked at. */
  readonly leases: readonly string[];
  /** The one of {@link leases} that a run is in. */
  lease(runId: string): string;
}

const shards = 16;

/**
 * Writes an id so that it can be a hash tag, which ends at the first `}`, and UTF-8, which has no
 * half surrogates. No two ids are written alike.
 */
export function escapeId(runId: string): string {
  return (
    runId.replace(/[%{}\p{Cs}]/gu, (char) => `%${char.charCodeAt(0).toString(16)}`) ||
    // An empty tag is none: the keys of the run would end up on several nodes of a cluster.
    '%'
  );
}

/** Reads what {@link escapeId} wrote. */
export function unescapeId(text: string): string {
  return text.replace(/%(d[89a-f]..|..)?/g, (_, code?: string) =>
    code ? String.fromCharCode(Number.parseInt(code, 16)) : '',
  );
}

/** Name the keys behind `prefix`. */
export function createRedisKeys(prefix: string): RedisKeys {
  const base = (runId: string) => `${prefix}:{${escapeId(runId)}}`;
  const leases = Array.from({ length: shards }, (_, index) => `${prefix}:leases:{${index}}`);
  return {
    run: base,
    log: (runId) => `${base(runId)}:log`,
    cancel: (runId) => `${base(runId)}:cancel`,
    wake: (runId) => `${base(runId)}:wake`,
    control: `${prefix}:control`,
    leases,
    lease(runId) {
      let hash = 0;
      for (let index = 0; index < runId.length; index++) {
        hash = (hash * 31 + runId.charCodeAt(index)) >>> 0;
      }
      return leases[hash % shards]!;
    },
  };
}
