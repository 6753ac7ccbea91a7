import { describe, expect, it } from 'vitest';
import { createAgUiProvider } from '../../src/agent-provider/ag-ui-provider.ts';
import type {
  AgUiClientTool,
  AgUiProviderInput,
  AgUiProviderOptions,
} from '../../src/agent-provider/ag-ui-provider-types.ts';
import { createAgentChat } from '../../src/agent-provider/agent-chat.ts';
import type {
  AgentChat,
  AgentCheckpoint,
  AgentCheckpointStorage,
} from '../../src/agent-provider/chat-types.ts';
import { getWire } from '../../src/client/wire.ts';
import { createV1Server, toFakePeer, type V1Run, type V1Server } from '../helpers/v1-server.ts';
import { createWorld, texts, type World } from '../helpers/world.ts';
import {
  interrupted,
  runFinished,
  runStarted,
  text,
  textEnd,
  textStart,
  toolCall,
} from './ag-ui-provider-set-up.ts';

/** One page with a conversation that somebody shows. */
interface Page {
  readonly world: World;
  readonly server: V1Server;
  readonly chat: AgentChat<AgUiProviderInput>;
  /** The runs at the server, oldest first. */
  readonly runs: readonly V1Run[];
  said(): unknown[];
  states(): readonly string[];
  /** The next page; nothing of this one runs any more, not even what it had put off to the next task. */
  crash(options?: Partial<AgUiProviderOptions>): Promise<Page>;
}

function open(
  options: Partial<AgUiProviderOptions> = {},
  server: V1Server = createV1Server(),
  world: World = createWorld({ peer: toFakePeer(server) }),
): Page {
  const provider = createAgUiProvider({ client: world.client as never, ...options });
  const { environment } = getWire(world.client);
  // The registry of conversations is a page's.
  Object.assign(environment.page, { window: {} });
  const chat = createAgentChat({ provider, conversationKey: 'c' }, environment);
  chat.subscribe(() => {});
  return {
    world,
    server,
    chat,
    get runs() {
      return [...server.runs.values()];
    },
    said: () => chat.getSnapshot().messages.map(({ message }) => message.content),
    states: () => Object.values(chat.getSnapshot().agentState.runs).map(({ status }) => status),
    async crash(more = options) {
      await world.clock.flush();
      const next = open(more, server, world.reload({ crash: true }));
      await next.world.clock.advance(10);
      return next;
    },
  };
}

/** Asks, and lets everything follow that needs no timer. */
async function ask(page: Page) {
  page.chat.onRequest({ prompt: 'Hi' });
  await page.world.clock.flush();
}

/** The newest run says a word, and calls tools or ends. */
async function step(page: Page, word: string, ...tools: string[]) {
  const { runId } = page.runs.at(-1)!;
  const calls = tools.flatMap((name) => toolCall(`${runId} ${name}`, name));
  page.server.append(runId, runStarted(runId), textStart(word), text(word, word), textEnd(word));
  page.server.append(runId, ...calls, runFinished(runId));
  page.server.end(runId, 'finished');
  await page.world.clock.flush();
}

/** The newest run says a word, and asks under its name. */
async function stepAsking(page: Page, word: string) {
  const { runId } = page.runs.at(-1)!;
  page.server.append(runId, runStarted(runId), textStart(word), text(word, word), textEnd(word));
  page.server.append(runId, interrupted(runId, { id: word }));
  page.server.end(runId, 'finished');
  await page.world.clock.flush();
}

async function approve(page: Page, approvalId: string) {
  const [runId = ''] = Object.keys(page.chat.getSnapshot().agentState.runs);
  page.chat.agentActions.resolveApproval({ runId, approvalId, decision: 'approved' });
  await page.world.clock.flush();
}

function expectWhole(page: Page, ...said: string[]) {
  expect(page.said()).toEqual(['Hi', ...said]);
  expect(page.states()).toEqual(['completed']);
  expect(page.chat.getSnapshot().agentState.issues).toEqual([]);
  expect(page.runs.map(({ executions }) => executions)).toEqual(said.map(() => 1));
}

const never = () => new Promise(() => {});

/** How often a run was asked to start. */
const starts = (page: Page) => page.runs.map((run) => run.starts);

