import { describe, expect, it } from 'vitest';
import { createMemoryRunLog } from '../../src/server/memory-run-log.ts';
import type { RunServerOptions } from '../../src/server/types.ts';
import { createVirtualClock } from '../helpers/virtual-clock.ts';
import { ask, createPuppet, later, says, serveHere } from './set-up.ts';

function start(options: Partial<RunServerOptions> = {}) {
  const clock = createVirtualClock();
  const puppet = createPuppet();
  const here = serveHere({ run: puppet.run, ...options }, clock);
  later(here.close);
  return { clock, puppet, ...here };
}

const policy = { type: 'policy', runId: 'a', policy: 'cancel' };

describe('the policy `cancel`', () => {
  it('stops a run 10 s after its last follower has gone', async () => {
    const { clock, puppet, dial } = start();
    const [one, two] = [dial(), dial()];
    one.send(ask(), policy);
    await clock.flush();
    two.send({ type: 'resume', runId: 'a' });
    await clock.flush();
    one.drop();
    await clock.advance(60_000);
    two.drop();
    await clock.advance(9_999);
    expect(puppet.signals.get('a')?.aborted).toBe(false);
    await clock.advance(1);
    expect(puppet.signals.get('a')?.aborted).toBe(true);
  });

  it('lets a run go on whose follower comes back in time', async () => {
    const { clock, puppet, dial } = start();
    const one = dial();
    one.send(ask(), policy);
    await clock.flush();
    one.drop();
    await clock.advance(9_000);
    const two = dial();
    two.send({ type: 'resume', runId: 'a' });
    await clock.advance(60_000);
    expect(puppet.signals.get('a')?.aborted).toBe(false);
    // It still holds: nobody has to say it again.
    two.drop();
    await clock.advance(10_000);
    expect(puppet.signals.get('a')?.aborted).toBe(true);
  });

  it('means nothing of a run that the connection does not follow, and on a plain server', async () => {
    for (const plain of [false, true]) {
      const { clock, puppet, dial } = start({ plain });
      const [one, two] = [dial(), dial()];
      one.send(ask());
      if (plain) one.send(policy);
      await clock.flush();
      two.send(policy, { type: 'policy', runId: 'b', policy: 'cancel' });
      await clock.flush();
      one.drop();
      two.drop();
      await clock.advance(60_000);
      expect(puppet.signals.get('a')?.aborted).toBe(false);
    }
  });

  it('leaves a run alone that another process follows, which then looks after it', async () => {
    const clock = createVirtualClock();
    const puppet = createPuppet();
    const log = createMemoryRunLog({}, clock.environment);
    const [near, far] = [0, 1].map(() => serveHere({ run: puppet.run, log }, clock));
    if (!near || !far) throw new Error('two servers');
    later(near.close);
    later(far.close);
    const one = near.dial();
    one.send(ask(), policy);
    await clock.flush();
    const two = far.dial();
    two.send({ type: 'resume', runId: 'a' });
    await clock.flush();
    one.drop();
    await clock.advance(60_000);
    expect(puppet.signals.get('a')?.aborted).toBe(false);
    two.drop();
    await clock.advance(10_000);
    expect(puppet.signals.get('a')?.aborted).toBe(true);
  });

  it('leaves no timer behind a run that ends', async () => {
    const { clock, puppet, dial, close } = start();
    const one = dial();
    one.send(ask(), policy);
    await clock.flush();
    one.drop();
    puppet.end('a');
    await clock.flush();
    await close();
    expect(clock.timers).toBe(0);
  });
});

describe('a slow reader', () => {
  it('is paused while its socket is full, goes on from the log, and slows nobody down', async () => {
    const { clock, puppet, dial, server } = start({ limits: { maxBuffered: 1_000 } });
    let waiting = 0;
    const [slow, fast] = [dial(undefined, () => waiting), dial()];
    slow.send(ask());
    fast.send({ type: 'resume', runId: 'a' }, ask());
    await clock.flush();
    puppet.say('a', 'one');
    await clock.flush();
    waiting = 1_001;
    for (let n = 0; n < 500; n++) puppet.say('a', `${n}`);
    await clock.advance(5_000);
    expect(slow.events().some(says('0'))).toBe(false);
    expect(fast.events().some(says('499'))).toBe(true);
    waiting = 501;
    await clock.advance(5_000);
    expect(slow.events().some(says('0'))).toBe(false);
    waiting = 500;
    await clock.advance(200);
    puppet.end('a');
    await clock.advance(10);
    expect(slow.events()).toEqual(fast.events());
    expect(slow.controls('run.end')).toHaveLength(1);
    expect(server.getSnapshot().following).toBe(0);
  });

  it('has its controls answered while it is full', async () => {
    const { clock, dial, puppet } = start({ limits: { maxBuffered: 10 } });
    const line = dial(undefined, () => 11);
    line.send(ask());
    await clock.flush();
    puppet.say('a', 'x');
    await clock.flush();
    line.send({ type: 'ping', n: 1 });
    expect(line.messages.at(-1)).toEqual({ type: 'pong', n: 1 });
  });

  it('that takes nothing for three heartbeats is given up', async () => {
    const { clock, puppet, dial } = start({ limits: { maxBuffered: 10 }, heartbeat: 5_000 });
    let waiting = 1_000;
    const line = dial(undefined, () => waiting);
    line.send(ask());
    puppet.say('a', 'x');
    for (let n = 0; n < 20; n++) {
      await clock.advance(5_000);
      waiting--;
    }
    expect(line.closed.code).toBeUndefined();
    await clock.advance(21_000);
    expect(line.closed.code).toBe(4408);
  });

  it('lets others have their turn, also where nobody knows how full it is', async () => {
    const { clock, puppet, dial } = start();
    const line = dial();
    line.send(ask());
    puppet.say('a', ...Array.from({ length: 10_000 }, (_, n) => `${n}`));
    await clock.advance(2_000);
    const late = dial();
    late.send({ type: 'resume', runId: 'a' });
    await clock.flush();
    const first = late.events().length;
    expect(first).toBeGreaterThan(1_000);
    expect(first).toBeLessThan(4_000);
    await clock.advance(100);
    expect(late.offsets()).toEqual(line.offsets());
  });
});

