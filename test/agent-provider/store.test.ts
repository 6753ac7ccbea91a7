import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createAgentEventFactory } from '../../src/agent-provider/event-factory.ts';
import { replayAgentEvents } from '../../src/agent-provider/reducer.ts';
import { createInitialAgentState } from '../../src/agent-provider/state-node.ts';
import { AgentProtocolError, createAgentStore } from '../../src/agent-provider/store.ts';
import { isRunSocketError } from '../../src/internal/errors.ts';

const events = createAgentEventFactory({ sessionId: 's', runId: 'r' });
const start = events.create('run.started', {});
const open = events.create('message.started', { messageId: 'm', role: 'assistant' });
const more = events.create('message.delta', { messageId: 'm', delta: 'a' });
const again = events.create('message.delta', { messageId: 'm', delta: 'b' });
const stray = events.create('message.delta', { messageId: 'none', delta: 'c' });

const content = (store: ReturnType<typeof createAgentStore>) =>
  store.getSnapshot().messages['1:rm']?.content;

function listen(store: ReturnType<typeof createAgentStore>) {
  const heard: unknown[] = [];
  const stop = store.subscribe(() => heard.push(content(store)));
  return { heard, stop };
}

describe('a store', () => {
  it('has one snapshot until it changes', () => {
    const store = createAgentStore();
    const empty = store.getSnapshot();
    expect(empty).toEqual(createInitialAgentState());
    expect(store.getSnapshot()).toBe(empty);
    const state = store.dispatch(start);
    expect(state).not.toBe(empty);
    expect(store.getSnapshot()).toBe(state);
  });

  it('notifies after each event that changes something', () => {
    const store = createAgentStore();
    const { heard } = listen(store);
    for (const event of [start, open, more, more, start, again]) store.dispatch(event);
    expect(heard).toEqual([undefined, '', 'a', 'ab']);
  });

  it('notifies once for a batch, and not for one that changes nothing', () => {
    const store = createAgentStore();
    const { heard } = listen(store);
    const state = store.batch([start, open, more, more, again]);
    expect(heard).toEqual(['ab']);
    expect(store.batch([])).toBe(state);
    expect(store.batch([more, again])).toBe(state);
    expect(heard).toHaveLength(1);
  });

  it('begins with the state it is given', () => {
    const state = replayAgentEvents([start, open]);
    const store = createAgentStore({ initialState: state });
    expect(store.getSnapshot()).toBe(state);
    const plain = createAgentStore({ initialState: JSON.parse(JSON.stringify(state)) });
    expect(plain.getSnapshot()).toEqual(state);
    expect(plain.getSnapshot().processedEventIds).toEqual({});
    plain.dispatch(open);
    plain.dispatch(more);
    expect([content(plain), plain.getSnapshot().issues]).toEqual(['a', []]);
  });

  it('is reset to another state or an empty one, and says so', () => {
    const store = createAgentStore();
    store.batch([start, open]);
    const { heard } = listen(store);
    expect(store.reset()).toEqual(createInitialAgentState());
    const state = replayAgentEvents([start, open, more]);
    expect(store.reset(state)).toBe(state);
    expect(store.reset(state)).toBe(state);
    expect(heard).toEqual([undefined, 'a', 'a']);
    store.reset();
    expect(store.dispatch(start).issues).toEqual([]);
  });

  it('ends when it is destroyed, but for its snapshot', () => {
    const store = createAgentStore();
    const { heard, stop } = listen(store);
    const state = store.dispatch(start);
    store.destroy();
    for (const use of [
      () => store.dispatch(open),
      () => store.batch([]),
      () => store.reset(),
      () => store.subscribe(() => {}),
    ]) {
      expect(use).toThrow('AgentStore has been destroyed.');
      expect(use).toThrow(expect.toSatisfy((error) => isRunSocketError(error, 'closed')));
    }
    expect(store.getSnapshot()).toBe(state);
    expect(heard).toHaveLength(1);
    stop();
    store.destroy();
  });
});

