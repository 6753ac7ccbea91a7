import { once } from 'node:events';
import { verifyEvents } from '@ag-ui/client';
import { EventSchemas } from '@ag-ui/core/schemas';
import { from, lastValueFrom, type MonoTypeOperatorFunction } from 'rxjs';
import { afterEach, describe, expect, it } from 'vitest';
import { connectTo, isEnd, type Numbered } from './example-client.ts';
import { createExampleServer, type ExampleServer, type LoggedEvent } from './example-server.ts';

const cleanups: (() => unknown)[] = [];

afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

async function serve(options?: Parameters<typeof createExampleServer>[0]): Promise<ExampleServer> {
  const server = await createExampleServer({ pace: 200, plain: true, ...options });
  cleanups.push(() => server.close());
  return server;
}

async function connect(server: ExampleServer, origin?: string) {
  const client = await connectTo(server, origin);
  cleanups.push(client.close);
  return client;
}

const ask = (content: string, runId = 'a') => ({
  type: 'run',
  runId,
  input: { threadId: 't', messages: [{ id: 'm1', role: 'user', content }] },
});

/** An agent that says what it is told to, when it is told to. */
function createPuppet() {
  let told: string[] = [];
  let wake = () => {};
  let isDone = false;
  return {
    say(...words: string[]) {
      told.push(...words);
      wake();
    },
    end() {
      isDone = true;
      wake();
    },
    async *agent({ runId, signal }: { runId: string; signal: AbortSignal }) {
      signal.addEventListener('abort', () => wake());
      yield { type: 'TEXT_MESSAGE_START', messageId: `${runId}-m`, role: 'assistant' };
      while (!signal.aborted) {
        for (const delta of told) {
          yield { type: 'TEXT_MESSAGE_CONTENT', messageId: `${runId}-m`, delta };
        }
        told = [];
        if (isDone) break;
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      }
      yield { type: 'TEXT_MESSAGE_END', messageId: `${runId}-m` };
    },
  };
}

const says = (delta: string) => (frame: Numbered) => frame.event.delta === delta;

