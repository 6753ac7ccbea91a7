import { describe, expect, it } from 'vitest';
import { until } from '../helpers/until.ts';
import { ask, createPuppet, dial, later, type Message, says, serve, typesOf } from './set-up.ts';

async function start(options: object = {}) {
  const puppet = createPuppet();
  const served = await serve({ run: puppet.run, ...options });
  return { puppet, ...served, url: served.url, server: served.server };
}

describe('a connection', () => {
  it('is greeted with what the server can do, before anything else', async () => {
    const { url } = await start();
    const line = await dial(url);
    line.send(ask());
    await line.until((one) => one.type === 'run.accepted');
    expect(line.messages[0]).toEqual({
      type: 'hello',
      v: 1,
      caps: ['accepted', 'end', 'unknown', 'truncated', 'batch', 'policy', 'ping'],
      heartbeat: 15_000,
      maxMessage: 1_048_576,
      spread: 1_000,
    });
  });

  it('answers a ping with its number, and pings nothing that is none', async () => {
    const { url } = await start();
    const line = await dial(url);
    line.send({ type: 'ping', n: 7 }, { type: 'ping' }, { type: 'ping', n: { deep: [1] } });
    await until(() => line.controls('pong').length === 3);
    expect(line.controls('pong')).toEqual([
      { type: 'pong', n: 7 },
      { type: 'pong' },
      { type: 'pong' },
    ]);
  });

  it('takes UTF-8 bytes in binary frames', async () => {
    const { url } = await start();
    const line = await dial(url);
    line.socket.send(Buffer.from(JSON.stringify(ask('ü'))));
    expect(await line.until((one) => one.type === 'run.accepted')).toMatchObject({ runId: 'ü' });
  });

  it('ignores what is no message and what it does not know', async () => {
    const { url, puppet } = await start();
    const line = await dial(url);
    for (const text of [
      '',
      'x',
      'null',
      '1',
      '[]',
      '"run"',
      '{}',
      '{"type":"run"}',
      '{"runId":"a"}',
    ]) {
      line.send(text);
    }
    line.send([ask()], { type: 'resume' }, { type: 'cancel', runId: 7 }, { type: 'alive' });
    line.send({ type: 'run', runId: '', input: {} }, { runId: 'a', offset: 0, event: {} });
    line.socket.send(Buffer.from([0xff, 0xfe]), { binary: true });
    line.send(ask('b'));
    await line.until((one) => one.type === 'run.accepted');
    expect([...puppet.starts]).toEqual([['b', 1]]);
  });

  it('is closed with 1009 for a frame that is too large, and the runs go on', async () => {
    const { url, puppet } = await start({ limits: { maxMessage: 1_000 } });
    const [line, other] = [await dial(url), await dial(url)];
    line.send(ask());
    other.send(ask());
    await other.until((one) => one.type === 'run.accepted');
    line.send('x'.repeat(1_000));
    line.send(`"${'é'.repeat(500)}"`);
    await until(() => line.closed.code === 1009);
    puppet.say('a', 'still here');
    await other.until(says('still here'));
  });
});

