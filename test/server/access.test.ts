import { describe, expect, it } from 'vitest';
import type { AccessRequest, RunServerOptions } from '../../src/server/types.ts';
import { until } from '../helpers/until.ts';
import { createVirtualClock } from '../helpers/virtual-clock.ts';
import { ask, createPuppet, dial, later, says, serve, serveHere } from './set-up.ts';

interface User {
  readonly user: string | undefined;
}

async function start(options: Partial<RunServerOptions<User>> = {}) {
  const puppet = createPuppet();
  const served = await serve<User>(
    { run: puppet.run, principal: ({ user }) => user, ...options },
    ({ headers }) => ({ user: headers.user as string | undefined }),
  );
  const as = (user?: string) => dial(served.url, { headers: user ? { user } : {} });
  return { puppet, as, server: served.server, url: served.url };
}

describe('a run of a principal', () => {
  it('is forbidden to others: to follow, to start again, to cancel', async () => {
    const { puppet, as } = await start();
    const [ann, bob, nobody] = [await as('ann'), await as('bob'), await as()];
    ann.send(ask());
    puppet.say('a', 'secret');
    await ann.until(says('secret'));
    for (const other of [bob, nobody]) {
      other.send({ type: 'resume', runId: 'a' }, { type: 'cancel', runId: 'a' }, ask());
      await until(() => other.controls('run.unknown').length === 3);
      expect(other.controls('run.unknown')[0]).toEqual({
        type: 'run.unknown',
        runId: 'a',
        reason: 'forbidden',
      });
      expect([other.events(), other.controls('run.accepted')]).toEqual([[], []]);
    }
    expect(puppet.signals.get('a')?.aborted).toBe(false);
    expect(puppet.starts.get('a')).toBe(1);
    const again = await as('ann');
    again.send({ type: 'resume', runId: 'a' });
    await again.until(says('secret'));
    again.send({ type: 'cancel', runId: 'a' });
    await ann.until((one) => one.type === 'run.end');
  });

  it('stays theirs when it is over', async () => {
    const { puppet, as } = await start();
    const [ann, bob] = [await as('ann'), await as('bob')];
    ann.send(ask());
    puppet.end('a');
    await ann.until((one) => one.type === 'run.end');
    bob.send({ type: 'cancel', runId: 'a' }, { type: 'resume', runId: 'a' });
    await until(() => bob.controls('run.unknown').length === 2);
    expect(bob.events()).toEqual([]);
  });

  it('is ended for others by an event where the server is plain', async () => {
    const { puppet, as } = await start({ plain: true });
    const [ann, bob] = [await as('ann'), await as('bob')];
    ann.send(ask());
    puppet.say('a', 'secret');
    await ann.until(says('secret'));
    bob.send({ type: 'resume', runId: 'a', after: 0 });
    await bob.ended();
    expect(bob.messages).toMatchObject([{ runId: 'a', event: { code: 'run-forbidden' } }]);
    expect(bob.messages[0]).not.toHaveProperty('offset');
  });

  it('of nobody belongs to whoever knows its id', async () => {
    const { puppet, as } = await start();
    const [nobody, bob] = [await as(), await as('bob')];
    nobody.send(ask());
    await nobody.until((one) => one.type === 'run.accepted');
    bob.send({ type: 'resume', runId: 'a' });
    puppet.say('a', 'open');
    await bob.until(says('open'));
  });
});

describe('authorize', () => {
  it('is asked for each start, resume and cancel, with the thread where it is known', async () => {
    const asked: AccessRequest<User>[] = [];
    const { as, puppet } = await start({
      authorize(request) {
        asked.push(request);
        return request.action !== 'cancel';
      },
    });
    const line = await as('ann');
    line.send(ask(), { type: 'resume', runId: 'a' }, { type: 'cancel', runId: 'a' });
    line.send({ type: 'cancel', runId: 'b' });
    await until(() => line.controls('run.unknown').length === 2);
    const context = { user: 'ann' };
    const of = { runId: 'a', threadId: 'thread of a', context };
    expect(asked).toHaveLength(4);
    expect(asked).toEqual(
      expect.arrayContaining([
        { action: 'run', ...of },
        { action: 'resume', ...of },
        { action: 'cancel', ...of },
        { action: 'cancel', runId: 'b', threadId: undefined, context },
      ]),
    );
    expect(puppet.signals.get('a')?.aborted).toBe(false);
  });

  it('that says no, later, or throws, forbids', async () => {
    const errors: unknown[] = [];
    const { as, puppet } = await start({
      async authorize({ runId }) {
        if (runId === 'throws') throw new Error('down');
        return false;
      },
      onError: (error) => errors.push(error),
    });
    const line = await as('ann');
    line.send(ask('no'), ask('throws'));
    await until(() => line.controls('run.unknown').length === 2);
    expect(line.controls('run.unknown').every(({ reason }) => reason === 'forbidden')).toBe(true);
    expect([puppet.starts.size, errors]).toEqual([0, [new Error('down')]]);
  });
});

