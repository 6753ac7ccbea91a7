import { describe, expect, it } from 'vitest';
import { createFakeLocks } from '../helpers/fake-locks.ts';
import { createV1Server, toFakePeer } from '../helpers/v1-server.ts';
import { createVirtualClock } from '../helpers/virtual-clock.ts';
import { createWorld, finished, says, started, texts, user } from '../helpers/world.ts';
import { servers } from './set-up.ts';

// https://github.com/SwellRT/swellrt/issues/155, https://github.com/ITISFoundation/osparc-simcore/pull/6335,
// https://github.com/zauberzeug/nicegui/issues/3872
describe.each(servers)('two tabs with the same storage bytes, at %s', (_, options) => {
  /** A tab in the middle of a run, and its copy; both may say what becomes of runs that are left. */
  async function createTabs(policy: 'keep' | 'cancel', copyPolicy = policy) {
    const server = createV1Server(options);
    const clock = createVirtualClock();
    const locks = createFakeLocks();
    const peer = toFakePeer(server);
    const first = createWorld({ clock, peer, locks: locks.page() });
    const one = first.agent({ policy });
    one.subscribe(() => {});
    one.run({ messages: [user('Hi')] }, { runId: 'a' });
    await first.settle();
    server.append('a', started('a'), says('one'));
    const storage = first.storage.copy();
    const second = createWorld({ clock, peer, locks: locks.page(), storage });
    const two = second.agent({ policy: copyPolicy });
    two.subscribe(() => {});
    await second.settle();
    const run = server.runs.get('a');
    return { server, clock, first, second, one, two, run };
  }

  it('both show the run, live and to its end, of one execution', async () => {
    const { server, clock, one, two, run, first, second } = await createTabs('keep');
    server.append('a', says(' two'));
    await clock.advance(20);
    for (const agent of [one, two]) expect(texts(agent)).toEqual(['Hi', 'one two']);
    server.append('a', finished('a'));
    server.end('a', 'finished');
    await clock.advance(1_001);
    for (const agent of [one, two]) expect(agent.getSnapshot().status).toBe('finished');
    expect(run).toMatchObject({ executions: 1, starts: 1, cancels: 0 });
    expect([first.storage.map.size, second.storage.map.size]).toEqual([0, 0]);
  });

  it.each(['keep', 'cancel'] as const)(
    'a copy that would cancel what it leaves does not cancel the run of its original (%s)',
    async (policy) => {
      const { server, clock, one, run, second } = await createTabs(policy, 'cancel');
      await second.reconnect();
      const next = second.reload();
      const again = next.agent({ policy: 'cancel' });
      again.subscribe(() => {});
      await next.settle();
      expect(again.getSnapshot().status).toBe('running');
      const last = next.reload({ crash: true });
      last.agent({ policy: 'cancel' }).subscribe(() => {});
      await last.settle();
      last.page.dispatch('pagehide', { persisted: false });
      last.network.kill();
      await clock.advance(60_000);
      expect(run).toMatchObject({ executions: 1, cancels: 0, status: undefined });
      server.append('a', says(' two'), finished('a'));
      server.end('a', 'finished');
      await clock.advance(1_001);
      expect(one.getSnapshot().status).toBe('finished');
      expect(texts(one)).toEqual(['Hi', 'one two']);
    },
  );

  it.each(['original', 'copy'] as const)(
    'an abort in the %s stops the run of both',
    async (tab) => {
      const { clock, one, two, run } = await createTabs('keep');
      (tab === 'original' ? one : two).abort();
      await clock.advance(1_001);
      expect(run).toMatchObject({ executions: 1, cancels: 1, status: 'cancelled' });
      expect([one.getSnapshot().status, two.getSnapshot().status]).toEqual(['aborted', 'aborted']);
      for (const agent of [one, two]) expect(texts(agent)).toEqual(['Hi', 'one']);
    },
  );
});