describe('a run', () => {
  it('is accepted before its first event, told from its start, and ended', async () => {
    const { url, puppet } = await start();
    const line = await dial(url);
    line.send(ask());
    puppet.say('a', 'one', 'two');
    puppet.end('a');
    const end = await line.until((one) => one.type === 'run.end');
    expect(line.messages[1]).toEqual({
      type: 'run.accepted',
      runId: 'a',
      epoch: expect.any(String),
      next: 0,
      attached: false,
    });
    expect(typesOf(line)).toEqual([
      'RUN_STARTED',
      'TEXT_MESSAGE_START',
      'TEXT_MESSAGE_CONTENT',
      'TEXT_MESSAGE_CONTENT',
      'TEXT_MESSAGE_END',
      'RUN_FINISHED',
    ]);
    expect(line.events()[0]).toEqual({
      runId: 'a',
      offset: 0,
      event: { type: 'RUN_STARTED', threadId: 'thread of a', runId: 'a' },
    });
    expect(line.offsets()).toEqual([0, 1, 2, 3, 4, 5]);
    expect(end).toEqual({ type: 'run.end', runId: 'a', offset: 5, status: 'finished' });
    expect(line.messages.at(-1)).toBe(end);
  });

  it('starts once, however many connections ask for it at the same moment', async () => {
    const { url, puppet } = await start();
    const lines = await Promise.all(Array.from({ length: 8 }, () => dial(url)));
    for (const line of lines) line.send(ask(), ask());
    puppet.say('a', 'one');
    await Promise.all(lines.map((line) => until(() => line.controls('run.accepted').length === 2)));
    puppet.end('a');
    await Promise.all(lines.map((line) => line.until((one) => one.type === 'run.end')));
    expect(puppet.starts.get('a')).toBe(1);
    const accepted = lines.flatMap((line) => line.controls('run.accepted'));
    expect(accepted.filter(({ attached }) => attached === false)).toHaveLength(1);
    expect(new Set(accepted.map(({ epoch }) => epoch)).size).toBe(1);
    for (const line of lines) expect(line.events()).toEqual(lines[0]?.events());
    // Asked for again behind its end, it is told from its start.
    lines[0]?.send(ask());
    await until(() => lines[0]?.controls('run.end').length === 2);
    expect(lines[0]?.offsets()).toEqual([0, 1, 2, 3, 4, 0, 1, 2, 3, 4]);
    expect(puppet.starts.get('a')).toBe(1);
  });

  it('goes on without a socket, and is resumed behind the last event that was applied', async () => {
    const { url, puppet, server } = await start();
    const first = await dial(url);
    first.send(ask());
    puppet.say('a', 'one');
    await first.until(says('one'));
    first.socket.terminate();
    await until(() => server.getSnapshot().connections === 0);
    puppet.say('a', 'two');
    const second = await dial(url);
    second.send({ type: 'resume', runId: 'a', after: 2 });
    await second.until(says('two'));
    puppet.say('a', 'three');
    await second.until(says('three'));
    puppet.end('a');
    await second.ended();
    expect(second.controls('run.accepted')).toMatchObject([{ next: 4, attached: true }]);
    expect(second.offsets()).toEqual([3, 4, 5, 6]);
  });

  it('is known to a resume right behind its start', async () => {
    const { url, puppet } = await start();
    const line = await dial(url);
    for (let n = 0; n < 20; n++) {
      line.send(ask(`${n}`), { type: 'resume', runId: `${n}`, after: 0 });
      puppet.end(`${n}`);
    }
    await until(() => line.controls('run.accepted').length === 40);
    expect(line.controls('run.unknown')).toEqual([]);
  });

  it('has one feed a connection, however often it is resumed', async () => {
    const { url, puppet } = await start();
    const line = await dial(url);
    line.send(ask());
    puppet.say('a', 'one');
    await line.until(says('one'));
    for (const after of [undefined, 0, 1, 'nonsense', -1, 1.5, 2]) {
      line.send({ type: 'resume', runId: 'a', after });
    }
    await until(() => line.controls('run.accepted').length === 8);
    puppet.say('a', 'two');
    await line.until(says('two'));
    puppet.end('a');
    await line.until((one) => one.type === 'run.end');
    expect(line.events().filter(says('two'))).toHaveLength(1);
    expect(line.controls('run.end')).toHaveLength(1);
    // Behind the last answer there is what is behind its offset, and nothing else.
    const last = line.messages.lastIndexOf(line.controls('run.accepted').at(-1) as Message);
    const rest = line.messages.slice(last + 1).filter((one) => one.event);
    expect(rest.map(({ offset }) => offset)).toEqual([3, 4, 5]);
  });

  it('is the same for every follower, whenever it comes', async () => {
    const { url, puppet } = await start();
    const lines = [];
    for (let n = 0; n < 20; n++) {
      const line = await dial(url);
      line.send({ type: 'hello', caps: n % 2 ? ['batch'] : [] });
      line.send(n ? { type: 'resume', runId: 'a' } : ask());
      await line.until((one) => one.type === 'run.accepted');
      lines.push(line);
      puppet.say('a', ...Array.from({ length: 40 }, (_, index) => `${n}.${index}`));
    }
    puppet.end('a');
    await Promise.all(lines.map((line) => line.until((one) => one.type === 'run.end')));
    for (const line of lines) expect(line.events()).toEqual(lines[0]?.events());
    expect(lines[0]?.offsets()).toEqual(Array.from({ length: 804 }, (_, index) => index));
  });

  it('can be one of many on one connection', async () => {
    const { url, puppet } = await start();
    const line = await dial(url);
    const ids = Array.from({ length: 60 }, (_, index) => `run ${index}`);
    for (const id of ids) line.send(ask(id));
    for (const id of ids) {
      puppet.say(id, id);
      puppet.end(id);
    }
    await until(() => line.controls('run.end').length === 60);
    for (const id of ids) {
      expect(line.offsets(id)).toEqual([0, 1, 2, 3, 4]);
      expect(line.events(id).filter(says(id))).toHaveLength(1);
    }
  });

  it('says that it is not known: never, evicted', async () => {
    const { url, puppet } = await start({ limits: { maxBytes: 3_000 } });
    const line = await dial(url);
    line.send({ type: 'resume', runId: 'nobody', after: 3 });
    await line.until((one) => one.runId === 'nobody');
    for (const id of ['a', 'b']) {
      line.send(ask(id));
      puppet.say(id, 'x'.repeat(1_500));
      puppet.end(id);
      await line.until((one) => one.type === 'run.end' && one.runId === id);
    }
    line.send({ type: 'resume', runId: 'a' }, ask('a'));
    await until(() => line.controls('run.unknown').length === 3);
    expect(line.controls('run.unknown')).toEqual([
      { type: 'run.unknown', runId: 'nobody', reason: 'never' },
      { type: 'run.unknown', runId: 'a', reason: 'evicted' },
      { type: 'run.unknown', runId: 'a', reason: 'evicted' },
    ]);
    expect(puppet.starts.get('a')).toBe(1);
  });

  it('is started and stopped by the server itself', async () => {
    const { url, puppet, server } = await start();
    const started = await server.start({ threadId: 't' } as never, { runId: 'a' });
    expect(started).toEqual({ runId: 'a', epoch: expect.any(String), created: true });
    expect(await server.start({} as never, { runId: 'a' })).toMatchObject({ created: false });
    await expect(server.start({} as never, { runId: '' })).rejects.toMatchObject({
      code: 'invalid-argument',
    });
    const line = await dial(url);
    line.send({ type: 'resume', runId: 'a' });
    puppet.say('a', 'one');
    await line.until(says('one'));
    await server.cancel('a');
    expect(await line.until((one) => one.type === 'run.end')).toMatchObject({
      status: 'cancelled',
    });
    expect(line.controls('run.accepted')[0]?.epoch).toBe(started.epoch);
  });

  it('can have any id', async () => {
    const { url, puppet } = await start();
    const line = await dial(url);
    const ids = ['__proto__', 'constructor', 'toString', 'hasOwnProperty', ' ', '\0', '💥', '{}'];
    for (const id of ids) line.send(ask(id));
    for (const id of ids) puppet.end(id);
    await until(() => line.controls('run.end').length === ids.length);
    for (const id of ids) expect(line.offsets(id)).toEqual([0, 1, 2, 3]);
    line.send(ask('x'.repeat(256)), ask('y'.repeat(257)));
    await line.until((one) => one.type === 'run.end' && one.runId === 'y'.repeat(257));
    expect(line.events('y'.repeat(257))).toMatchObject([
      { offset: 0, event: { type: 'RUN_ERROR' } },
    ]);
    expect(puppet.starts.has('x'.repeat(256))).toBe(true);
    expect(puppet.starts.has('y'.repeat(257))).toBe(false);
  });
});

