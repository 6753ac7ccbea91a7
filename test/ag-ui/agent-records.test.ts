import { expect, it } from 'vitest';
import type { RunEventContext } from '../../src/runs/types.ts';
import { createV1Server, toFakePeer } from '../helpers/v1-server.ts';
import {
  createLog,
  createWorld,
  finished,
  says,
  sentTypes,
  started,
  type TestEvent,
  texts,
  user,
  type World,
} from '../helpers/world.ts';

it('shows the run that was started last, also where two began in one millisecond', async () => {
  const server = createV1Server({ caps: null });
  const world = createWorld({ peer: toFakePeer(server) });
  const agent = world.agent({ threadId: 't', remember: 'thread' });
  agent.connect();
  await world.settle();
  agent.run({ messages: [user('one')] }, { runId: 'a' });
  await world.settle();
  server.append('a', started('a'), says('1'), finished('a'));
  await world.settle();
  agent.run({ messages: [user('two')] }, { runId: 'b' });
  await world.settle();
  const next = world.reload().agent({ threadId: 't', remember: 'thread' });
  expect(texts(next)).toEqual(['one', '1', 'two']);
});

it('does not go back to the run before, once the last one is over', async () => {
  const server = createV1Server({ caps: null });
  let world = createWorld({ peer: toFakePeer(server) });
  const open = () => {
    const agent = world.agent({ threadId: 't', remember: 'thread' });
    agent.connect();
    return agent;
  };
  const agent = open();
  await world.settle();
  agent.run({ messages: [user('one')] }, { runId: 'a' });
  await world.settle();
  server.append('a', started('a'), says('1'), finished('a'));
  await world.settle();
  await world.clock.advance(100);
  agent.run({ messages: [user('two')] }, { runId: 'b' });
  await world.settle();
  world = world.reload();
  open();
  await world.settle();
  server.append('b', started('b'), says('2', 'n'), finished('b'));
  await world.clock.advance(30_000);
  world = world.reload();
  expect(texts(open())).toEqual(['one', '1', 'two', '2']);
});

it('shows the run that took the place of another in the same millisecond', async () => {
  const server = createV1Server({ caps: null, obeysCancel: false });
  const world = createWorld({ peer: toFakePeer(server) });
  const agent = world.agent();
  agent.connect();
  await world.settle();
  agent.run({ messages: [user('one')] }, { runId: 'a' });
  await world.settle();
  agent.run({ messages: [user('two')] }, { runId: 'b' });
  await world.settle();
  // The server confirms the first one late.
  server.append('a', started('a'));
  await world.settle();
  const next = world.reload().agent();
  expect(texts(next)).toEqual(['one', 'two']);
  expect(next.getSnapshot().status).toBe('running');
});

it('shows the run that was started last, also where the clock was set back before it', async () => {
  const world = createWorld();
  const agent = world.agent();
  agent.run({ messages: [user('one')] }, { runId: 'a' });
  await world.settle();
  world.socket.receive(...createLog('a').frames(started('a'), says('1', 'ma')));
  world.clock.shiftWall(-2_000);
  agent.run({ messages: [user('two')] }, { runId: 'b' });
  await world.settle();
  world.socket.receive(...createLog('b').frames(started('b'), says('2', 'mb')));
  const next = world.reload();
  const again = next.agent();
  again.connect();
  await next.settle();
  expect(texts(again)).toEqual(['one', '1', 'two', '2']);
  expect(sentTypes(next)).toEqual(['resume a', 'resume b', 'cancel a']);
});

it('shows the run that was started last, also where one before it comes late', async () => {
  const world = createWorld();
  const agent = world.agent();
  agent.run({ messages: [user('one')] }, { runId: 'a' });
  await world.settle();
  await world.reconnect();
  await world.clock.advance(61_000);
  expect(agent.getSnapshot().error?.code).toBe('start-unknown');
  agent.run({ messages: [user('two')] }, { runId: 'b' });
  await world.settle();
  world.socket.receive(...createLog('b').frames(started('b'), says('2', 'mb')));
  await world.clock.advance(1_000);
  world.socket.receive(...createLog('a').frames(started('a'), says('late', 'ma')));
  await world.clock.advance(1_000);
  expect(texts(agent)).toEqual(['one', 'two', '2']);
  const next = world.reload();
  const again = next.agent();
  again.connect();
  await next.settle();
  expect(texts(again)).toEqual(['one', 'two', '2']);
  expect(sentTypes(next)).toContain('resume b');
});

it('gives the run that was started last the events that name none, also beside one that was stopped', async () => {
  interface Envelope {
    readonly ev?: TestEvent;
    readonly offset?: number;
  }
  const event = (message: unknown, { runId, offset = -1 }: RunEventContext) => {
    const { ev, offset: at = offset + 1 } = message as Envelope;
    return ev && runId ? { runId, offset: at, event: ev } : undefined;
  };
  const options = { event } as unknown as Parameters<World['agent']>[0];
  const world = createWorld();
  const agent = world.agent(options);
  agent.run({ messages: [user('one')] }, { runId: 'a' });
  await world.settle();
  world.socket.receive({ ev: started('a') });
  agent.run({ messages: [user('two')] }, { runId: 'b' });
  await world.settle();
  world.socket.receive({ ev: started('b') }, { ev: says('2') });
  const next = world.reload();
  const again = next.agent(options);
  again.connect();
  await next.settle();
  next.socket.receive({ ev: says('2'), offset: 2 });
  expect(texts(again)).toEqual(['one', 'two', '22']);
});

it('resumes a run whose checkpoint tells that it has begun, whatever could not be written besides', async () => {
  const world = createWorld();
  const agent = world.agent({ restart: true });
  agent.run({ messages: [user('one')] }, { runId: 'a' });
  await world.settle();
  world.socket.receive(...createLog('a').frames(started('a'), says('1')));
  world.page.dispatch('pagehide');
  const [key, text] = [...world.storage.map][0]!;
  expect(text).toContain('"acked":true');
  world.storage.map.set(key, text.replace('"acked":true', '"acked":false'));
  const next = world.reload({ crash: true });
  next.agent({ restart: true }).subscribe(() => {});
  await next.settle();
  expect(next.socket.sent).toEqual([{ type: 'resume', runId: 'a', after: 1 }]);
});

it('knows by its checkpoint which execution it has read, whatever else could be written down', async () => {
  const server = createV1Server();
  const world = createWorld({ peer: toFakePeer(server) });
  world.agent().run({ messages: [user('one')] }, { runId: 'a' });
  await world.settle();
  server.append('a', started('a'), says('old '));
  await world.settle();
  world.page.dispatch('pagehide');
  const [key, text] = [...world.storage.map][0]!;
  const epoch = JSON.stringify(server.runs.get('a')?.epoch);
  expect(text.split(`"epoch":${epoch}`)).toHaveLength(3);
  const { runs, ...rest } = JSON.parse(text);
  const record = { ...runs[0], epoch: undefined };
  world.storage.map.set(key, JSON.stringify({ ...rest, runs: [record] }));
  server.reexecute('a');
  server.append('a', started('a'), says('new '), says('words'));
  const next = world.reload({ crash: true });
  const again = next.agent();
  again.subscribe(() => {});
  await next.clock.advance(3_000);
  expect(texts(again)).toEqual(['one', 'new words']);
});
