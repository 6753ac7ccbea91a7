import { describe, expect, it } from 'vitest';
import { createAgentEventFactory } from '../../src/agent-provider/event-factory.ts';
import type { AgentEvent, AgentEventPayloadMap } from '../../src/agent-provider/event-types.ts';
import { reduceAgentState, replayAgentEvents } from '../../src/agent-provider/reducer.ts';
import { createInitialAgentState, getAgentEntityKey } from '../../src/agent-provider/state-node.ts';
import type { AgentState } from '../../src/agent-provider/state-types.ts';
import { isRunSocketError } from '../../src/internal/errors.ts';

type Line = {
  [Type in keyof AgentEventPayloadMap]: readonly [Type, AgentEventPayloadMap[Type]?, object?];
}[keyof AgentEventPayloadMap];

const error = { message: 'broken', retryable: true };

/** Events of run r in session s, at 0, 1, 2 …, after the run's start. */
function play(...lines: Line[]): AgentState {
  let time = 0;
  const events = createAgentEventFactory({ sessionId: 's', runId: 'r', now: () => time++ });
  const all: Line[] = [['run.started'], ...lines];
  return replayAgentEvents(
    all.map(
      ([type, payload = {}, options]) =>
        events.create(type, payload as never, options) as AgentEvent,
    ),
  );
}

const codes = (state: AgentState) => state.issues.map((issue) => issue.code);
const only = <Item>(record: Readonly<Record<string, Item>>) => Object.values(record)[0]!;

const m = { messageId: 'm' };
const x = { reasoningId: 'x' };
const t = { toolCallId: 't' };
const a = { approvalId: 'a' };
const k = { taskId: 'k' };
const f = { artifactId: 'f' };

describe('a run', () => {
  it('opens running, with its input', () => {
    const state = play();
    expect(state.runs).toEqual({
      r: { id: 'r', sessionId: 's', status: 'running', createdAt: 0, updatedAt: 0 },
    });
    const events = createAgentEventFactory({ sessionId: 's', runId: 'r', now: () => 3 });
    const withInput = replayAgentEvents([events.create('run.started', { input: null })]);
    expect(only(withInput.runs).input).toBe(null);
    expect(state.sessions).toEqual({});
    expect(state.lastSequenceByRun).toEqual({ r: 0 });
  });

  it.each([
    [
      ['run.completed', { output: 1, usage: { tokens: 2 } }],
      { status: 'completed', output: 1, usage: { tokens: 2 } },
    ],
    [['run.failed', { error }], { status: 'failed', error }],
    [['run.cancelled', { reason: 'no' }], { status: 'cancelled', reason: 'no' }],
  ] as const)('ends by %j and leaves its children alone', (end, expected) => {
    const state = play(['message.started', { ...m, role: 'user' }], end);
    expect(state.runs.r).toMatchObject({ ...expected, createdAt: 0, updatedAt: 2 });
    expect(only(state.messages)).toMatchObject({ status: 'streaming', updatedAt: 1 });
    expect(state.issues).toEqual([]);
  });

  it('is known by its id alone, of whatever session', () => {
    const other = createAgentEventFactory({ sessionId: 'other', runId: 'r', initialSequence: 9 });
    const state = play();
    for (const event of [
      other.create('run.started', {}),
      other.create('message.started', { ...m, role: 'user' }),
      other.create('run.completed', {}),
    ]) {
      expect(codes(reduceAgentState(state, event))).toEqual(['invalid_transition']);
    }
    const started = reduceAgentState(state, other.create('session.started', { title: 'T' }));
    expect(started.issues).toEqual([]);
    expect(started.sessions.other).toMatchObject({ id: 'other', title: 'T' });
  });
});

