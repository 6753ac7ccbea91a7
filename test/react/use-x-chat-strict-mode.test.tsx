import { StrictMode, version } from 'react';
import { createRoot, hydrateRoot } from 'react-dom/client';
import { renderToString } from 'react-dom/server';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { DefaultMessages } from '../../src/agent-provider/chat-types.ts';
import { createMemoryAgentCheckpointStorage } from '../../src/agent-provider/checkpoint-storage.ts';
import type { AgentMessageState } from '../../src/agent-provider/state-types.ts';
import { type UseXChatResult, useXChat } from '../../src/react/use-x-chat.ts';
import { type Ask, createFixture, type Fixture } from '../agent-provider/chat-fixture.ts';
import { until } from '../helpers/until.ts';

const consoleError = vi.spyOn(console, 'error');
const consoleWarn = vi.spyOn(console, 'warn');
let cleanUp: (() => void)[] = [];
/** What the component that was rendered last has been given. */
let chat: UseXChatResult<Ask>;

beforeEach(() => {
  Object.assign(globalThis, { IS_REACT_ACT_ENVIRONMENT: false });
  consoleError.mockReset();
  consoleWarn.mockReset();
});
afterEach(() => {
  for (const task of cleanUp.reverse()) task();
  cleanUp = [];
  expect(consoleError.mock.calls).toEqual([]);
  expect(consoleWarn.mock.calls).toEqual([]);
});

interface Props {
  readonly fixture: Fixture;
  readonly conversationKey?: string | undefined;
  readonly defaultMessages?: DefaultMessages<AgentMessageState> | undefined;
}

function Chat({ fixture, conversationKey, defaultMessages }: Props) {
  const shown = useXChat({ provider: fixture.provider, conversationKey, defaultMessages });
  chat = shown;
  return (
    <main
      ref={(element) => {
        element?.setAttribute('data-live', '');
      }}
    >
      {shown.messages.map(({ id, message }) => (
        <span key={id}>{String(message.content)}</span>
      ))}
    </main>
  );
}

function mount(props: Props, count = 1) {
  const container = document.createElement('div');
  document.body.append(container);
  const root = createRoot(container);
  const render = (next: Props, times = count) =>
    root.render(
      <StrictMode>
        {Array.from({ length: times }, (_, index) => index).map((index) => (
          <Chat key={index} {...next} />
        ))}
      </StrictMode>,
    );
  render(props);
  cleanUp.push(() => {
    root.unmount();
    container.remove();
  });
  const shows = (text: string) => until(() => container.textContent === text);
  return { container, render, shows, ready: () => until(() => container.firstChild !== null) };
}

it('runs on the React that it is meant for', () => {
  expect(version).toMatch(process.env.REACT ?? /^19\./);
});

