import { describe, expect, it } from 'vitest';
import type { InspectRecord } from '../../src/client/types.ts';
import type { WirePeer } from '../../src/client/wire.ts';
import type { RunSocketError } from '../../src/internal/errors.ts';
import type { StandardSchema } from '../../src/internal/standard-schema.ts';
import { setUp } from './set-up.ts';

const isNumber: StandardSchema<number> = {
  '~standard': {
    version: 1,
    vendor: 'test',
    validate: (value) =>
      typeof value === 'number' ? { value: value * 2 } : { issues: [{ message: 'not a number' }] },
  },
};

function createPeer(own: Partial<WirePeer> = {}): WirePeer {
  return {
    open() {},
    close() {},
    unpack: (message) => (Array.isArray(message) ? message : undefined),
    control: (message) => (message as { type?: unknown } | null)?.type === 'hello',
    message() {},
    tooLarge() {},
    page() {},
    ...own,
  };
}

function listen(client: ReturnType<typeof setUp>['client']) {
  const seen: unknown[] = [];
  const errors: RunSocketError[] = [];
  client.on('message', (message) => seen.push(message));
  client.on('error', (error) => errors.push(error));
  return { seen, errors };
}

describe('send', () => {
  it('queues until open, then sends in order', async () => {
    const { client, dialer, open } = setUp();
    expect([client.send(1), client.send({ a: [2] }), client.send('3')]).toEqual([
      false,
      false,
      false,
    ]);
    await open();
    expect(client.send(null)).toBe(true);
    expect(dialer.sent).toEqual(['1', '{"a":[2]}', '"3"', 'null']);
  });

  it('keeps the order when something is sent while the queue is flushed', async () => {
    let isFirst = true;
    const { client, dialer, open } = setUp({
      inspect(record) {
        if (record.type !== 'frame' || !isFirst) return;
        isFirst = false;
        expect(client.send('late')).toBe(false);
      },
    });
    client.send('a');
    client.send('b');
    await open();
    expect(dialer.sent).toEqual(['"a"', '"b"', '"late"']);
  });

  it('takes a message as it was at the time of send()', async () => {
    const { client, dialer, open } = setUp();
    const message = { n: 1 };
    client.send(message);
    message.n = 2;
    await open();
    expect(dialer.sent).toEqual(['{"n":1}']);
  });

  it('throws queue-full past the limit and loses nothing', async () => {
    const { client, dialer, open } = setUp({ queueLimit: 2 });
    client.send(1);
    client.send(2);
    expect(() => client.send(3)).toThrow(expect.objectContaining({ code: 'queue-full' }));
    await open();
    expect(dialer.sent).toEqual(['1', '2']);
  });

  it('throws what serialize throws, before anything changes', () => {
    const circular: { self?: unknown } = {};
    circular.self = circular;
    const { client } = setUp();
    expect(() => client.send(circular)).toThrow(TypeError);
    expect(() => client.send(undefined)).toThrow(
      expect.objectContaining({ code: 'invalid-argument' }),
    );
    expect(client.getSnapshot().status).toBe('idle');
  });

  it('queues what a closing socket does not take', async () => {
    const { client, dialer, open, untilDial } = setUp();
    client.hold();
    await open();
    dialer.isClosing = true;
    expect(client.send('kept')).toBe(false);
    dialer.end(1001);
    await untilDial();
    dialer.open();
    expect(dialer.sent).toEqual(['"kept"']);
  });

  it('survives a new connection: both messages go out once, in order', async () => {
    let token = 0;
    const { client, dialer, open } = setUp({}, { url: () => `ws://x/${++token}` });
    client.send('run');
    client.send('cancel');
    client.reconnect();
    client.reconnect();
    await open();
    expect(dialer.sent).toEqual(['"run"', '"cancel"']);
    expect(dialer.dials.map(({ url }) => url)).toEqual(['ws://x/3']);
  });

  it('uses serialize', async () => {
    const { client, dialer, open } = setUp({
      serialize: (message) => new TextEncoder().encode(String(message)),
    });
    client.hold();
    await open();
    client.send('bytes');
    expect(dialer.sent).toEqual([new TextEncoder().encode('bytes')]);
  });
});

