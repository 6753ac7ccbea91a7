import { afterEach, describe, expect, it } from 'vitest';
import { WebSocket } from 'ws';
import { createAgUiAgent } from '../../src/ag-ui/agent.ts';
import { createWebSocketClient } from '../../src/client/websocket-client.ts';
import { startPlainServer } from '../helpers/plain-server.ts';
import { startTcpProxy } from '../helpers/tcp-proxy.ts';
import { until } from '../helpers/until.ts';
import { createV1Server, startV1Server, toFakePeer } from '../helpers/v1-server.ts';
import { createVirtualClock } from '../helpers/virtual-clock.ts';
import {
  createLatency,
  createLog,
  createWorld,
  finished,
  says,
  started,
  texts,
  user,
} from '../helpers/world.ts';
import { createScene, plain, servers } from './set-up.ts';

const cleanUps: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp();
});

// https://github.com/robtaussig/react-use-websocket/issues/90
describe('a run that is started on a line that is dead already', () => {
  async function startOnDeadLine(port: number, restart = false) {
    const proxy = await startTcpProxy(port);
    const client = createWebSocketClient(`ws://127.0.0.1:${proxy.port}`, {
      WebSocket,
      backoff: { first: 5, min: 1, max: 5 },
    });
    const agent = createAgUiAgent(client, { storage: null, restart });
    cleanUps.push(proxy.close, () => agent.dispose());
    agent.subscribe(() => {});
    await client.ready;
    proxy.blackHole(true);
    agent.run({ messages: [user('Hi')] }, { runId: 'a' });
    expect(client.getSnapshot().status).toBe('open');
    // The frame has left the client before the line breaks.
    await new Promise((resolve) => setImmediate(resolve));
    proxy.blackHole(false);
    proxy.cut();
    return agent;
  }

  it('is started exactly once after the reconnect', async () => {
    const server = await startV1Server();
    cleanUps.push(server.close);
    const agent = await startOnDeadLine(server.port);
    await until(() => server.runs.has('a'));
    server.append('a', started('a'), says('one'), finished('a'));
    server.end('a', 'finished');
    await until(() => agent.getSnapshot().status === 'finished');
    expect(texts(agent)).toEqual(['Hi', 'one']);
    expect(server.runs.get('a')).toMatchObject({ executions: 1, starts: 1 });
    expect(server.received.filter(({ type }) => type === 'resume' || type === 'run')).toMatchObject(
      [
        { type: 'resume', runId: 'a' },
        { type: 'run', runId: 'a' },
      ],
    );
  });

  it('is started exactly once by a plain server that starts each id once', async () => {
    const server = await startPlainServer();
    cleanUps.push(server.close);
    const agent = await startOnDeadLine(server.port, true);
    await until(() => server.runs.has('a'));
    server.append('a', started('a'), says('one'), finished('a'));
    await until(() => agent.getSnapshot().status === 'finished');
    expect(texts(agent)).toEqual(['Hi', 'one']);
    expect(server.runs.get('a')?.starts).toBe(1);
  });
});

// https://github.com/socketio/socket.io/issues/4318
it('a start that was given up is never sent by itself, and a late first event takes it back', async () => {
  const { server, world } = createScene(plain);
  server.silent = true;
  const agent = world.agent();
  agent.run({ messages: [user('Hi')] }, { runId: 'a' });
  const release = world.client.hold();
  await world.settle();
  await world.reconnect();
  await world.clock.advance(60_100);
  expect(agent.getSnapshot()).toMatchObject({ status: 'error', error: { code: 'start-unknown' } });
  const sent = () =>
    world.network.sockets.flatMap((socket) => socket.sent.map(({ type }) => type)).join(' ');
  // Nobody answered, so the connection was replaced once, too.
  expect(sent()).toBe('run resume resume');
  for (let n = 0; n < 5; n++) {
    await world.reconnect();
    await world.clock.advance(60_000);
  }
  expect(sent()).toBe('run resume resume');
  world.socket.receive(...createLog('a').frames(started('a'), says('one')));
  expect(agent.getSnapshot()).toMatchObject({ status: 'running' });
  expect(agent.getSnapshot().error).toBeUndefined();
  await world.reconnect();
  expect(world.socket.sent).toEqual([{ type: 'resume', runId: 'a', after: 1 }]);
  world.socket.receive(...createLog('a', 2).frames(finished('a')));
  await world.clock.advance(1_001);
  expect(agent.getSnapshot().status).toBe('finished');
  expect(texts(agent)).toEqual(['Hi', 'one']);
  release();
});

