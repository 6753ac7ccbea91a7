import { createWebSocketClient } from 'runsocket';
import { createAgUiAgent } from 'runsocket/ag-ui';

// An edit makes this module anew. Vite calls `dispose` only of modules that accept their edits, so
// what was made before is found in `data`. It lets go of its run, and the next agent goes on with it.
import.meta.hot?.data.agent?.dispose();

export const version = 'agent 1';
export const agent = createAgUiAgent(
  createWebSocketClient(new URLSearchParams(location.search).get('server')),
  { name: 'hot' },
);

if (import.meta.hot) import.meta.hot.data.agent = agent;