describe('an event against the rules', () => {
  it('is recorded and told, once', () => {
    const store = createAgentStore({ protocolMode: 'record' });
    const { heard } = listen(store);
    store.dispatch(start);
    store.dispatch(stray);
    store.dispatch(stray);
    expect(heard).toHaveLength(2);
    expect(store.getSnapshot().issues).toMatchObject([{ code: 'missing_entity' }]);
  });

  it('throws in strict mode each time, and changes nothing', () => {
    const store = createAgentStore({ protocolMode: 'strict' });
    const { heard } = listen(store);
    const state = store.dispatch(start);
    for (let time = 0; time < 2; time++) {
      expect(() => store.dispatch(stray)).toThrow(AgentProtocolError);
      expect(store.getSnapshot()).toBe(state);
    }
    expect(heard).toHaveLength(1);
    expect(Object.keys(state.processedEventIds)).toHaveLength(1);
    store.batch([open, more]);
    expect(content(store)).toBe('a');
  });

  it('is described by what is thrown', () => {
    const store = createAgentStore({ protocolMode: 'strict' });
    try {
      store.dispatch(more);
      expect.unreachable();
    } catch (error) {
      expect(error).toMatchObject({
        name: 'AgentProtocolError',
        message: "The message 'm' has not begun.",
        issue: { code: 'missing_entity', eventId: more.eventId, runId: 'r' },
      });
    }
  });

  it('takes its whole batch with it in strict mode', () => {
    const store = createAgentStore({ protocolMode: 'strict' });
    const { heard } = listen(store);
    const state = store.dispatch(start);
    expect(() => store.batch([open, more, stray, again])).toThrow(AgentProtocolError);
    expect(store.getSnapshot()).toBe(state);
    expect(state.messages).toEqual({});
    expect(heard).toHaveLength(1);
    store.batch([open, more, again]);
    expect(content(store)).toBe('ab');
    expect(store.getSnapshot().order).toHaveLength(1);
  });
});

describe('a listener', () => {
  const reported: unknown[] = [];
  const take = (error: unknown) => reported.push(error);
  let others: NodeJS.UncaughtExceptionListener[] = [];
  beforeEach(() => {
    reported.length = 0;
    others = process.listeners('uncaughtException');
    process.removeAllListeners('uncaughtException');
    process.on('uncaughtException', take);
  });
  afterEach(() => {
    process.off('uncaughtException', take);
    for (const other of others) process.on('uncaughtException', other);
  });

  it('that throws stops neither the others nor the dispatch, and is reported', async () => {
    const store = createAgentStore();
    const failure = new Error('listener');
    store.subscribe(() => {
      throw failure;
    });
    const { heard } = listen(store);
    expect(store.batch([start, open]).order).toHaveLength(1);
    expect(heard).toEqual(['']);
    await new Promise((resolve) => setImmediate(resolve));
    expect(reported).toEqual([failure]);
  });

  it('may dispatch, and everyone sees the last of it', () => {
    const store = createAgentStore();
    store.batch([start, open]);
    store.subscribe(() => {
      if (content(store) === 'a') store.dispatch(again);
    });
    const { heard } = listen(store);
    // What the outer call returns is what came of it all.
    expect(store.dispatch(more).messages['1:rm']!.content).toBe('ab');
    expect(heard).toEqual(['ab', 'ab']);
  });

  it('may reset or destroy, and those after it hear no more of a destroyed store', () => {
    const store = createAgentStore();
    store.subscribe(() => {
      if (store.getSnapshot().order.length) store.destroy();
    });
    const { heard } = listen(store);
    store.dispatch(start);
    store.dispatch(open);
    expect(heard).toEqual([undefined]);
  });

  it('that has stopped hears nothing, also from within', () => {
    const store = createAgentStore();
    const heard: number[] = [];
    const stop = store.subscribe(() => {
      heard.push(1);
      stop();
    });
    store.subscribe(() => heard.push(2));
    store.dispatch(start);
    store.dispatch(open);
    expect(heard).toEqual([1, 2, 2]);
  });

  it('is called as often as it subscribed', () => {
    const store = createAgentStore();
    let heard = 0;
    const listener = () => heard++;
    const stop = store.subscribe(listener);
    store.subscribe(listener);
    store.dispatch(start);
    stop();
    stop();
    store.dispatch(open);
    expect(heard).toBe(3);
  });
});
