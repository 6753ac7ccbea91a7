import { describe, expect, it } from 'vitest';
import { validateAgUiEvents } from '../../src/ag-ui/validate-ag-ui-events.ts';
import type { AgentOutput, RunServerOptions } from '../../src/server/types.ts';
import { until } from '../helpers/until.ts';
import { createVirtualClock } from '../helpers/virtual-clock.ts';
import {
  ask,
  createPuppet,
  dial,
  type Message,
  says,
  serve,
  serveHere,
  typesOf,
} from './set-up.ts';

type Run = RunServerOptions['run'];

/** The events and the end of one run of an agent. */
async function play(run: Run, options: Partial<RunServerOptions> = {}, plain = false) {
  const errors: unknown[] = [];
  const { url } = await serve({ run, plain, onError: (error) => errors.push(error), ...options });
  const line = await dial(url);
  line.send(ask());
  if (plain) await line.ended();
  else await line.until((one) => one.type === 'run.end');
  const events = line.events().map(({ event }) => event as Message);
  const end = line.controls('run.end')[0];
  return { line, events, errors, end, types: events.map(({ type }) => type) };
}

async function* generate(...events: unknown[]): AsyncIterable<AgentOutput> {
  yield* events as AgentOutput[];
}

const text = { type: 'TEXT_MESSAGE_START', messageId: 'm' };