describe('a page that dies without a word', () => {
  it('right behind a question leaves it to the next page, which goes on', async () => {
    const page = open();
    await ask(page);
    const next = await page.crash();
    expect(next.said()).toEqual(['Hi']);
    await step(next, 'one');
    await next.world.clock.advance(10);
    expectWhole(next, 'one');
    expect(starts(next)).toEqual([1]);
  });

  it('before a question has left it asks the server, and fails where that knows nothing', async () => {
    const page = open();
    page.server.silent = true;
    await ask(page);
    const stored = page.world.storage.map;
    // It was written down, but had not reached the agent yet.
    stored.delete('runsocket:ag-ui:c');
    const next = await page.crash();
    page.server.silent = false;
    await next.world.reconnect(1006);
    await next.world.clock.advance(1_000);
    expect(next.said()).toEqual(['Hi']);
    expect(next.states()).toEqual(['failed']);
    expect(next.chat.getSnapshot().isRequesting).toBe(false);
  });

  it.each([1, 2, 3])('behind %i answers of its tools loses no step between them', async (count) => {
    const tools = { look: () => 'seen' };
    const page = open({ clientTools: tools });
    await ask(page);
    const words = ['one', 'two', 'three'].slice(0, count);
    for (const word of words) await step(page, word, 'look');
    expect(page.runs.length).toBe(count + 1);
    const next = await page.crash();
    await step(next, 'last');
    await next.world.clock.advance(10);
    expectWhole(next, ...words, 'last');
  });

  it.each([1, 2, 3])('behind %i answers of its user loses no step between them', async (count) => {
    const page = open();
    await ask(page);
    const words = ['one', 'two', 'three'].slice(0, count);
    for (const word of words) {
      await stepAsking(page, word);
      await approve(page, word);
    }
    expect(page.runs.length).toBe(count + 1);
    const next = await page.crash();
    await step(next, 'last');
    await next.world.clock.advance(10);
    expectWhole(next, ...words, 'last');
  });

  it('behind an answer whose run has asked again already sends no answer twice', async () => {
    const page = open();
    await ask(page);
    for (const word of ['one', 'two']) {
      await stepAsking(page, word);
      if (word === 'one') await approve(page, word);
    }
    const next = await page.crash();
    expect(starts(next)).toEqual([1, 1]);
    await approve(next, 'two');
    await step(next, 'last');
    await next.world.clock.advance(10);
    expectWhole(next, 'one', 'two', 'last');
  });

  /** Lets nothing of a page get anywhere from the checkpoint with an answer on. */
  async function dieBehindCheckpoint(page: Page, work: () => Promise<void>) {
    let died = false;
    const { map } = page.world.storage;
    const set = map.set.bind(map);
    map.set = (key, value) => {
      if (!died) set(key, value);
      died ||= value.includes('"unsent"');
      page.server.silent = died;
      return map;
    };
    await work();
    expect(died).toBe(true);
    map.set = set;
    page.server.silent = false;
    expect(page.runs.length).toBe(1);
  }

  it('between what it wrote down and what it sends leaves a tool’s answer to the next page, whose run may not say that it starts', async () => {
    const page = open({ clientTools: { look: () => 'seen' } });
    await ask(page);
    await dieBehindCheckpoint(page, () => step(page, 'one', 'look'));
    let again = 0;
    const next = await page.crash({ clientTools: { look: () => ++again } });
    expect(next.runs.length).toBe(2);
    const { runId, input } = next.runs[1]!;
    const { messages } = input as { readonly messages: readonly unknown[] };
    expect(messages.at(-1)).toMatchObject({ role: 'tool', content: 'seen' });
    next.server.append(runId, textStart('two'), text('two', 'two'), textEnd('two'));
    next.server.append(runId, ...toolCall('t2', 'look'), runFinished(runId));
    next.server.end(runId, 'finished');
    await next.world.clock.flush();
    expect(again).toBe(1);
    await step(next, 'last');
    await next.world.clock.advance(10);
    expectWhole(next, 'one', 'two', 'last');
  });

  it('between the two leaves its user’s answer to the next page', async () => {
    const page = open();
    await ask(page);
    await stepAsking(page, 'one');
    await dieBehindCheckpoint(page, () => approve(page, 'one'));
    const next = await page.crash();
    const { runId, input } = next.runs[1]!;
    expect(input).toMatchObject({ resume: [{ interruptId: 'one' }] });
    next.server.append(runId, textStart('last'), text('last', 'last'), textEnd('last'));
    next.server.append(runId, runFinished(runId));
    next.server.end(runId, 'finished');
    await next.world.clock.advance(10);
    expectWhole(next, 'one', 'last');
  });

  it('behind a step that nothing was written of has no answer sent twice', async () => {
    let calls = 0;
    const look: AgUiClientTool = () => (++calls === 1 ? 'seen' : never());
    const page = open({ clientTools: { look } });
    await ask(page);
    await step(page, 'one', 'look');
    await step(page, 'two', 'look');
    expect(calls).toBe(2);
    const next = await page.crash({ clientTools: { look: () => 'seen' } });
    expect(starts(next)).toEqual([1, 1, 1]);
    await step(next, 'last');
    await next.world.clock.advance(10);
    expectWhole(next, 'one', 'two', 'last');
    const thread = texts(getAgent(next)).filter((content) => content !== undefined);
    expect(thread).toEqual(['Hi', 'one', 'seen', 'two', 'seen', 'last']);
  });

  it('behind one of two answers does not run that tool again', async () => {
    let quick = 0;
    const tools = (slow: AgUiClientTool) => ({
      clientTools: { slow, quick: () => String(++quick) },
    });
    const page = open(tools(never));
    await ask(page);
    await step(page, 'one', 'slow', 'quick');
    const next = await page.crash(tools(() => 'late'));
    expect(quick).toBe(1);
    await step(next, 'last');
    await next.world.clock.advance(10);
    expectWhole(next, 'one', 'last');
  });
});

