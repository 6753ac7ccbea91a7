import { isHello } from '../../runs/protocol.ts';
import type { Check } from './check.ts';
import { countTo, expectDense, expectSame, expectWhole, textOf } from './checks-runs.ts';
import { createStart, expect, isTerminal, show } from './probe.ts';

/** What a v1 server says besides events. */
export const controlChecks: readonly Check[] = [
  {
    name: 'hello',
    profile: 'v1',
    rule: 'The server speaks first: `hello` with an integer `v` and `caps`, and once.',
    async run(kit) {
      const probe = await kit.open();
      const hello = probe.messages[0];
      expect(hello && isHello(hello), `The first message was ${show(hello)}`);
      for (const [name, least] of [
        ['heartbeat', 1],
        ['maxMessage', 1],
        ['spread', 0],
      ] as const) {
        const value = hello[name];
        const isRight = value === undefined || (Number.isFinite(value) && Number(value) >= least);
        expect(isRight, `\`${name}\` is ${show(value)}`);
      }
      await probe.settle();
      const count = probe.controls('hello').length;
      expect(count === 1, `It said hello ${count} times.`);
    },
  },
  {
    name: 'no-controls',
    profile: 'plain',
    rule: 'A plain server says nothing that is a control of version 1.',
    async run(kit) {
      const [probe, id] = [await kit.open(), kit.id()];
      probe.run(id, 'say 3');
      await probe.untilEnd(id);
      await probe.settle();
      const known = /^(hello|run\.(accepted|unknown|truncated|end)|pong|retry|reauth)$/;
      const control = probe.messages.find(({ type, event }) => known.test(`${type}`) && !event);
      expect(!control, `It said ${show(control)}`);
      expect(!probe.hasBatch, 'It sent an array of messages.');
    },
  },
  {
    name: 'accepted',
    profile: 'v1',
    cap: 'accepted',
    rule: 'Every `run` and `resume` is answered by `run.accepted`, before any event of the run.',
    async run(kit) {
      const [probe, id] = [await kit.open(), kit.id()];
      probe.run(id, 'hold 3');
      await probe.until('The text', () => textOf(probe.events(id)) === countTo(3));
      const first = probe.messages.filter(({ runId }) => runId === id)[0];
      expect(first?.type === 'run.accepted', `The first of the run was ${show(first)}`);
      const isWhole = typeof first.epoch === 'string' && Number.isSafeInteger(first.next);
      expect(isWhole && first.attached === false, `It was ${show(first)}`);
      for (const after of [0, 1, undefined]) probe.resume(id, after);
      const count = () => probe.controls('run.accepted', id).length;
      await probe.until('An answer to each of three resumes', () => count() === 4);
      probe.cancel(id);
      await probe.untilEnd(id);
      const other = await kit.open();
      other.resume(id);
      await other.untilEnd(id);
      const again = other.messages.filter(({ runId }) => runId === id)[0];
      expect(again?.type === 'run.accepted', `The first of the run was ${show(again)}`);
      expect(again.attached === true, `A run that is known is attached to: ${show(again)}`);
      expect(again.epoch === first.epoch, 'The epoch of one execution is another.');
    },
  },
  {
    name: 'next',
    profile: 'v1',
    cap: 'accepted',
    rule: '`next` is the first offset that is not written yet.',
    async run(kit) {
      const [probe, id] = [await kit.open(), kit.id()];
      probe.run(id, 'hold 3');
      await probe.until('The text', () => textOf(probe.events(id)) === countTo(3));
      const { length } = probe.events(id);
      const other = await kit.open();
      other.resume(id, 0);
      const { next } = await other.until('run.accepted', ({ type }) => type === 'run.accepted');
      expect(next === length, `${length} events were written, and next is ${show(next)}.`);
      probe.cancel(id);
      await other.untilEnd(id);
    },
  },
  {
    name: 'end',
    profile: 'v1',
    cap: 'end',
    rule: '`run.end` is the last of a run, with the offset of its last event and how it ended.',
    async run(kit) {
      const probe = await kit.open();
      for (const [script, status] of [
        ['say 3', 'finished'],
        ['nothing', 'finished'],
        ['fail 1', 'error'],
        ['hold 1', 'cancelled'],
        ['again 1', 'finished'],
      ] as const) {
        const id = kit.id(script);
        probe.run(id, script);
        if (status === 'cancelled') probe.cancel(id);
        const events = await probe.untilEnd(id);
        await probe.settle(50);
        const last = probe.messages.filter(({ runId }) => runId === id).at(-1);
        const offset = events.at(-1)?.offset;
        expect(last?.type === 'run.end', `Behind run.end came ${show(last)}`);
        expect(last.status === status, `The status of '${script}' was ${show(last.status)}`);
        expect(last.offset === offset, `The last event was ${show(offset)}: ${show(last)}`);
        expect(probe.controls('run.end', id).length === 1, 'It came more than once.');
        expectSame(probe.events(id), events, 'Behind run.end');
      }
    },
  },
  {
    name: 'end-for-who-has-all',
    profile: 'v1',
    cap: 'end',
    rule: 'A `resume` behind the last event of a finished run is answered by `run.end` alone.',
    async run(kit) {
      const [probe, other, id] = [await kit.open(), await kit.open(), kit.id()];
      probe.run(id, 'say 3');
      const last = Number((await probe.untilEnd(id)).at(-1)?.offset);
      other.resume(id, last);
      await other.untilEnd(id);
      expect(other.events(id).length === 0, 'It got events that it has.');
    },
  },
  {
    name: 'unknown-never',
    profile: 'v1',
    cap: 'unknown',
    rule: 'A `resume` of an id that was never here is answered by `run.unknown` `never`, and the id may be started.',
    async run(kit) {
      const [probe, id] = [await kit.open(), kit.id()];
      probe.resume(id, 41);
      const answer = await probe.until('run.unknown', ({ runId }) => runId === id);
      const isRight = answer.type === 'run.unknown' && answer.reason === 'never';
      expect(isRight, `The answer was ${show(answer)}`);
      probe.run(id, 'say 3');
      expectWhole(await probe.untilEnd(id), 3);
    },
  },
  {
    name: 'unknown-evicted',
    profile: 'v1',
    cap: 'unknown',
    needs: 'evict',
    rule: 'A run whose log is gone is `evicted`, for `resume` and for `run`, and not started again.',
    async run(kit) {
      const [probe, id] = [await kit.open(), kit.id()];
      probe.run(id, 'say 3');
      await probe.untilEnd(id);
      await kit.options.evict?.(id);
      for (const message of [{ type: 'resume', runId: id, after: 1 }, createStart(id, 'say 3')]) {
        const other = await kit.open();
        other.send(message);
        const answer = await other.until('run.unknown', ({ runId }) => runId === id);
        const isRight = answer.type === 'run.unknown' && answer.reason === 'evicted';
        expect(isRight, `The answer to ${show(message.type)} was ${show(answer)}`);
      }
    },
  },
  {
    name: 'truncated',
    profile: 'v1',
    cap: 'truncated',
    needs: 'truncate',
    rule: 'Who asks for events that are gone is told so by `run.truncated`, and gets the rest.',
    async run(kit) {
      const [probe, other, id] = [await kit.open(), await kit.open(), kit.id()];
      probe.run(id, 'say 9');
      const events = await probe.untilEnd(id);
      await kit.options.truncate?.(id, 4);
      other.resume(id, 1);
      expectDense(await other.untilEnd(id), 4);
      expectSame(other.events(id), events.slice(4), 'The rest');
      const told = other.controls('run.truncated', id)[0];
      expect(told?.from === 4, `It was told ${show(told)}`);
    },
  },
  {
    name: 'lost',
    profile: 'v1',
    cap: 'end',
    needs: 'lose',
    rule: 'A run whose producer has died ends with `run.end` `lost` for all who follow it.',
    async run(kit) {
      const [probe, id] = [await kit.open(), kit.id()];
      probe.run(id, 'hold 3');
      await probe.until('The text', () => textOf(probe.events(id)) === countTo(3));
      const other = await kit.open();
      other.resume(id);
      await kit.options.lose?.(id);
      for (const one of [probe, other]) {
        const { status } = await one.until('run.end', ({ type }) => type === 'run.end');
        expect(status === 'lost', `The status was ${show(status)}`);
      }
    },
  },
  {
    name: 'no-batch-before-hello',
    profile: 'v1',
    rule: 'No array of messages is sent to a client that has not said `batch`.',
    async run(kit) {
      const [probe, other, id] = [await kit.open(), await kit.open(), kit.id()];
      probe.run(id, 'say 300');
      await probe.untilEnd(id);
      other.send({ type: 'hello', caps: ['something'] });
      other.resume(id);
      expectWhole(await other.untilEnd(id), 300);
      expect(!probe.hasBatch && !other.hasBatch, 'It sent an array.');
    },
  },
  {
    name: 'batch',
    profile: 'v1',
    cap: 'batch',
    rule: 'A client that has said `batch` gets the same events in the same order.',
    async run(kit) {
      const [probe, other, id] = [await kit.open(), await kit.open(), kit.id()];
      probe.send({ type: 'hello', caps: ['batch'] });
      probe.run(id, 'say 300');
      const events = await probe.untilEnd(id);
      expectWhole(events, 300);
      other.send({ type: 'hello', caps: ['batch'] });
      other.resume(id, 100);
      expectSame(await other.untilEnd(id), events.slice(101), 'In batches');
    },
  },
  {
    name: 'ping',
    profile: 'v1',
    cap: 'ping',
    rule: '`ping` is answered by `pong` with its number.',
    async run(kit) {
      const probe = await kit.open();
      for (const n of [1, 2, 3]) probe.send({ type: 'ping', n });
      await probe.until('The third pong', () => probe.controls('pong').length === 3);
      const numbers = probe.controls('pong').map(({ n }) => n);
      expect(numbers.join() === '1,2,3', `The numbers were ${show(numbers)}`);
    },
  },
  {
    name: 'policy',
    profile: 'v1',
    cap: 'policy',
    isLong: true,
    rule: 'A run with the policy `cancel` stops when its last follower has been gone for 10 s, and not before.',
    async run(kit) {
      const [probe, id] = [await kit.open(), kit.id()];
      probe.run(id, 'hold 3');
      probe.send({ type: 'policy', runId: id, policy: 'cancel' });
      await probe.until('The text', () => textOf(probe.events(id)) === countTo(3));
      probe.close();
      await kit.pause(4_000);
      const back = await kit.open();
      back.resume(id);
      await back.settle(300);
      const early = back.events(id).find(isTerminal);
      expect(!early, `It was stopped although its follower came back: ${show(early)}`);
      back.close();
      await kit.pause(14_000);
      const late = await kit.open();
      late.resume(id);
      await late.until('The end of a run without followers', (one) => isTerminal(one));
    },
  },
  {
    name: 'reauth',
    profile: 'v1',
    cap: 'auth',
    needs: 'reauth',
    rule: 'A token that the client renews keeps the connection, and a bad one closes it with 4401.',
    async run(kit) {
      const { reauth } = kit.options;
      const [probe, bad, id] = [await kit.open(), await kit.open(), kit.id()];
      await reauth?.ask();
      await probe.until('reauth', ({ type }) => type === 'reauth');
      probe.send({ type: 'auth', token: reauth?.token });
      bad.send({ type: 'auth', token: { no: 'token' } });
      const code = await bad.untilClosed('The end of a connection with a bad token');
      expect(code === 4401, `It was closed with ${code}.`);
      probe.run(id, 'say 3');
      expectWhole(await probe.untilEnd(id), 3);
    },
  },
];

/** What may come last only. */
export const lastChecks: readonly Check[] = [
  {
    name: 'leave',
    profile: 'v1',
    needs: 'leave',
    rule: 'A server that goes away says `retry` and closes with a code that clients retry.',
    async run(kit) {
      const probe = await kit.open();
      await kit.options.leave?.();
      const code = await probe.untilClosed('The end of the connection');
      const isRetried = [1000, 1001, 1005, 1006, 1011, 1012, 1013].includes(code);
      expect(isRetried, `It was closed with ${code}.`);
      const { after } = probe.controls('retry').at(-1) ?? {};
      expect(Number.isFinite(after) && Number(after) >= 0, `\`retry\` had ${show(after)}`);
    },
  },
];
