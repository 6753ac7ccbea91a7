import { describe, expect, it } from 'vitest';
import { setUp } from './set-up.ts';

const ping = () => ({ type: 'ping' });

async function setUpOpen(options: Parameters<typeof setUp>[0] = {}) {
  const reasons: string[] = [];
  const all = setUp(options, {
    url({ reason }) {
      reasons.push(reason);
      return 'ws://x';
    },
  });
  all.client.hold();
  await all.open();
  const getErrors = () => {
    const { error } = all.client.getSnapshot();
    return error && [error.code, error.message];
  };
  /** How long the open socket lives when nothing more is received. */
  const untilGivenUp = async () => {
    const start = all.clock.now();
    while (all.dialer.status === 'open') {
      if (all.clock.now() - start > 3_600_000) return Infinity;
      await all.clock.advance(100);
    }
    return all.clock.now() - start;
  };
  return { ...all, reasons, getErrors, untilGivenUp };
}

describe('a socket on which nothing comes', () => {
  it('is left alone while no run streams', async () => {
    const { untilGivenUp, clock } = await setUpOpen();
    expect(await untilGivenUp()).toBe(Infinity);
    expect(clock.timers).toBe(0);
  });

  it('is swapped after the idle timeout while a run streams', async () => {
    const { wire, untilGivenUp, getErrors, reasons, open, client } = await setUpOpen();
    wire.setIdleTimeout(30_000);
    expect(await untilGivenUp()).toBe(30_000);
    expect(getErrors()).toEqual(['timeout', 'Idle timeout.']);
    await open();
    expect(reasons).toEqual(['first', 'idle']);
    expect(client.getSnapshot()).toEqual({ status: 'open', attempt: 0 });
  });

  it('is swapped ever later while the run stays quiet, up to 5 min; any frame starts over', async () => {
    const { wire, dialer, open, untilGivenUp } = await setUpOpen();
    wire.setIdleTimeout(30_000);
    const lives: number[] = [];
    for (let i = 0; i < 6; i++) {
      lives.push(await untilGivenUp());
      await open();
    }
    dialer.receive(1);
    lives.push(await untilGivenUp());
    expect(lives).toEqual([30_000, 60_000, 120_000, 240_000, 300_000, 300_000, 30_000]);
  });

  it('is given the whole idle timeout from the start of a run', async () => {
    const { wire, clock, untilGivenUp } = await setUpOpen();
    await clock.advance(600_000);
    wire.setIdleTimeout(30_000);
    await clock.advance(20_000);
    wire.setIdleTimeout(30_000);
    expect(await untilGivenUp()).toBe(10_000);
  });

  it('is left alone again when no run streams any more', async () => {
    const { wire, clock, untilGivenUp } = await setUpOpen();
    wire.setIdleTimeout(30_000);
    await clock.advance(10_000);
    wire.setIdleTimeout(undefined);
    expect(await untilGivenUp()).toBe(Infinity);
    expect(clock.timers).toBe(0);
  });

  it('is pinged after the heartbeat and swapped 5 s later', async () => {
    const { wire, dialer, untilGivenUp, reasons, open } = await setUpOpen();
    wire.setIdleTimeout(30_000);
    wire.setPing(15_000, ping);
    expect(await untilGivenUp()).toBe(20_000);
    expect(dialer.sent).toEqual(['{"type":"ping"}']);
    await open();
    expect(reasons).toEqual(['first', 'idle']);
    // What the server of the connection before announced is forgotten.
    expect(await untilGivenUp()).toBe(30_000);
  });

  it('is found out three times in a row within the same bound', async () => {
    const { wire, open, untilGivenUp } = await setUpOpen();
    for (let i = 0; i < 3; i++) {
      wire.setPing(15_000, ping);
      expect(await untilGivenUp()).toBe(20_000);
      await open();
    }
  });
});

describe('a connection that was unstable before', () => {
  it('is watched beyond the moment that makes it stable', async () => {
    const { client, wire, dialer, untilDial, untilGivenUp } = await setUpOpen();
    dialer.end();
    await untilDial();
    dialer.open();
    wire.setPing(15_000, ping);
    expect(client.getSnapshot().attempt).toBe(1);
    expect(await untilGivenUp()).toBe(20_000);
    expect(client.getSnapshot().attempt).toBe(0);
  });
});

