import { describe, expect, it } from 'vitest';
import { createAgentEventFactory } from '../../src/agent-provider/event-factory.ts';
import type { AgentEvent, AgentEventFactory } from '../../src/agent-provider/event-types.ts';
import { reduceAgentState, replayAgentEvents } from '../../src/agent-provider/reducer.ts';
import {
  createInitialAgentState,
  getAgentEntityKey,
  getAgentEventKey,
} from '../../src/agent-provider/state-node.ts';
import type { AgentState } from '../../src/agent-provider/state-types.ts';
import { deepFreeze } from '../helpers/deep-freeze.ts';

const records = [
  'sessions',
  'runs',
  'messages',
  'reasoning',
  'toolCalls',
  'approvals',
  'tasks',
  'artifacts',
  'lastSequenceByRun',
] as const;

function openMessages(
  count: number,
  events = createAgentEventFactory({ sessionId: 's', runId: 'r' }),
) {
  const list: AgentEvent[] = [events.create('run.started', {})];
  for (let index = 0; index < count; index++) {
    list.push(events.create('message.started', { messageId: `m${index}`, role: 'user' }));
  }
  return { events, list };
}

const delta = (events: AgentEventFactory, index: number, text = 'x') =>
  events.create('message.delta', { messageId: `m${index}`, delta: text });

const contentOf = (state: AgentState, index: number) =>
  state.messages[getAgentEntityKey('r', `m${index}`)]!.content;

