import { expect, it } from 'vitest';
import { WebSocket } from 'ws';
import {
  createRunTransport,
  type RunChunk,
  type RunTransport,
  type RunTransportOptions,
} from '../../src/agent-provider/run-transport.ts';
import { createWebSocketClient } from '../../src/client/websocket-client.ts';
import { startPlainServer } from '../helpers/plain-server.ts';
import { startTcpProxy } from '../helpers/tcp-proxy.ts';
import { until } from '../helpers/until.ts';
import { createV1Server, toFakePeer, type V1Options } from '../helpers/v1-server.ts';
import { createWorld, finished, started, type TestEvent, type World } from '../helpers/world.ts';

type Request = { readonly runId?: string; readonly input?: unknown };
type Options = RunTransportOptions<Request, unknown, TestEvent, never, unknown>;

const n = (from: number, to: number): TestEvent[] =>
  Array.from({ length: to - from }, (_, index) => ({ type: 'CUSTOM', n: from + index }));
const numbers = (from: number, to: number) => n(from, to).map((event) => event.n);

function transportOf(world: World, options: Options = {}): RunTransport<Request, TestEvent> {
  return createRunTransport<Request, TestEvent>(world.client, options as never);
}

function open(serverOptions: V1Options = {}, options: Options = {}) {
  const server = createV1Server(serverOptions);
  const world = createWorld({ peer: toFakePeer(server) });
  const transport = transportOf(world, options);
  const controller = new AbortController();
  const { signal } = controller;
  const sent = () => server.received.filter(({ type }) => /^(run|resume|cancel)$/.test(`${type}`));
  return { server, world, transport, controller, signal, sent };
}

/** Reads to the end, by pulls of its own. */
function readAll(chunks: AsyncIterable<RunChunk<TestEvent>>) {
  const seen: RunChunk<TestEvent>[] = [];
  const log = {
    seen,
    get values() {
      return seen.map(({ event }) => event.n ?? event.type);
    },
    ended: false,
    error: undefined as unknown,
  };
  (async () => {
    for await (const chunk of chunks) seen.push(chunk);
    log.ended = true;
  })().catch((error) => {
    log.error = error;
  });
  return log;
}

it('starts the run of a request with the first event that is asked for', async () => {
  const { world, transport, signal, server } = open();
  const chunks = transport.open({ runId: 'a', input: { q: 1 } }, signal);
  const iterator = chunks[Symbol.asyncIterator]();
  await world.clock.advance(100);
  expect(world.network.sockets).toHaveLength(0);
  iterator.next();
  await world.clock.advance(0);
  expect(server.runs.get('a')?.input).toEqual({ q: 1 });
});

it('sends a request that is no run as the input of a run with a random id, anew each time', async () => {
  const { world, transport, signal, server } = open();
  const request = { q: 1 } as never;
  readAll(transport.open(request, signal));
  readAll(transport.open(request, signal));
  await world.clock.advance(0);
  const runs = [...server.runs.values()];
  expect(runs.map(({ input }) => input)).toEqual([{ q: 1 }, { q: 1 }]);
  expect(runs[0]!.runId).not.toBe(runs[1]!.runId);
});

it('lets an option make the run of a request', async () => {
  const { world, transport, signal, server } = open(
    {},
    { request: (request) => ({ runId: `x-${request.runId}`, input: [request.input] }) },
  );
  readAll(transport.open({ runId: 'a', input: 1 }, signal));
  await world.clock.advance(0);
  expect(server.runs.get('x-a')?.input).toEqual([1]);
});

it('yields each event once, in order, across reconnects, and ends with the run', async () => {
  const { world, transport, signal, server, sent } = open();
  const log = readAll(transport.open({ runId: 'a', input: 1 }, signal));
  await world.settle();
  for (let round = 0; round < 5; round++) {
    server.append('a', ...n(round * 3, round * 3 + 2));
    await world.settle();
    server.cut(1006);
    server.append('a', ...n(round * 3 + 2, round * 3 + 3));
    await world.clock.advance(30_000);
  }
  server.append('a', finished('a'));
  server.end('a', 'finished');
  await world.settle();
  expect(log.values).toEqual([...numbers(0, 15), 'RUN_FINISHED']);
  expect(log.seen.map(({ offset }) => offset)).toEqual(Array.from({ length: 16 }, (_, i) => i));
  expect(log.seen[0]).toEqual({ runId: 'a', offset: 0, event: n(0, 1)[0] });
  expect(log).toMatchObject({ ended: true, error: undefined });
  expect(sent().filter(({ type }) => type === 'run')).toHaveLength(1);
  await world.clock.advance(5_000);
  expect(world.client.getSnapshot().status).toBe('idle');
  expect(world.clock.timers).toBe(0);
});

