import { describe, expect, it } from 'vitest';
import { createLog, createWorld, finished, says, started } from '../helpers/world.ts';

const types = (messages: readonly Record<string, unknown>[]) =>
  messages.map(({ type, runId }) => `${type} ${runId}`);

describe('what a plain server gets', () => {
  it('starts a run with exactly the message of the reference page', async () => {
    const world = createWorld();
    world.runs().start({ messages: [] }, { runId: 'a' });
    await world.settle();
    expect(world.socket.sent).toEqual([{ type: 'run', runId: 'a', input: { messages: [] } }]);
  });

  it('asks for what follows the last offset after a drop', async () => {
    const world = createWorld();
    world.runs().start({}, { runId: 'a' });
    await world.settle();
    world.socket.receive(...createLog('a').frames(started('a'), says('x'), says('y')));
    await world.reconnect();
    expect(world.socket.sent).toEqual([{ type: 'resume', runId: 'a', after: 2 }]);
  });

  it('asks for a start that nothing was heard of from its start, and does not run it again', async () => {
    const world = createWorld();
    world.runs().start({}, { runId: 'a' });
    await world.settle();
    await world.reconnect();
    expect(world.socket.sent).toEqual([{ type: 'resume', runId: 'a' }]);
  });

  it('follows a run after an offset, or from its start', async () => {
    const world = createWorld();
    const runs = world.runs();
    runs.follow('a', { after: 7 });
    runs.follow('b');
    await world.settle();
    expect(world.socket.sent).toEqual([
      { type: 'resume', runId: 'a', after: 7 },
      { type: 'resume', runId: 'b' },
    ]);
  });

  it('stops a run with exactly the message of the reference page', async () => {
    const world = createWorld();
    const run = world.runs().start({}, { runId: 'a' });
    await world.settle();
    run.cancel();
    expect(world.socket.sent[1]).toEqual({ type: 'cancel', runId: 'a' });
  });

  it('sends nothing else before hello, whatever the policy', async () => {
    const world = createWorld({ client: { token: () => 't' } });
    const runs = world.runs({ policy: 'cancel' });
    runs.start({}, { runId: 'a' });
    runs.follow('b');
    await world.settle();
    world.socket.receive({ type: 'reauth' });
    world.socket.receive({ type: 'run.accepted', runId: 'a', epoch: 'e', next: 0 });
    await world.clock.advance(20_000);
    const sent = world.network.sockets.flatMap((socket) => types(socket.sent));
    expect(new Set(sent.map((one) => one.split(' ')[0]))).toEqual(new Set(['run', 'resume']));
  });

  it('sends nothing for a run that is cancelled before its message left', async () => {
    const world = createWorld();
    world.network.mode = 'hold';
    const run = world.runs().start({}, { runId: 'a' });
    await world.settle();
    run.cancel();
    world.socket.open();
    await world.clock.advance(5_000);
    expect(world.socket.sent).toEqual([]);
    expect(await run.done).toMatchObject({ status: 'cancelled' });
  });

  it('makes a different random id of at least 122 bits for each run', async () => {
    const world = createWorld();
    const runs = world.runs();
    const ids = Array.from({ length: 50 }, () => runs.start({}).id);
    expect(new Set(ids).size).toBe(50);
    for (const id of ids) expect(id.replaceAll('-', '')).toMatch(/^[0-9a-f]{31,}$/);
  });

  it('uses the messages of its caller as they are, and sends nothing for undefined', async () => {
    const world = createWorld();
    const runs = world.runs({
      run: (input: unknown, id: string) => ({ go: id, input }) as never,
      resume: () => undefined,
      cancel: () => undefined,
    });
    const run = runs.start(1, { runId: 'a' });
    await world.settle();
    await world.reconnect();
    run.cancel();
    expect(world.network.sockets.map((socket) => socket.sent)).toEqual([
      [{ go: 'a', input: 1 }],
      [],
    ]);
  });
});

