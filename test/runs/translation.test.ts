import { describe, expect, it } from 'vitest';
import type { RunsOptions } from '../../src/runs/types.ts';
import { createV1Server, toFakePeer } from '../helpers/v1-server.ts';
import { createWorld, finished, type TestEvent, texts, user } from '../helpers/world.ts';

/** Counts the events of a log, and says each together with the one before it. */
function pairs(): {
  option: NonNullable<RunsOptions<unknown, TestEvent, never, unknown>['translate']>;
  made: string[];
} {
  const made: string[] = [];
  return {
    made,
    option: (runId) => {
      made.push(runId);
      let before = '-';
      return (event) => {
        if (typeof event.n !== 'number') return [event];
        const both = [`${before}<${event.n}`, `${event.n}`].map((n) => ({ type: 'CUSTOM', n }));
        before = `${event.n}`;
        return both;
      };
    },
  };
}

const at = (offset: number | undefined, n: unknown = offset) => ({
  runId: 'a',
  offset,
  event: { type: 'CUSTOM', n },
});

async function start(translate: RunsOptions<unknown, TestEvent, never, unknown>['translate']) {
  const world = createWorld();
  const run = world.runs({ translate }).start({}, { runId: 'a' });
  const seen: unknown[] = [];
  const errors: string[] = [];
  run.on('event', (event) => seen.push(event.n ?? event.type));
  world.client.on('error', ({ code }) => errors.push(code));
  await world.settle();
  return { world, run, seen, errors };
}

describe('a run whose events are translated', () => {
  it('translates each event once, in order, behind doubles and holes', async () => {
    const { option, made } = pairs();
    const { world, run, seen } = await start(option);
    world.socket.receive(at(0), at(1), at(1), at(0), at(3));
    world.socket.receive(at(2), at(3));
    expect(seen).toEqual(['-<0', '0', '0<1', '1', '1<2', '2', '2<3', '3']);
    expect(run.getSnapshot().offset).toBe(3);
    expect(made).toEqual(['a']);
  });

  it('goes on translating after a reconnect', async () => {
    const { option, made } = pairs();
    const { world, seen } = await start(option);
    world.socket.receive(at(0), at(1));
    await world.reconnect();
    expect(world.socket.sent).toEqual([{ type: 'resume', runId: 'a', after: 1 }]);
    world.socket.receive(at(1), at(2));
    expect(seen.slice(-2)).toEqual(['1<2', '2']);
    expect(made).toEqual(['a']);
  });

  it('begins anew where the log does', async () => {
    const server = createV1Server();
    const world = createWorld({ peer: toFakePeer(server) });
    const { option, made } = pairs();
    const run = world.runs({ translate: option }).start({}, { runId: 'a' });
    const seen: unknown[] = [];
    run.on('event', (event) => seen.push(event.n));
    run.on('restart', () => seen.splice(0));
    await world.settle();
    server.append('a', { type: 'CUSTOM', n: 1 }, { type: 'CUSTOM', n: 2 });
    await world.settle();
    server.reexecute('a');
    server.append('a', { type: 'CUSTOM', n: 7 });
    server.cut();
    await world.clock.advance(3_000);
    expect(seen).toEqual(['-<7', '7']);
    expect(made).toEqual(['a', 'a']);
  });

  it('ends as the translated events tell', async () => {
    const { world, run } = await start(
      (runId) => (event) => (event.type === 'CUSTOM' ? [] : [{ ...event, ...finished(runId) }]),
    );
    world.socket.receive(at(0), { runId: 'a', offset: 1, event: { type: 'done' } });
    await world.clock.advance(1_000);
    expect(run.getSnapshot()).toMatchObject({ status: 'finished', offset: 1 });
  });

  it('loses an event that cannot be translated, says so, and goes on', async () => {
    const { world, seen, errors } = await start(() => (event) => {
      if (event.n === 1) throw new Error('no');
      return [event];
    });
    world.socket.receive(at(0), at(1), at(2));
    expect(seen).toEqual([0, 2]);
    expect(errors).toEqual(['bad-message']);
  });
});

it('an agent shows what the translation makes, and starts over after a reload', async () => {
  const options = {
    checkpoint: false,
    translate: (runId: string) => {
      let words = 0;
      return (event: { readonly type: string }) => [
        {
          type: 'TEXT_MESSAGE_CHUNK' as const,
          messageId: `${runId}:m`,
          role: 'assistant' as const,
          delta: `${++words}.${event.type} `,
        },
      ];
    },
  };
  const world = createWorld();
  const agent = world.agent(options as never);
  agent.run({ messages: [user('Hi')] }, { runId: 'a' });
  await world.settle();
  const word = (offset: number, type: string) => ({ runId: 'a', offset, event: { type } });
  world.socket.receive(word(0, 'one'), word(1, 'two'));
  expect(texts(agent)).toEqual(['Hi', '1.one 2.two ']);
  const next = world.reload();
  const again = next.agent(options as never);
  again.subscribe(() => {});
  await next.settle();
  expect(next.socket.sent).toEqual([{ type: 'resume', runId: 'a', after: undefined }]);
  next.socket.receive(word(0, 'one'), word(1, 'two'), word(2, 'three'));
  await next.clock.advance(100);
  expect(texts(again)).toEqual(['Hi', '1.one 2.two 3.three ']);
});
