import { describe, expect, it } from 'vitest';
import { applyAgUiEvent } from '../../src/ag-ui/apply-event.ts';
import type { AgUiEvent } from '../../src/ag-ui/events.ts';
import type { AgUiMessage } from '../../src/ag-ui/messages.ts';
import { type AgUiThread, emptyThread } from '../../src/ag-ui/thread.ts';
import { createAgUiBridge } from '../../src/agent-provider/ag-ui-bridge.ts';
import type { AgUiBridge, AgUiBridgeOptions } from '../../src/agent-provider/bridge-types.ts';
import { createAgentEventFactory } from '../../src/agent-provider/event-factory.ts';
import { agentEventTypes } from '../../src/agent-provider/event-guards.ts';
import type { AgentEvent } from '../../src/agent-provider/event-types.ts';
import type { AgentState } from '../../src/agent-provider/state-types.ts';
import { createAgentStore } from '../../src/agent-provider/store.ts';
import { validateAgentProviderEvents } from '../../src/agent-provider/validate-agent-provider-events.ts';
import { generateBridgeRuns } from '../helpers/ag-ui-bridge-runs.ts';
import { type GeneratedRuns, generateRuns } from '../helpers/ag-ui-runs.ts';
import { createRandom } from '../helpers/random.ts';

const capabilities = { eventTypes: agentEventTypes, transports: ['websocket'] } as const;

function createBridge(runs: GeneratedRuns, options: Partial<AgUiBridgeOptions> = {}): AgUiBridge {
  return createAgUiBridge({
    events: createAgentEventFactory({ sessionId: 's', runId: 'r', now: () => 7 }),
    knownMessageIds: runs.messages.map(({ id }) => id),
    state: runs.state,
    ...options,
  });
}

interface AgentEntity {
  readonly status: string;
}

/** Texts by kind and AG-UI id. */
type Texts = Map<string, string>;

const kindOf = (role: string): 'reasoning' | 'message' | undefined =>
  role === 'reasoning' ? role : role === 'tool' || role === 'activity' ? undefined : 'message';

/** AG-UI's texts; thoughts and answer under one id have the role behind it. */
function textsOf(messages: readonly AgUiMessage[]): Texts {
  const texts: Texts = new Map();
  for (const { id, role, content } of messages) {
    const kind = kindOf(role);
    const original = id.endsWith(`~${role}`) ? id.slice(0, -role.length - 1) : id;
    if (kind) texts.set(`${kind}:${original}`, typeof content === 'string' ? content : '');
  }
  return texts;
}

/** The store's texts; what was opened again is joined. */
function storedTexts({ messages, reasoning }: AgentState): Texts {
  const texts: Texts = new Map();
  for (const [kind, record] of Object.entries({ message: messages, reasoning })) {
    for (const { id, content, meta } of Object.values(record)) {
      const key = `${kind}:${meta?.['ag-ui.id'] ?? id}`;
      texts.set(key, (texts.get(key) ?? '') + content);
    }
  }
  return texts;
}