describe('origins', () => {
  const from = async (origins: RunServerOptions['origins'], origin?: string) => {
    const { url } = await serve({ run: createPuppet().run, ...(origins && { origins }) });
    const line = await dial(url, origin === undefined ? {} : { origin });
    line.send({ type: 'resume', runId: 'x' });
    await until(() => line.closed.code !== undefined || line.controls('run.unknown').length > 0);
    return line.closed.code ?? 'in';
  };

  it('let in the pages that are named, and programs', async () => {
    const pages = ['https://a.example', 'http://localhost:5173'];
    expect(await from(pages, 'https://a.example')).toBe('in');
    expect(await from(pages)).toBe('in');
    for (const other of [
      'https://a.example.evil',
      'http://a.example',
      'null',
      'https://a.example/',
    ]) {
      expect([other, await from(pages, other)]).toEqual([other, 1008]);
    }
    expect(await from(undefined, 'https://anywhere.example')).toBe('in');
    expect(await from((origin) => origin.endsWith('.example'), 'https://b.example')).toBe('in');
    expect(await from((origin) => origin.endsWith('.example'), 'https://b.evil')).toBe(1008);
  });

  it('are read from requests of the Fetch API, too', async () => {
    const clock = createVirtualClock();
    const { server } = serveHere(
      { run: createPuppet().run, origins: ['https://a.example'] },
      clock,
    );
    const code = (origin: string) => {
      let closed: number | undefined;
      const request = new Request('http://x', { headers: { origin } });
      server.connect(
        () => {},
        (how) => {
          closed = how;
        },
        { request },
      );
      return closed;
    };
    expect([code('https://a.example'), code('https://b.example')]).toEqual([undefined, 1008]);
  });

  it('cannot be checked without the request, which is a mistake of the program', () => {
    const { server } = serveHere({ run: createPuppet().run, origins: [] }, createVirtualClock());
    expect(() =>
      server.connect(
        () => {},
        () => {},
      ),
    ).toThrow('origins');
  });

  it('that are wrong are told nothing, and cannot send anything', async () => {
    const puppet = createPuppet();
    const { url } = await serve({ run: puppet.run, origins: [] });
    const line = await dial(url, { origin: 'https://evil.example' });
    line.send(ask());
    await until(() => line.closed.code === 1008);
    expect([line.messages, puppet.starts.size]).toEqual([[], 0]);
  });
});

describe('a token', () => {
  const renewing = async (options: Partial<RunServerOptions<User>> = {}) => {
    const clock = createVirtualClock();
    const puppet = createPuppet();
    const here = serveHere<User>(
      {
        run: puppet.run,
        principal: ({ user }) => user,
        authenticate: (token, { user }) => (token === 'good' ? { user } : undefined),
        ...options,
      },
      clock,
    );
    later(here.close);
    const sent: Record<string, unknown>[] = [];
    let closed: number | undefined;
    const connection = here.server.connect(
      (text) => sent.push(JSON.parse(text)),
      (code) => {
        closed = code;
      },
      { context: { user: 'ann' } },
    );
    return {
      clock,
      connection,
      sent,
      closed: () => closed,
      auth: (token: unknown) => connection.receive(JSON.stringify({ type: 'auth', token })),
    };
  };

  it('is asked for again, and a good one keeps the connection', async () => {
    const { clock, connection, sent, closed, auth } = await renewing();
    expect(sent[0]?.caps).toContain('auth');
    connection.reauth();
    expect(sent.at(-1)).toEqual({ type: 'reauth' });
    await clock.advance(29_000);
    auth('good');
    await clock.advance(60_000);
    expect(closed()).toBeUndefined();
  });

  it('that is bad, or does not come, closes with 4401', async () => {
    const bad = await renewing();
    bad.auth('bad');
    await bad.clock.flush();
    expect(bad.closed()).toBe(4401);
    const none = await renewing();
    none.connection.reauth(5_000);
    await none.clock.advance(4_999);
    expect(none.closed()).toBeUndefined();
    await none.clock.advance(1);
    expect(none.closed()).toBe(4401);
    const broken = await renewing({ authenticate: () => Promise.reject(new Error('down')) });
    broken.auth('good');
    await broken.clock.flush();
    expect(broken.closed()).toBe(4401);
  });

  it('of somebody else ends the connection, since its runs are another’s', async () => {
    const { auth, clock, closed } = await renewing({ authenticate: () => ({ user: 'bob' }) });
    auth('good');
    await clock.flush();
    expect(closed()).toBe(1012);
  });

  it('means nothing where the server has no `authenticate`', async () => {
    const { url } = await serve({ run: createPuppet().run });
    const line = await dial(url);
    line.send({ type: 'auth', token: 'x' }, { type: 'ping', n: 1 });
    await line.until((one) => one.type === 'pong');
    expect(line.messages[0]?.caps).not.toContain('auth');
  });
});

