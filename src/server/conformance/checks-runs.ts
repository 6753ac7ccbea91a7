import { isRecord } from '../../internal/json-values.ts';
import type { Check } from './check.ts';
import { expect, fail, isTerminal, type Message, show, typeOf } from './probe.ts';

/** Fails unless the offsets of events go up one by one from `first`. */
export function expectDense(events: readonly Message[], first = 0): void {
  for (const [index, { offset }] of events.entries()) {
    if (offset !== first + index) {
      fail(`The offset ${first + index} was due, and ${show(offset)} came.`);
    }
  }
}

/** Fails unless two clients got the same events. */
export function expectSame(one: readonly Message[], other: readonly Message[], who: string): void {
  for (let n = 0; n < Math.max(one.length, other.length); n++) {
    const [a, b] = [show(one[n]), show(other[n])];
    if (JSON.stringify(one[n]) !== JSON.stringify(other[n])) fail(`${who}: ${a} is not ${b}.`);
  }
}

/** The deltas of a run's text. */
export function textOf(events: readonly Message[]): string {
  return events
    .map(({ event }) => (isRecord(event) && typeof event.delta === 'string' ? event.delta : ''))
    .join('');
}

/** What a script says up to `count`. */
export const countTo = (count: number): string =>
  Array.from({ length: count }, (_, n) => `${n + 1} `).join('');

/** Fails unless a run told what its script says, and ended well. */
export function expectWhole(events: readonly Message[], count: number): void {
  expectDense(events);
  const text = textOf(events);
  expect(text === countTo(count), `The text was ${show(text)}, not that of ${count} deltas.`);
  const last = typeOf(events.at(-1));
  expect(last === 'RUN_FINISHED', `The last event was ${last || 'missing'}, not RUN_FINISHED.`);
}

/** What every run has to be. */
export const runChecks: readonly Check[] = [
  {
    name: 'events',
    rule: 'An event is { runId, offset, event }, with an object as `event` and no `type` beside it.',
    async run(kit) {
      const [probe, id] = [await kit.open(), kit.id()];
      probe.run(id, 'say 3');
      for (const message of await probe.untilEnd(id)) {
        expect(Number.isSafeInteger(message.offset), `No whole offset: ${show(message)}`);
        expect(message.type === undefined, `A type beside the event: ${show(message)}`);
      }
    },
  },
  {
    name: 'offsets',
    rule: 'The events of a run are numbered 0, 1, 2 … without holes.',
    async run(kit) {
      const [probe, id] = [await kit.open(), kit.id()];
      probe.run(id, 'say 50');
      expectDense(await probe.untilEnd(id));
    },
  },
  {
    name: 'whole-run',
    rule: 'A run tells everything that its agent said, in its order, from RUN_STARTED to RUN_FINISHED.',
    async run(kit) {
      const [probe, id] = [await kit.open(), kit.id()];
      probe.run(id, 'say 50');
      const events = await probe.untilEnd(id);
      expect(typeOf(events[0]) === 'RUN_STARTED', `The first event was ${show(events[0])}`);
      expectWhole(events, 50);
    },
  },
  {
    name: 'silent-agent',
    rule: 'A run ends with an event, also if its agent says nothing.',
    async run(kit) {
      const [probe, id] = [await kit.open(), kit.id()];
      probe.run(id, 'nothing');
      expectWhole(await probe.untilEnd(id), 0);
    },
  },
  {
    name: 'failing-agent',
    rule: 'A run whose agent throws ends with RUN_ERROR.',
    async run(kit) {
      const [probe, id] = [await kit.open(), kit.id()];
      probe.run(id, 'fail 2');
      const events = await probe.untilEnd(id);
      expectDense(events);
      const last = events.at(-1);
      expect(typeOf(last) === 'RUN_ERROR', `The last event was ${show(last)}`);
      const { message } = (last?.event ?? {}) as Message;
      expect(typeof message === 'string', 'RUN_ERROR has no message.');
      expect(textOf(events) === countTo(2), 'What was said before is missing.');
    },
  },
  {
    name: 'several-ends',
    rule: 'What follows a first RUN_FINISHED in the log is told as well.',
    async run(kit) {
      const [probe, id] = [await kit.open(), kit.id()];
      probe.run(id, 'again 3');
      const count = () => probe.events(id).filter(isTerminal).length;
      await probe.until('The second RUN_FINISHED', () => count() === 2);
      const events = probe.events(id);
      expectDense(events);
      expect(textOf(events) === countTo(3).repeat(2), `The text was ${show(textOf(events))}`);
    },
  },
  {
    name: 'many-runs',
    rule: 'One connection carries any number of runs; `runId` tells them apart.',
    async run(kit) {
      const probe = await kit.open();
      const ids = Array.from({ length: 10 }, (_, n) => kit.id(`${n}`));
      for (const [n, id] of ids.entries()) probe.run(id, `slow ${n + 1}`);
      for (const [n, id] of ids.entries()) expectWhole(await probe.untilEnd(id), n + 1);
    },
  },
  {
    name: 'strange-ids',
    rule: 'A run id is any text.',
    async run(kit) {
      const probe = await kit.open();
      const ids = ['__proto__', 'constructor', 'toString', '{}', 'ü 💥\n"'].map(
        (id) => id + kit.id(),
      );
      const all = [...ids, '__proto__'];
      for (const id of all) probe.run(id, 'say 3');
      for (const id of ids) expectWhole(await probe.untilEnd(id), 3);
      // It may be known from an earlier check of the same server.
      expect((await probe.untilEnd('__proto__')).length > 0, 'No run `__proto__`.');
    },
  },
  {
    name: 'start-once',
    rule: 'A `run` with a known id starts nothing, and shows the run that there is.',
    async run(kit) {
      const [probe, id] = [await kit.open(), kit.id()];
      probe.run(id, 'slow 10');
      probe.run(id, 'slow 10');
      await probe.untilEnd(id);
      await probe.settle();
      const first = new Map<unknown, string>();
      for (const { offset, event } of probe.events(id)) {
        const text = JSON.stringify(event);
        const known = first.get(offset) ?? text;
        first.set(offset, known);
        expect(known === text, `Two executions: offset ${show(offset)} is ${known} and ${text}.`);
      }
      expect(first.size < 20, `${first.size} events came, which is more than of one execution.`);
    },
  },
  {
    name: 'start-once-at-the-same-time',
    rule: 'The same `run` on several connections at the same moment is one execution.',
    async run(kit) {
      const probes = [await kit.open(), await kit.open(), await kit.open(), await kit.open()];
      const id = kit.id();
      for (const probe of probes) probe.run(id, 'slow 10');
      const all = await Promise.all(probes.map((probe) => probe.untilEnd(id)));
      for (const events of all) {
        expectWhole(events, 10);
        expectSame(events, all[0] ?? [], 'Two clients');
      }
    },
  },
  {
    name: 'start-once-after-the-end',
    rule: 'A `run` with the id of a finished run is answered with its log.',
    async run(kit) {
      const [probe, later, id] = [await kit.open(), await kit.open(), kit.id()];
      probe.run(id, 'say 5');
      const events = await probe.untilEnd(id);
      later.run(id, 'say 5');
      expectSame(await later.untilEnd(id), events, 'The second start');
    },
  },
];