it('throws the error of a run that failed outside its events', async () => {
  const { world, transport, signal, server } = open();
  const log = readAll(transport.open({ runId: 'a', input: 1 }, signal));
  await world.settle();
  server.append('a', ...n(0, 2));
  server.end('a', 'lost');
  await world.settle();
  expect(log.values).toEqual([0, 1]);
  expect(log.error).toMatchObject({ name: 'RunSocketError', code: 'run-lost' });
});

it('ends without an error where the events of the run tell of its failure', async () => {
  const { world, transport, signal, server } = open();
  const log = readAll(transport.open({ runId: 'a', input: 1 }, signal));
  await world.settle();
  server.append('a', { type: 'RUN_ERROR', message: 'no' });
  server.end('a', 'error');
  await world.settle();
  expect(log.values).toEqual(['RUN_ERROR']);
  expect(log).toMatchObject({ ended: true, error: undefined });
});

it('throws what serialising the input throws, and starts nothing', async () => {
  const { world, transport, signal } = open();
  const input: Record<string, unknown> = {};
  input.self = input;
  const log = readAll(transport.open({ runId: 'a', input }, signal));
  await world.clock.advance(100);
  expect(log.error).toBeInstanceOf(TypeError);
  expect(world.network.sockets).toHaveLength(0);
});

it('throws run-lost where the server ran the run again', async () => {
  const { world, transport, signal, server } = open();
  const log = readAll(transport.open({ runId: 'a', input: 1 }, signal));
  await world.settle();
  server.append('a', ...n(0, 3));
  await world.settle();
  server.reexecute('a');
  server.append('a', ...n(10, 20));
  server.cut(1006);
  await world.clock.advance(30_000);
  expect(log.values).toEqual([0, 1, 2]);
  expect(log.error).toMatchObject({ code: 'run-lost' });
  await world.clock.advance(5_000);
  expect(world.client.getSnapshot().status).toBe('idle');
});

it('throws log-truncated where the server has lost the events that are next', async () => {
  const { world, transport, signal, server } = open();
  const log = readAll(transport.open({ runId: 'a', input: 1 }, signal));
  await world.settle();
  server.append('a', ...n(0, 3));
  await world.settle();
  world.network.mode = 'down';
  server.cut(1006);
  server.append('a', ...n(3, 20));
  server.truncate('a', 10);
  world.network.mode = 'up';
  await world.clock.advance(30_000);
  expect(log.values).toEqual([0, 1, 2]);
  expect(log.error).toMatchObject({ code: 'log-truncated' });
});

it('throws run-lost where events are missing for good', async () => {
  const { world, transport, signal, server } = open();
  server.mangle = (frames) => frames.filter(({ offset }) => offset !== 2);
  const log = readAll(transport.open({ runId: 'a', input: 1 }, signal));
  await world.settle();
  server.append('a', ...n(0, 5));
  await world.clock.advance(30_000);
  expect(log.values).toEqual([0, 1]);
  expect(log.error).toMatchObject({ code: 'run-lost' });
});