describe('the order after open', () => {
  it('is: state, the layer above, the queue, subscribers, listeners', async () => {
    const log: string[] = [];
    const { client, wire, open } = setUp({
      inspect: (record) => {
        if (record.type === 'frame') log.push(`frame ${record.data}`);
      },
      on: { open: ({ status }) => log.push(`listener ${status}`) },
    });
    wire.peer = createPeer({
      open(reason) {
        log.push(`peer ${reason} ${client.getSnapshot().status}`);
        wire.transmit('"resume"', 'resume');
      },
    });
    client.send('queued');
    client.subscribe(() => log.push(`subscriber ${client.getSnapshot().status}`));
    await open();
    expect(log).toEqual([
      'peer first open',
      'frame resume',
      'frame queued',
      'subscriber open',
      'listener open',
    ]);
  });

  it('stops where a step ends the connection', async () => {
    const { client, wire, dialer, open } = setUp({ on: { open: () => expect.fail() } });
    wire.peer = createPeer({ open: () => client.close() });
    client.send('kept');
    await open();
    expect([client.getSnapshot().status, dialer.sent]).toEqual(['closed', []]);
  });
});

describe('a frame', () => {
  it('may be text or UTF-8 bytes', async () => {
    const { client, dialer, open } = setUp();
    const { seen, errors } = listen(client);
    client.hold();
    await open();
    dialer.receive('{"a":"ü"}');
    dialer.receive(new TextEncoder().encode('{"b":"ü"}').buffer);
    expect([seen, errors]).toEqual([[{ a: 'ü' }, { b: 'ü' }], []]);
  });

  it.each([
    ['no JSON', '{"a":'],
    ['empty', ''],
    ['bytes that are no UTF-8', new Uint8Array([0x22, 0xff, 0xfe, 0x22]).buffer],
    ['empty bytes', new ArrayBuffer(0)],
  ])('that is %s is reported and dropped', async (_, data) => {
    const records: InspectRecord[] = [];
    const { client, dialer, open } = setUp({ inspect: (record) => records.push(record) });
    const { seen, errors } = listen(client);
    client.hold();
    await open();
    dialer.receive(data);
    dialer.receive('1');
    expect(seen).toEqual([1]);
    expect(errors).toMatchObject([{ code: 'bad-message' }]);
    expect(errors[0]?.cause).toBeInstanceOf(Error);
    expect(records.filter(({ type }) => type === 'drop')).toMatchObject([
      { reason: 'bad-message', data },
    ]);
    expect(client.getSnapshot().status).toBe('open');
  });

  it('of 32 MB is delivered whole', async () => {
    const { client, dialer, open } = setUp();
    const { seen } = listen(client);
    client.hold();
    await open();
    const text = 'x'.repeat(2 ** 25);
    dialer.receive({ text });
    expect((seen[0] as { text: string }).text.length).toBe(text.length);
  });

  it('with hostile names changes nothing but itself', async () => {
    const { client, dialer, open } = setUp();
    const { seen } = listen(client);
    client.hold();
    await open();
    dialer.receive('{"__proto__":{"polluted":1},"constructor":{"prototype":{"polluted":1}}}');
    expect(Object.keys(seen[0] as object)).toEqual(['__proto__', 'constructor']);
    expect(({} as { polluted?: unknown }).polluted).toBeUndefined();
  });

  it('goes through parse', async () => {
    const { client, dialer, open } = setUp({ parse: (data) => `parsed ${data}` });
    const { seen } = listen(client);
    client.hold();
    await open();
    dialer.receive('x');
    expect(seen).toEqual(['parsed x']);
  });
});

describe('schema', () => {
  it('turns messages into what it returns, and refuses what does not fit', async () => {
    const { client, dialer, open } = setUp({ schema: isNumber });
    const { seen, errors } = listen(client);
    client.hold();
    await open();
    dialer.receive(21);
    dialer.receive('"x"');
    expect(seen).toEqual([42]);
    expect(errors.map(({ code, message }) => [code, message])).toEqual([
      ['bad-message', 'Bad message: not a number'],
    ]);
    expect(errors[0]?.cause).toEqual({ message: 'not a number' });
  });

  it('refuses everything where it is asynchronous or throws', async () => {
    for (const validate of [
      async (value: unknown) => ({ value }),
      () => {
        throw new Error('mine');
      },
    ]) {
      const { client, dialer, open } = setUp({
        schema: { '~standard': { version: 1, vendor: 'test', validate } },
      });
      const { seen, errors } = listen(client);
      client.hold();
      await open();
      dialer.receive(1);
      expect([seen, errors.map(({ code }) => code)]).toEqual([[], ['bad-message']]);
    }
  });

  it('comes after controls and before the layer above', async () => {
    const log: unknown[] = [];
    const { client, wire, dialer, open } = setUp({ schema: isNumber });
    wire.peer = createPeer({ message: (...values) => log.push(values) });
    client.on('message', (message) => log.push(message));
    client.hold();
    await open();
    dialer.receive({ type: 'hello' });
    dialer.receive(1);
    dialer.receive([2, { type: 'hello' }, 'bad', 3]);
    expect(log).toEqual([2, [2, false], 4, [4, true], 6, [6, true]]);
  });
});

