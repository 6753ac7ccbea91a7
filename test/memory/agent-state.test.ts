import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, it } from 'vitest';
import { createAgentEventFactory } from '../../src/agent-provider/event-factory.ts';
import type { AgentEvent } from '../../src/agent-provider/event-types.ts';
import { reduceAgentState } from '../../src/agent-provider/reducer.ts';
import { createInitialAgentState } from '../../src/agent-provider/state-node.ts';
import type { AgentState } from '../../src/agent-provider/state-types.ts';
import { createAgentStore } from '../../src/agent-provider/store.ts';

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;

const deltas = 30_000;

/** A run with some finished messages and one that gets the deltas. */
function* makeRun(): Generator<AgentEvent> {
  const events = createAgentEventFactory({ sessionId: 's', runId: 'r' });
  yield events.create('run.started', {});
  for (let index = 0; index < 20; index++) {
    const messageId = `m${index}`;
    yield events.create('message.started', { messageId, role: 'user', content: 'text' });
  }
  for (let index = 0; index < deltas; index++) {
    yield events.create('message.delta', { messageId: 'm7', delta: 'x' });
  }
}

/** How many are still held by something. */
async function countHeld(all: readonly WeakRef<object>[]): Promise<number> {
  // What a weak reference was made for stays to the end of the task.
  await new Promise((resolve) => setImmediate(resolve));
  collect();
  return all.filter((reference) => reference.deref()).length;
}

it('a state holds no states before it, though it was never read', async () => {
  const references: WeakRef<AgentState>[] = [];
  let state = createInitialAgentState();
  for (const event of makeRun()) {
    state = reduceAgentState(state, event);
    references.push(new WeakRef(state));
  }
  expect(await countHeld(references)).toBe(1);
  expect(state.messages['1:rm7']!.content).toHaveLength(deltas + 4);
});

it('a store holds only its newest state', async () => {
  const references: WeakRef<AgentState>[] = [];
  const store = createAgentStore();
  store.subscribe(() => references.push(new WeakRef(store.getSnapshot())));
  for (const event of makeRun()) store.dispatch(event);
  expect(references.length).toBeGreaterThan(deltas);
  expect(await countHeld(references)).toBe(1);
  expect(store.getSnapshot().issues).toEqual([]);
});

it('an old state that is kept and never read costs the memory of few changes', () => {
  const heap = (): number => {
    collect();
    collect();
    return process.memoryUsage().heapUsed;
  };
  const store = createAgentStore();
  const run = makeRun();
  for (let index = 0; index < 50; index++) store.dispatch(run.next().value);
  const held: AgentState[] = [store.getSnapshot()];
  for (const event of run) store.dispatch(event);
  const withIt = heap();
  held.length = 0;
  // Each change kept would be 200 bytes and more: 6 MB and more.
  expect(withIt - heap()).toBeLessThan(1e6);
  expect(store.getSnapshot().order).toHaveLength(20);
});