it('gives a cursor for a chunk with a place, and resumes behind it', async () => {
  const { world, transport, signal, server, sent } = open();
  const iterator = transport.open({ runId: 'a', input: 1 }, signal)[Symbol.asyncIterator]();
  const first = iterator.next();
  await world.settle();
  server.append('a', ...n(0, 6));
  const chunk = (await first).value;
  const cursor = JSON.parse(JSON.stringify(transport.getCursor(chunk)));
  expect(cursor).toEqual({ runId: 'a', offset: 0 });
  iterator.return?.();
  const log = readAll(transport.resume(undefined, cursor, signal));
  await world.clock.advance(1_000);
  server.append('a', finished('a'));
  server.end('a', 'finished');
  await world.clock.advance(1_000);
  expect(log.values).toEqual([...numbers(1, 6), 'RUN_FINISHED']);
  expect(sent().at(-1)).toEqual({ type: 'resume', runId: 'a', after: 0 });
  expect(transport.getCursor({ runId: 'a', event: { type: 'X' } })).toBeUndefined();
});

it('ends behind the cursor of the last event, also at a server that does not tell ends', async () => {
  const { world, transport, signal, server } = open({ caps: null });
  const log = readAll(transport.open({ runId: 'a', input: 1 }, signal));
  await world.settle();
  server.append('a', ...n(0, 2), finished('a'));
  await world.settle();
  const cursors = log.seen.map((chunk) => transport.getCursor(chunk));
  expect(cursors.at(-1)).toEqual({ runId: 'a', offset: 2, ended: 'finished' });
  expect(cursors[0]).toEqual({ runId: 'a', offset: 0 });
  const other = createWorld({ peer: toFakePeer(server) });
  const rest = readAll(transportOf(other).resume(undefined, cursors.at(-1), signal));
  await other.clock.advance(2_000);
  expect(rest).toMatchObject({ ended: true, seen: [] });
});

it('keeps to the policy of its runs where it resumes', async () => {
  const { world, transport, signal, server } = open({}, { policy: 'cancel' });
  const iterator = transport.open({ runId: 'a', input: 1 }, signal)[Symbol.asyncIterator]();
  const first = iterator.next();
  await world.settle();
  server.append('a', ...n(0, 3));
  const cursor = transport.getCursor((await first).value);
  iterator.return?.();
  await world.clock.advance(1_000);
  readAll(transport.resume(undefined, cursor, signal));
  await world.settle();
  expect(server.runs.get('a')).toMatchObject({ cancels: 0 });
  server.cut(1006);
  await world.clock.advance(30_000);
  expect(server.runs.get('a')).toMatchObject({ cancels: 1 });
});

it('refuses a cursor that names no place', () => {
  const { transport, signal } = open();
  for (const cursor of [undefined, null, 1, 'x', {}, { runId: 'a' }, { runId: '', offset: 1 }]) {
    expect(() => transport.resume(undefined, cursor, signal)).toThrowError(
      expect.objectContaining({ code: 'invalid-argument' }),
    );
  }
  for (const offset of [null, Number.NaN, 2 ** 60, {}, undefined]) {
    expect(() => transport.resume(undefined, { runId: 'a', offset }, signal)).toThrowError(
      expect.objectContaining({ code: 'invalid-argument' }),
    );
  }
});

it('gives the last event of a frame alone the place that the frame stands at', async () => {
  const world = createWorld();
  const transport = transportOf(world, {
    event: (({ runId, offset, events }: { runId: string; offset: number; events: TestEvent[] }) =>
      events?.map((event) => ({ runId, offset, event }))) as never,
  });
  const { signal } = new AbortController();
  const log = readAll(transport.open({ runId: 'a', input: 1 }, signal));
  await world.settle();
  world.socket.receive({ runId: 'a', offset: 0, events: n(0, 3) });
  world.socket.receive({ runId: 'a', offset: 1, events: n(3, 4) });
  await world.settle();
  expect(log.values).toEqual([0, 1, 2, 3]);
  expect(log.seen.map((chunk) => transport.getCursor(chunk)?.offset)).toEqual([
    undefined,
    undefined,
    0,
    1,
  ]);
});

it('yields events without a place, and the cursor stays where it was', async () => {
  const world = createWorld();
  const transport = transportOf(world);
  const { signal } = new AbortController();
  const log = readAll(transport.open({ runId: 'a', input: 1 }, signal));
  await world.settle();
  const [a, b, c] = n(0, 3);
  world.socket.receive({ runId: 'a', offset: 0, event: a }, { runId: 'a', event: b });
  world.socket.receive({ runId: 'a', offset: null, event: c });
  await world.settle();
  expect(log.values).toEqual([0, 1, 2]);
  expect(log.seen.map(({ offset }) => offset)).toEqual([0, undefined, undefined]);
});

