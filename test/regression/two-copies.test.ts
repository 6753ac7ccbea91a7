import { expect, it, vi } from 'vitest';
import type { createRuns as CreateRuns } from '../../src/runs/runs.ts';
import { createWorld, sentTypes } from '../helpers/world.ts';

const at = (offset: number, runId: string) => ({ runId, offset, event: { type: 'CUSTOM' } });

/** `createRuns` of another copy of the package: what a page has that got it twice. */
async function loadCopy(): Promise<typeof CreateRuns> {
  vi.resetModules();
  return (await import('../../src/runs/runs.ts')).createRuns;
}

it('two copies of the package share the connection of one client, as one would', async () => {
  const world = createWorld();
  const one = world.runs().start({}, { runId: 'a' });
  await world.settle();
  const createRuns = await loadCopy();
  const two = createRuns(world.client).start({}, { runId: 'b' });
  await world.settle();
  world.socket.receive(at(0, 'a'), at(1, 'a'), at(0, 'b'));
  expect([one.getSnapshot().offset, two.getSnapshot().offset]).toEqual([1, 0]);
  two.cancel();
  await world.reconnect();
  expect(sentTypes(world)).toEqual(['resume a', 'resume b', 'cancel b']);
  world.socket.receive(at(2, 'a'), at(1, 'b'));
  expect([one.getSnapshot().offset, two.getSnapshot().offset]).toEqual([2, 1]);
});