describe('a cancel', () => {
  it('stops the run from any connection, and closes what is open', async () => {
    const { url, puppet } = await start();
    const [asker, other] = [await dial(url), await dial(url)];
    asker.send(ask());
    puppet.say('a', 'one');
    await asker.until(says('one'));
    other.send({ type: 'cancel', runId: 'a' }, { type: 'cancel', runId: 'a' });
    expect(await asker.until((one) => one.type === 'run.end')).toMatchObject({
      status: 'cancelled',
      offset: 4,
    });
    expect(
      asker
        .events()
        .slice(-2)
        .map(({ event }) => event),
    ).toEqual([
      { type: 'TEXT_MESSAGE_END', messageId: 'a-m' },
      { type: 'RUN_FINISHED', threadId: 'thread of a', runId: 'a', outcome: { type: 'cancelled' } },
    ]);
    expect(puppet.signals.get('a')?.aborted).toBe(true);
    // The end stays what it was.
    other.send({ type: 'cancel', runId: 'a' }, { type: 'resume', runId: 'a' });
    expect(await other.until((one) => one.type === 'run.end')).toMatchObject({ offset: 4 });
  });

  it('holds for a run that is started later, and its agent is never asked', async () => {
    const { url, puppet } = await start();
    const line = await dial(url);
    line.send({ type: 'cancel', runId: 'a' }, ask());
    await line.until((one) => one.type === 'run.end');
    expect(puppet.starts.size).toBe(0);
    expect(typesOf(line)).toEqual(['RUN_STARTED', 'RUN_FINISHED']);
    expect(line.controls('run.end')).toMatchObject([{ status: 'cancelled' }]);
  });

  it('right behind the start is a cancel of that run', async () => {
    const { url } = await start();
    const line = await dial(url);
    for (let n = 0; n < 50; n++) line.send(ask(`${n}`), { type: 'cancel', runId: `${n}` });
    await until(() => line.controls('run.end').length === 50);
    expect(new Set(line.controls('run.end').map(({ status }) => status))).toEqual(
      new Set(['cancelled']),
    );
  });

  it('is not what a lost connection means', async () => {
    const { url, puppet, server } = await start();
    const line = await dial(url);
    line.send(ask());
    await line.until((one) => one.type === 'run.accepted');
    line.socket.close();
    await until(() => server.getSnapshot().connections === 0);
    expect(puppet.signals.get('a')?.aborted).toBe(false);
    expect(server.getSnapshot().running).toBe(1);
  });
});

