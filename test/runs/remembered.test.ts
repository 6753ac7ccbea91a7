import { expect, it } from 'vitest';
import { createLog, createWorld, finished, says, started } from '../helpers/world.ts';

it('takes up at once what an earlier page left under way', async () => {
  const world = createWorld();
  const log = createLog('a');
  world.runs({ storage: world.storage.page() }).start({ n: 1 }, { runId: 'a' });
  await world.settle();
  world.socket.receive(...log.frames(started('a'), says('x')));
  const next = world.reload();
  const runs = next.runs({ storage: next.storage.page() });
  expect(runs.getSnapshot()).toEqual([{ id: 'a', status: 'streaming' }]);
  const seen: unknown[] = [];
  runs.get('a')?.on('event', (event) => seen.push(event.type));
  await next.settle();
  expect(next.socket.sent).toEqual([{ type: 'resume', runId: 'a' }]);
  next.socket.receive(...createLog('a').frames(started('a'), says('x'), finished('a')));
  await next.clock.advance(1_000);
  expect(seen).toEqual(['RUN_STARTED', 'TEXT_MESSAGE_CHUNK', 'RUN_FINISHED']);
  expect(next.storage.map.size).toBe(0);
});

it('sends a start again, with its input, where the server says that it never came', async () => {
  const world = createWorld();
  world.runs({ storage: world.storage.page() }).start({ n: 1 }, { runId: 'a' });
  await world.settle();
  const next = world.reload();
  next.runs({ storage: next.storage.page() });
  await next.settle();
  next.socket.receive({ type: 'hello', v: 1, caps: ['accepted', 'unknown'] });
  next.socket.receive({ type: 'run.unknown', runId: 'a', reason: 'never' });
  expect(next.socket.sent.at(-1)).toEqual({ type: 'run', runId: 'a', input: { n: 1 } });
});

it('an offset that is null is none', async () => {
  const world = createWorld();
  const run = world.runs().start({}, { runId: 'a' });
  const seen: unknown[] = [];
  run.on('event', (event) => seen.push(event.n));
  await world.settle();
  world.socket.receive({ runId: 'a', offset: null, event: { type: 'CUSTOM', n: 1 } });
  expect(seen).toEqual([1]);
  expect(run.getSnapshot()).not.toHaveProperty('offset');
});

it('storage may answer with any thenable', async () => {
  const world = createWorld();
  const bytes = world.storage.page();
  const later = (value: unknown) => ({
    // biome-ignore lint/suspicious/noThenProperty: a thenable is what this test is about.
    then: (resolve: (value: unknown) => void) => queueMicrotask(() => resolve(value)),
  });
  const storage = {
    getItem: (key: string) => later(bytes.getItem(key)) as Promise<string>,
    setItem: (key: string, value: string) => later(bytes.setItem(key, value)),
    removeItem: (key: string) => later(bytes.removeItem(key)),
  };
  world.runs({ storage }).start({ n: 1 }, { runId: 'a' });
  await world.clock.advance(10);
  expect(world.socket.sent).toEqual([{ type: 'run', runId: 'a', input: { n: 1 } }]);
  expect(world.storage.map.size).toBe(1);
});

it('storage that fails to read once loses none of the runs that stand in it', async () => {
  const world = createWorld();
  world.runs({ storage: world.storage.page() }).start({}, { runId: 'old' });
  await world.settle();
  const next = world.reload();
  const page = next.storage.page();
  let isBusy = false;
  const getItem = (key: string) => {
    if (isBusy) throw new Error('busy');
    return page.getItem(key);
  };
  const errors: string[] = [];
  next.client.on('error', ({ code }) => errors.push(code));
  const runs = next.runs({ storage: { ...page, getItem } });
  await next.settle();
  isBusy = true;
  runs.start({}, { runId: 'new' });
  next.socket.receive(...createLog('old').frames(started('old'), says('x')));
  await next.settle();
  isBusy = false;
  expect(next.socket.sent.map(({ type, runId }) => `${type} ${runId}`)).toEqual([
    'resume old',
    'run new',
  ]);
  expect(new Set(errors)).toEqual(new Set(['storage']));
  const last = next.reload({ crash: true });
  const ids = last.runs({ storage: last.storage.page() }).getSnapshot();
  expect(ids).toMatchObject([{ id: 'old' }]);
});

it('events that are missing for good are reported to the client, without an agent', async () => {
  const world = createWorld();
  const errors: unknown[] = [];
  world.client.on('error', (error) => errors.push(error.code));
  world.runs().start({}, { runId: 'a' });
  await world.settle();
  world.socket.receive({ type: 'hello', v: 1, caps: ['truncated'] });
  world.socket.receive({ type: 'run.truncated', runId: 'a', from: 5 });
  expect(errors).toEqual(['log-truncated']);
});

it('tells a page that another execution answers than the one an earlier page has read', async () => {
  const world = createWorld();
  world.runs({ storage: world.storage.page() }).start({ n: 1 }, { runId: 'a' });
  await world.settle();
  world.socket.receive({ type: 'hello', v: 1, caps: ['accepted'] });
  world.socket.receive({ type: 'run.accepted', runId: 'a', epoch: 'e1', next: 0 });
  const restarts: unknown[] = [];
  for (const epoch of ['e1', 'e2']) {
    const next = world.reload();
    next
      .runs({ storage: next.storage.page() })
      .get('a')
      ?.on('restart', () => restarts.push(epoch));
    await next.settle();
    next.socket.receive({ type: 'hello', v: 1, caps: ['accepted'] });
    next.socket.receive({ type: 'run.accepted', runId: 'a', epoch, next: 0 });
  }
  expect(restarts).toEqual(['e2']);
});