describe('a snapshot', () => {
  it('begins empty, and is new each time', () => {
    const state = createInitialAgentState();
    expect(state).toEqual({
      ...Object.fromEntries(records.map((name) => [name, {}])),
      order: [],
      issues: [],
    });
    expect(state.processedEventIds).toEqual({});
    expect(createInitialAgentState()).not.toBe(state);
  });

  it('is plain data to whoever looks at it', () => {
    const { list, events } = openMessages(50);
    const state = replayAgentEvents([...list, delta(events, 7)]);
    const names = [...records, 'order', 'issues'].sort();
    expect(Object.keys(state).sort()).toEqual(names);
    expect(Object.keys({ ...state }).sort()).toEqual(names);
    expect(Object.keys(JSON.parse(JSON.stringify(state))).sort()).toEqual(names);
    expect(structuredClone(state)).toEqual(JSON.parse(JSON.stringify(state)));
    expect(Object.getPrototypeOf(state)).toBe(Object.prototype);
    const inherited: string[] = [];
    for (const name in state) inherited.push(name);
    expect(inherited.sort()).toEqual(names);

    const { messages } = state;
    expect(Object.keys(messages)).toHaveLength(50);
    expect(Object.values(messages)[7]).toMatchObject({ id: 'm7', content: 'x' });
    expect({ ...messages }).toEqual(messages);
    expect(JSON.parse(JSON.stringify(messages))).toEqual(messages);
    expect(getAgentEntityKey('r', 'm7') in messages).toBe(true);
    expect(Object.getOwnPropertyDescriptor(messages, '1:rm7')).toMatchObject({
      enumerable: true,
      value: messages['1:rm7'],
    });
  });

  it('has the ids of its events, which are not in its data', () => {
    const { list, events } = openMessages(3);
    const state = replayAgentEvents(list);
    const later = reduceAgentState(state, delta(events, 0));
    const keys = list.map((event) => getAgentEventKey('r', event.eventId));
    expect(state.processedEventIds).toEqual(Object.fromEntries(keys.map((key) => [key, true])));
    expect(Object.keys(later.processedEventIds)).toHaveLength(5);
    expect('processedEventIds' in state).toBe(true);
    expect(Object.keys(state)).not.toContain('processedEventIds');
    expect(JSON.stringify(state)).not.toContain('message.started');
  });

  it('reads the same record each time', () => {
    const state = replayAgentEvents(openMessages(100).list);
    for (const name of [...records, 'order', 'issues'] as const) {
      expect(state[name], name).toBe(state[name]);
    }
  });

  it('shares what did not change with the snapshot before', () => {
    const { events, list } = openMessages(40);
    const first = replayAgentEvents([
      ...list,
      events.create('tool.requested', { toolCallId: 't', name: 'n' }),
    ]);
    const second = reduceAgentState(first, delta(events, 3));
    for (const name of [...records, 'order', 'issues'] as const) {
      const same = name !== 'messages' && name !== 'lastSequenceByRun';
      expect(first[name] === second[name], name).toBe(same);
    }
    for (const key of Object.keys(first.messages)) {
      expect(first.messages[key] === second.messages[key], key).toBe(key !== '1:rm3');
    }
    const third = reduceAgentState(second, events.create('tool.running', { toolCallId: 't' }));
    expect(third.messages).toBe(second.messages);
    expect(third.order).toBe(second.order);
    expect(third.toolCalls).not.toBe(second.toolCalls);
  });

  it('stays as it was whatever is reduced from it or after it', () => {
    const { events, list } = openMessages(200);
    const base = replayAgentEvents(list);
    const left = reduceAgentState(base, delta(events, 0, 'left'));
    const right = reduceAgentState(base, delta(events, 0, 'right'));
    let newest = left;
    for (let index = 0; index < 1_000; index++) {
      newest = reduceAgentState(newest, delta(events, index % 200));
    }
    newest = reduceAgentState(
      newest,
      events.create('message.started', { messageId: 'new', role: 'user' }),
    );
    expect(contentOf(base, 0)).toBe('');
    expect(contentOf(left, 0)).toBe('left');
    expect(contentOf(right, 0)).toBe('right');
    expect(contentOf(newest, 0)).toBe('leftxxxxx');
    expect(Object.keys(base.messages)).toHaveLength(200);
    expect(base.order).toHaveLength(200);
    expect(newest.order).toHaveLength(201);
    expect(Object.keys(left.processedEventIds)).toHaveLength(202);
    expect(Object.keys(right.processedEventIds)).toHaveLength(202);
    // What one branch has seen, the other has not.
    const again = reduceAgentState(
      right,
      events.create('message.started', { messageId: 'new', role: 'tool' }),
    );
    expect(again.messages['1:rnew']!.role).toBe('tool');
    expect(newest.messages['1:rnew']!.role).toBe('user');
  });

  it('knows the events of its own past, and not those of another', () => {
    const { events, list } = openMessages(2);
    const base = replayAgentEvents(list);
    const toLeft = delta(events, 0, 'left');
    const toRight = delta(events, 0, 'right');
    const left = reduceAgentState(base, toLeft);
    const right = reduceAgentState(base, toRight);
    expect(Object.keys(left.processedEventIds)).toContain(`1:r${toLeft.eventId}`);
    expect(Object.keys(left.processedEventIds)).not.toContain(`1:r${toRight.eventId}`);
    expect(Object.keys(right.processedEventIds)).not.toContain(`1:r${toLeft.eventId}`);
    expect(reduceAgentState(left, toLeft)).toBe(left);
    expect(reduceAgentState(right, toRight)).toBe(right);
    expect(reduceAgentState(base, toLeft)).toEqual(left);
    const more = delta(events, 0, 'more');
    expect(contentOf(reduceAgentState(left, more), 0)).toBe('leftmore');
    expect(contentOf(reduceAgentState(base, more), 0)).toBe('more');
    expect(contentOf(reduceAgentState(right, { ...toLeft, sequence: 99 }), 0)).toBe('rightleft');
    expect(contentOf(reduceAgentState(left, { ...toRight, sequence: 99 }), 0)).toBe('leftright');
  });

  it('knows an event by its id, however it was named and whatever else it says', () => {
    const ids = { sessionId: 's', runId: 'r' };
    const named = createAgentEventFactory({
      ...ids,
      createEventId: (sequence) => `id ${sequence}`,
    });
    for (const [sequence, events] of [
      [4, createAgentEventFactory(ids)],
      [4, named],
      [Number.MAX_SAFE_INTEGER - 5, createAgentEventFactory(ids)],
      [1e300, createAgentEventFactory(ids)],
    ] as const) {
      const { list } = openMessages(3, events);
      const event = events.create('message.delta', { messageId: 'm0', delta: 'x' }, { sequence });
      const state = replayAgentEvents([...list, event]);
      expect(contentOf(state, 0)).toBe('x');
      for (const seen of [...list, event]) {
        expect(reduceAgentState(state, seen)).toBe(state);
        expect(reduceAgentState(state, { ...seen, sequence: sequence * 2 })).toBe(state);
        expect(reduceAgentState(state, { ...seen, type: 'run.cancelled', payload: {} })).toBe(
          state,
        );
      }
      // Ids that nobody had, of all sorts.
      const { length } = Object.keys(state.processedEventIds);
      for (const eventId of [
        'r:4:message.completed',
        'r:04:message.delta',
        'r:',
        'r',
        '4',
        'q:4:message.delta',
      ]) {
        const next = reduceAgentState(state, { ...event, eventId, sequence: sequence * 2 });
        expect(next, eventId).not.toBe(state);
        expect(Object.keys(next.processedEventIds)).toHaveLength(length + 1);
      }
    }
  });

  it('that is read late shows what it was made of', () => {
    const { events, list } = openMessages(10);
    const kept = [replayAgentEvents(list)];
    const add = (event: AgentEvent) => kept.push(reduceAgentState(kept.at(-1)!, event));
    for (const text of 'abcd') add(delta(events, 0, text));
    add(events.create('message.started', { messageId: 'm10', role: 'user' }));
    for (const text of 'ef') add(delta(events, 10, text));
    const seen = kept.map(({ messages }) => {
      const contents = Object.values(messages).map(({ content }) => content);
      return [contents.length, contents[0], contents[10]];
    });
    expect(seen).toEqual([
      [10, '', undefined],
      [10, 'a', undefined],
      [10, 'ab', undefined],
      [10, 'abc', undefined],
      [10, 'abcd', undefined],
      [11, 'abcd', ''],
      [11, 'abcd', 'e'],
      [11, 'abcd', 'ef'],
    ]);
  });

  it('is reduced when it is frozen to the ground', () => {
    const { events, list } = openMessages(10);
    let state = deepFreeze(replayAgentEvents(list));
    for (let index = 0; index < 10; index++) {
      state = deepFreeze(reduceAgentState(state, deepFreeze(delta(events, index))));
    }
    expect(state.issues).toEqual([]);
    expect(Object.values(state.messages).every(({ content }) => content === 'x')).toBe(true);
  });

  it('can be looked at through a proxy, as reactive frameworks do', () => {
    const { events, list } = openMessages(50);
    const state = reduceAgentState(replayAgentEvents(list), delta(events, 0));
    const handler: ProxyHandler<object> = {
      get(target, name, receiver) {
        const value = Reflect.get(target, name, receiver);
        const plain = typeof value === 'object' && value !== null && Object.isExtensible(value);
        return plain ? new Proxy(value, handler) : value;
      },
    };
    const proxy = new Proxy(state, handler) as AgentState;
    expect(Object.keys(proxy.messages)).toHaveLength(50);
    const next = reduceAgentState(proxy, delta(events, 1));
    expect([contentOf(next, 0), contentOf(next, 1)]).toEqual(['x', 'x']);
    expect(contentOf(state, 1)).toBe('');
    expect(Object.keys(next.processedEventIds)).toHaveLength(53);

    const other = new Proxy(state, {
      get: (target, name) => (name === 'runs' ? {} : Reflect.get(target, name)),
    });
    expect(reduceAgentState(other, delta(events, 2)).runs).toEqual({});
  });
});