describe('under StrictMode', () => {
  it('20 hooks on one conversation read a run once, and go on with it after all of them left', async () => {
    const fixture = createFixture();
    const props = { fixture, conversationKey: 'c' };
    const view = mount(props, 20);
    await view.ready();
    chat.onRequest({ prompt: 'Hi' });
    await until(() => fixture.runs.length === 1);
    fixture.run.say(' one');
    await view.shows('Hi one'.repeat(20));
    view.render(props, 3);
    await view.shows('Hi one'.repeat(3));
    view.render(props, 20);
    await view.shows('Hi one'.repeat(20));
    expect(fixture.run).toMatchObject({ reads: [-1], readers: 1, cancelled: false });
    view.render(props, 0);
    await until(() => fixture.run.readers === 0);
    fixture.run.say(' two');
    fixture.run.finish();
    view.render(props, 20);
    await view.shows('Hi one two'.repeat(20));
    expect(fixture.run).toMatchObject({ reads: [-1, 1], cancelled: false });
    expect(chat.agentState.issues).toEqual([]);
  });

  it('mounting in the middle of a run of any transport neither aborts nor reads it again', async () => {
    for (const conversationKey of ['c', undefined]) {
      const fixture = createFixture({ resumable: false });
      const view = mount({ fixture, conversationKey });
      await view.ready();
      chat.onRequest({ prompt: 'Hi' });
      await until(() => fixture.runs.length === 1);
      fixture.run.say(' one');
      await view.shows('Hi one');
      view.render({ fixture, conversationKey }, conversationKey ? 2 : 1);
      fixture.run.say(' two');
      await view.shows('Hi one two'.repeat(conversationKey ? 2 : 1));
      expect(fixture.run).toMatchObject({ reads: [-1], readers: 1, cancelled: false });
    }
  });

  it('a remembered run is taken up once', async () => {
    const checkpointStorage = createMemoryAgentCheckpointStorage();
    const fixture = createFixture({ checkpointStorage });
    const before = mount({ fixture, conversationKey: 'c' });
    await before.ready();
    chat.onRequest({ prompt: 'Hi' });
    await until(() => fixture.runs.length === 1);
    fixture.run.say(' one');
    await before.shows('Hi one');
    window.dispatchEvent(new Event('pagehide'));
    const after = mount({ fixture: fixture.page(), conversationKey: 'c' }, 3);
    fixture.run.say(' two');
    await after.shows('Hi one two'.repeat(3));
    expect(fixture.run.reads).toEqual([-1, 1]);
  });

  it('default messages are loaded once', async () => {
    let calls = 0;
    const view = mount(
      {
        fixture: createFixture(),
        conversationKey: 'c',
        defaultMessages: async () => {
          calls++;
          return [{ message: { role: 'assistant', content: 'Hello' } as AgentMessageState }];
        },
      },
      2,
    );
    await view.shows('HelloHello');
    expect(calls).toBe(1);
    expect(chat.isDefaultMessagesRequesting).toBe(false);
  });
});

describe('server rendering', () => {
  const defaultMessages = [
    { message: { role: 'assistant', content: 'Hello' } as AgentMessageState },
  ];

  async function hydrate(onServer: Props, onPage: Props) {
    const html = renderToString(<Chat {...onServer} />);
    const container = document.createElement('div');
    container.innerHTML = html;
    document.body.append(container);
    const recovered: unknown[] = [];
    const root = hydrateRoot(
      container,
      <StrictMode>
        <Chat {...onPage} />
      </StrictMode>,
      { onRecoverableError: (error) => recovered.push(error) },
    );
    cleanUp.push(() => {
      root.unmount();
      container.remove();
    });
    await until(() => container.querySelector('[data-live]') !== null);
    return { html, container, recovered };
  }

  it('shows the default messages, and hydration agrees without a word', async () => {
    const props = { conversationKey: 'ssr', defaultMessages };
    const { html, container, recovered } = await hydrate(
      { fixture: createFixture(), ...props },
      { fixture: createFixture(), ...props },
    );
    expect(html).toBe('<main><span>Hello</span></main>');
    expect(container.textContent).toBe('Hello');
    expect(recovered).toEqual([]);
  });

  it('asks no loader', () => {
    const load = vi.fn(() => []);
    const html = renderToString(<Chat fixture={createFixture()} defaultMessages={load} />);
    expect(html).toBe('<main></main>');
    expect(chat.isDefaultMessagesRequesting).toBe(true);
    expect(load).not.toHaveBeenCalled();
  });

  it('reads no storage, and hydration shows what was remembered right after it', async () => {
    const checkpointStorage = createMemoryAgentCheckpointStorage();
    const fixture = createFixture({ checkpointStorage });
    const before = mount({ fixture, conversationKey: 'c' });
    await before.ready();
    chat.onRequest({ prompt: 'Hi' });
    await until(() => fixture.runs.length === 1);
    fixture.run.say(' one');
    await before.shows('Hi one');
    window.dispatchEvent(new Event('pagehide'));
    const load = vi.spyOn(checkpointStorage, 'load');
    const onServer = { fixture: fixture.page(), conversationKey: 'c', defaultMessages };
    const html = renderToString(<Chat {...onServer} />);
    expect(html).toBe('<main><span>Hello</span></main>');
    expect(load).not.toHaveBeenCalled();
    const { container, recovered } = await hydrate(onServer, {
      ...onServer,
      fixture: fixture.page(),
    });
    fixture.run.say(' two');
    await until(() => container.textContent === 'HelloHi one two');
    expect(recovered).toEqual([]);
  });
});