describe('a session', () => {
  it('needs no run, and moves the sequence of the run it is told in', () => {
    const events = createAgentEventFactory({ sessionId: 's', runId: 'r', now: () => 4 });
    const state = replayAgentEvents([events.create('session.started', { title: '' })]);
    expect(state.sessions).toEqual({ s: { id: 's', title: '', createdAt: 4 } });
    expect(state).toMatchObject({ runs: {}, lastSequenceByRun: { r: 0 }, issues: [] });
  });

  it('starts once', () => {
    expect(codes(play(['session.started'], ['session.started']))).toEqual(['duplicate_entity']);
  });

  it('may start after its run has ended', () => {
    expect(codes(play(['run.completed'], ['session.started']))).toEqual([]);
  });
});

describe('a message', () => {
  it('opens streaming, with what its opener says of it', () => {
    const state = play([
      'message.started',
      { ...m, role: 'user' },
      { parentId: 'p', meta: { by: 'me' } },
    ]);
    expect(state.messages).toEqual({
      [getAgentEntityKey('r', 'm')]: {
        id: 'm',
        runId: 'r',
        parentId: 'p',
        meta: { by: 'me' },
        role: 'user',
        content: '',
        status: 'streaming',
        createdAt: 1,
        updatedAt: 1,
      },
    });
    expect(state.order).toEqual([{ kind: 'message', id: 'm', runId: 'r' }]);
  });

  it('joins text to text', () => {
    const state = play(
      ['message.started', { ...m, role: 'user', content: 'a' }],
      ['message.delta', { ...m, delta: 'b' }, { parentId: 'late', meta: { late: 1 } }],
      ['message.delta', { ...m, delta: 'c' }],
      ['message.completed', m],
    );
    expect(only(state.messages)).toEqual({
      id: 'm',
      runId: 'r',
      role: 'user',
      content: 'abc',
      status: 'completed',
      createdAt: 1,
      updatedAt: 4,
    });
  });

  it('joins everything else as parts', () => {
    const image = { type: 'image', url: 'u' } as const;
    const content = (first: string | [], ...deltas: (string | [typeof image])[]) =>
      only(
        play(
          ['message.started', { ...m, role: 'user', content: first }],
          ...deltas.map((delta): Line => ['message.delta', { ...m, delta }]),
        ).messages,
      ).content;
    expect(content('a', [image])).toEqual([{ type: 'text', text: 'a' }, image]);
    expect(content([], 'a', [image], 'b')).toEqual([
      { type: 'text', text: 'a' },
      image,
      { type: 'text', text: 'b' },
    ]);
  });

  it('is replaced by the content it completes with', () => {
    const content = (text?: string) =>
      only(
        play(
          ['message.started', { ...m, role: 'user', content: 'a' }],
          ['message.completed', { ...m, ...(text !== undefined && { content: text }) }],
        ).messages,
      ).content;
    expect([content('b'), content(''), content()]).toEqual(['b', '', 'a']);
  });

  it('fails or is cancelled with what it has', () => {
    const opener: Line = ['message.started', { ...m, role: 'user', content: 'a' }];
    expect(only(play(opener, ['message.failed', { ...m, error }]).messages)).toMatchObject({
      status: 'failed',
      content: 'a',
      error,
    });
    expect(
      only(play(opener, ['message.cancelled', { ...m, reason: 'no' }]).messages),
    ).toMatchObject({ status: 'cancelled', content: 'a', reason: 'no' });
  });
});

describe('reasoning', () => {
  const opener: Line = ['reasoning.started', x];
  const delta: Line = ['reasoning.delta', { ...x, delta: 'a' }];

  it('streams text', () => {
    expect(only(play(opener, delta, delta).reasoning)).toMatchObject({
      status: 'streaming',
      content: 'aa',
      redacted: false,
    });
    expect(only(play(['reasoning.started', { ...x, redacted: true }]).reasoning).redacted).toBe(
      true,
    );
  });

  it('completes with a content or what it has, and a summary', () => {
    const end = (payload: object) =>
      only(play(opener, delta, ['reasoning.completed', { ...x, ...payload }]).reasoning);
    expect(end({})).toMatchObject({ status: 'completed', content: 'a' });
    expect(end({ content: 'b', summary: 's' })).toMatchObject({ content: 'b', summary: 's' });
  });

  it('loses a summary it had where it completes without one', () => {
    const state = play(opener);
    const key = getAgentEntityKey('r', 'x');
    const plain = { ...state, reasoning: { [key]: { ...state.reasoning[key]!, summary: 'old' } } };
    const events = createAgentEventFactory({ sessionId: 's', runId: 'r', initialSequence: 5 });
    const next = reduceAgentState(plain, events.create('reasoning.completed', x));
    expect('summary' in next.reasoning[key]!).toBe(false);
  });

  it('fails and is cancelled', () => {
    expect(only(play(opener, ['reasoning.failed', { ...x, error }]).reasoning)).toMatchObject({
      status: 'failed',
      error,
    });
    expect(
      only(play(opener, ['reasoning.cancelled', { ...x, reason: 'no' }]).reasoning),
    ).toMatchObject({ status: 'cancelled', reason: 'no' });
  });
});

