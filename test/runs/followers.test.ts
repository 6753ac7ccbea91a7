import { expect, it } from 'vitest';
import { createClient } from '../../src/client/websocket-client.ts';
import { RunSocketError } from '../../src/internal/errors.ts';
import { createRuns } from '../../src/runs/runs.ts';
import { createV1Server, toFakePeer } from '../helpers/v1-server.ts';
import { createVirtualClock } from '../helpers/virtual-clock.ts';
import { createLog, createWorld, finished, says, sentTypes, started } from '../helpers/world.ts';

const at = (offset: number) => ({ runId: 'a', offset, event: { type: 'CUSTOM', n: offset } });

it('who joins a run that a connection already brings gets a new connection, and the whole run', async () => {
  const world = createWorld();
  world.runs().start({}, { runId: 'a' });
  await world.settle();
  const first = world.socket;
  first.receive(at(0), at(1), at(2));
  const seen: unknown[] = [];
  world
    .runs()
    .follow('a')
    .on('event', (event) => seen.push(event.n));
  // On its way already: nobody may take it for the start of the log.
  first.receive(at(3));
  await world.settle();
  expect(world.socket).not.toBe(first);
  expect(world.socket.sent).toEqual([{ type: 'resume', runId: 'a' }]);
  world.socket.receive(at(0), at(1), at(2), at(3), at(4));
  expect(seen).toEqual([0, 1, 2, 3, 4]);
});

it('who joins a run again after dispose() goes on where it was', async () => {
  const world = createWorld();
  world.client.hold();
  const runs = world.runs();
  const run = runs.start({}, { runId: 'a' });
  const seen: unknown[] = [];
  run.on('event', (event) => seen.push(event.n));
  await world.settle();
  const first = world.socket;
  first.receive(at(0), at(1));
  runs.dispose();
  first.receive(at(2), at(3));
  runs.follow('a');
  first.receive(at(4));
  await world.settle();
  expect(world.socket).not.toBe(first);
  expect(world.socket.sent).toEqual([{ type: 'resume', runId: 'a', after: 1 }]);
  world.socket.receive(at(2), at(3), at(4));
  expect(seen).toEqual([0, 1, 2, 3, 4]);
});

it('who joins a run after dispose() is not kept from it by another one that was started since', async () => {
  const world = createWorld();
  const runs = world.runs();
  runs.start({}, { runId: 'a' });
  runs.start({}, { runId: 'c' });
  await world.settle();
  world.socket.receive(at(0));
  runs.dispose();
  runs.start({}, { runId: 'b' });
  await world.settle();
  const run = runs.follow('a');
  await world.settle();
  expect(sentTypes(world)).toEqual(['run b', 'resume a', 'resume c']);
  world.socket.receive(at(1));
  expect(run.getSnapshot()).toMatchObject({ status: 'streaming', offset: 1 });
});

it('a run that is over is followed again on the same connection', async () => {
  const world = createWorld();
  const runs = world.runs();
  runs.start({}, { runId: 'a' });
  await world.settle();
  const log = () => createLog('a').frames(started('a'), finished('a'));
  world.socket.receive(...log());
  await world.clock.advance(1_000);
  const { socket } = world;
  const again = runs.follow('a');
  await world.settle();
  expect(world.socket).toBe(socket);
  expect(socket.sent.at(-1)).toEqual({ type: 'resume', runId: 'a' });
  socket.receive(...log());
  await world.clock.advance(1_000);
  expect(again.getSnapshot()).toMatchObject({ status: 'finished', offset: 1 });
});

it('a socket that this side replaces is no drop: policy cancel goes on', async () => {
  const world = createWorld();
  const run = world.runs({ policy: 'cancel' }).start({}, { runId: 'a' });
  await world.settle();
  world.socket.receive(at(0));
  world.client.reconnect();
  await world.settle();
  expect(world.socket.sent).toEqual([{ type: 'resume', runId: 'a', after: 0 }]);
  expect(run.getSnapshot().status).toBe('streaming');
});

it('a socket that a ping found dead is a drop: policy cancel stops the run', async () => {
  const server = createV1Server();
  const world = createWorld({ peer: toFakePeer(server) });
  world.runs({ policy: 'cancel' }).start({}, { runId: 'a' });
  await world.settle();
  server.silent = true;
  await world.clock.advance(15_000 + 5_000);
  server.silent = false;
  await world.settle();
  expect(server.received.at(-1)).toEqual({ type: 'cancel', runId: 'a' });
});

it('without any WebSocket a run fails at once, and says why', async () => {
  const clock = createVirtualClock({ page: {} });
  const client = createClient('wss://example.com', {}, { environment: clock.environment });
  const run = createRuns(client).start({});
  expect(run.getSnapshot()).toMatchObject({
    status: 'failed',
    error: { code: 'closed', cause: { code: 'unsupported' } },
  });
  expect((await run.done).status).toBe('failed');
  expect(clock.timers).toBe(0);
});

it('a checkpoint knows that its events told an end', async () => {
  const world = createWorld();
  world.agent().run({ messages: [{ role: 'user', content: 'Hi' }] }, { runId: 'a' });
  await world.settle();
  world.socket.receive(...createLog('a').frames(started('a'), says('x'), finished('a')));
  const next = world.reload();
  const agent = next.agent();
  agent.subscribe(() => {});
  expect(agent.getSnapshot().status).toBe('finished');
  await next.settle();
  await next.clock.advance(1_000);
  expect(next.storage.map.size).toBe(0);
  expect(agent.runs.getSnapshot()).toEqual([]);
});

it('follow() takes a run id and an offset', () => {
  const runs = createWorld().runs();
  for (const after of [Number.NaN, 2 ** 60, {} as number]) {
    expect(() => runs.follow('a', { after })).toThrow(RunSocketError);
  }
  expect(() => runs.follow('')).toThrow(RunSocketError);
  expect(runs.getSnapshot()).toEqual([]);
});

it('an end without a known status is none', async () => {
  const world = createWorld();
  const run = world.runs().start({}, { runId: 'a' });
  await world.settle();
  world.socket.receive({ type: 'hello', v: 1, caps: ['end'] }, at(0));
  for (const status of [undefined, 'over', 5]) {
    world.socket.receive({ type: 'run.end', runId: 'a', offset: 0, status });
  }
  expect(run.getSnapshot().status).toBe('streaming');
});

it('retries that ran out by timeouts suspend a run, and reconnect() takes it up again', async () => {
  const world = createWorld({ client: { maxRetries: 1, connectTimeout: 100 } });
  const agent = world.agent();
  world.network.mode = 'hold';
  agent.run({}, { runId: 'a' });
  await world.clock.advance(10_000);
  expect(world.client.getSnapshot()).toMatchObject({
    status: 'closed',
    error: { code: 'timeout' },
  });
  expect(agent.getSnapshot()).toMatchObject({ status: 'error', error: { code: 'closed' } });
  expect(agent.runs.get('a')?.getSnapshot().error).toMatchObject({ cause: { code: 'timeout' } });
  world.network.mode = 'up';
  world.client.reconnect();
  await world.settle();
  expect(world.socket.sent).toMatchObject([{ type: 'run', runId: 'a' }]);
  expect(agent.getSnapshot().status).toBe('running');
  expect(agent.getSnapshot().error).toBeUndefined();
});
