import type { FaultKind } from './fault.ts';
import type { Line, Tamper } from './link.ts';
import type { World } from './world.ts';

type Message = {
  readonly type?: string;
  readonly runId?: string;
  readonly offset?: number;
  readonly event?: unknown;
  readonly after?: number;
};

// Where numbers have holes, and where names have no order, nobody sees that one is missing.
const isDense = ({ numbering }: World['setting']) => numbering === 'dense';
const isEvent = (message: Message) => message.event !== undefined;
const write = (message: unknown) => JSON.stringify(message);

/** The messages of one frame, which may be a batch. */
function read(frame: string): readonly Message[] {
  const message = JSON.parse(frame) as Message | readonly Message[];
  return Array.isArray(message) ? message : [message as Message];
}

/** Waits for a message that fits, and puts others in its place, once. */
function once(
  world: World,
  direction: 'up' | 'down',
  kind: string,
  change: (message: Message, line: Line) => readonly (Message | string)[] | undefined,
  counts = true,
): 'waits' {
  const set = world.link[direction];
  const tamper: Tamper = (frame, line) => {
    // Frames that were a batch a moment ago come one by one.
    if (!set.has(tamper) || line.page !== world.page.host) return undefined;
    const messages = read(frame);
    let isDone = false;
    const made = messages.flatMap((message) => {
      const changed = isDone ? undefined : change(message, line);
      if (!changed) return [write(message)];
      isDone = true;
      return changed.map((one) => (typeof one === 'string' ? one : write(one)));
    });
    if (!isDone) return undefined;
    set.delete(tamper);
    if (counts) world.count(kind);
    return made;
  };
  set.add(tamper);
  return 'waits';
}

/** What was sent twice on a connection, in the order that it keeps. */
const doubled = new WeakMap<Line, string>();

/** Lets the server answer a resume only when it has a new event, which is sent first. */
function holdBack(world: World, line: Line, message: Message, known: number) {
  const { runId } = message;
  const { timeline, setting } = world;
  const until = timeline.now() + 1_500;
  world.occupy(2_000);
  const look = () => {
    const { events, runId: shown } = logOf(world);
    const offset = events.length - 1;
    const isNew = shown === runId && offset >= known;
    if (!isNew && timeline.now() < until && line.isOpen) {
      return timeline.at(timeline.now() + 20, look);
    }
    if (isNew) {
      const live = { runId, offset, event: events[offset] };
      if (setting.server !== 'v1') line.push(write(live));
      else {
        once(world, 'down', 'live-before-replay', (answer) =>
          answer.type === 'run.accepted' &&
          answer.runId === runId &&
          // Not of an execution that is gone by now.
          logOf(world).events[offset] === live.event
            ? [answer, live]
            : undefined,
        );
      }
      if (setting.server !== 'v1') world.count('live-before-replay');
    }
    line.deliver(write(message));
  };
  look();
}

/** Brings something to the page at once. */
const push =
  (make: (world: World) => readonly (string | ArrayBuffer)[]) =>
  (world: World): boolean => {
    const line = world.link.current(world.page.host);
    const frames = line ? make(world) : [];
    for (const frame of frames) line?.push(frame);
    return frames.length > 0;
  };

function logOf(world: World) {
  const runId = world.page.view.agent.getSnapshot().runId ?? '';
  const execution = world.truth.last(runId);
  // Only a log that the server still has can be told again.
  const isThere = execution && !execution.missing.size && !world.truth.run(runId).incidents.size;
  return { runId, events: isThere ? execution.events : [] };
}

const isFed = (world: World) => {
  // A connection that did not ask for the run may not bring it either.
  const { runId } = logOf(world);
  return world.page.view.seen?.events ? runId : undefined;
};

const large = write({ type: 'alive', text: 'x'.repeat(2 ** 20) });
const bytes = (text: string) => new TextEncoder().encode(text).buffer as ArrayBuffer;