describe('a client', () => {
  it('that has said hello and then nothing for three heartbeats is given up', async () => {
    const { clock, dial, server } = start({ heartbeat: 10_000 });
    const [silent, pinging, old] = [dial(), dial(), dial()];
    for (const line of [silent, pinging]) line.send({ type: 'hello', caps: [] });
    for (let n = 0; n < 12; n++) {
      await clock.advance(10_000);
      pinging.send({ type: 'ping', n });
    }
    // One that did not say hello does not ping: its silence says nothing.
    expect([silent, pinging, old].map(({ closed }) => closed.code)).toEqual([
      4408,
      undefined,
      undefined,
    ]);
    expect(server.getSnapshot().connections).toBe(2);
  });

  it('that is being told events need not say anything', async () => {
    const { clock, dial, puppet } = start({ heartbeat: 10_000 });
    const line = dial();
    line.send({ type: 'hello', caps: [] }, ask());
    for (let n = 0; n < 20; n++) {
      await clock.advance(9_000);
      puppet.say('a', `${n}`);
    }
    expect(line.closed.code).toBeUndefined();
  });
});

describe('a socket', () => {
  it('that throws when it is written to is closed, and stops nobody else', async () => {
    const { clock, server, puppet, dial } = start();
    let isBroken = false;
    let closed: number | undefined;
    const end = server.connect(
      () => {
        if (isBroken) throw new Error('broken pipe');
      },
      (code) => {
        closed = code;
        throw new Error('closed already');
      },
    );
    const other = dial();
    other.send(ask());
    await clock.flush();
    end.receive(JSON.stringify({ type: 'resume', runId: 'a' }));
    await clock.flush();
    isBroken = true;
    puppet.say('a', 'on');
    await clock.flush();
    expect(closed).toBe(1011);
    expect(other.events().some(says('on'))).toBe(true);
    expect(server.getSnapshot()).toMatchObject({ connections: 1, following: 1 });
    end.receive(JSON.stringify(ask('b')));
    end.closed();
    await clock.flush();
    expect(puppet.starts.has('b')).toBe(false);
  });

  it('that has closed already is not served', () => {
    const { server } = start();
    const sent: string[] = [];
    const socket = { readyState: 3, send: sent.push, close() {}, addEventListener() {} };
    server.accept(socket);
    expect([sent, server.getSnapshot().connections]).toEqual([[], 0]);
  });

  it('is greeted when it opens, where it is not open yet', async () => {
    const { clock, server } = start();
    const sent: string[] = [];
    const listeners = new Map<string, (event: unknown) => void>();
    const socket = {
      readyState: 0,
      binaryType: 'blob',
      send: (text: string) => sent.push(text),
      close() {},
      addEventListener: (type: string, listener: (event: unknown) => void) =>
        listeners.set(type, listener),
    };
    server.accept(socket);
    expect([sent, socket.binaryType]).toEqual([[], 'arraybuffer']);
    socket.readyState = 1;
    listeners.get('open')?.({});
    expect(sent).toHaveLength(1);
    const bytes = new TextEncoder().encode('{"type":"ping","n":1}');
    listeners.get('message')?.({ data: bytes.buffer });
    listeners.get('message')?.({ data: [bytes.slice(0, 5), bytes.slice(5)] });
    expect(sent.slice(1)).toEqual(['{"type":"pong","n":1}', '{"type":"pong","n":1}']);
    listeners.get('error')?.({ error: new Error('x') });
    listeners.get('close')?.({});
    await clock.flush();
    expect(server.getSnapshot().connections).toBe(0);
  });
});
