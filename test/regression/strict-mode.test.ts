// @vitest-environment jsdom
import { act, createElement, StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { createAgUiAgent } from '../../src/ag-ui/agent.ts';
import type { AgUiAgent } from '../../src/ag-ui/agent-types.ts';
import { createClient } from '../../src/client/websocket-client.ts';
import { useAgUiAgent } from '../../src/react/use-ag-ui-agent.ts';
import { createFakeNetwork } from '../helpers/fake-network.ts';
import { createFakePage } from '../helpers/fake-page.ts';
import { toFakePeer } from '../helpers/v1-server.ts';
import { createVirtualClock } from '../helpers/virtual-clock.ts';
import { says, started, user } from '../helpers/world.ts';
import { createScene } from './set-up.ts';

const consoleError = vi.spyOn(console, 'error');
beforeEach(() => {
  Object.assign(globalThis, { IS_REACT_ACT_ENVIRONMENT: true });
});
afterEach(() => {
  expect(consoleError.mock.calls).toEqual([]);
});

function Conversation({ agent }: { readonly agent: AgUiAgent }) {
  return useAgUiAgent(agent).messages.map(({ id, content }) =>
    createElement('p', { key: id }, String(content)),
  );
}

// https://github.com/cloudflare/partykit/issues/336, https://github.com/robtaussig/react-use-websocket/issues/138,
// https://github.com/alibaba/hooks/issues/1922
it.each([0, 50])(
  'a StrictMode mount makes one connection and one resume, and dispose() ends it all (url after %i ms)',
  async (delay) => {
    const { server, world: before } = createScene();
    before.agent().run({ messages: [user('Hi')] }, { runId: 'a' });
    await before.settle();
    server.append('a', started('a'), says('one'));
    before.page.dispatch('pagehide', { persisted: false });

    const clock = createVirtualClock();
    const page = createFakePage();
    const network = createFakeNetwork(toFakePeer(server));
    const environment = { ...clock.environment, page: page.globals };
    const client = createClient(
      () =>
        new Promise<string>((resolve) =>
          clock.environment.setTimer(() => resolve('wss://x'), delay),
        ),
      {},
      { environment, dialer: network.dialer },
    );
    const agent = createAgUiAgent(client, { storage: before.storage.page() });
    const container = document.createElement('div');
    const root = createRoot(container);
    const closedBeforeOpen: unknown[] = [];
    client.on('close', (close) => closedBeforeOpen.push(close));
    const received = server.received.length;
    await act(async () =>
      root.render(createElement(StrictMode, null, createElement(Conversation, { agent }))),
    );
    await act(() => clock.advance(100));
    expect(container.textContent).toBe('Hione');
    expect(network.sockets.map(({ state, stopped }) => [state, stopped])).toEqual([
      ['open', false],
    ]);
    expect(closedBeforeOpen).toEqual([]);
    expect(server.received.slice(received).filter(({ runId }) => runId)).toMatchObject([
      { type: 'resume', runId: 'a' },
    ]);
    await act(async () => agent.dispose());
    await clock.flush();
    expect([network.socket.state, server.connections.size]).toEqual(['ended', 0]);
    await act(async () => root.unmount());
    expect(network.sockets.length).toBe(1);
    expect([clock.timers, page.listeners, server.runs.get('a')?.cancels]).toEqual([0, 0, 0]);
  },
);
