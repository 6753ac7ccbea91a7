import { expect, it } from 'vitest';
import { createLog, createWorld, says, started, texts } from '../helpers/world.ts';

for (const crash of [false, true]) {
  it(`a run that was stopped while offline keeps what it said over a ${crash ? 'crash' : 'reload'}`, async () => {
    const world = createWorld();
    const agent = world.agent();
    agent.run({ messages: [{ role: 'user', content: 'Hi' }] }, { runId: 'a' });
    await world.settle();
    const log = createLog('a');
    world.socket.receive(...log.frames(started('a'), says('one')));
    world.network.mode = 'down';
    world.socket.end();
    agent.abort();
    const next = world.reload({ crash });
    next.network.mode = 'up';
    const again = next.agent();
    expect(again.getSnapshot().status).toBe('aborted');
    expect(texts(again)).toEqual(['Hi', 'one']);
    again.subscribe(() => {});
    await next.settle();
    expect(next.socket.sent).toEqual([
      { type: 'resume', runId: 'a', after: 1 },
      { type: 'cancel', runId: 'a' },
    ]);
    next.socket.receive(...log.frames(says(' two'), { type: 'RUN_ERROR', message: 'abort' }));
    await next.clock.advance(1_000);
    expect(again.getSnapshot().status).toBe('aborted');
    expect(texts(again)).toEqual(['Hi', 'one']);
    expect(next.storage.map.size).toBe(0);
  });
}