describe('an agent', () => {
  it('that yields nothing gives an empty run', async () => {
    const { types, end } = await play(() => generate());
    expect(types).toEqual(['RUN_STARTED', 'RUN_FINISHED']);
    expect(end).toMatchObject({ status: 'finished', offset: 1 });
  });

  it('may say the start and the end itself, with or without ids', async () => {
    const { events } = await play(() =>
      generate(
        { type: 'RUN_STARTED', parentRunId: 'p' },
        { type: 'RUN_FINISHED', result: 42, outcome: { type: 'success' } },
      ),
    );
    expect(events).toEqual([
      { type: 'RUN_STARTED', threadId: 'thread of a', runId: 'a', parentRunId: 'p' },
      {
        type: 'RUN_FINISHED',
        threadId: 'thread of a',
        runId: 'a',
        result: 42,
        outcome: { type: 'success' },
      },
    ]);
  });

  it('may finish and begin several times in one run', async () => {
    const end = { type: 'RUN_FINISHED' };
    const twice = await play(() => generate(end, { type: 'RUN_STARTED', runId: 'a2' }, text, end));
    expect(twice.types).toEqual([
      'RUN_STARTED',
      'RUN_FINISHED',
      'RUN_STARTED',
      'TEXT_MESSAGE_START',
      'TEXT_MESSAGE_END',
      'RUN_FINISHED',
    ]);
    // A second start without an end gets one.
    const open = await play(() => generate(end, { type: 'RUN_STARTED' }));
    expect(open.types.at(-1)).toBe('RUN_FINISHED');
    expect(open.types).toHaveLength(4);
  });

  it('that says RUN_ERROR has failed, and nothing is added', async () => {
    const { types, end } = await play(() => generate(text, { type: 'RUN_ERROR', message: 'no' }));
    expect(types).toEqual(['RUN_STARTED', 'TEXT_MESSAGE_START', 'RUN_ERROR']);
    expect(end).toMatchObject({ status: 'error' });
  });

  it('that asks a question has finished', async () => {
    const outcome = { type: 'interrupt', interrupts: [{ id: 'i', reason: 'r' }] };
    const { end, events } = await play(() => generate({ type: 'RUN_FINISHED', outcome }));
    expect(end).toMatchObject({ status: 'finished' });
    expect(events.at(-1)?.outcome).toEqual(outcome);
  });

  it('leaves nothing open, in the order in which it was begun', async () => {
    const { events } = await play(() =>
      generate(
        { type: 'STEP_STARTED', stepName: '__proto__' },
        { type: 'REASONING_START', messageId: 'r' },
        { type: 'REASONING_MESSAGE_START', messageId: 'r', role: 'reasoning' },
        { type: 'SUBAGENT_STARTED', subagentRunId: 's', name: 'helper' },
        { type: 'STEP_STARTED', stepName: 'inner', subagentRunId: 's' },
        { type: 'TEXT_MESSAGE_START', messageId: 'm', subagentRunId: 's' },
        { type: 'TOOL_CALL_START', toolCallId: 'c', toolCallName: 't' },
        { type: 'TEXT_MESSAGE_START', messageId: 'closed' },
        { type: 'TEXT_MESSAGE_END', messageId: 'closed' },
      ),
    );
    expect(events.slice(10)).toEqual([
      { type: 'TOOL_CALL_END', toolCallId: 'c' },
      { type: 'TEXT_MESSAGE_END', messageId: 'm', subagentRunId: 's' },
      { type: 'STEP_FINISHED', stepName: 'inner', subagentRunId: 's' },
      { type: 'SUBAGENT_FINISHED', subagentRunId: 's' },
      { type: 'REASONING_MESSAGE_END', messageId: 'r' },
      { type: 'REASONING_END', messageId: 'r' },
      { type: 'STEP_FINISHED', stepName: '__proto__' },
      { type: 'RUN_FINISHED', threadId: 'thread of a', runId: 'a' },
    ]);
    expect(validateAgUiEvents(events)).toEqual([]);
  });

  it('that says the end itself leaves nothing open either', async () => {
    const { types } = await play(() =>
      generate(
        text,
        { type: 'TOOL_CALL_START', toolCallId: 'c', toolCallName: 't' },
        { type: 'RUN_FINISHED' },
      ),
    );
    expect(types.slice(3)).toEqual(['TOOL_CALL_END', 'TEXT_MESSAGE_END', 'RUN_FINISHED']);
  });

  it('that throws gives RUN_ERROR with what it threw, and whoever looks after the server is told', async () => {
    const error = Object.assign(new Error('no luck'), { code: 'E_LUCK' });
    const { events, errors, end } = await play(async function* () {
      yield text as AgentOutput;
      throw error;
    });
    expect(events.at(-1)).toEqual({ type: 'RUN_ERROR', message: 'no luck', code: 'E_LUCK' });
    expect([errors, end?.status]).toEqual([[error], 'error']);
  });

  it.each([
    ['a text', 'broken', 'broken'],
    ['nothing', undefined, 'undefined'],
    ['an object', { message: 7 }, '[object Object]'],
  ])('that throws %s gives RUN_ERROR, too', async (_, thrown, message) => {
    const { events } = await play(() => {
      throw thrown;
    });
    expect(events.at(-1)).toEqual({ type: 'RUN_ERROR', message });
  });

  it('that throws is told of in the words of `describeError`, even if that throws', async () => {
    const fail = () => {
      throw new Error('secret');
    };
    const calm = await play(fail, { describeError: () => ({ message: 'Sorry.', code: 'sorry' }) });
    expect(calm.events.at(-1)).toEqual({ type: 'RUN_ERROR', message: 'Sorry.', code: 'sorry' });
    const worse = await play(fail, { describeError: fail });
    expect(worse.events.at(-1)).toEqual({ type: 'RUN_ERROR', message: 'The agent failed.' });
  });

  const cyclic: Record<string, unknown> = { type: 'CUSTOM' };
  cyclic.self = cyclic;
  it.each([
    ['a text', 'hello'],
    ['null', null],
    ['a list', [text]],
    ['nothing', undefined],
    ['what has a cycle', cyclic],
    ['what JSON cannot say', { type: 'CUSTOM', value: 1n }],
    ['what becomes no object', { type: 'CUSTOM', toJSON: () => 'x' }],
    ['what becomes nothing', { type: 'CUSTOM', toJSON: () => undefined }],
  ])('that yields %s gives RUN_ERROR', async (_, value) => {
    const { types, end, errors } = await play(() => generate(text, value, text));
    expect(types).toEqual(['RUN_STARTED', 'TEXT_MESSAGE_START', 'RUN_ERROR']);
    expect([end?.status, errors.length]).toEqual(['error', 1]);
  });

  it.each([
    ['undefined', undefined],
    ['a list', []],
    [
      'an iterable that throws',
      { [Symbol.asyncIterator]: () => ({ next: () => Promise.reject(new Error('x')) }) },
    ],
  ])('that gives %s instead of events gives RUN_ERROR', async (_, value) => {
    const { types } = await play((() => value) as never);
    expect(types).toEqual(['RUN_STARTED', 'RUN_ERROR']);
  });

  it('may change an event after it was yielded', async () => {
    const { events } = await play(async function* () {
      const event = { type: 'CUSTOM', name: 'n', value: 1 };
      for (; event.value < 5; event.value++) yield event as AgentOutput;
    });
    expect(events.slice(1, 5).map(({ value }) => value)).toEqual([1, 2, 3, 4]);
  });

  it('has a limit of events', async () => {
    let left = false;
    const { types, end } = await play(
      async function* () {
        try {
          for (;;) yield { type: 'CUSTOM', name: 'n', value: 1 } as AgentOutput;
        } finally {
          left = true;
        }
      },
      { limits: { maxEvents: 500 } },
    );
    expect([types.length, types.at(-1), end?.status]).toEqual([501, 'RUN_ERROR', 'error']);
    await until(() => left);
  });

  it('that never waits lets everybody else work', async () => {
    const { url, server } = await serve({
      async *run({ runId, signal }) {
        while (runId === 'busy' && !signal.aborted) {
          yield { type: 'CUSTOM', name: 'n', value: 1 };
        }
      },
    });
    const line = await dial(url);
    line.send(ask('busy'));
    await line.until((one) => one.runId === 'busy' && Number(one.offset) > 1_000);
    const other = await dial(url);
    other.send(ask());
    await other.until((one) => one.type === 'run.end');
    // Not only once the log had no more room for the busy one.
    await until(() => server.getSnapshot().running < 2);
    expect(server.getSnapshot().running).toBe(1);
    line.send({ type: 'cancel', runId: 'busy' });
    await line.until((one) => one.type === 'run.end');
    expect(server.getSnapshot().running).toBe(0);
  });

  it('without room for its events ends with RUN_ERROR', async () => {
    const { url } = await serve({
      limits: { maxBytes: 20_000 },
      async *run() {
        for (;;) {
          yield { type: 'CUSTOM', name: 'n', value: 'x'.repeat(1_000) };
          await new Promise((resolve) => setTimeout(resolve));
        }
      },
    });
    const line = await dial(url);
    line.send(ask());
    expect(await line.until((one) => one.type === 'run.end')).toMatchObject({ status: 'error' });
    expect(line.events().at(-1)?.event).toMatchObject({ type: 'RUN_ERROR', code: 'too-large' });
    expect(line.offsets()).toEqual(line.offsets().map((_, index) => index));
  });
});

