import type { Truth } from './truth.ts';

/**
 * How a server names the places of its logs. `sparse`: numbers that only grow. The others are
 * strings: `stream` as the ids of a Redis Stream, `digits` as numbers that a double cannot hold,
 * `random` without any order, among them names that objects have.
 */
export type Numbering = 'dense' | 'sparse' | 'stream' | 'digits' | 'random';

/** Stands between the offsets of the simulation, which are 0, 1, 2 …, and those that a client sees. */
export interface Names {
  /** A frame for the client. */
  down(frame: string): string;
  /** A frame of the client; what it asks behind must have been told to it. */
  up(frame: string): string;
}

interface Frame {
  readonly type?: string;
  readonly runId?: string;
  readonly offset?: number;
  readonly event?: unknown;
  readonly after?: number | string;
}

/** Names that a careless map would find in any object, and one that is none. */
const odd = ['__proto__', 'constructor', '', 'toString', '0', '-1', 'NaN', '1e999'];

const makers: Readonly<
  Record<Exclude<Numbering, 'dense'>, (n: number, execution: number) => string | number>
> = {
  sparse: (n) => 1 + 4 * n + (n % 3),
  stream: (n, execution) =>
    `${1_767_225_600_000 + execution * 60_000 + Math.floor(n / 3) * 40}-${n % 3}`,
  digits: (n, execution) => `${7_000_000_000_000_000_000n + BigInt(execution * 100_000 + n * 7)}`,
  random: (n, execution) =>
    // Descending, where it looks like a number.
    n % 3 === 2
      ? `${10_000_000 - execution * 100_000 - n}`
      : execution === 0 && n % 3 === 1 && n < 3 * odd.length
        ? (odd[(n - 1) / 3] as string)
        : `${[...`${((n + 1) * 2_654_435_761) % 2 ** 32}`].reverse().join('')}~${execution}`,
};

/** Make the names of a server's logs; `wrong` is told of a place that a client made up. */
export function createNames(
  numbering: Numbering,
  truth: Truth,
  wrong: (text: string) => void,
): Names | undefined {
  if (numbering === 'dense') return undefined;
  const make = makers[numbering];
  /** By run and name: which execution's log it stands in, and where. */
  const told = new Map<string, { readonly execution: number; readonly n: number }>();
  const keyOf = (runId: string, name: unknown) => `${runId} ${typeof name} ${name}`;
  const lastOf = (runId: string) => (truth.runs.get(runId)?.executions.length ?? 1) - 1;

  return {
    down(frame) {
      // Fragments and foreign messages stay as they are.
      if (!frame.startsWith('{"runId":') || !frame.endsWith('}')) return frame;
      const message = JSON.parse(frame) as Frame;
      const { runId, offset: n } = message;
      if (runId === undefined || n === undefined) return frame;
      const execution = Math.max(0, lastOf(runId));
      const name = make(n, execution);
      // Sparse numbers are those of every execution.
      told.set(keyOf(runId, name), { execution, n });
      return JSON.stringify({ ...message, offset: name });
    },
    up(frame) {
      const message = JSON.parse(frame) as Frame;
      const { type, runId = '', after } = message;
      if (type !== 'resume' || after === undefined) return frame;
      const place = told.get(keyOf(runId, after));
      if (!place) wrong(`${runId} is asked for behind ${after}, which nobody has told`);
      // A place of an earlier execution is before all that there is now.
      const isOld = !place || (typeof after === 'string' && place.execution < lastOf(runId));
      const { after: _, ...rest } = message;
      return JSON.stringify(isOld ? rest : { ...rest, after: place.n });
    },
  };
}
