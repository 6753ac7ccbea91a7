import type { Check } from './check.ts';
import { countTo, expectDense, expectSame, expectWhole, textOf } from './checks-runs.ts';
import { expect, fail, isTerminal, show, typeOf } from './probe.ts';

/** What a connection means for a run, and how it is taken up again. */
export const resumeChecks: readonly Check[] = [
  {
    name: 'resume-after',
    rule: '`resume` with `after` brings every event with a greater offset, and no other.',
    async run(kit) {
      const [probe, id] = [await kit.open(), kit.id()];
      probe.run(id, 'say 20');
      const events = await probe.untilEnd(id);
      for (const after of [0, 7, events.length - 2]) {
        const other = await kit.open();
        other.resume(id, after);
        const rest = await other.untilEnd(id);
        expectSame(rest, events.slice(after + 1), `Behind offset ${after}`);
      }
    },
  },
  {
    name: 'resume-from-the-start',
    rule: '`resume` without `after` brings the run from its start.',
    async run(kit) {
      const [probe, other, id] = [await kit.open(), await kit.open(), kit.id()];
      probe.run(id, 'say 20');
      const events = await probe.untilEnd(id);
      other.resume(id);
      expectSame(await other.untilEnd(id), events, 'From the start');
    },
  },
  {
    name: 'replay-before-live',
    rule: 'The replay comes first and live events behind it.',
    async run(kit) {
      const [probe, id] = [await kit.open(), kit.id()];
      probe.run(id, 'slow 60');
      for (const n of [5, 15, 30]) {
        await probe.until(`Event ${n}`, ({ offset }) => offset === n);
        const other = await kit.open();
        other.resume(id);
        await other.until('The end', (one) => one.runId === id && isTerminal(one));
        expectWhole(other.events(id), 60);
      }
    },
  },
  {
    name: 'one-reader',
    rule: 'A run that is resumed again on one connection has one reader there, at the new place.',
    async run(kit) {
      const [probe, id] = [await kit.open(), kit.id()];
      probe.run(id, 'slow 30');
      await probe.until('The fifth event', ({ offset }) => offset === 5);
      for (const after of [0, 1, 2, 3]) probe.resume(id, after);
      await probe.until('The end', (one) => one.runId === id && isTerminal(one));
      await probe.settle();
      const ends = probe.events(id).filter(isTerminal).length;
      expect(ends === 1, `The end came ${ends} times.`);
      // Each reader would bring what is said behind all the questions once.
      const late = probe.events(id).filter(({ offset }) => Number(offset) > 25);
      expectDense(late, 26);
    },
  },
  {
    name: 'moved-reader',
    rule: 'A reader goes back where `resume` asks it to.',
    async run(kit) {
      const [probe, id] = [await kit.open(), kit.id()];
      probe.run(id, 'hold 5');
      await probe.until('The text', () => textOf(probe.events(id)) === countTo(5));
      const { length } = probe.messages;
      probe.resume(id, 2);
      await probe.until('Event 3 once more', ({ offset }) => offset === 3, length);
      probe.cancel(id);
      await probe.untilEnd(id);
      const events = probe.messages.slice(length).filter((one) => one.runId === id && one.event);
      expectDense(events, 3);
    },
  },
  {
    name: 'a-drop-is-no-cancel',
    rule: 'A connection that drops stops nothing.',
    async run(kit) {
      const [probe, id] = [await kit.open(), kit.id()];
      probe.run(id, 'slow 30');
      await probe.until('The first event', (one) => one.runId === id && !!one.event);
      probe.close();
      await kit.pause(200);
      const other = await kit.open();
      other.resume(id);
      expectWhole(await other.untilEnd(id), 30);
    },
  },
  {
    name: 'a-run-belongs-to-no-connection',
    rule: 'A run whose starter has gone can be followed by several connections to its end.',
    async run(kit) {
      const [probe, id] = [await kit.open(), kit.id()];
      probe.run(id, 'slow 30');
      await probe.until('The first event', (one) => one.runId === id && !!one.event);
      probe.close();
      const others = [await kit.open(), await kit.open(), await kit.open()];
      for (const [n, other] of others.entries()) other.resume(id, n || undefined);
      for (const [n, other] of others.entries()) {
        const events = await other.untilEnd(id);
        expectDense(events, n ? n + 1 : 0);
        expect(textOf(events).endsWith('30 '), 'The run was not told to its end.');
      }
    },
  },
  {
    name: 'unknown-run-of-a-plain-server',
    profile: 'plain',
    rule: 'A `resume` of a run that is not known starts nothing: it gets no answer, or RUN_ERROR.',
    async run(kit) {
      const [probe, id] = [await kit.open(), kit.id()];
      probe.resume(id, 41);
      await probe.settle(300);
      const events = probe.events(id);
      const wrong = events.find((one) => typeOf(one) !== 'RUN_ERROR');
      if (wrong) fail(`It was answered with ${show(wrong)}`);
      const skipped = events.find(({ offset }) => offset !== undefined && Number(offset) <= 41);
      if (skipped) fail(`The client takes no offset that it has: ${show(skipped)}`);
    },
  },
];
