import { expect, it } from 'vitest';
import { createStorageBytes } from '../helpers/storage.ts';
import { createLog, createWorld, finished, says, started, texts } from '../helpers/world.ts';

const base = {
  messages: [{ id: 'u', role: 'user', content: 'Hi' }, null, 5],
  status: 'running',
  stale: false,
};
const wrong: Record<string, unknown> = {
  'open that is a number': { ...base, open: 5 },
  'open lists that are none': { ...base, open: { unended: 4, calls: {}, steps: null, chunks: 7 } },
  'lists of the thread that are none': {
    ...base,
    interrupts: 1,
    usage: {},
    subagents: 'x',
    pendingToolCallIds: 0,
  },
};

for (const [name, thread] of Object.entries(wrong)) {
  it(`a remembered thread with ${name} does no harm to this run and the next`, async () => {
    const storage = createStorageBytes();
    const record = { runId: 'a', threadId: 't', sentAt: 1, policy: 'keep', acked: true };
    storage.map.set(
      'runsocket:ag-ui',
      JSON.stringify({ v: 1, runs: [{ ...record, base: thread }] }),
    );
    const world = createWorld({ storage });
    const agent = world.agent({ threadId: 't' });
    const errors: unknown[] = [];
    agent.on('error', (error) => errors.push(error));
    agent.subscribe(() => {});
    await world.settle();
    world.socket.receive(...createLog('a').frames(started('a'), says('one'), finished('a')));
    expect(agent.getSnapshot().status).toBe('finished');
    expect(texts(agent)).toEqual(['Hi', 'one']);
    agent.run({ messages: [{ role: 'user', content: 'More' }] }, { runId: 'b' });
    await world.clock.advance(1_000);
    world.socket.receive(...createLog('b').frames(started('b'), finished('b')));
    expect(agent.getSnapshot().status).toBe('finished');
    expect(errors).toEqual([]);
  });
}

it('a remembered thread that says running, without a run, is shown as stopped', () => {
  const storage = createStorageBytes();
  storage.map.set(
    'runsocket:ag-ui',
    JSON.stringify({ v: 1, runs: [], thread: { threadId: 't', thread: base } }),
  );
  const agent = createWorld({ storage }).agent({ remember: 'thread' });
  expect(agent.getSnapshot().status).toBe('aborted');
  expect(agent.getSnapshot().messages).toHaveLength(1);
});

it('answer() needs an open interrupt', () => {
  const agent = createWorld().agent();
  expect(() => agent.answer({})).toThrow('There is no open interrupt.');
  expect(agent.getSnapshot().status).toBe('idle');
});