describe('batches', () => {
  const long = async (hello: boolean) => {
    const { url, puppet } = await start();
    const line = await dial(url);
    if (hello) line.send({ type: 'hello', caps: ['batch'] });
    line.send(ask());
    puppet.say(
      'a',
      ...Array.from({ length: 1_000 }, (_, n) => `${n} ${'x'.repeat(n % 7 ? 10 : 3_000)}`),
    );
    puppet.end('a');
    await line.until((one) => one.type === 'run.end');
    line.send({ type: 'resume', runId: 'a' });
    await until(() => line.controls('run.end').length === 2);
    const isAccepted = (text: string) => text.includes('run.accepted');
    const second = line.frames.lastIndexOf(line.frames.filter(isAccepted).at(-1) as string);
    return { line, replay: line.frames.slice(second + 1) };
  };

  it('are sent once the client said so: up to 100 messages or 64 kB in a frame', async () => {
    const { line, replay } = await long(true);
    const sizes = replay.map((text) => {
      const value: unknown = JSON.parse(text);
      return Array.isArray(value) ? value.length : 1;
    });
    expect(Math.max(...sizes)).toBeGreaterThan(20);
    expect(Math.max(...sizes)).toBeLessThanOrEqual(100);
    expect(Math.max(...replay.map((text) => text.length))).toBeLessThan(80_000);
    expect(line.offsets().slice(-1_004)).toEqual(Array.from({ length: 1_004 }, (_, n) => n));
  });

  it('are not sent to who did not', async () => {
    const { line, replay } = await long(false);
    expect(line.frames.filter((text) => text.startsWith('['))).toEqual([]);
    expect(replay).toHaveLength(1_005);
  });
});