it('only stops following where the loop is left, and lets go of the connection', async () => {
  const { world, transport, signal, server, sent } = open();
  const loop = (async () => {
    for await (const { event } of transport.open({ runId: 'a', input: 1 }, signal)) return event.n;
    return undefined;
  })();
  await world.settle();
  server.append('a', ...n(0, 3));
  expect(await loop).toBe(0);
  await world.clock.advance(5_000);
  expect(world.socket.state).toBe('ended');
  expect(world.client.getSnapshot().status).toBe('idle');
  expect(sent().map(({ type }) => type)).toEqual(['run']);
  expect(world.clock.timers).toBe(0);
});

it('does nothing more for an abort that follows the end of the reading', async () => {
  const { world, transport, signal, controller, server, sent } = open();
  const iterator = transport.open({ runId: 'a', input: 1 }, signal)[Symbol.asyncIterator]();
  iterator.next();
  await world.settle();
  server.append('a', ...n(0, 3));
  iterator.return?.();
  controller.abort();
  await world.clock.advance(5_000);
  expect(sent().map(({ type }) => type)).toEqual(['run']);
  expect(await iterator.next()).toEqual({ done: true, value: undefined });
});

it('resolves a pending next() as done where the reader is left', async () => {
  const { world, transport, signal } = open();
  const iterator = transport.open({ runId: 'a', input: 1 }, signal)[Symbol.asyncIterator]();
  const pending = [iterator.next(), iterator.next()];
  await world.settle();
  iterator.return?.();
  expect(await Promise.all(pending)).toEqual([
    { done: true, value: undefined },
    { done: true, value: undefined },
  ]);
});

it('sends the start of a run that was left before it could, and goes on with it later', async () => {
  const { world, transport, signal, server, sent } = open();
  world.network.mode = 'hold';
  const request = { runId: 'a', input: 1 };
  const iterator = transport.open(request, signal)[Symbol.asyncIterator]();
  iterator.next();
  await world.settle();
  iterator.return?.();
  world.network.mode = 'up';
  world.socket.open();
  await world.settle();
  expect(sent().map(({ type }) => type)).toEqual(['run']);
  server.append('a', ...n(0, 3));
  await world.clock.advance(5_000);
  expect(world.client.getSnapshot().status).toBe('idle');
  const log = readAll(transport.resume(request, undefined, signal));
  await world.clock.advance(5_000);
  expect(log.values).toEqual([0, 1, 2]);
  expect(server.runs.get('a')).toMatchObject({ executions: 1, starts: 1 });
});

it('takes a run over whose start is still waiting to be sent', async () => {
  const { world, transport, signal, server, sent } = open();
  world.network.mode = 'hold';
  const request = { input: 1 };
  const iterator = transport.open(request, signal)[Symbol.asyncIterator]();
  iterator.next();
  await world.settle();
  iterator.return?.();
  const log = readAll(transport.resume(request, undefined, signal));
  await world.settle();
  world.network.mode = 'up';
  world.socket.open();
  await world.settle();
  const [runId] = server.runs.keys();
  server.append(runId!, ...n(0, 3));
  await world.clock.advance(5_000);
  expect(sent().map(({ type }) => type)).toEqual(['run']);
  expect(log.values).toEqual([0, 1, 2]);
});

it('sends a start again that the server says it never had, and one it lost not', async () => {
  const first = open();
  const request = { runId: 'a', input: 1 };
  const log = readAll(first.transport.resume(request, undefined, first.signal));
  await first.world.settle();
  expect(first.sent().map(({ type }) => type)).toEqual(['resume', 'run']);
  first.server.append('a', ...n(0, 2));
  await first.world.settle();
  expect(log.values).toEqual([0, 1]);

  const second = open();
  const lost = readAll(second.transport.resume(request, { runId: 'a', offset: 4 }, second.signal));
  await second.world.settle();
  expect(second.sent().map(({ type }) => type)).toEqual(['resume']);
  expect(lost.error).toMatchObject({ code: 'run-lost' });
});