describe('a cancelled agent', () => {
  it('may still say its last words', async () => {
    const { url } = await serve({
      async *run({ signal }) {
        yield { type: 'TEXT_MESSAGE_START', messageId: 'm' };
        await new Promise((resolve) => signal.addEventListener('abort', resolve));
        yield { type: 'TEXT_MESSAGE_CONTENT', messageId: 'm', delta: 'bye' };
        yield { type: 'TEXT_MESSAGE_END', messageId: 'm' };
        yield { type: 'RUN_FINISHED', outcome: { type: 'cancelled' }, result: 'saved' };
      },
    });
    const line = await dial(url);
    line.send(ask());
    await line.until(({ offset }) => offset === 1);
    line.send({ type: 'cancel', runId: 'a' });
    expect(await line.until((one) => one.type === 'run.end')).toMatchObject({
      status: 'cancelled',
    });
    expect(line.events().at(-1)?.event).toMatchObject({ result: 'saved' });
    expect(typesOf(line)).toHaveLength(5);
  });

  it('that throws is cancelled, not failed', async () => {
    const { url } = await serve({
      async *run({ signal }) {
        await new Promise((_, reject) =>
          signal.addEventListener('abort', () => reject(signal.reason)),
        );
      },
    });
    const line = await dial(url);
    line.send(ask(), { type: 'cancel', runId: 'a' });
    expect(await line.until((one) => one.type === 'run.end')).toMatchObject({
      status: 'cancelled',
    });
    expect(typesOf(line)).toEqual(['RUN_STARTED', 'RUN_FINISHED']);
  });

  it('that does not listen is left after a second, and heard no more', async () => {
    const clock = createVirtualClock();
    const puppet = createPuppet(false);
    const { server, dial: dialHere, close } = serveHere({ run: puppet.run }, clock);
    const line = dialHere();
    line.send(ask());
    await clock.flush();
    line.send({ type: 'cancel', runId: 'a' });
    await clock.advance(500);
    puppet.say('a', 'in time');
    await clock.advance(499);
    expect(line.controls('run.end')).toEqual([]);
    await clock.advance(1);
    expect(line.controls('run.end')).toMatchObject([{ status: 'cancelled' }]);
    puppet.say('a', 'never heard');
    puppet.yield('a', 'garbage');
    await clock.advance(10_000);
    expect(line.events().filter(says('in time'))).toHaveLength(1);
    expect(line.events().filter(says('never heard'))).toEqual([]);
    expect(server.getSnapshot().running).toBe(0);
    await close();
    expect(clock.timers).toBe(0);
  });

  it('that finishes all the same has finished', async () => {
    const { url } = await serve({
      async *run({ signal }) {
        await new Promise((resolve) => signal.addEventListener('abort', resolve));
        yield { type: 'RUN_FINISHED', result: 1 };
      },
    });
    const line = await dial(url);
    line.send(ask(), { type: 'cancel', runId: 'a' });
    expect(await line.until((one) => one.type === 'run.end')).toMatchObject({ status: 'finished' });
  });
});