// https://github.com/openclaw/openclaw/issues/126680, https://github.com/PocketShell-io/pocketshell/issues/961
describe('one action of the user', () => {
  it.each(servers)(
    'is one execution where the line breaks before %s has answered',
    async (_, options) => {
      let cuts = 3;
      const { server, world } = createScene(options, {}, (peer) => ({
        ...peer,
        message(socket, message) {
          // It arrives, and no answer gets out any more.
          if (message.runId === 'a' && cuts-- > 0) socket.end();
          peer.message?.(socket, message);
        },
      }));
      const agent = world.agent();
      agent.run({ messages: [user('Hi')] }, { runId: 'a' });
      await world.clock.advance(20_000);
      expect(cuts).toBeLessThan(0);
      server.append('a', started('a'), says('one'), finished('a'));
      server.end('a', 'finished');
      await world.clock.advance(1_000);
      expect(agent.getSnapshot().status).toBe('finished');
      expect(texts(agent)).toEqual(['Hi', 'one']);
      expect(server.runs.get('a')).toMatchObject({ executions: 1, starts: 1 });
    },
  );

  it.each(servers)(
    'done twice stops its first run at %s and starts another',
    async (_, options) => {
      const { server, world } = createScene(options);
      const agent = world.agent();
      const click = () => agent.run({ messages: [user('Hi')] });
      const first = click();
      await world.settle();
      server.append(first, started(first), says('one', 'm1'));
      const second = click();
      await world.settle();
      expect(second).not.toBe(first);
      expect(server.runs.get(first)).toMatchObject({ executions: 1, status: 'cancelled' });
      expect(server.runs.get(second)).toMatchObject({ executions: 1, status: undefined });
      server.append(second, started(second), says('two', 'm2'), finished(second));
      server.end(second, 'finished');
      await world.clock.advance(1_000);
      expect(agent.getSnapshot().status).toBe('finished');
      expect(texts(agent)).toEqual(['Hi', 'one', 'Hi', 'two']);
      expect(server.runs.size).toBe(2);
    },
  );
});

// https://github.com/socketio/socket.io/issues/5363
describe('over a line with 10 ms of delay each way', () => {
  function createFarScene() {
    const clock = createVirtualClock();
    const server = createV1Server();
    const later = createLatency(clock, () => 10);
    const client = { backoff: { first: 5, min: 5, max: 5 } };
    const world = createWorld({ clock, later, client, peer: toFakePeer(server, later) });
    return { server, world };
  }
  const times = Array.from({ length: 40 }, (_, i) => 2 * i);

  it('a run is started exactly once, whenever the line breaks around its start, once or twice', async () => {
    let resumed = 0;
    let restarted = 0;
    for (const first of times) {
      for (const second of [undefined, ...times.filter((_, i) => i % 4 === 0)]) {
        const { server, world } = createFarScene();
        const agent = world.agent();
        agent.run({ messages: [user('Hi')] }, { runId: 'a' });
        await world.clock.advance(first);
        if (world.socket.state === 'open') world.socket.end();
        if (second !== undefined) {
          await world.clock.advance(second);
          if (world.socket.state === 'open') world.socket.end();
        }
        await world.clock.advance(500);
        const found = [first, second, server.runs.get('a')?.executions];
        expect(found).toEqual([first, second, 1]);
        server.append('a', started('a'), says('one'), finished('a'));
        server.end('a', 'finished');
        await world.clock.advance(100);
        expect([first, second, ...texts(agent)]).toEqual([first, second, 'Hi', 'one']);
        expect(agent.getSnapshot().status).toBe('finished');
        const types = server.received.map(({ type }) => type);
        if (types.includes('resume')) resumed++;
        if (types.indexOf('run') > types.indexOf('resume')) restarted++;
      }
    }
    // Both kinds of answer were needed.
    expect(Math.min(resumed, restarted)).toBeGreaterThan(10);
  });

  it('a cancel arrives, whenever the line breaks within 50 ms behind it', async () => {
    let lost = 0;
    for (let before = 0; before <= 50; before++) {
      const { server, world } = createFarScene();
      const agent = world.agent();
      agent.run({ messages: [user('Hi')] }, { runId: 'a' });
      await world.clock.advance(100);
      server.append('a', started('a'), says('one'));
      await world.clock.advance(100);
      agent.abort();
      await world.clock.advance(before);
      world.socket.end();
      await world.clock.flush();
      if (!server.runs.get('a')?.cancels) lost++;
      await world.clock.advance(500);
      expect([before, server.runs.get('a')?.status]).toEqual([before, 'cancelled']);
      expect(agent.getSnapshot().status).toBe('aborted');
      expect(texts(agent)).toEqual(['Hi', 'one']);
      expect(world.storage.map.size).toBe(0);
    }
    expect(lost).toBeGreaterThan(5);
  });
});
