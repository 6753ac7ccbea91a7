import { act, cleanup, render, renderHook } from '@testing-library/react';
import { Component, type ReactNode } from 'react';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { createMemoryAgentCheckpointStorage } from '../../src/agent-provider/checkpoint-storage.ts';
import { useXChat } from '../../src/react/use-x-chat.ts';
import { createFixture, type Fixture } from '../agent-provider/chat-fixture.ts';
import { until } from '../helpers/until.ts';

const consoleError = vi.spyOn(console, 'error');
const consoleWarn = vi.spyOn(console, 'warn');

beforeEach(() => {
  Object.assign(globalThis, { IS_REACT_ACT_ENVIRONMENT: true });
  consoleError.mockReset();
  consoleWarn.mockReset();
});
afterEach(() => {
  cleanup();
  expect(consoleError.mock.calls).toEqual([]);
  expect(consoleWarn.mock.calls).toEqual([]);
});

/** Waits inside of React's act for what comes without it. */
const settle = (condition: () => boolean) => act(() => until(condition));

type Props = { conversationKey?: string | undefined; fixture: Fixture };

function hook(initialProps: Props) {
  const seen: string[] = [];
  const view = renderHook(
    ({ conversationKey, fixture }: Props) => {
      const chat = useXChat({ provider: fixture.provider, conversationKey });
      seen.push(chat.messages.map(({ message }) => message.content).join('|'));
      return chat;
    },
    { initialProps },
  );
  return {
    ...view,
    seen,
    get chat() {
      return view.result.current;
    },
    get text() {
      return seen.at(-1);
    },
  };
}