describe('the order after each open', () => {
  it('is resume, cancel, unsent runs, then the queue of the client; oldest first', async () => {
    const world = createWorld();
    const runs = world.runs();
    runs.start({}, { runId: 'live' });
    const stopped = runs.start({}, { runId: 'stopped' });
    await world.settle();
    world.network.mode = 'hold';
    world.socket.end();
    stopped.cancel();
    runs.start({}, { runId: 'new1' });
    world.client.send({ type: 'hi', runId: '' } as never);
    runs.start({}, { runId: 'new2' });
    await world.clock.advance(1_000);
    world.socket.open();
    await world.settle();
    expect(types(world.socket.sent)).toEqual([
      'resume live',
      'resume stopped',
      'cancel stopped',
      'run new1',
      'run new2',
      'hi ',
    ]);
  });

  it('is one order for all createRuns of a client', async () => {
    const world = createWorld();
    const one = world.runs();
    const two = world.runs();
    one.start({}, { runId: 'a' });
    two.start({}, { runId: 'b' });
    const c = one.start({}, { runId: 'c' });
    const d = two.start({}, { runId: 'd' });
    await world.settle();
    world.network.mode = 'hold';
    world.socket.end();
    d.cancel();
    c.cancel();
    two.start({}, { runId: 'e' });
    one.start({}, { runId: 'f' });
    await world.clock.advance(1_000);
    world.socket.open();
    await world.settle();
    expect(types(world.socket.sent)).toEqual([
      'resume a',
      'resume b',
      'resume c',
      'resume d',
      'cancel c',
      'cancel d',
      'run e',
      'run f',
    ]);
  });

  it('is the order of the starts also where the clock was set back in between', async () => {
    const world = createWorld();
    world.network.mode = 'hold';
    const runs = world.runs();
    runs.start({}, { runId: 'a' });
    world.clock.shiftWall(-100);
    world.runs().start({}, { runId: 'b' });
    world.clock.shiftWall(-86_400_000);
    runs.start({}, { runId: 'c' });
    await world.settle();
    world.socket.open();
    await world.settle();
    expect(types(world.socket.sent)).toEqual(['run a', 'run b', 'run c']);
  });

  it('ends where a listener closes the client, and no run is left streaming', async () => {
    const world = createWorld();
    const runs = world.runs();
    const ids = ['a', 'b', 'c'];
    const list = ids.map((runId) => runs.start({}, { runId }));
    await world.settle();
    world.socket.receive(...ids.flatMap((runId) => createLog(runId).frames(started(runId))));
    world.socket.end();
    runs.subscribe(() => {
      if (world.client.getSnapshot().status === 'open') world.client.close();
    });
    await world.clock.advance(2_000);
    expect(world.network.sockets.length).toBe(2);
    expect(world.client.getSnapshot().status).toBe('closed');
    expect(list.map((run) => run.getSnapshot().status)).toEqual(['failed', 'failed', 'failed']);
    expect(world.socket.sent).toEqual([]);
  });

  it('asks once for a run of several followers, from the lowest offset; each drops what it has', async () => {
    const world = createWorld();
    const early = world.runs().follow('a', { after: 1 });
    const late = world.runs().follow('a', { after: 4 });
    const seen: Record<string, unknown[]> = { early: [], late: [] };
    early.on('event', (event) => seen.early?.push(event.n));
    late.on('event', (event) => seen.late?.push(event.n));
    await world.settle();
    await world.reconnect();
    expect(world.socket.sent).toEqual([{ type: 'resume', runId: 'a', after: 1 }]);
    for (let offset = 2; offset < 7; offset++) {
      world.socket.receive({ runId: 'a', offset, event: { type: 'CUSTOM', n: offset } });
    }
    expect(seen).toEqual({ early: [2, 3, 4, 5, 6], late: [5, 6] });
  });

  it('takes a follower without a cursor for the lowest', async () => {
    const world = createWorld();
    world.runs().follow('a', { after: 4 });
    world.runs().follow('a');
    await world.settle();
    await world.reconnect();
    expect(world.socket.sent).toEqual([{ type: 'resume', runId: 'a' }]);
  });
});

describe('several followers of a run whose offsets are names', () => {
  const at = (offset: string) => ({ runId: 'a', offset, event: { type: 'CUSTOM', n: offset } });
  const log = ['x0', 'x1', 'x2', 'x3', 'x4'];

  async function follow() {
    const world = createWorld();
    const runs = [world.runs<string>(), world.runs<string>()] as const;
    const seen: [unknown[], unknown[]] = [[], []];
    runs[0].start({}, { runId: 'a' }).on('event', ({ n }) => seen[0].push(n));
    await world.settle();
    world.socket.receive(...log.slice(0, 4).map(at));
    runs[1].follow('a').on('event', ({ n }) => seen[1].push(n));
    await world.settle();
    return { world, seen };
  }

  it('ask from the start where they stand at different ones, and each has every event once', async () => {
    const { world, seen } = await follow();
    world.socket.receive(...log.slice(0, 2).map(at));
    await world.reconnect();
    expect(world.socket.sent).toEqual([{ type: 'resume', runId: 'a' }]);
    world.socket.receive(...log.map(at));
    expect(seen).toEqual([log, log]);
  });

  it('ask from where they stand where that is the same', async () => {
    const { world, seen } = await follow();
    world.socket.receive(...log.slice(0, 4).map(at));
    await world.reconnect();
    expect(world.socket.sent).toEqual([{ type: 'resume', runId: 'a', after: 'x3' }]);
    world.socket.receive(...log.slice(4).map(at));
    expect(seen).toEqual([log, log]);
  });
});

