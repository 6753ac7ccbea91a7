import { describe, expect, it } from 'vitest';
import { applyAgUiEvent } from '../../src/ag-ui/apply-event.ts';
import { createRunInput } from '../../src/ag-ui/input.ts';
import { type AgUiThread, emptyThread } from '../../src/ag-ui/thread.ts';
import { generateRuns } from '../helpers/ag-ui-runs.ts';
import { deepFreeze } from '../helpers/deep-freeze.ts';
import { createRandom } from '../helpers/random.ts';

const types = [
  ...['START', 'CONTENT', 'END', 'CHUNK'].flatMap((phase) => [
    `TEXT_MESSAGE_${phase}`,
    `REASONING_MESSAGE_${phase}`,
    `THINKING_TEXT_MESSAGE_${phase}`,
  ]),
  ...['START', 'ARGS', 'END', 'CHUNK', 'RESULT'].map((phase) => `TOOL_CALL_${phase}`),
  ...['STARTED', 'FINISHED', 'ERROR'].flatMap((phase) => [`RUN_${phase}`, `SUBAGENT_${phase}`]),
  'STEP_STARTED',
  'STEP_FINISHED',
  'STATE_SNAPSHOT',
  'STATE_DELTA',
  'MESSAGES_SNAPSHOT',
  'ACTIVITY_SNAPSHOT',
  'ACTIVITY_DELTA',
  'REASONING_START',
  'REASONING_END',
  'REASONING_ENCRYPTED_VALUE',
  'THINKING_START',
  'CUSTOM',
  'RAW',
  'toString',
  '__proto__',
];

const fields = [
  'messageId',
  'toolCallId',
  'toolCallName',
  'parentMessageId',
  'subagentRunId',
  'parentSubagentRunId',
  'parentToolCallId',
  'role',
  'name',
  'delta',
  'content',
  'snapshot',
  'patch',
  'messages',
  'metadata',
  'activityType',
  'replace',
  'threadId',
  'runId',
  'parentRunId',
  'input',
  'result',
  'outcome',
  'usage',
  'message',
  'code',
  'stepName',
  'subtype',
  'entityId',
  'encryptedValue',
];

const names = ['a', 'b', '__proto__', 'constructor', 'toString', 'a~reasoning', ''];

/** Whatever JSON can hold, ids that are known and awkward keys above all. */
function createJunk(random: () => number): (depth?: number) => unknown {
  const below = (limit: number) => Math.floor(random() * limit);
  const pick = <T>(list: readonly T[]): T => list[below(list.length)] as T;
  const junk = (depth = 3): unknown => {
    const kind = below(depth > 0 ? 12 : 6);
    if (kind < 3) return pick(names);
    if (kind === 3) return pick([null, true, false, 0, -1, 1e21]);
    if (kind === 4)
      return pick(['assistant', 'user', 'tool', 'activity', 'reasoning', 'tool-call']);
    if (kind === 5) return pick([undefined, 'success', 'interrupt', 'cancelled', 'suspended']);
    if (kind < 8) return Array.from({ length: below(4) }, () => junk(depth - 1));
    if (kind === 8) {
      return {
        op: pick(['add', 'remove', 'test', 'copy', 'x']),
        path: `/${pick(names)}`,
        value: 1,
      };
    }
    if (kind === 9) {
      return {
        id: junk(0),
        role: junk(0),
        content: junk(depth - 1),
        toolCalls: junk(depth - 1),
        toolCallId: junk(0),
      };
    }
    const object = {};
    for (let i = below(4); i > 0; i--) {
      const key = pick([
        ...names,
        'id',
        'type',
        'messages',
        'interrupts',
        'resume',
        'pendingToolCallIds',
        '@ag-ui/client',
        'authoritativeActivityTypes',
        'function',
        'valueOf',
      ]);
      Object.defineProperty(object, key, {
        value: junk(depth - 1),
        enumerable: true,
        configurable: true,
        writable: true,
      });
    }
    return object;
  };
  return junk;
}