describe('useXChat', () => {
  it('shows a request at once, and its answer as it comes', async () => {
    const fixture = createFixture();
    const view = hook({ conversationKey: 'c', fixture });
    expect(view.chat).toMatchObject({ messages: [], isRequesting: false, connectionState: 'idle' });
    act(() => view.chat.onRequest({ prompt: 'Hi' }));
    expect(view.text).toBe('Hi');
    await settle(() => fixture.runs.length === 1);
    fixture.run.say('He', 'llo');
    await settle(() => view.text === 'Hi|Hello');
    fixture.run.finish();
    await settle(() => !view.chat.isRequesting);
    expect(view.chat.messages[1]).toMatchObject({ status: 'success' });
    expect(view.chat.agentState.issues).toEqual([]);
  });

  it('returns what the page of the hook names, each method the same in all renders', async () => {
    const fixture = createFixture();
    const view = hook({ conversationKey: 'c', fixture });
    const before = view.chat;
    expect(Object.keys(before).sort()).toEqual([
      'abort',
      'agentActions',
      'agentState',
      'commandStates',
      'connectionState',
      'isDefaultMessagesRequesting',
      'isRequesting',
      'latestCommandByAction',
      'messages',
      'onReload',
      'onRequest',
      'parsedMessages',
      'queueRequest',
      'removeMessage',
      'setMessage',
      'setMessages',
    ]);
    view.rerender({ conversationKey: 'c', fixture });
    expect(view.chat).toBe(before);
    act(() => view.chat.onRequest({ prompt: 'Hi' }));
    for (const [name, value] of Object.entries(before)) {
      if (typeof value === 'function' || name === 'agentActions') {
        expect(view.chat).toHaveProperty(name, value);
      }
    }
    act(() => view.chat.abort());
    await settle(() => !view.chat.isRequesting);
  });

  it('shows one conversation to all who name it', async () => {
    const fixture = createFixture();
    const one = hook({ conversationKey: 'c', fixture });
    const two = hook({ conversationKey: 'c', fixture });
    const other = hook({ conversationKey: 'd', fixture });
    act(() => one.chat.onRequest({ prompt: 'Hi' }));
    expect([one.text, two.text, other.text]).toEqual(['Hi', 'Hi', '']);
    await settle(() => fixture.runs.length === 1);
    act(() => two.unmount());
    fixture.run.say('On');
    await settle(() => one.text === 'Hi|On');
    expect(fixture.run.reads).toEqual([-1]);
  });

  it('shows another conversation from the render on that names it, and finds the first again whole', async () => {
    const fixture = createFixture();
    const view = hook({ conversationKey: 'a', fixture });
    act(() => view.chat.onRequest({ prompt: 'A' }));
    await settle(() => fixture.runs.length === 1);
    const [run] = fixture.runs;
    run!.say('On');
    await settle(() => view.text === 'A|On');
    view.seen.length = 0;
    view.rerender({ conversationKey: 'b', fixture });
    expect(new Set(view.seen)).toEqual(new Set(['']));
    await settle(() => run!.readers === 0);
    expect(run!.cancelled).toBe(false);
    act(() => view.chat.onRequest({ prompt: 'B' }));
    run!.say(' and', ' on');
    run!.finish();
    expect(view.text).toBe('B');
    view.seen.length = 0;
    view.rerender({ conversationKey: 'a', fixture });
    expect(view.seen[0]).toBe('A|On');
    await settle(() => view.text === 'A|On and on');
    await settle(() => !view.chat.isRequesting);
    expect(Object.values(view.chat.agentState.runs)).toMatchObject([{ status: 'completed' }]);
    expect(view.chat.agentState.issues).toEqual([]);
    view.rerender({ conversationKey: 'b', fixture });
    expect(view.text).toBe('B');
    expect(view.chat.isRequesting).toBe(true);
  });

  it('aborts runs of another transport when the conversation changes, or nobody shows it', async () => {
    const fixture = createFixture({ resumable: false });
    const view = hook({ conversationKey: 'a', fixture });
    act(() => view.chat.onRequest({ prompt: 'A' }));
    await settle(() => fixture.runs.length === 1);
    view.rerender({ conversationKey: 'b', fixture });
    await settle(() => fixture.run.cancelled);
    view.rerender({ conversationKey: 'a', fixture });
    expect(Object.values(view.chat.agentState.runs)).toMatchObject([{ status: 'cancelled' }]);
    act(() => view.chat.onRequest({ prompt: 'B' }));
    await settle(() => fixture.runs.length === 2);
    act(() => view.unmount());
    await settle(() => fixture.run.cancelled);
  });

  it('goes on with a run after it was unmounted and mounted again', async () => {
    const fixture = createFixture();
    const before = hook({ conversationKey: 'c', fixture });
    act(() => before.chat.onRequest({ prompt: 'Hi' }));
    await settle(() => fixture.runs.length === 1);
    fixture.run.say('On');
    await settle(() => before.text === 'Hi|On');
    act(() => before.unmount());
    await settle(() => fixture.run.readers === 0);
    fixture.run.say(' and on');
    fixture.run.finish();
    const after = hook({ conversationKey: 'c', fixture });
    expect(after.seen[0]).toBe('Hi|On');
    await settle(() => after.text === 'Hi|On and on');
    expect(fixture.run.cancelled).toBe(false);
    expect(after.chat.agentState.issues).toEqual([]);
  });

  it('keeps a conversation without a key to its component, and ends it with that', async () => {
    const fixture = createFixture();
    for (const conversationKey of [undefined, '']) {
      const one = hook({ fixture, conversationKey });
      const two = hook({ fixture, conversationKey });
      act(() => one.chat.onRequest({ prompt: 'Hi' }));
      one.rerender({ fixture, conversationKey });
      expect([one.text, two.text]).toEqual(['Hi', '']);
      await settle(() => fixture.run?.readers === 1);
      act(() => one.unmount());
      await settle(() => fixture.run.cancelled);
      act(() => two.unmount());
    }
  });

  it('shows another conversation for another provider', () => {
    const first = createFixture();
    const second = createFixture();
    for (const conversationKey of [undefined, 'c']) {
      const view = hook({ fixture: first, conversationKey });
      act(() => view.chat.onRequest({ prompt: 'Hi' }));
      view.rerender({ fixture: second, conversationKey });
      expect(view.text).toBe('');
      view.rerender({ fixture: first, conversationKey });
      expect(view.text).toBe('Hi');
      act(() => view.unmount());
    }
  });

  it('shows what was remembered in its first render, and goes on after it', async () => {
    const checkpointStorage = createMemoryAgentCheckpointStorage();
    const fixture = createFixture({ checkpointStorage });
    const before = hook({ conversationKey: 'c', fixture });
    act(() => before.chat.onRequest({ prompt: 'Hi' }));
    await settle(() => fixture.runs.length === 1);
    fixture.run.say('On');
    await settle(() => before.text === 'Hi|On');
    act(() => void window.dispatchEvent(new Event('pagehide')));
    const next = fixture.page();
    const after = hook({ conversationKey: 'c', fixture: next });
    expect(after.seen[0]).toBe('Hi|On');
    fixture.run.say(' and on');
    fixture.run.finish();
    await settle(() => after.text === 'Hi|On and on');
    await settle(() => !after.chat.isRequesting);
  });

  it('parses with the parser of the render', async () => {
    const fixture = createFixture();
    const view = renderHook(
      ({ mark }) =>
        useXChat({
          provider: fixture.provider,
          conversationKey: 'c',
          parser: ({ content }) => `${content}${mark}`,
        }),
      { initialProps: { mark: '?' } },
    );
    act(() => view.result.current.onRequest({ prompt: 'Hi' }));
    expect(view.result.current.parsedMessages).toMatchObject([{ message: 'Hi?' }]);
    view.rerender({ mark: '!' });
    expect(view.result.current.parsedMessages).toMatchObject([{ message: 'Hi!' }]);
    act(() => view.result.current.abort());
    await settle(() => !view.result.current.isRequesting);
  });

  it('throws while rendering for anything but an AgentProvider', () => {
    consoleError.mockImplementation(() => {});
    const view = render(
      <Boundary>
        <Broken />
      </Boundary>,
    );
    expect(view.container.textContent).toBe('unsupported');
    consoleError.mockReset();
  });
});

function Broken() {
  useXChat({ provider: undefined as never });
  return null;
}

class Boundary extends Component<{ children: ReactNode }> {
  override state = { code: '' };
  static getDerivedStateFromError({ code }: { code: string }) {
    return { code };
  }
  override render() {
    return this.state.code || this.props.children;
  }
}
