import { describe, expect, it } from 'vitest';
import { createMemoryRunLog } from '../../src/server/memory-run-log.ts';
import type { RunLog } from '../../src/server/run-log.ts';
import { createServer } from '../../src/server/run-server.ts';
import type { RunServerOptions } from '../../src/server/types.ts';
import { createVirtualClock } from '../helpers/virtual-clock.ts';
import { ask, createPuppet, later, type Message, serveHere } from '../server/set-up.ts';

const down = new Error('The store is down.');

function start<Context>(options: Partial<RunServerOptions<Context>>, context: Context) {
  const clock = createVirtualClock();
  const puppet = createPuppet();
  const errors: unknown[] = [];
  const here = serveHere<Context>(
    { run: puppet.run, onError: (error) => errors.push(error), ...options },
    clock,
  );
  later(here.close);
  return { clock, puppet, errors, line: () => here.dial(context), ...here };
}

describe('a log whose function throws instead of rejecting', () => {
  const startWith = (change: Partial<RunLog>) =>
    start({ log: { ...createMemoryRunLog(), ...change } }, undefined);
  const fail = () => {
    throw down;
  };

  it('keeps a run whose lease could not be renewed', async () => {
    const { clock, puppet, errors, server, line } = startWith({ lease: fail });
    const one = line();
    one.send(ask());
    await clock.advance(10_000);
    puppet.end('a');
    await clock.advance(10);
    expect(one.controls('run.end')).toMatchObject([{ status: 'finished' }]);
    expect(server.getSnapshot().running).toBe(0);
    expect(errors.length).toBeGreaterThan(2);
    expect(new Set(errors)).toEqual(new Set([down]));
  });

  it('serves on where the log cannot be looked through', async () => {
    const { clock, errors, line } = startWith({ sweep: fail });
    await clock.advance(30_000);
    expect(errors.length).toBeGreaterThan(2);
    const one = line();
    one.send(ask());
    await clock.flush();
    expect(one.events().length).toBeGreaterThan(0);
  });

  it('serves on where other processes cannot be asked for followers', async () => {
    const { clock, puppet, errors, line, server } = startWith({ control: fail });
    const one = line();
    one.send(ask(), { type: 'policy', runId: 'a', policy: 'cancel' });
    await clock.flush();
    one.drop();
    await clock.advance(20_000);
    expect(errors).toEqual([down, down]);
    await expect(server.cancel('a')).rejects.toBe(down);
    puppet.end('a');
    await clock.flush();
    expect(server.getSnapshot().running).toBe(0);
  });
});

describe('a function of the options that throws', () => {
  it('refuses a page whose origin it cannot read, and serves the others', async () => {
    const clock = createVirtualClock();
    const errors: unknown[] = [];
    const server = createServer(
      {
        run: createPuppet().run,
        origins: (origin) => new URL(origin).hostname === 'example.com',
        onError: (error) => errors.push(error),
      },
      clock.environment,
    );
    later(() => server.dispose({ grace: 0 }));
    const dial = (origin: string) => {
      const said: unknown[] = [];
      server.connect(
        (text) => said.push((JSON.parse(text) as Message).type),
        (code) => said.push(code),
        { request: { headers: { origin } } },
      );
      return said;
    };
    // What a sandboxed frame sends.
    expect(dial('null')).toEqual([1008]);
    expect(errors).toHaveLength(1);
    expect(dial('https://example.com')).toEqual(['hello']);
    expect(server.getSnapshot().connections).toBe(1);
    void clock.advance(1);
  });

  it('closes a connection whose renewed context names nobody', async () => {
    const { clock, errors, line } = start<{ user?: { id: string } }>(
      { principal: ({ user }) => user!.id, authenticate: async () => ({}) },
      { user: { id: 'me' } },
    );
    const one = line();
    one.send({ type: 'auth', token: 'new' });
    await clock.flush();
    expect(one.closed.code).toBe(4401);
    expect(errors[0]).toBeInstanceOf(TypeError);
  });
});

it('looks at one token of a connection at a time, and at no flood of them', async () => {
  let asked = 0;
  let most = 0;
  let atWork = 0;
  const { clock, line } = start<number>(
    {
      async authenticate() {
        asked++;
        most = Math.max(most, ++atWork);
        await new Promise<void>((resolve) => clock.environment.setTimer(resolve, 1));
        atWork--;
        return asked;
      },
    },
    0,
  );
  const one = line();
  for (let n = 0; n < 300; n++) one.send({ type: 'auth', token: n });
  await clock.advance(500);
  expect([asked, most, one.closed.code]).toEqual([300, 1, undefined]);
  for (let n = 0; n < 1_000; n++) one.send({ type: 'auth', token: n });
  await clock.advance(500);
  expect(asked).toBeLessThan(310);
  expect(one.closed.code).toBe(4429);
});