describe('a tool call', () => {
  const opener: Line = ['tool.requested', { ...t, name: 'n' }];
  const delta: Line = ['tool.arguments_delta', { ...t, delta: '{}' }];

  it('opens pending, as its first try', () => {
    expect(only(play(opener).toolCalls)).toEqual({
      id: 't',
      runId: 'r',
      name: 'n',
      arguments: '',
      attempt: 1,
      status: 'pending',
      createdAt: 1,
      updatedAt: 1,
    });
    const full = { name: 'n', arguments: '{', index: 0, attempt: 2, retryOf: 'u' };
    expect(only(play(['tool.requested', { ...t, ...full }]).toolCalls)).toMatchObject(full);
  });

  it('takes arguments until it ends, also while it runs', () => {
    expect(only(play(opener, delta).toolCalls)).toMatchObject({
      status: 'pending',
      arguments: '{}',
    });
    expect(only(play(opener, ['tool.running', t], delta).toolCalls)).toMatchObject({
      status: 'running',
      arguments: '{}',
    });
    expect(codes(play(opener, ['tool.completed', t], delta))).toEqual(['invalid_transition']);
  });

  it.each([
    [['tool.completed', { ...t, result: null }], { status: 'completed', result: null }],
    [['tool.failed', { ...t, error }], { status: 'failed', error }],
    [['tool.cancelled', { ...t, reason: 'no' }], { status: 'cancelled', reason: 'no' }],
  ] as const)('ends by %j, whether or not it ran', (end, expected) => {
    expect(only(play(opener, end).toolCalls)).toMatchObject(expected);
    expect(only(play(opener, ['tool.running', t], end).toolCalls)).toMatchObject(expected);
  });
});

describe('an approval', () => {
  const opener: Line = ['approval.requested', { ...a, data: { x: 1 } }];

  it('opens waiting, with all that is asked', () => {
    const asked = {
      toolCallId: 't',
      description: 'd',
      risk: 'high',
      data: 1,
      editable: false,
      expiresAt: 9,
      version: 'v',
    };
    expect(only(play(['approval.requested', { ...a, ...asked }]).approvals)).toEqual({
      id: 'a',
      runId: 'r',
      status: 'waiting',
      createdAt: 1,
      updatedAt: 1,
      ...asked,
    });
  });

  it('completes with the decision, and keeps its data where the answer has none', () => {
    const answer = (payload: object) =>
      only(
        play(opener, ['approval.resolved', { ...a, decision: 'rejected', ...payload }]).approvals,
      );
    expect(answer({})).toMatchObject({ status: 'completed', decision: 'rejected', data: { x: 1 } });
    expect(answer({ data: null })).toMatchObject({ data: { x: 1 } });
    expect(answer({ data: 0 })).toMatchObject({ data: 0 });
  });

  it('may be about nothing', () => {
    expect(only(play(['approval.requested', { ...a, data: null }]).approvals).data).toBe(null);
  });

  it('is answered once', () => {
    const answer: Line = ['approval.resolved', { ...a, decision: 'approved' }];
    expect(codes(play(opener, answer, answer))).toEqual(['invalid_transition']);
  });
});