describe('a silent agent', () => {
  it('is told to have started after a second, and once', async () => {
    const clock = createVirtualClock();
    let speak = () => {};
    const { dial: dialHere, close } = serveHere(
      {
        async *run() {
          await new Promise<void>((resolve) => {
            speak = resolve;
          });
          yield { type: 'RUN_STARTED' };
          yield { type: 'TEXT_MESSAGE_START', messageId: 'm' };
        },
      },
      clock,
    );
    const line = dialHere();
    line.send(ask());
    await clock.advance(999);
    expect(typesOf(line)).toEqual([]);
    await clock.advance(1);
    expect(typesOf(line)).toEqual(['RUN_STARTED']);
    speak();
    await clock.flush();
    expect(typesOf(line)).toEqual([
      'RUN_STARTED',
      'TEXT_MESSAGE_START',
      'TEXT_MESSAGE_END',
      'RUN_FINISHED',
    ]);
    await close();
  });
});

it('sends what an agent yields in one go in few frames, and each event that stands alone at once', async () => {
  const puppet = createPuppet();
  const { url } = await serve({ run: puppet.run });
  const line = await dial(url);
  line.send({ type: 'hello', caps: ['batch'] }, ask());
  await line.until(({ offset }) => offset === 1);
  const before = line.frames.length;
  puppet.say('a', ...Array.from({ length: 250 }, (_, n) => `${n}`));
  await line.until(says('249'));
  expect(line.frames.length - before).toBeLessThanOrEqual(5);
  puppet.say('a', 'alone');
  await line.until(says('alone'));
  expect(line.frames.at(-1)).toBe(
    '{"runId":"a","offset":252,"event":{"type":"TEXT_MESSAGE_CONTENT","messageId":"a-m","delta":"alone"}}',
  );
});