const getAgent = ({ world }: Page) => world.agent({ name: 'ag-ui:c', remember: 'thread' });

describe('storage that takes its time', () => {
  /** Storage whose writes are through when the test says so, or never. */
  function createSlowStorage() {
    const waits: (() => void)[] = [];
    const saved: AgentCheckpoint[] = [];
    const storage: AgentCheckpointStorage = {
      load: () => undefined,
      save: (_id, checkpoint) => {
        saved.push(checkpoint);
        return new Promise<void>((resolve) => waits.push(resolve));
      },
      remove: () => {},
    };
    return {
      checkpointStorage: storage,
      saved,
      answer() {
        for (const one of waits.splice(0)) one();
      },
    };
  }

  it('is waited for before a question is sent', async () => {
    const slow = createSlowStorage();
    const page = open(slow);
    await ask(page);
    expect(page.said()).toEqual(['Hi']);
    expect(page.runs.length).toBe(0);
    expect(slow.saved.length).toBe(1);
    slow.answer();
    await page.world.clock.flush();
    expect(page.runs.length).toBe(1);
  });

  it('is waited for for 250 ms', async () => {
    const page = open(createSlowStorage());
    await ask(page);
    await page.world.clock.advance(249);
    expect(page.runs.length).toBe(0);
    await page.world.clock.advance(1);
    expect(page.runs.length).toBe(1);
  });

  it('holds up no abort, and what was aborted is never sent', async () => {
    const slow = createSlowStorage();
    const page = open(slow);
    await ask(page);
    page.chat.abort();
    await page.world.clock.flush();
    expect(page.states()).toEqual(['cancelled']);
    slow.answer();
    await page.world.clock.advance(1_000);
    expect(page.runs.length).toBe(0);
  });

  async function answering() {
    const slow = createSlowStorage();
    const page = open({ ...slow, clientTools: { look: () => 'seen' } });
    await ask(page);
    slow.answer();
    await page.world.clock.flush();
    await step(page, 'one', 'look');
    expect(page.runs.length).toBe(1);
    return { slow, page };
  }

  it('is waited for before an answer is sent, once', async () => {
    const { slow, page } = await answering();
    expect(slow.saved.at(-1)?.contextByRun).toMatchObject({
      [page.runs[0]!.runId]: { unsent: { messages: [{ content: 'seen' }] } },
    });
    slow.answer();
    await page.world.clock.flush();
    expect(page.runs.length).toBe(2);
    await step(page, 'last');
    await page.world.clock.advance(1_000);
    expectWhole(page, 'one', 'last');
  });

  it('is waited for while the log that the answer is for is closed', async () => {
    const slow = createSlowStorage();
    const page = open({ ...slow, clientTools: { look: () => 'seen' } });
    await ask(page);
    slow.answer();
    await page.world.clock.flush();
    const { runId } = page.runs[0]!;
    page.server.append(runId, runStarted(runId), textStart('one'), text('one', 'one'));
    page.server.append(runId, textEnd('one'), ...toolCall('t', 'look'), runFinished(runId));
    await page.world.clock.flush();
    page.server.end(runId, 'finished');
    await page.world.clock.flush();
    expect(page.runs.length).toBe(1);
    slow.answer();
    await page.world.clock.flush();
    await step(page, 'last');
    await page.world.clock.advance(1_000);
    expectWhole(page, 'one', 'last');
  });

  it('is waited for behind what it is writing already', async () => {
    const slow = createSlowStorage();
    const page = open({ ...slow, clientTools: { look: () => 'seen' } });
    await ask(page);
    slow.answer();
    await page.world.clock.advance(1_000);
    await step(page, 'one', 'look');
    expect(slow.saved.at(-1)?.contextByRun).not.toMatchObject({
      [page.runs[0]!.runId]: { unsent: expect.anything() },
    });
    slow.answer();
    await page.world.clock.flush();
    expect(page.runs.length).toBe(1);
    expect(slow.saved.at(-1)?.contextByRun).toMatchObject({
      [page.runs[0]!.runId]: { unsent: expect.anything() },
    });
    slow.answer();
    await page.world.clock.flush();
    expect(page.runs.length).toBe(2);
  });

  it('is waited for by an answer that is aborted meanwhile, and never sent', async () => {
    const { page } = await answering();
    page.chat.abort();
    await page.world.clock.advance(1_000);
    expect(page.states()).toEqual(['cancelled']);
    expect(page.runs.length).toBe(1);
  });

  it('is waited for by an answer whose run is cancelled meanwhile, and stopped behind it', async () => {
    const { page } = await answering();
    const [runId = ''] = Object.keys(page.chat.getSnapshot().agentState.runs);
    await page.chat.agentActions.cancelRun({ runId });
    await page.world.clock.advance(1_000);
    expect(page.runs.map(({ cancels }) => cancels)).toEqual([0, 1]);
    expect(page.states()).toEqual(['cancelled']);
  });
});