describe('plain data as a state', () => {
  const written = (extra: object = {}): AgentState =>
    ({
      sessions: {},
      runs: { r: { id: 'r', sessionId: 's', status: 'running', createdAt: 0, updatedAt: 0 } },
      messages: {
        '1:rm0': {
          id: 'm0',
          runId: 'r',
          role: 'user',
          content: 'a',
          status: 'streaming',
          createdAt: 0,
          updatedAt: 0,
        },
      },
      reasoning: {},
      toolCalls: {},
      approvals: {},
      tasks: {},
      artifacts: {},
      order: [{ kind: 'message', id: 'm0', runId: 'r' }],
      issues: [],
      lastSequenceByRun: { r: 5 },
      ...extra,
    }) as unknown as AgentState;
  const events = createAgentEventFactory({ sessionId: 's', runId: 'r', initialSequence: 5 });

  it('is taken, and stays as it is', () => {
    const plain = written();
    const copy = structuredClone(plain);
    const next = reduceAgentState(deepFreeze(plain), delta(events, 0));
    expect(contentOf(next, 0)).toBe('ax');
    expect(plain).toEqual(copy);
    expect(next.toolCalls).toBe(plain.toolCalls);
    expect(next.order).toBe(plain.order);
  });

  it('without ids has processed all up to its last sequences, and says nothing', () => {
    const plain = written();
    const old = events.create('message.delta', { messageId: 'm0', delta: 'x' }, { sequence: 5 });
    expect(reduceAgentState(plain, old)).toBe(plain);
    expect(reduceAgentState(plain, { ...old, sequence: 0, type: 'run.started', payload: {} })).toBe(
      plain,
    );
    // The rule is about what was before; what comes now is held to the sequence.
    const next = reduceAgentState(plain, delta(events, 0));
    const late = { ...old, eventId: 'late', sequence: next.lastSequenceByRun.r! };
    expect(reduceAgentState(next, old)).toBe(next);
    expect(reduceAgentState(next, late).issues).toMatchObject([{ code: 'invalid_sequence' }]);
  });

  it('with ids has processed just these', () => {
    const seen = { [getAgentEventKey('r', 'a:1')]: true };
    const plain = written({ processedEventIds: seen });
    const event = events.create(
      'message.delta',
      { messageId: 'm0', delta: 'x' },
      { eventId: 'a:1' },
    );
    expect(reduceAgentState(plain, event)).toBe(plain);
    const old = { ...event, eventId: 'other', sequence: 3 };
    const next = reduceAgentState(plain, old);
    expect(next.issues).toMatchObject([{ code: 'invalid_sequence' }]);
    expect(Object.keys(next.processedEventIds).sort()).toEqual(['1:ra:1', '1:rother']);
  });

  it('with ids of any form is taken', () => {
    const state = written({
      processedEventIds: { '': true, abc: true, '-3:x': true, '9:r': true },
    });
    expect(reduceAgentState(state, delta(events, 0)).issues).toEqual([]);
  });

  it('is the same after a round through JSON', () => {
    const { list, events: more } = openMessages(20);
    const state = replayAgentEvents([...list, delta(more, 3), delta(more, 4)]);
    const restored: AgentState = JSON.parse(JSON.stringify(state));
    expect(restored).toEqual(state);
    const event = delta(more, 5);
    expect(reduceAgentState(restored, event)).toEqual(reduceAgentState(state, event));
  });

  it('does not know the ids of a state that was spread, and takes its sequences', () => {
    const { list, events: more } = openMessages(2);
    const state = replayAgentEvents([...list, delta(more, 0)]);
    const edited: AgentState = {
      ...state,
      messages: { ...state.messages, more: contentOf as never },
    };
    expect(reduceAgentState(edited, list[1]!)).toBe(edited);
    expect(Object.keys(reduceAgentState(edited, delta(more, 1)).messages)).toContain('more');
  });
});

describe('growth', () => {
  it('of the serialised state is that of the text alone', () => {
    const size = (deltas: number) => {
      const { events, list } = openMessages(1);
      for (let index = 0; index < deltas; index++) list.push(delta(events, 0, 'abc'));
      const state = JSON.parse(JSON.stringify(replayAgentEvents(list)));
      state.messages['1:rm0'].content = '';
      for (const { updatedAt } of Object.values(state.messages) as { updatedAt: number }[]) {
        expect(updatedAt).toBeGreaterThan(0);
      }
      return JSON.stringify(state).length;
    };
    // The last sequence has two digits more.
    expect(size(10_000) - size(100)).toBe(2);
  });

  it('lets as many steps be reduced and read late as there are', () => {
    const { events, list } = openMessages(300);
    let state = replayAgentEvents(list);
    const kept = [state];
    for (let index = 0; index < 3_000; index++) {
      state = reduceAgentState(state, delta(events, index % 300));
      kept.push(state);
    }
    const lengths = kept
      .reverse()
      .map(({ messages }) =>
        Object.values(messages).reduce((sum, { content }) => sum + content.length, 0),
      );
    expect(lengths).toEqual(kept.map((_, back) => 3_000 - back));
    expect(kept).toHaveLength(3_001);
  });
});