/** What a thread promises to whoever renders it. */
function checkThread(thread: AgUiThread<unknown>): void {
  expect(['idle', 'running', 'finished', 'error', 'aborted']).toContain(thread.status);
  expect(typeof thread.stale).toBe('boolean');
  for (const message of thread.messages) expect(typeof message.id).toBe('string');
  for (const key of ['step', 'runId', 'parentRunId'] as const) {
    if (key in thread) expect(typeof thread[key]).toBe('string');
  }
  if (thread.error) expect(typeof thread.error.message).toBe('string');
  for (const list of [
    thread.interrupts,
    thread.subagents,
    thread.usage,
    thread.pendingToolCallIds,
  ]) {
    if (list) expect(list.length).toBeGreaterThan(0);
  }
  for (const [key, value] of Object.entries(thread)) {
    if (key !== 'state') expect(value).toBeDefined();
  }
  if (thread.open) {
    expect(Object.keys(thread.open)).not.toHaveLength(0);
    expect(JSON.parse(JSON.stringify(thread.open))).toEqual(thread.open);
  }
}

describe('applyAgUiEvent on junk', () => {
  it('never throws, never writes to its arguments, and keeps the shape of the thread', () => {
    const prototype = JSON.stringify(Object.getOwnPropertyNames(Object.prototype));
    let changes = 0;
    for (let seed = 1; seed <= 300; seed++) {
      const random = createRandom(seed);
      const junk = createJunk(random);
      let thread: AgUiThread<unknown> = deepFreeze(emptyThread({ state: junk() }));
      for (let i = 0; i < 100; i++) {
        const event: Record<string, unknown> = {};
        for (const field of fields) if (random() < 0.5) event[field] = junk();
        event.type = types[Math.floor(random() * types.length)];
        const next = deepFreeze(applyAgUiEvent(thread, deepFreeze(event) as { type: string }));
        if (next !== thread) changes++;
        thread = next;
      }
      checkThread(thread);
      createRunInput(thread, { threadId: 't', runId: 'r' });
    }
    expect(changes).toBeGreaterThan(5_000);
    expect(JSON.stringify(Object.getOwnPropertyNames(Object.prototype))).toBe(prototype);
    expect({}).not.toHaveProperty('op');
  });

  it.each([null, undefined, 7, 'RUN_STARTED', [], {}, { type: 7 }, { type: null }, { type: {} }])(
    'returns the same thread for the event %j',
    (event) => {
      const thread = emptyThread();
      expect(applyAgUiEvent(thread, event as never)).toBe(thread);
    },
  );

  it('takes cyclic, deep and large values', () => {
    const cyclic: Record<string, unknown> = { id: 'c', role: 'user' };
    cyclic.self = cyclic;
    cyclic.again = [cyclic, cyclic];
    const twin: Record<string, unknown> = { id: 'c', role: 'user' };
    twin.self = twin;
    twin.again = [twin, twin];
    let deep: unknown = 1;
    let deepTwin: unknown = 1;
    for (let i = 0; i < 50_000; i++) {
      deep = [deep];
      deepTwin = [deepTwin];
    }
    const wide = Object.fromEntries(Array.from({ length: 50_000 }, (_, i) => [`k${i}`, i]));
    let thread: AgUiThread<unknown> = emptyThread();
    for (const messages of [
      [cyclic, { id: 'd', role: 'user', content: deep }, { id: 'w', role: 'user', metadata: wide }],
      [twin, { id: 'd', role: 'user', content: deepTwin }, { id: 'w', metadata: { ...wide } }],
    ]) {
      thread = applyAgUiEvent(thread, { type: 'MESSAGES_SNAPSHOT', messages } as { type: string });
    }
    for (const event of [
      { type: 'STATE_SNAPSHOT', snapshot: cyclic },
      { type: 'STATE_DELTA', delta: [{ op: 'test', path: '/self/self/id', value: 'c' }] },
      { type: 'RUN_FINISHED', outcome: cyclic, result: deep, usage: [cyclic] },
      { type: 'ACTIVITY_SNAPSHOT', messageId: 'a', activityType: 'p', content: cyclic },
      { type: 'TEXT_MESSAGE_START', messageId: 'm', metadata: cyclic },
      { type: 'TEXT_MESSAGE_CONTENT', messageId: 'm', delta: 'x'.repeat(5_000_000) },
    ]) {
      thread = applyAgUiEvent(thread, event);
    }
    expect(thread.messages.map(({ id }) => id)).toEqual(['c', 'd', 'w', 'a', 'm']);
    expect(thread.state).toBe(cyclic);
  });

  it('keeps ids such as __proto__ apart from what every object has', () => {
    const ids = ['__proto__', 'constructor', 'toString', 'hasOwnProperty'];
    let thread: AgUiThread<unknown> = emptyThread();
    for (const id of ids) {
      for (const event of [
        { type: 'TEXT_MESSAGE_CHUNK', messageId: id, delta: id, subagentRunId: id },
        { type: 'TEXT_MESSAGE_CHUNK', delta: '!', subagentRunId: id },
        { type: 'TOOL_CALL_START', toolCallId: `${id}`, toolCallName: id, parentMessageId: id },
        { type: 'STEP_STARTED', stepName: id },
        { type: 'SUBAGENT_STARTED', subagentRunId: id, name: id },
        JSON.parse(`{"type":"TEXT_MESSAGE_END","messageId":"${id}","metadata":{"${id}":{"x":1}}}`),
      ]) {
        thread = applyAgUiEvent(thread, event);
      }
    }
    expect(thread.messages.map(({ id, content }) => [id, content])).toEqual(
      ids.map((id) => [id, `${id}!`]),
    );
    expect(thread.messages.map(({ metadata }) => Object.keys(metadata ?? {}))).toEqual(
      ids.map((id) => [id]),
    );
    expect(thread.open?.steps).toEqual(ids);
    expect(thread.subagents?.map(({ id }) => id)).toEqual(ids);
    expect({}).not.toHaveProperty('x');
  });
});

