import { describe, expect, it } from 'vitest';
import type { FakePeer, FakeSocket } from '../helpers/fake-network.ts';
import { createVirtualClock, type VirtualClock } from '../helpers/virtual-clock.ts';
import { finished, says, started, texts, user } from '../helpers/world.ts';
import { createScene } from './set-up.ts';

/** How many bytes the line takes in a second, each way. */
const speed = 1_000;
const large = 'x'.repeat(30 * speed);

/** Puts a line before a server that takes its time for every byte, and loses what is on it at its end. */
const slowed =
  (clock: VirtualClock) =>
  (peer: FakePeer): FakePeer => {
    const lanes = { up: new Map<FakeSocket, number>(), down: new Map<FakeSocket, number>() };
    const carry = (lane: Map<FakeSocket, number>, socket: FakeSocket, text: string) => {
      const free = Math.max(clock.now(), lane.get(socket) ?? 0) + (text.length / speed) * 1_000;
      lane.set(socket, free);
      return new Promise<boolean>((resolve) => {
        clock.environment.setTimer(() => resolve(socket.state === 'open'), free - clock.now());
      });
    };
    const ends = new Map<FakeSocket, FakeSocket>();
    return {
      open(socket) {
        const end: FakeSocket = Object.create(socket, {
          frame: {
            value: async (data: string) => {
              if (await carry(lanes.down, socket, data)) socket.frame(data);
            },
          },
        });
        ends.set(socket, end);
        peer.open?.(end);
      },
      async message(socket, message) {
        const isThere = await carry(lanes.up, socket, JSON.stringify(message));
        if (isThere) peer.message?.(ends.get(socket) ?? socket, message);
      },
      close: (socket) => peer.close?.(ends.get(socket) ?? socket),
    };
  };

function openScene() {
  const clock = createVirtualClock();
  return { ...createScene({}, { clock }, slowed(clock)), clock };
}

describe('a frame that is on the line for 30 s, with the answers to pings behind it', () => {
  it('arrives where it is an event', async () => {
    const { server, world, clock } = openScene();
    const agent = world.agent();
    agent.run({ messages: [user('Hi')] }, { runId: 'a' });
    await clock.advance(5_000);
    server.append('a', started('a'), says(large), says('!'), finished('a'));
    server.end('a', 'finished');
    await clock.advance(300_000);
    expect(agent.getSnapshot().status).toBe('finished');
    expect(texts(agent)).toEqual(['Hi', `${large}!`]);
    expect(server.runs.get('a')).toMatchObject({ executions: 1 });
    expect(world.network.sockets.length).toBeLessThan(6);
  });

  it('arrives where it is a start', async () => {
    const { server, world, clock } = openScene();
    const run = world.runs().start({ large }, { runId: 'a' });
    await clock.advance(300_000);
    expect(run.getSnapshot().status).toBe('streaming');
    expect(server.runs.get('a')).toMatchObject({ executions: 1, input: { large } });
    expect(world.network.sockets.length).toBeLessThan(6);
  });

  it('is waited for only where something is owed: a dead line is found three times in a row within the same bound', async () => {
    const clock = createVirtualClock();
    const { server, world } = createScene({}, { clock });
    world.runs().start({}, { runId: 'a' });
    await world.settle();
    for (let i = 0; i < 3; i++) {
      server.silent = true;
      await clock.advance(15_000);
      expect(world.socket.sent.at(-1)).toMatchObject({ type: 'ping' });
      // The ping is lost, and the next line lives.
      server.silent = false;
      const { length } = world.network.sockets;
      await clock.advance(5_000);
      expect(world.network.sockets.length).toBe(length + 1);
      expect(world.socket.sent[0]).toMatchObject({ type: 'resume' });
    }
  });

  it('is waited for no longer once events come: a dead line is found as soon as before', async () => {
    const { server, world, clock } = openScene();
    const release = world.client.hold();
    world.runs().start({ large }, { runId: 'a' });
    await clock.advance(300_000);
    server.append('a', started('a'));
    await clock.advance(5_000);
    await world.reconnect();
    await clock.advance(5_000);
    server.append('a', says('one'));
    await clock.advance(1_000);
    server.silent = true;
    const { length } = world.network.sockets;
    await clock.advance(15_000 + 5_000);
    expect(world.network.sockets.length).toBe(length + 1);
    release();
  });
});
