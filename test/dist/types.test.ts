import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Consumer, createConsumer, root } from './consumer.ts';

let consumer: Consumer;

// Uses what a consumer uses; `@ts-expect-error` proves that the types are there and strict.
const source = `
import { createRuns, createWebSocketClient, isRunSocketError, RunSocketError } from 'runsocket';
import type { RunStorage, WebSocketClientOptions, WebSocketLike } from 'runsocket';
import { applyPatch, createAgUiAgent, emptyThread } from 'runsocket/ag-ui';
import type { AgUiEvent, AgUiThread, JsonPatchOperation } from 'runsocket/ag-ui';
import { useAgUiAgent } from 'runsocket/react';
import { WebSocket } from 'ws';

interface Plan { readonly tasks: readonly string[] }

const options: WebSocketClientOptions<unknown, { readonly type: string }> = {
  WebSocket,
  heartbeat: { interval: 10_000, message: { type: 'ping' } },
  on: { message: (message) => void message, error: ({ code }) => void code },
};
export const client = createWebSocketClient(
  async ({ attempt, signal }) => {
    signal.throwIfAborted();
    return new URL('wss://example.com/agent?try=' + attempt);
  },
  options,
);

const storage: RunStorage = {
  getItem: async (key) => key,
  setItem: async () => {},
  removeItem: () => {},
};
export const agent = createAgUiAgent<Plan>(client, { state: { tasks: [] }, storage });
export const tasks: readonly string[] = agent.getSnapshot().state.tasks;
export const runId: string = agent.run({ messages: [{ role: 'user', content: 'Hello' }] });
export const hook: (agent: typeof import('./agent-of-types.js').agent) => AgUiThread<Plan> = useAgUiAgent;
export const stop: () => void = agent.subscribe(() => {});

export const reduce = (thread: AgUiThread<Plan>, event: AgUiEvent): AgUiThread<Plan> =>
  event.type === 'CUSTOM' && event.name === 'reset' ? { ...thread, state: { tasks: [] } } : thread;

const patch: JsonPatchOperation[] = [{ op: 'add', path: '/tasks/-', value: 'a' }];
export const patched: Plan = applyPatch({ tasks: [] } as Plan, patch);
export const thread: AgUiThread<Plan> = emptyThread({ state: { tasks: [] } });

export async function follow(): Promise<string> {
  let text = '';
  const runs = createRuns<{ prompt: string }, { text: string }>(client);
  for await (const event of runs.start({ prompt: 'Hello' })) text += event.text;
  return text;
}

export function codeOf(error: unknown): RunSocketError['code'] | undefined {
  return isRunSocketError(error) ? error.code : undefined;
}

export const socket: WebSocketLike = new WebSocket('ws://127.0.0.1:1');

// @ts-expect-error a plan has no such member
agent.getSnapshot().state.jobs;
// @ts-expect-error an unknown option
createAgUiAgent(client, { nmae: 'x' });
// @ts-expect-error no such status
agent.getSnapshot().status === 'done';
// @ts-expect-error a thread is read only
agent.getSnapshot().messages.push();
// @ts-expect-error an option is absent or a value, never undefined
createWebSocketClient('ws://127.0.0.1:1', { linger: undefined });
// @ts-expect-error no such code
isRunSocketError(0, 'nope');
`;

const compilers = {
  '5.0': 'typescript-5.0',
  '5.9': 'typescript',
  '6.0': 'typescript-6.0',
  '7.0': 'typescript-7.0',
} as const;

const strictOptions = {
  target: 'ES2022',
  lib: ['ES2022'],
  types: ['node'],
  strict: true,
  exactOptionalPropertyTypes: true,
  noUncheckedIndexedAccess: true,
  noPropertyAccessFromIndexSignature: true,
  verbatimModuleSyntax: false,
  skipLibCheck: false,
  noEmit: true,
};

beforeAll(async () => {
  consumer = await createConsumer();
  const declared = `import type { AgUiAgent } from 'runsocket/ag-ui';
    export declare const agent: AgUiAgent<{ readonly tasks: readonly string[] }>;`;
  await consumer.write('agent-of-types.d.ts', declared);
  await consumer.write('esm.mts', source);
  await consumer.write('cjs.cts', source);
  await consumer.write('bundled.ts', source);
  await consumer.write(
    'tsconfig.node.json',
    JSON.stringify({
      compilerOptions: { ...strictOptions, module: 'NodeNext', moduleResolution: 'NodeNext' },
      files: ['esm.mts', 'cjs.cts'],
    }),
  );
  await consumer.write(
    'tsconfig.bundler.json',
    JSON.stringify({
      compilerOptions: { ...strictOptions, module: 'ESNext', moduleResolution: 'Bundler' },
      files: ['bundled.ts'],
    }),
  );
});
afterAll(() => consumer?.remove());

async function compile(compiler: string, project: string): Promise<string> {
  const tsc = join(root, 'node_modules', compiler, 'bin/tsc');
  const { code, stdout, stderr } = await consumer.node(tsc, '-p', `tsconfig.${project}.json`);
  return code === 0 ? '' : `${stdout}${stderr}`;
}

describe('the types, strict and without a DOM', () => {
  it.each(Object.entries(compilers))('read in TypeScript %s as ESM and as CJS', async (_, name) => {
    expect(await compile(name, 'node')).toBe('');
  });

  it.each(['5.9', '7.0'] as const)('read in TypeScript %s behind a bundler', async (version) => {
    expect(await compile(compilers[version], 'bundler')).toBe('');
  });
});
