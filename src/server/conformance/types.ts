/** The part of a WebSocket client that the suite uses; that of `ws` and of browsers fits. */
export interface ConformanceSocket {
  readonly readyState: number;
  binaryType?: string;
  send(data: string): unknown;
  close(code?: number, reason?: string): unknown;
  addEventListener(
    type: 'open' | 'message' | 'close' | 'error',
    // biome-ignore lint/suspicious/noExplicitAny: each runtime types its events differently.
    listener: (event: any) => void,
  ): unknown;
}

/** Options of {@link runConformance}. */
export interface ConformanceOptions {
  /** Opens a connection to the server, whose agent follows the scripts of {@link conformanceAgent}. */
  readonly open: () => ConformanceSocket | Promise<ConformanceSocket>;
  /** `plain`: the four messages of the AG-UI over WebSockets reference page; `v1`: all of PROTOCOL.md. */
  readonly profile: 'plain' | 'v1';
  /** Opens a connection with the credentials of somebody else. Without it, what strangers may do is not checked. */
  readonly openStranger?: () => ConformanceSocket | Promise<ConformanceSocket>;
  /** Makes the server forget a finished run's log, as its age would. */
  readonly evict?: (runId: string) => void | Promise<void>;
  /** Makes the server lose all events of a run before the offset `from`. */
  readonly truncate?: (runId: string, from: number) => void | Promise<void>;
  /** Kills the process, or else the producer, of a run. */
  readonly lose?: (runId: string) => void | Promise<void>;
  /** Makes the server ask all connections for a new token; `token` is one that it takes. */
  readonly reauth?: { readonly token: unknown; ask(): void | Promise<void> };
  /** Makes the server go away, as for a restart. It is the last thing that is checked. */
  readonly leave?: () => void | Promise<void>;
  /** The largest frame that a plain server takes, in bytes; a v1 server says it. */
  readonly maxMessage?: number;
  /** Only these checks, by name. @default all of the profile */
  readonly only?: readonly string[];
  /** How long the server may take for each thing, in ms. @default 5000 */
  readonly timeout?: number;
  /** Told of each check when it is done. */
  readonly onCheck?: (result: ConformanceResult) => void;
}

/** What came of one check. */
export interface ConformanceResult {
  readonly name: string;
  /** What PROTOCOL.md asks for. */
  readonly rule: string;
  readonly status: 'passed' | 'failed' | 'skipped';
  /** What went wrong, or what is missing for the check. */
  readonly detail?: string;
}

/** What came of all checks. */
export interface ConformanceReport {
  readonly profile: 'plain' | 'v1';
  /** No check failed; some may have been skipped. */
  readonly passed: boolean;
  readonly results: readonly ConformanceResult[];
}
