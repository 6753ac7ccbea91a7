import { expect, it } from 'vitest';
import { createLog, createWorld, finished, says, started, texts } from '../helpers/world.ts';

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

it('follow() of a run that the thread has already changes nothing', async () => {
  const world = createWorld();
  const agent = world.agent({ remember: 'thread' });
  agent.run({}, { runId: 'a' });
  await world.settle();
  const log = () => createLog('a').frames(started('a'), says('one'), finished('a'));
  world.socket.receive(...log());
  const { sent } = world.socket;
  const count = sent.length;
  agent.follow('a');
  await world.clock.advance(1_000);
  agent.follow('a');
  await world.settle();
  expect(sent.length).toBe(count);
  expect(texts(agent)).toEqual(['one']);
  const next = world.reload();
  const again = next.agent({ remember: 'thread' });
  again.follow('a');
  again.subscribe(() => {});
  await next.settle();
  next.socket.receive(...log());
  expect(texts(again)).toEqual(['one']);
});

it('follow() of a run that was stopped here replays it on what it began with', async () => {
  const world = createWorld();
  const agent = world.agent({ storage: null });
  agent.run({}, { runId: 'a' });
  await world.settle();
  const log = createLog('a');
  world.socket.receive(...log.frames(started('a'), says('one')));
  agent.abort();
  world.socket.receive(...log.frames({ type: 'RUN_ERROR', message: 'stopped' }));
  await world.clock.advance(1_000);
  agent.follow('a');
  await world.settle();
  world.socket.receive(...createLog('a').frames(started('a'), says('one'), says('two')));
  expect(texts(agent)).toEqual(['onetwo']);
  expect(agent.getSnapshot().status).toBe('running');
});
