import type { Message, Probe } from './probe.ts';
import type { ConformanceOptions } from './types.ts';

/** What a check works with. */
export interface Kit {
  readonly options: ConformanceOptions;
  readonly v1: boolean;
  /** A run id of its own. */
  id(name?: string): string;
  /** Opens a connection; behind the server's `hello` with v1. */
  open(): Promise<Probe>;
  openStranger(): Promise<Probe>;
  /** The server's `hello`. */
  hello(probe: Probe): Message;
  pause(ms: number): Promise<void>;
}

/** One rule, and what shows whether a server keeps it. */
export interface Check {
  readonly name: string;
  /** @default both */
  readonly profile?: 'plain' | 'v1';
  readonly rule: string;
  /** What the server's author has to give for it. */
  readonly needs?: keyof ConformanceOptions;
  /** A capability without which the rule is not for this server. */
  readonly cap?: string;
  /** It takes long by its nature, and runs beside the others. */
  readonly isLong?: boolean;
  run(kit: Kit): Promise<void>;
}