describe('the example server', () => {
  it('answers with the three-field message and nothing else, numbered without holes', async () => {
    const client = await connect(await serve());
    client.send(ask('What happens when I reload?'));
    await client.until(isEnd);
    expect(client.offsets()).toEqual(client.frames.map((_, index) => index));
    for (const frame of client.frames) {
      expect(Object.keys(frame)).toEqual(['runId', 'offset', 'event']);
      expect(frame.runId).toBe('a');
    }
  });

  it('lets the scripted agent speak legal AG-UI with text, reasoning, a tool call and a plan', async () => {
    const server = await serve();
    const client = await connect(server);
    client.send(ask('What happens when I reload?'));
    await client.until(isEnd);
    const log = server.log('a');
    for (const event of log) expect(EventSchemas.safeParse(event).error).toBeUndefined();
    // Two versions of rxjs are about, so the types of one do not fit the other.
    const verify = verifyEvents(false) as unknown as MonoTypeOperatorFunction<LoggedEvent>;
    await expect(lastValueFrom(from(log).pipe(verify))).resolves.toMatchObject({
      type: 'RUN_FINISHED',
    });
    const types = new Set(log.map((event) => event.type));
    for (const type of [
      'REASONING_MESSAGE_CONTENT',
      'TOOL_CALL_ARGS',
      'TOOL_CALL_RESULT',
      'STATE_SNAPSHOT',
      'STATE_DELTA',
      'TEXT_MESSAGE_CONTENT',
    ]) {
      expect(types).toContain(type);
    }
  });

  it('answers what was asked, and does not tell the same twice', async () => {
    const server = await serve();
    const client = await connect(server);
    const texts: string[] = [];
    const messages: object[] = [];
    for (const [runId, content] of [
      ['a', 'What happens when I reload the page?'],
      ['b', 'And when I reload it again?'],
    ] as const) {
      messages.push({ id: `q-${runId}`, role: 'user', content });
      client.send({ type: 'run', runId, input: { threadId: 't', messages } });
      await client.until((frame) => frame.runId === runId && isEnd(frame));
      const text = server
        .log(runId)
        .filter((event) => event.type === 'TEXT_MESSAGE_CONTENT')
        .map((event) => event.delta)
        .join('');
      expect(text).toContain(`“${content}”`);
      messages.push({ id: `a-${runId}`, role: 'assistant', content: text });
      texts.push(text);
    }
    expect(texts[0]).toContain('the middle of the sentence');
    expect(texts[1]).toContain('This is question 2');
    expect(texts[1]).not.toContain('This is the first');
    expect(texts[1]).not.toBe(texts[0]);
  });

  it('starts a run once, however often it is asked to', async () => {
    const server = await serve();
    const [first, second] = await Promise.all([connect(server), connect(server)]);
    first.send(ask('Hello'));
    first.send(ask('Hello'));
    second.send(ask('Hello'));
    await Promise.all([first.until(isEnd), second.until(isEnd)]);
    first.send(ask('Hello'));
    await first.until(isEnd);
    expect(server.starts('a')).toBe(1);
    expect(second.frames).toEqual(first.frames);
    expect(first.offsets()).toEqual(first.frames.map((_, index) => index));
  });

  it('goes on without a listener, and repeats what was missed before what is new', async () => {
    const puppet = createPuppet();
    const server = await serve({ agent: puppet.agent });
    const first = await connect(server);
    first.send(ask('Hello'));
    puppet.say('one');
    await first.until(says('one'));
    const after = first.offsets().at(-1);
    first.socket.terminate();
    await expect.poll(() => server.connections()).toBe(0);
    puppet.say('two');
    await expect.poll(() => server.log('a').at(-1)?.delta).toBe('two');
    const second = await connect(server);
    second.send({ type: 'resume', runId: 'a', after });
    puppet.say('three');
    puppet.end();
    await second.until(isEnd);
    expect(second.frames.map((frame) => frame.event.delta ?? frame.event.type)).toEqual([
      'two',
      'three',
      'TEXT_MESSAGE_END',
      'RUN_FINISHED',
    ]);
  });

  it('repeats from the start without `after`, and never feeds one socket twice', async () => {
    const puppet = createPuppet();
    const server = await serve({ agent: puppet.agent });
    const client = await connect(server);
    client.send(ask('Hello'));
    puppet.say('one');
    await client.until(says('one'));
    const seen = client.frames.length;
    client.send({ type: 'resume', runId: 'a' });
    client.send({ type: 'resume', runId: 'a', after: 'nonsense' });
    await expect.poll(() => client.frames.length).toBe(3 * seen);
    puppet.say('two');
    await client.until(says('two'));
    const first = client.offsets().slice(0, seen);
    expect(client.offsets()).toEqual([...first, ...first, ...first, seen]);
    expect(client.frames.filter(says('two'))).toHaveLength(1);
  });

  it('stops by `cancel` from any socket, and closes what was open', async () => {
    const puppet = createPuppet();
    const server = await serve({ agent: puppet.agent });
    const [asker, other] = await Promise.all([connect(server), connect(server)]);
    asker.send(ask('Hello'));
    puppet.say('one');
    await asker.until(says('one'));
    other.send({ type: 'cancel', runId: 'a' });
    other.send({ type: 'cancel', runId: 'a' });
    await asker.until(isEnd);
    puppet.say('never heard');
    expect(server.log('a').slice(-2)).toEqual([
      { type: 'TEXT_MESSAGE_END', messageId: 'a-m' },
      { type: 'RUN_FINISHED', threadId: 't', runId: 'a', outcome: { type: 'cancelled' } },
    ]);
  });

  it('never starts a run whose cancel came first', async () => {
    const server = await serve();
    const client = await connect(server);
    client.send({ type: 'cancel', runId: 'a' });
    client.send(ask('Hello'));
    await client.until(isEnd);
    expect(server.starts('a')).toBe(0);
    expect(client.frames.at(-1)?.event.outcome).toEqual({ type: 'cancelled' });
  });

  it('ends a run that it does not know, by an event without a place in its log', async () => {
    const client = await connect(await serve());
    client.send({ type: 'resume', runId: 'gone', after: 41 });
    await client.until(isEnd);
    expect(client.frames).toMatchObject([{ runId: 'gone', event: { type: 'RUN_ERROR' } }]);
    expect(client.frames[0]).not.toHaveProperty('offset');
  });

  it('survives every kind of nonsense, and answers none of it', async () => {
    const server = await serve();
    const client = await connect(server);
    for (const text of ['', 'nonsense', 'null', '[]', '1', '{"type":"run"}', '{"runId":"a"}']) {
      client.socket.send(text);
    }
    client.socket.send(Buffer.from([0xff, 0xfe]), { binary: true });
    client.send({ type: 'cancel', runId: 'y'.repeat(300) });
    client.send({ type: 'run', runId: 7, input: {} });
    client.send({ type: 'hello', runId: 'a', caps: [] });
    client.send(ask('Hello', '__proto__'));
    await client.until(isEnd);
    expect(client.frames.every((frame) => frame.runId === '__proto__')).toBe(true);
    expect(server.runIds()).toEqual(['__proto__']);
    client.send({
      type: 'run',
      runId: 'odd',
      input: { messages: [null, { role: 'user', content: [{}] }] },
    });
    await client.until((frame) => frame.runId === 'odd' && isEnd(frame));
    expect(client.frames.at(-1)?.event.type).toBe('RUN_FINISHED');
  });

  it('closes a socket that sends too much, with 1009, and serves the others', async () => {
    const server = await serve({ limits: { maxMessage: 10_000 } });
    const [loud, other] = await Promise.all([connect(server), connect(server)]);
    const closed = once(loud.socket, 'close');
    loud.socket.send('x'.repeat(20_000));
    expect((await closed)[0]).toBe(1009);
    other.send(ask('Hello'));
    await other.until(isEnd);
  });

  it('lets no page of another origin in', async () => {
    const server = await serve();
    for (const origin of ['https://elsewhere.example', 'null']) {
      const { socket } = await connect(server, origin);
      expect((await once(socket, 'close'))[0]).toBe(1008);
    }
    const local = await connect(server, 'http://localhost:5173');
    local.send(ask('Hello'));
    await local.until(isEnd);
  });

  it('turns an agent that throws into RUN_ERROR', async () => {
    const server = await serve({
      // biome-ignore lint/correctness/useYield: it fails before it says anything
      async *agent() {
        throw new Error('no luck');
      },
    });
    const client = await connect(server);
    client.send(ask('Hello'));
    await client.until(isEnd);
    expect(client.frames.at(-1)?.event).toEqual({ type: 'RUN_ERROR', message: 'no luck' });
  });

  it('refuses a start when as many runs as it may have are under way', async () => {
    const puppet = createPuppet();
    const server = await serve({ agent: puppet.agent, limits: { maxRuns: 2 } });
    const client = await connect(server);
    for (const runId of ['a', 'b', 'c', 'd']) client.send(ask('Hello', runId));
    await client.until((frame) => frame.runId === 'd');
    expect(client.frames.filter((frame) => frame.event.type === 'RUN_ERROR')).toHaveLength(2);
    expect(['a', 'b', 'c', 'd'].map((runId) => server.starts(runId))).toEqual([1, 1, 0, 0]);
    puppet.end();
  });

  it('feeds a slow reader the whole of a long log', async () => {
    const delta = 'x'.repeat(50_000);
    const server = await serve({
      async *agent() {
        yield { type: 'TEXT_MESSAGE_START', messageId: 'm', role: 'assistant' };
        for (let count = 0; count < 400; count++) {
          yield { type: 'TEXT_MESSAGE_CONTENT', messageId: 'm', delta };
        }
        yield { type: 'TEXT_MESSAGE_END', messageId: 'm' };
      },
    });
    const client = await connect(server);
    client.socket.pause();
    client.send(ask('Hello'));
    await expect.poll(() => server.log('a').at(-1)?.type).toBe('RUN_FINISHED');
    client.socket.resume();
    await client.until(isEnd);
    expect(client.offsets()).toEqual(server.log('a').map((_, index) => index));
  });
});
