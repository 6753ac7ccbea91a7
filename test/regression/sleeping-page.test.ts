import { describe, expect, it } from 'vitest';
import { finished, says, started, texts, user } from '../helpers/world.ts';
import { createScene } from './set-up.ts';

// https://github.com/partykit/partykit/issues/434
describe('a page that slept for 120 s', () => {
  it.each([false, true])(
    'asks whether its socket lives before the user says more, and loses nothing (run: %s)',
    async (isRunning) => {
      const { server, world } = createScene();
      const agent = world.agent();
      agent.subscribe(() => {});
      agent.run({ messages: [user('one')] }, { runId: 'a' });
      await world.settle();
      server.append('a', started('a'), says('1'));
      if (!isRunning) {
        server.append('a', finished('a'));
        server.end('a', 'finished');
      }
      await world.clock.advance(10_000);
      const before = world.socket.sent.length;
      // The line is gone, and nobody said so.
      server.silent = true;
      await world.clock.sleep(120_000);
      expect(world.socket.sent.slice(before)).toMatchObject([{ type: 'ping' }]);
      if (isRunning) agent.abort();
      agent.run({ messages: [user('two')] }, { runId: 'b' });
      const [first] = world.network.sockets;
      await world.clock.advance(4_999);
      expect([world.network.sockets.length, server.runs.has('b')]).toEqual([1, false]);
      server.silent = false;
      await world.clock.advance(1_001);
      expect([first?.stopped, world.network.sockets.length]).toEqual([true, 2]);
      expect(server.runs.get('b')).toMatchObject({ executions: 1 });
      expect(server.runs.get('a')?.status).toBe(isRunning ? 'cancelled' : 'finished');
      server.append('b', started('b'), says('2', 'm2'), finished('b'));
      server.end('b', 'finished');
      expect(agent.getSnapshot().status).toBe('finished');
      expect(texts(agent)).toEqual(['one', '1', 'two', '2']);
    },
  );
});

it('a dead line is found within heartbeat and timeout, however many runs start meanwhile', async () => {
  const { server, world } = createScene();
  const runs = world.runs();
  const release = world.client.hold();
  await world.settle();
  server.silent = true;
  let waited = 0;
  for (; world.network.sockets.length === 1 && waited < 60_000; waited += 1_000) {
    const run = runs.start({});
    await world.clock.advance(1_000);
    run.cancel();
  }
  expect(waited).toBe(20_000);
  release();
});