describe('pings', () => {
  it('end nothing while any frame answers them', async () => {
    const { wire, dialer, clock } = await setUpOpen();
    wire.setPing(15_000, ping);
    for (let i = 1; i <= 100; i++) {
      await clock.advance(15_000);
      expect(dialer.sent.length).toBe(i);
      await clock.advance(4_900);
      dialer.receive(1);
    }
    expect(dialer.dials.length).toBe(1);
  });

  it('are not sent while frames come', async () => {
    const { wire, dialer, clock } = await setUpOpen();
    wire.setPing(15_000, ping);
    for (let i = 0; i < 100; i++) {
      await clock.advance(14_000);
      dialer.receive(1);
    }
    expect(dialer.sent).toEqual([]);
  });

  it('count their timeout from the ping', async () => {
    const { wire, clock, dialer } = await setUpOpen({
      heartbeat: { interval: 600_000, timeout: 60_000 },
    });
    wire.setPing(15_000, ping);
    await clock.advance(300_000);
    expect([dialer.status, dialer.sent]).toEqual(['open', []]);
    await clock.advance(359_999);
    expect([dialer.status, dialer.sent.length]).toEqual(['open', 1]);
    await clock.advance(1);
    expect(dialer.status).toBe('dialling');
  });

  it('are the caller’s own message where there is one', async () => {
    let n = 0;
    const { wire, dialer, clock, untilGivenUp, open } = await setUpOpen({
      heartbeat: { interval: 10_000, timeout: 2_000, message: () => `beat ${++n}` },
    });
    wire.setPing(1_000, ping);
    wire.setIdleTimeout(1_000);
    await clock.advance(10_000);
    dialer.receive(1);
    expect(await untilGivenUp()).toBe(12_000);
    await open();
    expect(await untilGivenUp()).toBe(12_000);
    expect(dialer.sent).toEqual(['"beat 1"', '"beat 2"', '"beat 3"']);
  });

  it('are not sent where the caller wants none, and the idle timeout stays', async () => {
    const { wire, dialer, untilGivenUp } = await setUpOpen({ heartbeat: false });
    wire.setPing(1_000, ping);
    expect(await untilGivenUp()).toBe(Infinity);
    wire.setIdleTimeout(30_000);
    expect(await untilGivenUp()).toBe(30_000);
    expect(dialer.sent).toEqual([]);
  });

  it('survive a message function that throws', async () => {
    const { clock, dialer } = await setUpOpen({
      heartbeat: {
        message() {
          throw new Error('mine');
        },
      },
    });
    await clock.advance(15_000);
    expect([clock.reports, dialer.status]).toEqual([[new Error('mine')], 'open']);
  });
});

