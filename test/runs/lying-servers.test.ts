import { describe, expect, it } from 'vitest';
import type { FakePeer, FakeSocket, Message } from '../helpers/fake-network.ts';
import { createWorld } from '../helpers/world.ts';

/** More answers than these would be a storm that stops only because the server does. */
const storm = 1_000;

const hello = (...caps: string[]): Message => ({ type: 'hello', v: 1, caps });
const at = (offset: number) => ({ runId: 'a', offset, event: { type: 'CUSTOM', n: offset } });

/** A server that has the same answer for each message of some types, and how often it gave it. */
function createPeer(
  greeting: Message,
  types: readonly string[],
  answer: (socket: FakeSocket, count: number) => void,
): FakePeer & { readonly count: number } {
  let count = 0;
  return {
    get count() {
      return count;
    },
    open: (socket) => socket.receive(greeting),
    message(socket, { type }) {
      if (types.includes(String(type)) && count < storm) answer(socket, ++count);
    },
  };
}

describe('a server that answers', () => {
  it('each hello with hello gets one a connection', async () => {
    const peer = createPeer(hello(), ['hello'], (socket) => socket.receive(hello('ping')));
    const world = createWorld({ peer });
    world.runs().start({}, { runId: 'a' });
    await world.settle();
    expect(peer.count).toBe(1);
    await world.reconnect();
    expect(peer.count).toBe(2);
    // What it said last counts all the same.
    await world.clock.advance(15_000);
    expect(world.socket.sent.at(-1)).toMatchObject({ type: 'ping' });
  });

  it('a start by never having heard of it gets one more, and is given up after 60 s', async () => {
    const peer = createPeer(hello('unknown'), ['run'], (socket) =>
      socket.receive({ type: 'run.unknown', runId: 'a', reason: 'never' }),
    );
    const world = createWorld({ peer });
    const run = world.runs().start({}, { runId: 'a' });
    await world.settle();
    expect(peer.count).toBe(2);
    await world.clock.advance(61_000);
    expect(run.getSnapshot()).toMatchObject({ status: 'failed', error: { code: 'start-unknown' } });
    expect(peer.count).toBe(2);
  });

  for (const [what, epochOf] of [
    ['another epoch each time', (count: number) => `e${count}`],
    ['an epoch that is no text', () => ({ n: 1 })],
  ] as const) {
    for (const order of ['before', 'behind'] as const) {
      it(`with ${what}, ${order} its events, is asked again at leisure`, async () => {
        const peer = createPeer(hello('accepted'), ['run', 'resume'], (socket, count) => {
          const accepted = { type: 'run.accepted', runId: 'a', epoch: epochOf(count), next: 3 };
          const events = [at(0), at(1), at(2)];
          socket.receive(...(order === 'before' ? [accepted, ...events] : [...events, accepted]));
        });
        const world = createWorld({ peer });
        const run = world.runs().start({}, { runId: 'a' });
        await world.settle();
        await world.reconnect();
        expect(peer.count).toBeLessThan(6);
        await world.clock.advance(10_000);
        expect(peer.count).toBeLessThan(60);
        expect(run.getSnapshot().status).toBe('streaming');
      });
    }
  }
});

describe('a spread', () => {
  for (const ms of ['1e12', '1e308', '1e400']) {
    it(`of ${ms} ms is no reason to stay away for more than an hour`, async () => {
      const world = createWorld();
      world.runs().start({}, { runId: 'a' });
      await world.settle();
      world.socket.frame(`{"type":"hello","v":1,"caps":[],"spread":${ms}}`);
      world.socket.end();
      await world.clock.advance(3_600_000);
      expect(world.network.sockets[1]?.sent).toEqual([{ type: 'resume', runId: 'a' }]);
    });
  }
});