/** What the stream of frames has that it should not have, or lacks. */
export const streamFaults: Readonly<Record<string, FaultKind>> = {
  'event-twice': {
    group: 'stream',
    weight: 4,
    apply: (world) =>
      once(world, 'down', 'event-twice', (message) =>
        isEvent(message) ? [message, message] : undefined,
      ),
  },
  'replay-twice': {
    group: 'stream',
    weight: 3,
    apply: push((world) => {
      if (isFed(world) === undefined) return [];
      const { runId, events } = logOf(world);
      const { events: count = 0 } = world.page.view.seen ?? {};
      return events.slice(0, count).map((event, offset) => write({ runId, offset, event }));
    }),
  },
  'live-before-replay': {
    group: 'stream',
    weight: 4,
    fits: isDense,
    // Without `run.accepted`, only two offsets in a row tell that the log is dense.
    apply: (world) =>
      once(
        world,
        'up',
        'live-before-replay',
        (message, line) => {
          const { runId = '', after = -1 } = message;
          const { runId: shown, events } = logOf(world);
          const isV1 = world.setting.server === 'v1';
          if (message.type !== 'resume' || shown !== runId || (!isV1 && after < 1))
            return undefined;
          // The second of two would be overtaken by what the answer to the first one makes of it.
          if (doubled.get(line) === write(message)) return undefined;
          holdBack(world, line, message, events.length);
          return [];
        },
        false,
      ),
    excludes: ['event-lost', 'truncate'],
  },
  'event-skipped': {
    group: 'stream',
    weight: 4,
    fits: isDense,
    apply: (world) =>
      once(world, 'down', 'event-skipped', (message) => {
        const { runId, offset } = message;
        const place = `${world.truth.last(runId ?? '')?.tag} ${offset}`;
        if (!isEvent(message) || Number(offset) < 2 || world.skipped.has(place)) return undefined;
        world.skipped.add(place);
        return [];
      }),
    excludes: ['event-lost', 'truncate'],
  },
  'event-lost': {
    group: 'stream',
    weight: 1,
    apply(world) {
      const { down } = world.link;
      let lost:
        | { readonly runId: string | undefined; readonly offset: number | undefined }
        | undefined;
      const tamper: Tamper = (frame, line) => {
        const messages = read(frame);
        if (!lost) {
          const first = messages.find((one) => isEvent(one) && Number(one.offset) >= 2);
          // Its end is another matter: a run whose end nobody gets does not end.
          const last = world.truth.last(first?.runId ?? '');
          const { type } = (first?.event ?? {}) as { readonly type?: string };
          if (!first || !last || /^RUN_/.test(type ?? '') || line.page !== world.page.host) {
            return undefined;
          }
          lost = { runId: first.runId, offset: first.offset };
          last.missing.add(Number(first.offset));
          world.truth.run(first.runId ?? '').incidents.add('event-lost');
          world.count('event-lost');
        }
        const isLost = ({ runId, offset }: Message) =>
          runId === lost?.runId && offset === lost?.offset;
        return messages.some(isLost)
          ? messages.filter((one) => !isLost(one)).map(write)
          : undefined;
      };
      down.add(tamper);
      return 'waits';
    },
    excludes: ['reexecute', 'log-lost'],
  },
  'resume-twice': {
    group: 'stream',
    weight: 3,
    apply: (world) =>
      once(world, 'up', 'resume-twice', (message, line) => {
        if (message.type !== 'resume') return undefined;
        doubled.set(line, write(message));
        return [message, message];
      }),
  },
  'unknown-message': {
    group: 'stream',
    weight: 2,
    apply: push(() => [
      write({ type: 'weather', sky: 'blue' }),
      write({ type: 'run.paused', runId: 'r1' }),
      write({ runId: 'nobody', offset: 0, event: { type: 'RUN_ERROR', message: 'no' } }),
      'null',
      '[]',
      '7',
    ]),
  },
  'malformed-json': { group: 'stream', weight: 2, apply: push(() => ['{"runId":"r1","ev', '']) },
  'binary-frame': {
    group: 'stream',
    weight: 2,
    apply: push(() => [new Uint8Array([0xff, 0xfe, 0x00]).buffer, bytes(write({ type: 'alive' }))]),
  },
  'large-frame': { group: 'stream', weight: 0.05, apply: push(() => [large]) },
  'started-again': {
    group: 'stream',
    weight: 2,
    apply: push((world) => {
      if (isFed(world) === undefined) return [];
      const { runId, events } = logOf(world);
      return events[0] ? [write({ runId, offset: 0, event: events[0] })] : [];
    }),
  },
  'ack-twice': {
    group: 'server',
    weight: 2,
    fits: ({ server }) => server === 'v1',
    apply: (world) =>
      once(world, 'down', 'ack-twice', (message) =>
        message.type === 'run.accepted' ? [message, message] : undefined,
      ),
  },
  'ack-never': {
    group: 'server',
    weight: 2,
    fits: ({ server }) => server === 'v1',
    apply: (world) =>
      once(world, 'down', 'ack-never', (message) =>
        message.type === 'run.accepted' ? [] : undefined,
      ),
    excludes: ['reexecute', 'event-skipped', 'live-before-replay', 'event-lost', 'truncate'],
  },
  'ack-late': {
    group: 'server',
    weight: 2,
    fits: ({ server }) => server === 'v1',
    apply: (world, { a }) =>
      once(world, 'down', 'ack-late', (message, line) => {
        if (message.type !== 'run.accepted') return undefined;
        const { timeline } = world;
        timeline.at(timeline.now() + 20 + a * 1_000, () => line.push(write(message)));
        return [];
      }),
    excludes: ['reexecute', 'event-skipped', 'live-before-replay', 'event-lost', 'truncate'],
  },
};