it('cancels the run where the signal is aborted, and throws an AbortError', async () => {
  const { world, transport, signal, controller, server, sent } = open({ obeysCancel: false });
  const log = readAll(transport.open({ runId: 'a', input: 1 }, signal));
  await world.settle();
  server.append('a', ...n(0, 2));
  await world.settle();
  controller.abort();
  server.append('a', ...n(2, 4));
  await world.settle();
  expect(log.values).toEqual([0, 1]);
  expect(log.error).toMatchObject({ name: 'AbortError' });
  expect(server.runs.get('a')?.cancels).toBe(1);
  server.cut(1006);
  await world.clock.advance(30_000);
  expect(server.runs.get('a')?.cancels).toBe(2);
  server.append('a', finished('a'));
  server.end('a', 'cancelled');
  await world.clock.advance(5_000);
  expect(world.client.getSnapshot().status).toBe('idle');
  expect(sent().map(({ type }) => type)).toEqual(['run', 'cancel', 'resume', 'cancel']);
});

it('names a custom reason in the AbortError', async () => {
  const { world, transport, signal, controller } = open();
  const log = readAll(transport.open({ runId: 'a', input: 1 }, signal));
  await world.settle();
  controller.abort('enough');
  await world.settle();
  expect(log.error).toMatchObject({ name: 'AbortError', message: 'enough', cause: 'enough' });
});

it('cancels a run while its connection is down, once it is up again', async () => {
  const { world, transport, signal, controller, server } = open();
  const log = readAll(transport.open({ runId: 'a', input: 1 }, signal));
  await world.settle();
  world.network.mode = 'down';
  server.cut(1006);
  await world.settle();
  controller.abort();
  await world.settle();
  expect(log.error).toMatchObject({ name: 'AbortError' });
  expect(server.runs.get('a')?.cancels).toBe(0);
  world.network.mode = 'up';
  await world.clock.advance(60_000);
  expect(server.runs.get('a')?.cancels).toBe(1);
  expect(world.client.getSnapshot().status).toBe('idle');
});

it('starts nothing under a signal that is aborted already', async () => {
  const { world, transport, signal, controller } = open();
  controller.abort();
  const log = readAll(transport.open({ runId: 'a', input: 1 }, signal));
  await world.clock.advance(100);
  expect(log.error).toMatchObject({ name: 'AbortError' });
  expect(world.network.sockets).toHaveLength(0);
});

it('cancels a run that is resumed under an aborted signal', async () => {
  const { world, transport, signal, controller, server } = open();
  const iterator = transport.open({ runId: 'a', input: 1 }, signal)[Symbol.asyncIterator]();
  iterator.next();
  await world.settle();
  server.append('a', ...n(0, 2));
  iterator.return?.();
  await world.clock.advance(5_000);
  controller.abort();
  const log = readAll(transport.resume(undefined, { runId: 'a', offset: 0 }, signal));
  await world.clock.advance(5_000);
  expect(log.error).toMatchObject({ name: 'AbortError' });
  expect(server.runs.get('a')).toMatchObject({ cancels: 1, status: 'cancelled' });
  expect(world.client.getSnapshot().status).toBe('idle');
});

it('never sends the start of a run that was aborted before', async () => {
  const { world, transport, signal, controller, sent } = open();
  world.network.mode = 'hold';
  const log = readAll(transport.open({ runId: 'a', input: 1 }, signal));
  await world.settle();
  controller.abort();
  await world.settle();
  world.network.mode = 'up';
  world.socket.open();
  await world.clock.advance(5_000);
  expect(log.error).toMatchObject({ name: 'AbortError' });
  expect(sent()).toEqual([]);
});