describe('applyAgUiEvent on a legal stream', () => {
  it('goes on with a thread that was spread by a wrapped reducer, or stored and read again', () => {
    for (let seed = 1; seed <= 60; seed++) {
      const { events, messages, state } = generateRuns(seed);
      let plain: AgUiThread<unknown> = emptyThread({ messages, state });
      let spread = plain;
      let stored = plain;
      for (const event of events) {
        plain = applyAgUiEvent(plain, event);
        const wrapped = applyAgUiEvent(spread, event);
        spread = { ...wrapped, state: wrapped.state };
        stored = JSON.parse(JSON.stringify(applyAgUiEvent(stored, event)));
      }
      expect(spread).toEqual(plain);
      expect(stored).toEqual(JSON.parse(JSON.stringify(plain)));
    }
  });

  it('folds in any batches, from any point, to the same thread', () => {
    for (let seed = 1; seed <= 40; seed++) {
      const { events, messages, state } = generateRuns(seed);
      const start: AgUiThread<unknown> = emptyThread({ messages, state });
      const whole = events.reduce<AgUiThread<unknown>>(applyAgUiEvent, start);
      expect(events.reduce<AgUiThread<unknown>>(applyAgUiEvent, start)).toEqual(whole);
      const cut = Math.floor(events.length / 2);
      const half = events.slice(0, cut).reduce<AgUiThread<unknown>>(applyAgUiEvent, start);
      const before = JSON.stringify(half);
      expect(events.slice(cut).reduce<AgUiThread<unknown>>(applyAgUiEvent, half)).toEqual(whole);
      expect(JSON.stringify(half)).toBe(before);
    }
  });
});