describe('a plain server', () => {
  it('says nothing but run, resume and cancel get an answer for, in the three fields', async () => {
    const { url, puppet } = await start({ plain: true });
    const line = await dial(url);
    line.send(
      { type: 'hello', caps: ['batch'] },
      { type: 'ping', n: 1 },
      { type: 'auth', token: 1 },
    );
    line.send(ask(), { type: 'policy', runId: 'a', policy: 'cancel' });
    puppet.say('a', 'one');
    await line.until(says('one'));
    line.send({ type: 'resume', runId: 'a', after: 1 });
    await until(() => line.events().length === 4);
    line.send({ type: 'cancel', runId: 'a' });
    await line.ended();
    expect(line.frames.every((text) => !text.startsWith('['))).toBe(true);
    for (const message of line.messages) {
      expect(Object.keys(message)).toEqual(['runId', 'offset', 'event']);
    }
    expect(line.offsets()).toEqual([0, 1, 2, 2, 3, 4]);
  });

  it('ends a run that it does not know by an event that has no place in a log', async () => {
    const { url } = await start({ plain: true });
    const line = await dial(url);
    line.send({ type: 'resume', runId: 'a', after: 41 }, { type: 'resume', runId: 'b' });
    await line.ended('b');
    expect(line.messages).toMatchObject([
      { runId: 'a', event: { type: 'RUN_ERROR', code: 'run-unknown' } },
      { runId: 'b', event: { type: 'RUN_ERROR', code: 'run-unknown' } },
    ]);
  });
});

describe('dispose()', () => {
  it('lets runs end while their followers stay, and takes nobody in', async () => {
    const { url, puppet, server } = await start();
    const [line, idle] = [await dial(url), await dial(url)];
    line.send(ask());
    await line.until((one) => one.type === 'run.accepted');
    let isDone = false;
    const done = server.dispose({ grace: 60_000, retryAfter: 3_000 }).then(() => {
      isDone = true;
    });
    await until(() => idle.closed.code === 1012);
    const late = await dial(url);
    await until(() => late.closed.code === 1012);
    const { after } = late.controls('retry')[0] as { after: number };
    expect(after).toBeGreaterThanOrEqual(3_000);
    expect(after).toBeLessThanOrEqual(6_000);
    puppet.say('a', 'the last words');
    await line.until(says('the last words'));
    expect([isDone, line.closed.code]).toEqual([false, undefined]);
    puppet.end('a');
    await done;
    await until(() => line.closed.code === 1012);
    expect(line.controls('run.end')).toMatchObject([{ status: 'finished' }]);
    expect(line.controls().at(-1)).toMatchObject({ type: 'retry' });
    expect(server.getSnapshot()).toEqual({ connections: 0, running: 0, following: 0 });
  });

  it('ends the runs that are left as lost', async () => {
    const { url, server } = await start();
    const line = await dial(url);
    line.send(ask());
    await line.until((one) => one.type === 'run.accepted');
    await server.dispose({ grace: 20 });
    await until(() => line.closed.code === 1012);
    expect(line.events().at(-1)).toMatchObject({ event: { type: 'RUN_ERROR', code: 'run-lost' } });
    expect(line.controls('run.end')).toMatchObject([{ status: 'lost' }]);
    await expect(server.start({} as never)).rejects.toMatchObject({ code: 'closed' });
  });

  it('sends a start away, so that another process may take it', async () => {
    const { url, server, puppet } = await start();
    const line = await dial(url);
    line.send(ask());
    await line.until((one) => one.type === 'run.accepted');
    later(() => puppet.end('a'));
    void server.dispose({ grace: 60_000 });
    line.send(ask('b'));
    await until(() => line.closed.code === 1012);
    expect(line.controls('run.accepted').map(({ runId }) => runId)).toEqual(['a']);
    expect(puppet.starts.has('b')).toBe(false);
    puppet.end('a');
  });
});