describe('limits', () => {
  it('answer a start beyond them by an error, and count only runs at work', async () => {
    const { as, puppet, server } = await start({
      limits: { maxRunsPerConnection: 2, maxRunsPerPrincipal: 3, maxRuns: 5 },
    });
    const [ann, ann2, bob, cay] = [await as('ann'), await as('ann'), await as('bob'), await as()];
    ann.send(ask('1'), ask('2'), ask('3'));
    await ann.until((one) => one.type === 'run.end');
    expect(ann.messages.filter(({ runId }) => runId === '3')).toEqual([
      { type: 'run.accepted', runId: '3', epoch: expect.any(String), next: 1, attached: false },
      {
        runId: '3',
        offset: 0,
        event: { type: 'RUN_ERROR', message: expect.any(String), code: 'refused' },
      },
      { type: 'run.end', runId: '3', offset: 0, status: 'error' },
    ]);
    ann2.send(ask('4'), ask('5'));
    bob.send(ask('6'), ask('7'));
    await ann2.until((one) => one.type === 'run.end' && one.runId === '5');
    await until(() => server.getSnapshot().running === 5);
    cay.send(ask('8'));
    expect(await cay.until((one) => one.type === 'run.end')).toMatchObject({ status: 'error' });
    // Known runs can be followed all the same.
    ann.send(ask('4'));
    await ann.until((one) => one.type === 'run.accepted' && one.runId === '4');
    for (const id of ['1', '2', '6']) puppet.end(id);
    await until(() => server.getSnapshot().running === 2);
    ann.send(ask('9'), ask('3'));
    await until(() => server.getSnapshot().running === 4);
    expect([...puppet.starts.keys()].sort()).toEqual(['1', '2', '3', '4', '6', '7', '9']);
  });

  it('hold for starts at the same moment', async () => {
    const { as, puppet } = await start({ limits: { maxRunsPerPrincipal: 10 } });
    const lines = await Promise.all(Array.from({ length: 5 }, () => as('ann')));
    for (const [n, line] of lines.entries()) {
      for (let m = 0; m < 10; m++) line.send(ask(`${n}/${m}`));
    }
    await until(
      () => lines.reduce((sum, line) => sum + line.controls('run.accepted').length, 0) === 50,
    );
    expect(puppet.starts.size).toBe(10);
  });

  it('are an event of three fields on a plain server', async () => {
    const { as } = await start({ plain: true, limits: { maxRunsPerConnection: 0 } });
    const line = await as('ann');
    line.send(ask());
    await line.ended();
    expect(line.messages).toMatchObject([{ runId: 'a', offset: 0, event: { type: 'RUN_ERROR' } }]);
  });

  it('send a flood of requests away, with a time to stay away', async () => {
    const { as, puppet } = await start();
    const [line, other] = [await as('ann'), await as('bob')];
    other.send(ask());
    for (let n = 0; n < 1_000; n++) line.send({ type: 'resume', runId: `${n % 7}`, after: n });
    await until(() => line.closed.code === 4429);
    expect(line.messages.at(-1)).toMatchObject({ type: 'retry', after: 5_000 });
    puppet.say('a', 'well');
    await other.until(says('well'));
  });

  it('send those away who are too many', async () => {
    const { as } = await start({ limits: { maxConnections: 2, maxFollowsPerConnection: 3 } });
    const [one, , three] = [await as('a'), await as('b'), await as('c')];
    await until(() => three.closed.code === 1013);
    expect(three.messages.at(-1)).toMatchObject({ type: 'retry' });
    for (const id of ['1', '2', '3', '4']) one.send(ask(id));
    await until(() => one.closed.code === 4429);
  });
});