it('drops the queue of a consumer that stays away, and asks for the rest when it comes back', async () => {
  const { world, transport, signal, server, sent } = open({}, { queueLimit: 10 });
  const iterator = transport.open({ runId: 'a', input: 1 }, signal)[Symbol.asyncIterator]();
  const first = iterator.next();
  await world.settle();
  server.append('a', ...n(0, 1));
  expect((await first).value.event.n).toBe(0);
  server.append('a', ...n(1, 100));
  await world.clock.advance(5_000);
  expect(world.client.getSnapshot().status).toBe('idle');
  expect(sent().map(({ type }) => type)).toEqual(['run']);
  expect(world.clock.timers).toBe(0);
  server.append('a', ...n(100, 200), finished('a'));
  server.end('a', 'finished');
  const log = readAll({ [Symbol.asyncIterator]: () => iterator });
  await world.clock.advance(60_000);
  expect(sent()[1]).toEqual({ type: 'resume', runId: 'a', after: 0 });
  expect(log.values).toEqual([...numbers(1, 200), 'RUN_FINISHED']);
  expect(log.ended).toBe(true);
});

it.each(['with its end', 'before its end'])(
  'gives a slow consumer a queue of a log that comes %s for each time it asks again',
  async (how) => {
    const { world, transport, signal, server, sent } = open({}, { queueLimit: 10 });
    const iterator = transport.open({ runId: 'a', input: 1 }, signal)[Symbol.asyncIterator]();
    const pending = iterator.next();
    await world.settle();
    server.append('a', ...n(0, 200), finished('a'));
    if (how === 'with its end') server.end('a', 'finished');
    const seen: unknown[] = [(await pending).value.event.n];
    await world.clock.advance(10_000);
    if (!server.runs.get('a')?.status) server.end('a', 'finished');
    for (let turn = 0; turn < 1_000; turn++) {
      await world.clock.advance(500);
      let result: IteratorResult<RunChunk<TestEvent>> | undefined;
      iterator.next().then((value) => {
        result = value;
      });
      await world.clock.advance(10_000);
      if (!result || result.done) break;
      seen.push(result.value.event.n ?? result.value.event.type);
    }
    expect(seen).toEqual([...numbers(0, 200), 'RUN_FINISHED']);
    const resumes = sent().filter(({ type }) => type === 'resume').length;
    expect(resumes).toBeGreaterThan(0);
    expect(resumes).toBeLessThan(30);
  },
);

it('lets a consumer that keeps up have bursts longer than the queue', async () => {
  const { world, transport, signal, server, sent } = open({}, { queueLimit: 10 });
  const log = readAll(transport.open({ runId: 'a', input: 1 }, signal));
  await world.settle();
  server.append('a', ...n(0, 1_000));
  await world.settle();
  expect(log.values).toEqual(numbers(0, 1_000));
  expect(sent().map(({ type }) => type)).toEqual(['run']);
});

it('keeps the rest of a frame that the consumer is inside of', async () => {
  const world = createWorld();
  const transport = transportOf(world, {
    queueLimit: 3,
    event: (({ runId, offset, events }: { runId: string; offset: number; events: TestEvent[] }) =>
      events?.map((event) => ({ runId, offset, event }))) as never,
  });
  const { signal } = new AbortController();
  const iterator = transport.open({ runId: 'a', input: 1 }, signal)[Symbol.asyncIterator]();
  const first = iterator.next();
  await world.settle();
  world.socket.receive({ runId: 'a', offset: 0, events: n(0, 3) });
  expect((await first).value).toEqual({ runId: 'a', event: n(0, 1)[0] });
  world.socket.receive({ runId: 'a', offset: 1, events: n(3, 8) });
  await world.clock.advance(5_000);
  expect(world.socket.state).toBe('ended');
  const log = readAll({ [Symbol.asyncIterator]: () => iterator });
  await world.clock.advance(1_000);
  expect(log.values).toEqual([1, 2]);
  expect(world.socket.sent).toEqual([{ type: 'resume', runId: 'a', after: 0 }]);
  world.socket.receive({ runId: 'a', offset: 1, events: n(3, 8) });
  await world.settle();
  expect(log.values).toEqual([1, 2, 3, 4, 5, 6, 7]);
});

it('fails with queue-full where events without offsets would be lost', async () => {
  const world = createWorld();
  const transport = transportOf(world, { queueLimit: 3 });
  const iterator = transport
    .open({ runId: 'a', input: 1 }, new AbortController().signal)
    [Symbol.asyncIterator]();
  const first = iterator.next();
  await world.settle();
  for (const event of n(0, 9)) world.socket.receive({ runId: 'a', event });
  await first;
  await world.clock.advance(1_000);
  const log = readAll({ [Symbol.asyncIterator]: () => iterator });
  await world.settle();
  expect(log.values).toEqual(numbers(1, 9));
  expect(log.error).toMatchObject({ code: 'queue-full' });
});

