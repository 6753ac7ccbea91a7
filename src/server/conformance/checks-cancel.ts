import type { Check, Kit } from './check.ts';
import { countTo, expectDense, expectSame, textOf } from './checks-runs.ts';
import { expect, isTerminal, type Message, type Probe, show, typeOf } from './probe.ts';

/** Fails unless a run was stopped. */
function expectStopped(events: readonly Message[]) {
  expectDense(events);
  const last = events.filter(isTerminal).at(-1);
  const { outcome } = (last?.event ?? {}) as { readonly outcome?: Message };
  expect(
    typeOf(last) === 'RUN_ERROR' || outcome?.type === 'cancelled',
    `A cancelled run ends with RUN_ERROR or the outcome cancelled, not with ${show(last)}`,
  );
}

async function startHolding(kit: Kit, script = 'hold 3'): Promise<readonly [Probe, string]> {
  const [probe, id] = [await kit.open(), kit.id()];
  probe.run(id, script);
  await probe.until('The text', () => textOf(probe.events(id)).startsWith(countTo(3)));
  return [probe, id];
}

/** What a cancel does. */
export const cancelChecks: readonly Check[] = [
  {
    name: 'cancel',
    rule: '`cancel` stops the run, and its log ends.',
    async run(kit) {
      const [probe, id] = await startHolding(kit);
      probe.cancel(id);
      expectStopped(await probe.untilEnd(id));
    },
  },
  {
    name: 'cancel-from-elsewhere',
    rule: '`cancel` stops a run from any connection.',
    async run(kit) {
      const [probe, id] = await startHolding(kit);
      const other = await kit.open();
      other.cancel(id);
      expectStopped(await probe.untilEnd(id));
    },
  },
  {
    name: 'cancel-after-a-drop',
    rule: 'A client that comes back sends `resume` and then `cancel`, and sees the end.',
    async run(kit) {
      const [probe, id] = await startHolding(kit);
      probe.close();
      const other = await kit.open();
      other.resume(id, 1);
      other.cancel(id);
      await other.untilEnd(id);
      expectDense(other.events(id), 2);
      expectStopped([...probe.events(id).slice(0, 2), ...other.events(id)]);
    },
  },
  {
    name: 'cancel-again',
    rule: '`cancel` is harmless the second time, and when the run is over.',
    async run(kit) {
      const [probe, id] = await startHolding(kit);
      probe.cancel(id);
      probe.cancel(id);
      const events = await probe.untilEnd(id);
      expectStopped(events);
      probe.cancel(id);
      await probe.settle();
      const other = await kit.open();
      other.resume(id);
      expectSame(await other.untilEnd(id), events, 'The log after the cancels');
    },
  },
  {
    name: 'cancel-after-the-end',
    rule: 'A run that has finished stays finished, whatever comes.',
    async run(kit) {
      const [probe, id] = [await kit.open(), kit.id()];
      probe.run(id, 'say 3');
      const events = await probe.untilEnd(id);
      probe.cancel(id);
      await probe.settle();
      const other = await kit.open();
      other.resume(id);
      expectSame(await other.untilEnd(id), events, 'The log after the cancel');
    },
  },
  {
    name: 'cancel-too-early',
    rule: 'A `cancel` that comes before the run is known stops it when it comes.',
    async run(kit) {
      const [early, probe, id] = [await kit.open(), await kit.open(), kit.id()];
      early.cancel(id);
      await early.settle();
      probe.run(id, 'hold 3');
      expectStopped(await probe.untilEnd(id));
    },
  },
  {
    name: 'cancel-right-behind-the-start',
    rule: 'A `cancel` sent right behind `run` is a cancel of that run.',
    async run(kit) {
      const probe = await kit.open();
      const ids = [kit.id('a'), kit.id('b'), kit.id('c')];
      for (const id of ids) {
        probe.run(id, 'hold 3');
        probe.cancel(id);
      }
      for (const id of ids) expectStopped(await probe.untilEnd(id));
    },
  },
  {
    name: 'cancel-closes-what-is-open',
    profile: 'v1',
    rule: 'A cancelled run has its open messages ended, and then RUN_FINISHED with the outcome cancelled.',
    async run(kit) {
      const [probe, id] = await startHolding(kit);
      probe.cancel(id);
      const events = await probe.untilEnd(id);
      const types = events.slice(-2).map(typeOf);
      expect(types.join() === 'TEXT_MESSAGE_END,RUN_FINISHED', `The last events were ${types}.`);
    },
  },
  {
    name: 'return-closes-what-is-open',
    profile: 'v1',
    rule: 'A run whose agent returns has its open messages ended, and RUN_FINISHED added.',
    async run(kit) {
      const [probe, id] = [await kit.open(), kit.id()];
      probe.run(id, 'open 3');
      const types = (await probe.untilEnd(id)).slice(-2).map(typeOf);
      expect(types.join() === 'TEXT_MESSAGE_END,RUN_FINISHED', `The last events were ${types}.`);
    },
  },
  {
    name: 'cancel-of-a-deaf-agent',
    profile: 'v1',
    rule: 'A cancelled run ends also if its agent goes on, and says nothing behind its end.',
    async run(kit) {
      const [probe, id] = await startHolding(kit, 'deaf 3');
      probe.cancel(id);
      const events = await probe.untilEnd(id);
      await probe.settle(200);
      expectStopped(events);
      expectSame(probe.events(id), events, 'Behind the end');
    },
  },
];
