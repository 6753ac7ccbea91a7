import { createWebSocketClient } from 'runsocket';
import { createAgUiAgent } from 'runsocket/ag-ui';
import { recordFrame } from './wire-log.ts';

/** The state that the agent shares with the page. */
export interface AgentState {
  readonly plan?: Plan;
}

export interface Plan {
  readonly goal: string;
  readonly steps: readonly PlanStep[];
}

export interface PlanStep {
  readonly title: string;
  readonly status: 'pending' | 'active' | 'done';
  readonly detail?: string;
}

// `?server=ws://127.0.0.1:9000/agent` talks to a server somewhere else.
const serverUrl = new URL(
  new URLSearchParams(location.search).get('server') ?? '/agent',
  location.href.replace(/^http/, 'ws'),
);

// An edit of this module makes all of it anew: what was made before lets go, and its run goes on.
import.meta.hot?.data.agent?.dispose();

export const client = createWebSocketClient(serverUrl, { inspect: recordFrame });

export const agent = createAgUiAgent<AgentState | undefined>(client, {
  name: 'example',
  // The conversation stays over a reload after the answer, too.
  remember: 'thread',
});

if (import.meta.hot) import.meta.hot.data.agent = agent;

/** Ask the example server to cut all connections and to let nobody in for some seconds. */
export function dropConnection(): void {
  const url = new URL(`${serverUrl.pathname}/drop`, serverUrl.href.replace(/^ws/, 'http'));
  // Without a network there is nothing to drop.
  fetch(url, { method: 'POST', mode: 'no-cors' }).catch(() => {});
}