it('cancels a run that it has stopped following', async () => {
  const { world, transport, signal, controller, server } = open({}, { queueLimit: 3 });
  const iterator = transport.open({ runId: 'a', input: 1 }, signal)[Symbol.asyncIterator]();
  const first = iterator.next();
  await world.settle();
  server.append('a', ...n(0, 50));
  await first;
  await world.clock.advance(5_000);
  expect(world.client.getSnapshot().status).toBe('idle');
  controller.abort();
  await world.clock.advance(5_000);
  expect(server.runs.get('a')).toMatchObject({ cancels: 1, status: 'cancelled' });
  await expect(iterator.next()).rejects.toMatchObject({ name: 'AbortError' });
  expect(await iterator.next()).toEqual({ done: true, value: undefined });
});

it('yields the events of a log whose end came first', async () => {
  const world = createWorld();
  const transport = transportOf(world);
  const log = readAll(transport.open({ runId: 'a', input: 1 }, new AbortController().signal));
  await world.settle();
  world.socket.receive({ type: 'hello', v: 1, caps: ['accepted', 'end'] });
  world.socket.receive({ type: 'run.accepted', runId: 'a', epoch: 'e', next: 0 });
  const frame = (offset: number) => ({ runId: 'a', offset, event: n(offset, offset + 1)[0] });
  world.socket.receive(frame(0));
  world.socket.receive({ type: 'run.end', runId: 'a', offset: 1, status: 'finished' });
  world.socket.receive(frame(1));
  await world.settle();
  expect(log.values).toEqual([0, 1]);
  expect(log.ended).toBe(true);
});

it('looks at no message any more once its runs are over', async () => {
  let looks = 0;
  const { world, transport, signal, server } = open(
    {},
    {
      event: ((message: { runId?: string; offset: number; event: TestEvent }) => {
        looks++;
        return typeof message.runId === 'string' && message.event ? message : undefined;
      }) as never,
    },
  );
  readAll(transport.open({ runId: 'b', input: 1 }, signal));
  const log = readAll(transport.open({ runId: 'a', input: 1 }, signal));
  await world.settle();
  server.append('a', finished('a'));
  server.end('a', 'finished');
  await world.settle();
  expect(log.ended).toBe(true);
  looks = 0;
  server.append('b', ...n(0, 5));
  expect(looks).toBe(5);
});

it('leaves no timer where it is left with a long queue', async () => {
  const { world, transport, signal, server } = open({}, { queueLimit: 3 });
  const iterator = transport.open({ runId: 'a', input: 1 }, signal)[Symbol.asyncIterator]();
  const first = iterator.next();
  await world.settle();
  server.append('a', ...n(0, 10));
  iterator.return?.();
  expect(world.clock.timers).toBe(0);
  await first;
  await world.clock.advance(5_000);
  expect(world.clock.timers).toBe(0);
});

it('leaves no listener on the signal', async () => {
  const { world, transport, signal, server } = open();
  let listeners = 0;
  for (const [name, step] of [
    ['addEventListener', 1],
    ['removeEventListener', -1],
  ] as const) {
    const original = signal[name] as (...args: unknown[]) => void;
    signal[name] = (...args: unknown[]) => {
      listeners += step;
      original.apply(signal, args);
    };
  }
  const whole = readAll(transport.open({ runId: 'a', input: 1 }, signal));
  const iterator = transport.open({ runId: 'b', input: 1 }, signal)[Symbol.asyncIterator]();
  iterator.next();
  await world.settle();
  expect(listeners).toBe(2);
  iterator.return?.();
  server.append('a', finished('a'));
  server.end('a', 'finished');
  await world.settle();
  expect(whole.ended).toBe(true);
  expect(listeners).toBe(0);
});

