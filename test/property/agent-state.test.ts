import { expect, it } from 'vitest';
import { agentEventTypes, isAgentEvent } from '../../src/agent-provider/event-guards.ts';
import type { AgentEvent } from '../../src/agent-provider/event-types.ts';
import { reduceAgentState, replayAgentEvents } from '../../src/agent-provider/reducer.ts';
import { createInitialAgentState, getAgentEventKey } from '../../src/agent-provider/state-node.ts';
import type { AgentState } from '../../src/agent-provider/state-types.ts';
import { AgentProtocolError, createAgentStore } from '../../src/agent-provider/store.ts';
import {
  type NaiveState,
  naiveReduce,
  naiveStart,
  naiveView,
} from '../agent-provider/naive-agent-reducer.ts';
import { deepFreeze } from '../helpers/deep-freeze.ts';
import { createRandom } from '../helpers/random.ts';

type Random = () => number;

const pick = <Item>(random: Random, items: readonly Item[]): Item =>
  items[Math.floor(random() * items.length)]!;
const maybe = (random: Random, name: string, ...values: unknown[]) =>
  random() < 0.4 ? { [name]: pick(random, values) } : {};

const names = ['a', 'b', '__proto__', 'constructor', 'toString', '10', '9'];
const contents = ['', 'text', [], [{ type: 'text', text: 'part' }], [{ type: 'x.y', data: null }]];

function makePayload(random: Random, type: string): object {
  const [kind = ''] = type.split('.');
  const id = kind === 'tool' ? 'toolCallId' : `${kind}Id`;
  return {
    [id]: pick(random, names),
    ...(type.endsWith('.failed') && { error: { message: 'm' } }),
    ...(type.endsWith('.cancelled') && maybe(random, 'reason', '', 'r')),
    ...(type.endsWith('.delta') && {
      delta: kind === 'message' ? pick(random, contents) : pick(random, ['', 'more']),
    }),
    ...(type === 'tool.arguments_delta' && { delta: pick(random, ['', '{"a"']) }),
    ...(kind === 'message' && { role: 'user', ...maybe(random, 'content', ...contents) }),
    ...(kind === 'reasoning' && {
      ...maybe(random, 'redacted', true, false),
      ...maybe(random, 'content', '', 'whole'),
      ...maybe(random, 'summary', '', 's'),
    }),
    ...(kind === 'session' && maybe(random, 'title', '', 't')),
    ...(kind === 'run' && {
      ...maybe(random, 'input', null, 0, { a: 1 }),
      ...maybe(random, 'output', null, 'o'),
      ...maybe(random, 'usage', { tokens: 1 }),
    }),
    ...(kind === 'tool' && {
      name: 'n',
      ...maybe(random, 'arguments', '', '{}'),
      ...maybe(random, 'index', 0, 3),
      ...maybe(random, 'attempt', 2),
      ...maybe(random, 'retryOf', 'a'),
    }),
    ...(kind === 'approval' && {
      decision: pick(random, ['approved', 'rejected', 'modified', 'expired']),
      ...maybe(random, 'toolCallId', 'a'),
      ...maybe(random, 'editable', true, false),
      ...maybe(random, 'data', null, undefined, { x: 1 }),
      ...maybe(random, 'version', 1, '2'),
      ...maybe(random, 'expiresAt', 99),
    }),
    ...(kind === 'task' && {
      title: pick(random, ['T', 'U']),
      ...maybe(random, 'description', '', 'd'),
      ...maybe(random, 'progress', 0, 0.5),
    }),
    ...(kind === 'artifact' && {
      name: 'n',
      content: pick(random, [null, undefined, 1, { a: 1 }]),
      ...maybe(random, 'mediaType', 'text/plain'),
      ...maybe(random, 'version', null, 1, '2'),
    }),
    ...maybe(random, 'result', null, 0, 'r'),
  };
}

/** Events that mostly fit each other, and sometimes not at all. */
function makeEvents(seed: number): AgentEvent[] {
  const random = createRandom(seed);
  const types = agentEventTypes.filter((type) => random() < 0.5 || /started|created/.test(type));
  const runs = names.filter(() => random() < 0.4).concat('a');
  const events: AgentEvent[] = [];
  const counters: Record<string, number> = { __proto__: null } as never;
  const length = 5 + Math.floor(random() * 60);
  while (events.length < length) {
    const runId = pick(random, runs);
    const begins = random() < 0.15 || events.length === 0;
    // The end of a run would be the end of all.
    const endless = types.filter((type) => !/^run\.|session/.test(type) || random() < 0.08);
    const sequence = Math.max(0, (counters[runId] ?? 0) + (random() < 0.1 ? -2 : 1));
    counters[runId] = Math.max(sequence, counters[runId] ?? 0);
    const type = begins ? 'run.started' : pick(random, endless);
    // Half of them as the factory names them, some after another event or in no way at all.
    const named = [`e${events.length}`, pick(random, names), `${runId}:${sequence - 1}:${type}`];
    const luck = random();
    const event = {
      protocolVersion: '0.1',
      type,
      eventId:
        luck < 0.5 ? `${runId}:${sequence}:${type}` : luck < 0.9 ? named[0] : pick(random, named),
      sessionId: random() < 0.04 ? pick(random, names) : 'constructor',
      runId,
      sequence,
      timestamp: events.length,
      ...maybe(random, 'parentId', '', 'p'),
      payload: makePayload(random, type),
      ...maybe(random, 'meta', {}, { m: 1 }),
    } as unknown as AgentEvent;
    events.push(event);
    if (random() < 0.05) events.push(pick(random, events));
    if (random() < 0.03) events.push({ ...pick(random, events), sequence: sequence + 1 });
  }
  return events;
}