describe('the cancel of a run', () => {
  it('is repeated after each reconnect, behind resume, until the run is over', async () => {
    const world = createWorld();
    const run = world.runs().start({}, { runId: 'a' });
    await world.settle();
    run.cancel();
    for (let i = 0; i < 3; i++) {
      await world.reconnect();
      expect(types(world.socket.sent)).toEqual(['resume a', 'cancel a']);
    }
    world.socket.receive({ runId: 'a', offset: 0, event: { type: 'RUN_ERROR', message: 'abort' } });
    await world.clock.advance(1_000);
    expect(await run.done).toMatchObject({ status: 'cancelled' });
    world.runs().follow('b');
    await world.reconnect();
    expect(types(world.socket.sent)).toEqual(['resume b']);
  });

  it('is never implied by a drop, a dispose or the end of the client', async () => {
    const world = createWorld();
    const runs = world.runs();
    runs.start({}, { runId: 'a' });
    await world.settle();
    await world.reconnect();
    runs.dispose();
    world.client.close();
    await world.clock.advance(5_000);
    expect(world.network.sockets.flatMap((socket) => types(socket.sent))).toEqual([
      'run a',
      'resume a',
    ]);
  });

  it('leaves a run that succeeded all the same as finished', async () => {
    const world = createWorld();
    const run = world.runs().start({}, { runId: 'a' });
    await world.settle();
    run.cancel();
    world.socket.receive(...createLog('a').frames(started('a'), finished('a')));
    await world.clock.advance(1_000);
    expect(await run.done).toMatchObject({ status: 'finished' });
  });
});

describe('foreign frames', () => {
  it('report what cannot be parsed and go on', async () => {
    const world = createWorld();
    const errors: unknown[] = [];
    world.client.on('error', (error) => errors.push(error.code));
    const run = world.runs().start({}, { runId: 'a' });
    await world.settle();
    world.socket.frame('{"runId":');
    world.socket.receive(
      null,
      7,
      'text',
      [],
      {},
      { runId: 'a' },
      { event: {} },
      { runId: 7, offset: 0, event: { type: 'X' } },
      { runId: 'other', offset: 0, event: { type: 'X' } },
      { type: 'unheard.of', runId: 'a' },
      { runId: 'a', offset: 0, event: null },
      { runId: 'a', offset: 0, event: 'text' },
    );
    world.socket.receive(...createLog('a').frames(started('a')));
    expect(errors).toEqual(['bad-message']);
    expect(run.getSnapshot()).toMatchObject({ status: 'streaming', offset: 0 });
    expect(world.network.sockets.length).toBe(1);
  });

  it('keep extra fields of an event and of its envelope from doing harm', async () => {
    const world = createWorld();
    const run = world.runs().start({}, { runId: 'a' });
    const seen: unknown[] = [];
    run.on('event', (event) => seen.push(event));
    await world.settle();
    world.socket.receive({ runId: 'a', offset: 0, event: { type: 'CUSTOM', x: 1 }, extra: true });
    expect(seen).toEqual([{ type: 'CUSTOM', x: 1 }]);
  });

  for (const runId of ['__proto__', 'constructor', 'toString', '']) {
    it(`let a run be called ${JSON.stringify(runId)}`, async () => {
      const world = createWorld();
      const runs = world.runs({ storage: world.storage.page() });
      const run = runs.start({}, { runId });
      await world.settle();
      expect(world.stored('runs')?.runs).toMatchObject([{ runId }]);
      world.socket.receive(...createLog(runId).frames(started(runId), says('x')));
      expect(runs.get(runId)).toBe(run);
      await world.reconnect();
      expect(world.socket.sent).toEqual([{ type: 'resume', runId, after: 1 }]);
      world.socket.receive(...createLog(runId, 2).frames(finished(runId)));
      await world.clock.advance(1_000);
      expect(await run.done).toMatchObject({ id: runId, status: 'finished', offset: 2 });
      expect(world.storage.map.size).toBe(0);
      expect(({} as Record<string, unknown>).status).toBeUndefined();
    });
  }
});

describe('runs made on a connection that is open already', () => {
  it('start at once', async () => {
    const world = createWorld();
    world.client.hold();
    await world.settle();
    world.runs().start({}, { runId: 'a' });
    await world.settle();
    expect(world.socket.sent).toEqual([{ type: 'run', runId: 'a', input: {} }]);
    expect(world.network.sockets).toHaveLength(1);
  });

  it('know the hello that came before them', async () => {
    const world = createWorld();
    const messages: unknown[] = [];
    world.client.on('message', (message) => messages.push(message));
    world.client.hold();
    await world.settle();
    world.socket.receive({ type: 'hello', v: 1, caps: ['ping', 'accepted'], heartbeat: 5000 });
    world.socket.receive({ text: 'later' });
    world.runs().follow('a');
    await world.settle();
    expect(world.socket.sent).toEqual([
      { type: 'hello', caps: ['batch'] },
      { type: 'resume', runId: 'a' },
    ]);
    await world.clock.advance(5000);
    expect(world.socket.sent.at(-1)).toEqual({ type: 'ping', n: 1 });
  });

  it('do not take the hello of an earlier connection for this one', async () => {
    const world = createWorld();
    world.client.hold();
    await world.settle();
    world.socket.receive({ type: 'hello', v: 1, caps: ['ping'], heartbeat: 5000 });
    await world.reconnect();
    world.runs().follow('a');
    await world.clock.advance(6000);
    expect(world.socket.sent).toEqual([{ type: 'resume', runId: 'a' }]);
  });
});