describe('after sleep', () => {
  it('a socket without pings has 1 s for any frame, then is swapped if a run streams', async () => {
    const { wire, clock, dialer, reasons, untilGivenUp, open } = await setUpOpen();
    wire.setIdleTimeout(300_000);
    await clock.advance(10_000);
    await clock.sleep(120_000);
    expect(dialer.status).toBe('open');
    expect(await untilGivenUp()).toBe(1_000);
    await open();
    expect(reasons).toEqual(['first', 'idle']);
  });

  it('a leap of the wall clock alone is noticed within 5 s', async () => {
    const { wire, clock, dialer } = await setUpOpen();
    wire.setIdleTimeout(300_000);
    await clock.advance(1_000);
    clock.shiftWall(120_000);
    await clock.advance(5_000);
    expect(dialer.status).toBe('dialling');
  });

  it('a frame within the second keeps the socket', async () => {
    const { wire, clock, dialer, untilGivenUp } = await setUpOpen();
    wire.setIdleTimeout(300_000);
    await clock.sleep(120_000);
    await clock.advance(999);
    dialer.receive(1);
    expect(await untilGivenUp()).toBe(300_000);
  });

  it('a socket with pings is pinged at once', async () => {
    const { wire, clock, dialer, untilGivenUp } = await setUpOpen();
    wire.setPing(60_000, ping);
    await clock.advance(10_000);
    await clock.sleep(120_000);
    expect([dialer.status, dialer.sent.length]).toEqual(['open', 1]);
    expect(await untilGivenUp()).toBe(5_000);
  });

  it('a ping from before gets a new chance', async () => {
    const { wire, clock, dialer, untilGivenUp } = await setUpOpen();
    wire.setPing(15_000, ping);
    await clock.advance(15_000);
    await clock.sleep(120_000);
    expect([dialer.status, dialer.sent.length]).toEqual(['open', 2]);
    expect(await untilGivenUp()).toBe(5_000);
  });

  it('timers that were frozen for 60 s end nothing while the server kept sending', async () => {
    for (const hidden of [true, false]) {
      for (const watch of ['ping', 'idle', 'both']) {
        const { wire, clock, dialer, page } = await setUpOpen();
        if (watch !== 'idle') wire.setPing(15_000, ping);
        if (watch !== 'ping') wire.setIdleTimeout(30_000);
        if (hidden) page.setVisible(false);
        await clock.advance(14_000);
        for (let i = 0; i < 10; i++) {
          // Timers run first on thaw, then the frames that arrived meanwhile.
          await clock.sleep(60_000);
          dialer.receive(1);
          await clock.advance(500);
        }
        expect([watch, dialer.dials.length]).toEqual([watch, 1]);
      }
    }
  });

  it('throttled timers of a hidden page do not swap a quiet socket that answers', async () => {
    const { wire, clock, dialer, page } = await setUpOpen();
    wire.setPing(15_000, ping);
    page.setVisible(false);
    let answered = 0;
    for (let i = 0; i < 20; i++) {
      await clock.sleep(60_000);
      if (dialer.sent.length > answered) {
        answered = dialer.sent.length;
        dialer.receive('"pong"');
      }
    }
    expect(answered).toBeGreaterThan(5);
    expect(dialer.dials.length).toBe(1);
  });

  it('throttled timers of a hidden page are no sleep to a quiet run', async () => {
    const { wire, clock, dialer, page } = await setUpOpen();
    wire.setIdleTimeout(300_000);
    page.setVisible(false);
    for (let i = 0; i < 4; i++) {
      await clock.sleep(60_000);
      await clock.advance(2_000);
    }
    expect(dialer.dials.length).toBe(1);
  });

  it('a dead socket of a hidden page is given up in the end', async () => {
    for (const watch of ['ping', 'idle']) {
      const { wire, clock, dialer, page } = await setUpOpen();
      if (watch === 'ping') wire.setPing(15_000, ping);
      else wire.setIdleTimeout(30_000);
      page.setVisible(false);
      for (let i = 0; i < 4; i++) await clock.sleep(60_000);
      expect(dialer.dials.length).toBeGreaterThan(1);
    }
  });

  it('a page that is seen again probes: pings, or 1 s for a streaming run', async () => {
    const first = await setUpOpen();
    first.wire.setIdleTimeout(300_000);
    first.page.setVisible(true);
    expect(await first.untilGivenUp()).toBe(1_000);
    const second = await setUpOpen();
    second.wire.setPing(60_000, ping);
    second.page.setOnline(true);
    expect(second.dialer.sent.length).toBe(1);
    expect(await second.untilGivenUp()).toBe(5_000);
    const third = await setUpOpen();
    third.page.setVisible(true);
    expect(await third.untilGivenUp()).toBe(Infinity);
  });

  it('a wall clock that is set back by a day delays little', async () => {
    for (const watch of ['ping', 'idle']) {
      const { wire, clock, untilGivenUp, dialer } = await setUpOpen();
      if (watch === 'ping') wire.setPing(15_000, ping);
      else wire.setIdleTimeout(30_000);
      await clock.advance(7_000);
      dialer.receive(1);
      clock.shiftWall(-86_400_000);
      expect(await untilGivenUp()).toBeLessThanOrEqual(watch === 'ping' ? 25_000 : 35_000);
    }
  });
});