const withoutText = (state: AgentState): object => ({
  ...state,
  issues: state.issues.map(({ code, eventId, runId }) => ({ code, eventId, runId })),
});

/** With sorted keys and nothing undefined; many times faster to compare than the objects. */
const canonical = (value: object): string =>
  JSON.stringify(
    value,
    (_key, part) =>
      typeof part === 'object' && part !== null && !Array.isArray(part)
        ? Object.fromEntries(Object.entries(part).sort(([a], [b]) => (a < b ? -1 : 1)))
        : part,
    1,
  );

function expectSame(state: AgentState, naive: NaiveState): void {
  expect(canonical(withoutText(state))).toBe(canonical(naiveView(naive)));
  expect(Object.keys(state.processedEventIds).sort()).toEqual([...naive.processed].sort());
}

const seeds = Array.from({ length: 2_000 }, (_, seed) => seed);

it('reduces as the written rules do, also events against the rules', { timeout: 60_000 }, () => {
  const codes = new Map<string, number>();
  let accepted = 0;
  for (const seed of seeds) {
    const events = makeEvents(seed);
    expect(events.every(isAgentEvent)).toBe(true);
    const naive = events.reduce(naiveReduce, naiveStart);
    const state = replayAgentEvents(events);
    expectSame(state, naive);
    accepted += Object.keys(state.processedEventIds).length - state.issues.length;
    for (const { code } of state.issues) codes.set(code, (codes.get(code) ?? 0) + 1);
  }
  // The lists are no test where they are all wrong, or never.
  expect(accepted).toBeGreaterThan(10_000);
  for (const code of [
    'duplicate_entity',
    'invalid_sequence',
    'invalid_transition',
    'missing_entity',
    'missing_run',
  ]) {
    expect(codes.get(code), code).toBeGreaterThan(500);
  }
});

it('keeps every snapshot as it was, whatever is read when and goes on from where', {
  timeout: 60_000,
}, () => {
  for (const seed of seeds.slice(0, 400)) {
    const random = createRandom(seed + 1e6);
    const events = makeEvents(seed);
    const states: [AgentState, NaiveState][] = [[createInitialAgentState(), naiveStart]];
    for (const event of events) {
      // Mostly on from the newest, sometimes off from an older one.
      const [state, naive] = random() < 0.9 ? states.at(-1)! : pick(random, states);
      const next = reduceAgentState(state, event);
      if (random() < 0.1) deepFreeze(next);
      if (random() < 0.2) expect(Object.keys(next.messages).length).toBeGreaterThanOrEqual(0);
      states.push([next, naiveReduce(naive, event)]);
    }
    // In any order of reading.
    for (const [state, naive] of states.sort(() => random() - 0.5)) expectSame(state, naive);
  }
});

it('goes on from plain data as from the state itself', () => {
  for (const seed of seeds.slice(0, 400)) {
    const events = makeEvents(seed);
    const half = events.slice(0, events.length / 2);
    const middle = replayAgentEvents(half);
    const rest = events.slice(half.length);
    const plain = { ...middle, processedEventIds: middle.processedEventIds };
    expectSame(replayAgentEvents(rest, plain), events.reduce(naiveReduce, naiveStart));

    const restored: AgentState = JSON.parse(JSON.stringify(middle));
    // The whole list once more: what was accepted before is passed over without an issue.
    const again = replayAgentEvents(events, restored);
    const expected = rest
      .filter(
        ({ runId, sequence }) =>
          !Object.hasOwn(middle.lastSequenceByRun, runId) ||
          sequence > middle.lastSequenceByRun[runId]!,
      )
      .filter((event) => !half.includes(event));
    const late = half.filter(
      ({ runId, sequence }) =>
        !Object.hasOwn(middle.lastSequenceByRun, runId) ||
        sequence > middle.lastSequenceByRun[runId]!,
    );
    expect(JSON.stringify(again)).toBe(
      JSON.stringify(replayAgentEvents([...late, ...expected], restored)),
    );
    const covered = half.filter((event) => !late.includes(event));
    expect(replayAgentEvents(covered, restored)).toBe(restored);
  }
});

it('strictly throws just what it would note, and lets nothing of it in', () => {
  for (const seed of seeds.slice(0, 400)) {
    const store = createAgentStore({ protocolMode: 'strict' });
    let naive = naiveStart;
    for (const event of makeEvents(seed)) {
      const next = naiveReduce(naive, event);
      if (next.issues.length === naive.issues.length) {
        store.dispatch(event);
        naive = next;
        continue;
      }
      const before = store.getSnapshot();
      let thrown: unknown;
      try {
        store.dispatch(event);
      } catch (error) {
        thrown = error;
      }
      expect(thrown).toBeInstanceOf(AgentProtocolError);
      expect((thrown as AgentProtocolError).issue).toMatchObject(next.issues.at(-1)!);
      expect(store.getSnapshot()).toBe(before);
    }
    expectSame(store.getSnapshot(), naive);
    for (const key of naive.processed) {
      expect(Object.hasOwn(store.getSnapshot().processedEventIds, key)).toBe(true);
    }
  }
});

it('keys events by run, so that two runs can name an event alike', () => {
  expect(getAgentEventKey('ab', 'c')).not.toBe(getAgentEventKey('a', 'bc'));
});