describe('a task', () => {
  const opener: Line = ['task.created', { ...k, title: 'T', description: 'd' }];

  it('runs from its first update, which keeps what it does not say', () => {
    expect(only(play(opener).tasks)).toMatchObject({ status: 'pending', title: 'T' });
    expect(only(play(opener, ['task.updated', { ...k, progress: 0 }]).tasks)).toMatchObject({
      status: 'running',
      title: 'T',
      description: 'd',
      progress: 0,
    });
    expect(
      only(play(opener, ['task.updated', { ...k, title: 'U', description: '' }]).tasks),
    ).toMatchObject({ title: 'U', description: '' });
  });

  it.each([
    [['task.completed', { ...k, result: 1 }], { status: 'completed', result: 1 }],
    [['task.failed', { ...k, error }], { status: 'failed', error }],
    [['task.cancelled', { ...k, reason: 'no' }], { status: 'cancelled', reason: 'no' }],
  ] as const)('ends by %j', (end, expected) => {
    expect(only(play(opener, end).tasks)).toMatchObject(expected);
  });
});

describe('an artifact', () => {
  const opener: Line = ['artifact.created', { ...f, name: 'n', mediaType: 'm/t', content: 1 }];

  it('opens streaming, and is replaced by each update', () => {
    expect(only(play(opener).artifacts)).toMatchObject({
      status: 'streaming',
      name: 'n',
      mediaType: 'm/t',
      content: 1,
    });
    const state = play(opener, ['artifact.updated', { ...f, content: 2, version: 1 }]);
    expect(only(state.artifacts)).toMatchObject({ status: 'streaming', content: 2, version: 1 });
    const emptied = play(opener, ['artifact.updated', { ...f, content: undefined }]);
    expect(only(emptied.artifacts).content).toBe(undefined);
  });

  it('completes with a content or what it has', () => {
    const end = (payload: object) =>
      only(play(opener, ['artifact.completed', { ...f, ...payload }]).artifacts);
    expect(end({})).toMatchObject({ status: 'completed', content: 1 });
    expect(end({ content: null })).toMatchObject({ content: 1 });
    expect(end({ content: 2, version: 'v' })).toMatchObject({ content: 2, version: 'v' });
  });

  it('fails with what it has', () => {
    expect(only(play(opener, ['artifact.failed', { ...f, error }]).artifacts)).toMatchObject({
      status: 'failed',
      content: 1,
      error,
    });
  });
});

describe('an event', () => {
  const events = createAgentEventFactory({ sessionId: 's', runId: 'r' });
  const start = events.create('run.started', {});
  const open = events.create('message.started', { ...m, role: 'user' });
  const more = events.create('message.delta', { ...m, delta: 'a' });

  it('that was processed changes nothing, not even the object', () => {
    const state = replayAgentEvents([start, open, more]);
    expect(reduceAgentState(state, open)).toBe(state);
    expect(reduceAgentState(state, { ...more, sequence: 99 })).toBe(state);
    expect(replayAgentEvents([start, open], state)).toBe(state);
    expect(replayAgentEvents([], state)).toBe(state);
  });

  it('that comes too late is an issue, and its id is spent', () => {
    const late = replayAgentEvents([start, { ...more, sequence: 5 }, { ...open, sequence: 4 }]);
    // The delta was refused, so that the sequence is still the start's.
    expect(codes(late)).toEqual(['missing_entity']);
    expect(late.lastSequenceByRun).toEqual({ r: 4 });
    expect(reduceAgentState(late, { ...more, sequence: 5 })).toBe(late);
    expect(codes(replayAgentEvents([start, open, { ...more, sequence: 1 }]))).toEqual([
      'invalid_sequence',
    ]);
  });

  it('may leave sequences out', () => {
    expect(codes(replayAgentEvents([start, open, { ...more, sequence: 1e15 }]))).toEqual([]);
  });

  it('against several rules breaks the first of them', () => {
    const ended = play(['run.completed']);
    const next = (event: AgentEvent) => codes(reduceAgentState(ended, event)).at(-1);
    const base = { ...open, eventId: 'new', sequence: 9 };
    expect(next({ ...base, sequence: 0, sessionId: 'other' })).toBe('invalid_sequence');
    expect(next({ ...base, sessionId: 'other' })).toBe('invalid_transition');
    expect(next(base)).toBe('invalid_transition');
    expect(next({ ...start, eventId: 'new', sequence: 9 })).toBe('duplicate_entity');
    expect(next({ ...more, eventId: 'new', sequence: 9, runId: 'none' })).toBe('missing_entity');
    expect(next({ ...base, runId: 'none' })).toBe('missing_run');
    const end = events.create('run.failed', { error });
    expect(next({ ...end, runId: 'none' })).toBe('missing_run');
    expect(next({ ...end, sequence: 9 })).toBe('invalid_transition');
  });

  it('that opens what is open, or ended, is a duplicate', () => {
    const again = { ...open, eventId: 'again', sequence: 9 };
    expect(codes(replayAgentEvents([start, open, again]))).toEqual(['duplicate_entity']);
    const end = events.create('message.completed', m, { sequence: 8 });
    expect(codes(replayAgentEvents([start, open, end, again]))).toEqual(['duplicate_entity']);
  });

  it('says what is wrong in its issue', () => {
    expect(replayAgentEvents([start, more]).issues).toEqual([
      {
        code: 'missing_entity',
        eventId: more.eventId,
        runId: 'r',
        message: "The message 'm' has not begun.",
      },
    ]);
  });

  it('of an unknown type is refused', () => {
    for (const type of ['run.paused', 'constructor', '__proto__']) {
      expect(() =>
        reduceAgentState(createInitialAgentState(), { ...start, type } as never),
      ).toThrow(expect.toSatisfy((thrown) => isRunSocketError(thrown, 'invalid-argument')));
    }
  });
});

