import { describe, expect, it } from 'vitest';
import { agKitRuns } from '../../src/ag-kit/ag-kit-runs.ts';
import type { SendMessageInput } from '../../src/ag-kit/types.ts';
import { lastIndex } from '../../src/ag-ui/thread-edits.ts';
import { createPicks } from '../ag-kit/random-streams.ts';
import { createV1Server, toFakePeer, type V1Server } from '../helpers/v1-server.ts';
import { createWorld, type TestEvent, user } from '../helpers/world.ts';

const done = '[DONE]' as unknown as TestEvent;
const text = (content: string): TestEvent => ({ type: 'text', content });
const call = (toolCallId: string, toolCallName: string): TestEvent[] => [
  { type: 'tool-call-start', toolCallId, toolCallName },
  { type: 'tool-call-args', toolCallId, delta: '{}' },
  { type: 'tool-call-end', toolCallId },
];
const tools = [{ name: 'locate', description: 'Where the user is.', parameters: {} }];

/** An AG-Kit server whose answers are random, a piece at a time. */
interface Backend {
  readonly server: V1Server;
  readonly inputs: readonly SendMessageInput[];
  /** What the user and the page's tools said, in the order in which it came. */
  readonly told: readonly string[];
  /** Says the next piece of every answer under way. */
  step(): void;
}

function createBackend(seed: number): Backend {
  const { chance, pick } = createPicks(seed);
  const inputs: SendMessageInput[] = [];
  const told: string[] = [];
  const scripts = new Map<string, TestEvent[]>();

  function write(): TestEvent[] {
    const n = inputs.length;
    const script: TestEvent[] = [];
    if (chance(0.7)) script.push(text(`a${n}`), text('.'));
    if (chance(0.3)) {
      const result = { type: 'tool-result', toolCallId: `s${n}`, result: 'ok' };
      script.push(...call(`s${n}`, 'find'), result, text(`b${n}`));
    }
    const end = pick(['bare', 'bare', 'tool', 'question']);
    if (end === 'tool') script.push(...call(`c${n}`, 'locate'));
    if (end === 'question') {
      script.push({ type: 'interrupt', id: `i${n}`, reason: 'approval', payload: { n } });
    }
    return [...script, done];
  }

  const server = createV1Server({
    caps: null,
    onRun(run) {
      const input = run.input as SendMessageInput;
      inputs.push(input);
      told.push(...(input.messages ?? []).map(({ content = '' }) => content));
      scripts.set(run.runId, write());
    },
  });

  return {
    server,
    inputs,
    told,
    step() {
      for (const [runId, script] of scripts) {
        const event = server.runs.get(runId)?.status ? undefined : script.shift();
        if (event) server.append(runId, event);
        else scripts.delete(runId);
      }
    },
  };
}

/** What the page may do to a conversation besides talking. */
interface Doings {
  readonly reloads: boolean;
  readonly stops: boolean;
}

/** A conversation at random; every message has a content of its own. */
async function converse(seed: number, { reloads, stops }: Doings) {
  const { below, chance } = createPicks(seed * 7 + 1);
  const backend = createBackend(seed);
  let world = createWorld({ peer: toFakePeer(backend.server) });
  /** Options are made anew on each page, and know nothing of the one before. */
  const open = () => {
    const made = world.agent({
      threadId: 't',
      remember: 'thread',
      ...(agKitRuns({ cancelPayload: null }) as object),
    });
    made.connect();
    return made;
  };
  let agent = open();
  let count = 0;
  /** Messages that stood before something the server had said, and were sent behind it. */
  const doubles: string[] = [];
  const say = () => ({ messages: [user(`q${count++}`)], tools });

  async function ask() {
    const { interrupts, pendingToolCallIds, messages } = agent.getSnapshot();
    // A call that was stopped in the middle of its arguments is sent to nobody.
    const last = lastIndex(
      messages,
      ({ id, role, content }) => /^ag-kit:/.test(id) && (role === 'tool' || content),
    );
    const known = messages.slice(0, last + 1);
    const before = backend.told.length;
    if (interrupts) {
      const isGranted = chance(0.5);
      const answer = isGranted
        ? ({ status: 'resolved', payload: { n: count } } as const)
        : ({ status: 'cancelled' } as const);
      const more = !isGranted && chance(0.5) ? say() : { tools };
      agent.answer(Object.fromEntries(interrupts.map(({ id }) => [id, answer])), more);
    } else if (pendingToolCallIds) {
      const results = pendingToolCallIds.map((toolCallId) => {
        return { role: 'tool', toolCallId, content: `r${count++}` } as const;
      });
      agent.run({ messages: results, tools });
    } else agent.run(say());
    await world.settle();
    for (const { content } of known) {
      if (backend.told.slice(before).includes(content as string)) doubles.push(String(content));
    }
  }

  for (let left = 60; left > 0; left--) {
    const roll = below(20);
    const isRunning = agent.getSnapshot().status === 'running';
    if (roll < 9) backend.step();
    else if (roll < 12) await world.clock.advance(below(3000));
    else if (roll < 14 && world.client.getSnapshot().status === 'open') await world.reconnect();
    else if (roll < 15 && stops) agent.abort();
    else if (roll < 16 && reloads) {
      world = world.reload();
      agent = open();
    } else if (!isRunning || (stops && chance(0.2))) await ask();
    await world.settle();
  }
  // What is under way comes to its end, and one more question brings what is missing.
  for (let left = 40; left > 0; left--) {
    backend.step();
    await world.clock.advance(1000);
  }
  const { interrupts = [] } = agent.getSnapshot();
  const answers = Object.fromEntries(interrupts.map(({ id }) => [id, { status: 'cancelled' }]));
  if (interrupts[0]) agent.answer(answers as never, say());
  else agent.run(say());
  await world.settle();
  const said = agent
    .getSnapshot()
    .messages.filter(({ id, role }) => /^(user|tool)$/.test(role) && !/^ag-kit:/.test(id))
    .map(({ content }) => String(content));
  agent.dispose();
  return { ...backend, said, doubles };
}

describe('a conversation at random', { timeout: 120_000 }, () => {
  it.each([
    { reloads: false, stops: false },
    { reloads: true, stops: false },
    { reloads: false, stops: true },
    { reloads: true, stops: true },
  ])('reaches the server whole and in order, with %o', async (doings) => {
    let messages = 0;
    for (let seed = 1; seed <= 60; seed++) {
      const { inputs, told, said, doubles } = await converse(seed, doings);
      // Each stands where it was heard first.
      const heard = [...new Set(told)];
      messages += heard.length;
      expect({ seed, heard }).toEqual({ seed, heard: said });
      expect({ seed, doubles }).toEqual({ seed, doubles: [] });
      const roles = inputs.flatMap((input) => (input.messages ?? []).map(({ role }) => role));
      expect({ seed, hasOwn: roles.includes('assistant') }).toEqual({ seed, hasOwn: false });
      if (!doings.reloads && !doings.stops) expect({ seed, told }).toEqual({ seed, told: heard });
    }
    expect(messages).toBeGreaterThan(250);
  });
});
