/** Everything that storage without room may cost, in the order in which it has to go. */
export const allLosses = ['checkpoint', 'messages', 'base', 'record', 'all'] as const;

/** What was given up of a run's record because there was no room. */
export type Loss = (typeof allLosses)[number];

/** What came of one change of what is stored under a key. */
export interface Change {
  /** The texts that were refused, the first one whole. */
  readonly refused: readonly string[];
  /** The text that was taken in the end: `''` for none that is left, undefined where none was taken. */
  readonly written: string | undefined;
  /** How many characters there was room for. */
  readonly quota: number;
}

interface Thread {
  readonly messages?: readonly unknown[];
  readonly historyLost?: boolean;
}

interface Stored {
  readonly runId: string;
  readonly base?: Thread;
  readonly checkpoint?: unknown;
}

const runsOf = (text: string) =>
  text ? (JSON.parse(text) as { readonly runs: readonly Stored[] }).runs : [];

/**
 * What a change has given up, and what is wrong about that: as long as something less dear would have
 * made room, nothing dearer goes, and what is not of the run that changes stays as it is.
 */
export function judgeChange({ refused, written, quota }: Change): {
  readonly loss?: Loss;
  readonly wrong?: string;
} {
  const [whole, ...smaller] = refused;
  if (whole === undefined) return {};
  const all = runsOf(whole);
  const last = runsOf(written ?? smaller.at(-1) ?? whole);
  const changed = all.filter((run) => {
    const left = last.find(({ runId }) => runId === run.runId);
    return JSON.stringify(left) !== JSON.stringify(run);
  });
  const [run] = changed;
  if (changed.length > 1) return { wrong: `${changed.length} records became smaller` };
  // What an agent throws away by itself has no smaller form.
  if (!run) return written === undefined ? { loss: 'all' } : { wrong: 'a record came back' };
  const { runId } = run;
  const fits = (smallerRun: object | undefined) => {
    const runs = all.flatMap((one) => (one === run ? (smallerRun ?? []) : one));
    return JSON.stringify({ v: 1, runs }).length <= quota;
  };
  const { checkpoint, ...plain } = run;
  const { base, ...bare } = plain;
  const messages = base?.messages ?? [];
  const withLast = (count: number) =>
    count < messages.length
      ? { ...plain, base: { ...base, messages: messages.slice(-count), historyLost: true } }
      : plain;
  if (written === undefined) {
    if (last.length >= all.length) return { wrong: `${runId} is in the way of all other runs` };
    return fits(undefined) ? { wrong: 'nothing was written, and there was room' } : { loss: 'all' };
  }
  const left = last.find((one) => one.runId === runId);
  if (!left) {
    return fits(bare) ? { wrong: `the record of ${runId} had room` } : { loss: 'record' };
  }
  if (!left.base && base) {
    return fits(withLast(1)) ? { wrong: `the base of ${runId} had room` } : { loss: 'base' };
  }
  const kept = left.base?.messages ?? [];
  if (kept.length < messages.length) {
    if (JSON.stringify(left) !== JSON.stringify(withLast(kept.length))) {
      return { wrong: `${runId} has other messages than the newest ${kept.length}` };
    }
    const more = 2 * kept.length + 1;
    return fits(withLast(more))
      ? { wrong: `${more} messages of ${runId} had room, and ${kept.length} are left` }
      : { loss: 'messages' };
  }
  if (JSON.stringify(left) !== JSON.stringify(plain)) {
    return { wrong: `${runId} has lost something else than its checkpoint` };
  }
  return { loss: 'checkpoint' };
}