it('reads two runs on one client side by side', async () => {
  const { world, transport, signal, server } = open();
  const ids = ['__proto__', 'constructor'];
  const logs = ids.map((runId) => readAll(transport.open({ runId, input: 1 }, signal)));
  await world.settle();
  for (let i = 0; i < 5; i++) {
    for (const runId of ids) server.append(runId, ...n(i, i + 1));
    if (i === 2) {
      server.cut(1006);
      await world.clock.advance(30_000);
    }
  }
  await world.settle();
  expect(logs.map(({ values }) => values)).toEqual([numbers(0, 5), numbers(0, 5)]);
  expect(world.network.sockets).toHaveLength(2);
});

it('shows nobody the events of a run that it left on a connection that others hold', async () => {
  const { world, transport, signal, server } = open();
  const other = readAll(transport.open({ runId: 'b', input: 1 }, signal));
  const iterator = transport.open({ runId: 'a', input: 1 }, signal)[Symbol.asyncIterator]();
  const first = iterator.next();
  await world.settle();
  server.append('a', ...n(0, 1));
  await first;
  iterator.return?.();
  server.append('a', ...n(1, 4));
  await world.settle();
  const log = readAll(transport.resume(undefined, { runId: 'a', offset: 0 }, signal));
  server.append('b', ...n(0, 2));
  await world.clock.advance(5_000);
  server.append('b', ...n(2, 4));
  server.append('a', ...n(4, 6));
  await world.settle();
  expect(log.values).toEqual(numbers(1, 6));
  expect(other.values).toEqual(numbers(0, 4));
});

it('throws the final close of the client', async () => {
  const { world, transport, signal, server } = open();
  const log = readAll(transport.open({ runId: 'a', input: 1 }, signal));
  await world.settle();
  server.append('a', ...n(0, 1));
  await world.settle();
  world.client.close();
  await world.settle();
  expect(log.values).toEqual([0]);
  expect(log.error).toMatchObject({ code: 'closed' });
});

it('throws where there is no WebSocket at all', async () => {
  const client = createWebSocketClient('ws://127.0.0.1:9', { WebSocket: null as never });
  const transport = createRunTransport(client);
  const iterator = transport.open({ input: 1 }, new AbortController().signal);
  await expect(iterator[Symbol.asyncIterator]().next()).rejects.toMatchObject({
    name: 'RunSocketError',
  });
});

it('throws for a client of somebody else', () => {
  expect(() => createRunTransport({} as never)).toThrowError(
    expect.objectContaining({ code: 'unsupported' }),
  );
});

it('reads a run whole over real sockets that are cut, left and taken up', async () => {
  const server = await startPlainServer();
  const proxy = await startTcpProxy(server.port);
  const client = createWebSocketClient(`ws://127.0.0.1:${proxy.port}`, {
    WebSocket: WebSocket as never,
    backoff: { first: 20, min: 10, max: 50 },
  });
  const transport = createRunTransport<Request, TestEvent>(client);
  const { signal } = new AbortController();
  const seen: unknown[] = [];
  let cursor: unknown;
  let chunks = transport.open({ runId: 'a', input: { messages: [] } }, signal);
  const reading = (async () => {
    for (;;) {
      for await (const chunk of chunks) {
        seen.push(chunk.event.n ?? chunk.event.type);
        cursor = transport.getCursor(chunk);
        if (seen.length % 70 === 0) break;
        if (chunk.event.type === 'RUN_FINISHED') return;
      }
      chunks = transport.resume(undefined, cursor, signal);
    }
  })();
  try {
    await until(() => server.runs.has('a'));
    server.append('a', started('a'));
    for (let i = 0; i < 300; i++) {
      server.append('a', ...n(i, i + 1));
      if (i % 50 === 25) {
        const before = proxy.accepted;
        proxy.cut(i % 100 === 25 ? 'rst' : 'fin');
        await until(() => proxy.accepted > before);
      }
    }
    server.append('a', finished('a'));
    await reading;
    expect(seen).toEqual(['RUN_STARTED', ...numbers(0, 300), 'RUN_FINISHED']);
    expect(server.errors).toEqual([]);
    await until(() => server.sockets.size === 0);
  } finally {
    client.close();
    await proxy.close();
    await server.close();
  }
});