describe('a batch', () => {
  it('ends where a part closes the connection', async () => {
    const { client, wire, dialer, open } = setUp();
    const { seen } = listen(client);
    wire.peer = createPeer();
    client.on('message', (message) => {
      if (message === 2) client.close();
    });
    client.hold();
    await open();
    dialer.receive([1, 2, 3]);
    expect(seen).toEqual([1, 2]);
  });

  it('goes on behind a part that makes the layer above throw', async () => {
    const { client, wire, clock, dialer, open } = setUp();
    const { seen } = listen(client);
    wire.peer = createPeer({
      message(message) {
        if (message === 1) throw new Error('mine');
      },
    });
    client.hold();
    await open();
    dialer.receive([1, 2]);
    expect([seen, clock.reports]).toEqual([[1, 2], [new Error('mine')]]);
  });
});

describe('listeners', () => {
  it('that throw stop nobody, and are reported', async () => {
    const failure = new Error('mine');
    const fail = () => {
      throw failure;
    };
    const { client, clock, dialer, open } = setUp({
      on: { open: fail, message: fail, close: fail, error: fail },
      inspect: fail,
    });
    const { seen, errors } = listen(client);
    let states = 0;
    client.subscribe(fail);
    client.subscribe(() => states++);
    client.hold();
    await open();
    dialer.receive(1);
    dialer.receive('bad');
    dialer.end(1001);
    expect([seen, errors.length, states]).toEqual([[1], 1, 3]);
    expect(new Set(clock.reports)).toEqual(new Set([failure]));
    client.close();
    expect(clock.timers).toBe(0);
  });

  it('stop when told, once', async () => {
    const { client, dialer, open } = setUp();
    const seen: unknown[] = [];
    const listener = (message: unknown) => seen.push(message);
    const stop = client.on('message', listener);
    client.on('message', listener);
    client.hold();
    await open();
    dialer.receive(1);
    stop();
    stop();
    dialer.receive(2);
    expect(seen).toEqual([1, 1, 2]);
  });

  it('may be left undefined in the options', async () => {
    const { client, clock, dialer, open } = setUp({ on: { message: undefined } as never });
    client.hold();
    await open();
    dialer.receive(1);
    expect(clock.reports).toEqual([]);
  });
});

describe('close code 1009', () => {
  it('blames the largest frame since the last one received, once, and goes on', async () => {
    const { client, wire, dialer, open, untilDial } = setUp();
    const { errors } = listen(client);
    const blamed: string[] = [];
    wire.peer = createPeer({
      tooLarge: (owner, error) => blamed.push(`${owner} ${error.code}`),
    });
    client.hold();
    await open();
    client.send('x'.repeat(500));
    dialer.receive(1);
    wire.transmit('small', 0, 'small');
    wire.transmit('x'.repeat(100), 0, 'large');
    client.send('x'.repeat(50));
    dialer.end(1009);
    expect([blamed, errors]).toEqual([['large too-large'], []]);
    expect(client.getSnapshot().status).toBe('waiting');
    await untilDial();
    dialer.open();
    dialer.end(1009);
    expect([blamed.length, errors.length]).toEqual([1, 0]);
  });

  it('is an error event where nobody owns the frame', async () => {
    const { client, dialer, open } = setUp();
    const { errors } = listen(client);
    client.hold();
    await open();
    client.send('x'.repeat(50));
    dialer.end(1009, 'too big');
    expect(errors.map(({ code, message }) => [code, message])).toEqual([
      ['too-large', 'Too large.'],
    ]);
    expect(errors[0]?.cause).toMatchObject({ message: 'Connection failed: 1009 too big' });
  });
});

describe('inspect', () => {
  it('is told every state, frame and retry, with the time', async () => {
    const records: InspectRecord[] = [];
    const { client, clock, dialer, open } = setUp({ inspect: (record) => records.push(record) });
    client.send('out');
    await open();
    dialer.receive('"in"');
    dialer.end(1001, 'bye');
    client.close();
    const at = clock.now();
    const { retryAt = 0 } =
      records.flatMap((record) => (record.type === 'state' ? record.state : []))[2] ?? {};
    expect(records).toMatchObject([
      { at, type: 'state', state: { status: 'connecting', attempt: 0 } },
      { at, type: 'state', state: { status: 'open', attempt: 0 } },
      { at, type: 'frame', direction: 'out', data: 'out' },
      { at, type: 'frame', direction: 'in', data: 'in' },
      { at, type: 'state', state: { status: 'waiting', attempt: 1, error: { code: 'closed' } } },
      { at, type: 'retry', attempt: 1, delay: retryAt - at },
      { at, type: 'state', state: { status: 'closed', error: { code: 'closed' } } },
    ]);
  });
});