describe('ids', () => {
  const odd = ['__proto__', 'constructor', 'toString', 'hasOwnProperty', ' ', '1:a', '10', '9'];

  it.each(odd)('of runs, sessions and entities may be %j', (name) => {
    const events = createAgentEventFactory({ sessionId: name, runId: name });
    const state = replayAgentEvents([
      events.create('session.started', {}),
      events.create('run.started', {}),
      events.create('message.started', { messageId: name, role: 'user' }),
      events.create('message.delta', { messageId: name, delta: 'a' }),
    ]);
    expect(state.issues).toEqual([]);
    expect(Object.keys(state.runs)).toEqual([name]);
    expect(Object.keys(state.sessions)).toEqual([name]);
    expect(state.runs[name]!.status).toBe('running');
    expect(state.lastSequenceByRun[name]).toBe(3);
    expect(state.messages[getAgentEntityKey(name, name)]!.content).toBe('a');

    const restored: AgentState = JSON.parse(JSON.stringify(state));
    const next = reduceAgentState(restored, events.create('run.completed', {}));
    expect(next.issues).toEqual([]);
    expect(next.runs[name]!.status).toBe('completed');
    expect(Object.getPrototypeOf({})).toBe(Object.prototype);
  });

  it('that nobody used are unknown, whatever objects inherit', () => {
    const state = play();
    for (const name of odd) {
      expect(name in state.runs, name).toBe(false);
      expect(name in state.messages, name).toBe(false);
      const events = createAgentEventFactory({ sessionId: 's', runId: name });
      const restored: AgentState = JSON.parse(JSON.stringify(state));
      for (const from of [state, restored]) {
        const next = reduceAgentState(from, events.create('run.completed', {}));
        expect(codes(next), name).toEqual(['missing_run']);
        expect(name in next.runs, name).toBe(false);
      }
    }
  });

  it('of entities belong to their run', () => {
    const events = (runId: string) => createAgentEventFactory({ sessionId: 's', runId });
    const state = replayAgentEvents(
      ['a', 'ab'].flatMap((runId) => {
        const of = events(runId);
        return [
          of.create('run.started', {}),
          of.create('message.started', { messageId: runId === 'a' ? 'bc' : 'c', role: 'user' }),
        ];
      }),
    );
    expect(Object.keys(state.messages)).toEqual(['1:abc', '2:abc']);
  });
});