/** AG-UI's texts of what was pushed, but for what a snapshot changed after its end. */
function expectedTexts(
  runs: GeneratedRuns,
  events: readonly AgUiEvent[],
): { readonly texts: Texts; readonly told: ReadonlySet<string> } {
  let thread: AgUiThread<unknown> = emptyThread({ messages: runs.messages, state: runs.state });
  const before = textsOf(runs.messages);
  const open = new Set<string>();
  const changed = new Set<string>();
  const told = new Set<string>();
  const parts = new Set<string>();
  for (const event of events) {
    const { type, messageId } = event as { type: string; messageId?: string };
    const last = thread;
    thread = applyAgUiEvent(thread, event);
    const kind = /^TEXT/.test(type) ? 'message' : /^REASONING_M/.test(type) ? 'reasoning' : '';
    const key = `${kind}:${messageId}`;
    if (type === 'RUN_STARTED') {
      const old = textsOf(last.messages);
      for (const [name, text] of textsOf(thread.messages)) {
        if (!old.has(name)) before.set(name, text);
      }
    }
    const begins =
      type.endsWith('START') ||
      (type.endsWith('CHUNK') &&
        !last.open?.chunks?.some(({ id, kind }) => id === messageId && kind !== 'tool'));
    if (kind && begins && (told.has(key) || before.has(key))) parts.add(key);
    if (kind && /START|CHUNK/.test(type) && messageId !== undefined) told.add(key);
    if (kind && type.endsWith('START')) open.add(key);
    else if (kind && type.endsWith('END')) open.delete(key);
    else if (type === 'RUN_ERROR') open.clear();
    if (kind && type.endsWith('END')) changed.delete(`open ${key}`);
    if (type !== 'MESSAGES_SNAPSHOT') continue;
    const chunks = new Set(
      (last.open?.chunks ?? []).map(
        ({ kind, id }) => `${kind === 'reasoning' ? kind : 'message'}:${id}`,
      ),
    );
    const now = textsOf(thread.messages);
    const old = textsOf(last.messages);
    for (const [name, text] of old) {
      const next = now.get(name);
      if (next === text) continue;
      if (next === undefined) changed.add(name);
      else if (parts.has(name)) changed.add(name);
      else if (chunks.has(name)) continue;
      else if (open.has(name)) changed.add(next.startsWith(text) ? '' : `open ${name}`);
      else changed.add(name);
    }
    // What the server puts before the messages that are known is none of this run's.
    for (const name of now.keys()) if (!old.has(name) && !told.has(name)) changed.add(name);
  }
  const texts: Texts = new Map();
  for (const [name, text] of textsOf(thread.messages)) {
    if (changed.has(name) || changed.has(`open ${name}`)) continue;
    texts.set(name, text.slice(before.get(name)?.length ?? 0));
  }
  return { texts, told };
}

interface Play {
  readonly bridge: AgUiBridge;
  readonly out: AgentEvent[];
  readonly pushed: AgUiEvent[];
  push(events: readonly AgUiEvent[]): void;
}

function play(runs: GeneratedRuns, options: Partial<AgUiBridgeOptions>): Play {
  const bridge = createBridge(runs, options);
  const out: AgentEvent[] = [];
  const pushed: AgUiEvent[] = [];
  return {
    bridge,
    out,
    pushed,
    push(events) {
      for (const event of events) {
        pushed.push(event);
        out.push(...bridge.push(event));
      }
    },
  };
}

const failure: AgUiEvent = { type: 'RUN_ERROR', message: 'boom' };

/** How a run ends: with all its events, or those before a random place. */
type Ending = (
  play: Play,
  runs: GeneratedRuns,
  cut: readonly AgUiEvent[],
  random: () => number,
) => void;

const endings: Readonly<Record<string, Ending>> = {
  whole({ push, out, bridge }, runs) {
    push(runs.events);
    out.push(...bridge.flush());
    if (bridge.phase === 'held') out.push(...bridge.cancel());
  },
  abort({ push, out, bridge }, _runs, cut) {
    push(cut);
    out.push(...bridge.cancel('stop'));
  },
  'RUN_ERROR in the middle'({ push, out, bridge }, _runs, cut) {
    push(cut);
    push([failure]);
    out.push(...bridge.flush());
  },
  'a lost stream'({ push, out, bridge }, _runs, cut) {
    push(cut);
    out.push(...bridge.flush());
    if (bridge.phase === 'held') out.push(...bridge.fail(new Error('gone')));
  },
  AbortError({ push, out, bridge }, _runs, cut) {
    push(cut);
    out.push(...bridge.fail(new DOMException('stop', 'AbortError')));
  },
  'an interrupt, held and resumed'({ push, out, bridge }, runs, _cut, random) {
    const { events } = runs;
    push(events.slice(0, -1));
    const last = events.at(-1) as AgUiEvent;
    const toolCallId = events.flatMap((event) =>
      event.type === 'TOOL_CALL_START' ? [event.toolCallId] : [],
    )[0];
    push([
      last.type === 'RUN_ERROR'
        ? { type: 'RUN_ERROR', message: 'x' }
        : {
            ...(last as Extract<AgUiEvent, { type: 'RUN_FINISHED' }>),
            outcome: {
              type: 'interrupt',
              interrupts: [
                { id: '', reason: '', ...(toolCallId !== undefined && { toolCallId }) },
                { id: 'i', reason: 'ask', message: '' },
              ],
            },
          },
    ]);
    for (const id of bridge.waiting) {
      out.push(...bridge.answer(id, random() < 0.5 ? 'approved' : 'rejected'));
    }
    const next = generateRuns(Math.floor(random() * 1e6), {
      runs: 1,
      actions: 6,
      endings: false,
      snapshots: false,
    });
    const json = JSON.stringify(next.events);
    push(JSON.parse(json.replace(/"([a-z]+\d+|__proto__)"/g, '"next-$1"')));
    out.push(...bridge.flush());
  },
  'an error first'({ push, out, bridge }, runs, _cut, random) {
    push([failure]);
    if (random() < 0.5) push(runs.events);
    out.push(...bridge.flush());
    if (bridge.phase === 'held') out.push(...bridge.cancel());
  },
};

interface Case {
  readonly runs: GeneratedRuns;
  readonly cut: readonly AgUiEvent[];
  /** What AG-UI makes of as many of the run's events. */
  readonly expected: Map<number, ReturnType<typeof expectedTexts>>;
}

const cases = new Map<number, Case>();

/** The same for every ending. */
function caseOf(seed: number): Case {
  let one = cases.get(seed);
  if (!one) {
    const runs = generateBridgeRuns(seed, { runs: 1 + (seed % 2), actions: 4 + (seed % 16) });
    const place = Math.floor(createRandom(seed * 31)() * (runs.events.length + 1));
    one = { runs, cut: runs.events.slice(0, place), expected: new Map() };
    cases.set(seed, one);
  }
  return one;
}

const seeds = Array.from({ length: 4_000 }, (_, index) => index + 1);

describe('createAgUiBridge on 4,000 random legal runs', () => {
  it.each(Object.entries(endings))(
    'ends each with nothing open: %s',
    (name, end) => {
      let compared = 0;
      const ends = new Map<string, number>();
      for (const seed of seeds) {
        const random = createRandom(seed * 37 + name.length);
        const { runs, cut, expected } = caseOf(seed);
        const settle = name !== 'an interrupt, held and resumed' && seed % 3 === 0;
        const one = play(runs, {
          interrupts: settle ? 'settle' : 'hold',
          toolMessages: seed % 5 === 0,
        });
        end(one, runs, cut, random);
        const message = `seed ${seed}`;
        if (one.bridge.phase !== 'ended') expect(one.bridge.phase, message).toBe('ended');
        const issues = validateAgentProviderEvents(capabilities, one.out);
        if (issues.length) expect(issues, message).toEqual([]);
        const store = createAgentStore({ protocolMode: 'strict' });
        store.batch(one.out);
        const state = store.getSnapshot();
        const { messages, reasoning, toolCalls, approvals, tasks, artifacts } = state;
        const left = [messages, reasoning, toolCalls, approvals, tasks, artifacts]
          .flatMap((record): readonly AgentEntity[] => Object.values(record))
          .filter(({ status }) => !/^(completed|failed|cancelled)$/.test(status));
        if (left.length) expect(left, message).toEqual([]);
        const { status } = state.runs.r!;
        ends.set(status, (ends.get(status) ?? 0) + 1);

        // A failure changes no text.
        const whole = one.pushed.filter((event) => event !== failure);
        const isOwn = name !== 'an interrupt, held and resumed';
        const { texts, told } = (isOwn && expected.get(whole.length)) || expectedTexts(runs, whole);
        if (isOwn) expected.set(whole.length, { texts, told });
        const stored = storedTexts(state);
        for (const [key, text] of texts) {
          if (!told.has(key)) continue;
          compared++;
          if (stored.get(key) !== text) expect(stored.get(key), `${message} ${key}`).toBe(text);
        }
      }
      // The streams are worth it.
      expect(compared).toBeGreaterThan(2_000);
      expect([...ends.keys()].sort()).toEqual(
        /abort/i.test(name)
          ? ['cancelled']
          : /held/.test(name)
            ? ['completed']
            : ['cancelled', 'completed', 'failed'],
      );
    },
    120_000,
  );
});
