import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Consumer, createConsumer, root } from './consumer.ts';

let consumer: Consumer;

const source = `
import { createWebSocketClient } from 'runsocket';
import { createAgentChat, createAgUiProvider, experimentalAgent } from 'runsocket/agent-provider';
import type { AgentEventOf, AgentState, AgentStore } from 'runsocket/agent-provider';
import { useXChat } from 'runsocket/react';
import { createRunServer, memoryRunLog } from 'runsocket/server';
import type { RunLog } from 'runsocket/server';
import { runConformance } from 'runsocket/server/conformance';
import type { ConformanceSocket } from 'runsocket/server/conformance';
import { redisRunLog } from 'runsocket/server/redis';
import type { RedisLike } from 'runsocket/server/redis';

type Equal<A, B> =
  (<T>() => T extends A ? 1 : 2) extends (<T>() => T extends B ? 1 : 2) ? true : false;

// A type of the namespace is the one outside, and not just anything.
export const same: [
  Equal<experimentalAgent.AgentState, AgentState>,
  Equal<experimentalAgent.AgentStore, AgentStore>,
  Equal<experimentalAgent.AgentEventOf<'run.started'>, AgentEventOf<'run.started'>>,
] = [true, true, true];
// @ts-expect-error a state is no number
export const state: experimentalAgent.AgentState = 1;
export const store: experimentalAgent.AgentStore = experimentalAgent.createAgentStore();

const client = createWebSocketClient('wss://example.com/agent');
const provider = createAgUiProvider({ client, clientTools: { ask: async (args) => args } });
export function show(): string[] {
  const parser = ({ content }: { readonly content: unknown }) => ({ text: String(content) });
  const { parsedMessages, onRequest } = useXChat({ provider, conversationKey: 'one', parser });
  onRequest({ prompt: 'Hello' });
  onRequest({ messages: [{ role: 'user', content: 'Hello' }], state: { a: 1 } });
  // @ts-expect-error no such input
  onRequest({ promt: 'Hello' });
  return parsedMessages.map(({ message }) => message.text);
}
export const chat = createAgentChat({ provider, conversationKey: 'one' });

declare const redis: RedisLike;
export const logs: RunLog[] = [memoryRunLog({ retention: 1 }), redisRunLog(redis)];
export const server = createRunServer<{ readonly user: string }>({
  async *run({ input, context }) {
    yield { type: 'TEXT_MESSAGE_START', messageId: context.user };
    yield { type: 'CUSTOM', name: 'count', value: input.messages.length };
  },
  principal: ({ user }) => user,
});
server.connect(() => {}, () => {}, { context: { user: 'me' } });
declare const socket: ConformanceSocket;
// @ts-expect-error the context is missing
server.accept(socket);
export const report = runConformance({ open: () => socket, profile: 'plain' });
`;

const compilers = {
  '5.0': 'typescript-5.0',
  '5.9': 'typescript',
  '6.0': 'typescript-6.0',
  '7.0': 'typescript-7.0',
} as const;

beforeAll(async () => {
  consumer = await createConsumer();
  await consumer.write('esm.mts', source);
  await consumer.write('cjs.cts', source);
});
afterAll(() => consumer?.remove());

describe('the types of every entry', () => {
  it.each([
    ['5.0', 'Node16', true],
    ['5.9', 'Node16', false],
    ['5.9', 'Bundler', true],
    ['6.0', 'Bundler', false],
    ['7.0', 'Node16', true],
  ] as const)(
    'read strictly in TypeScript %s (%s, exact optional properties: %s)',
    async (version, moduleResolution, exactOptionalPropertyTypes) => {
      const isBundled = moduleResolution === 'Bundler';
      const compilerOptions = {
        target: 'ES2022',
        lib: ['ES2022'],
        types: ['node'],
        module: isBundled ? 'ESNext' : 'Node16',
        moduleResolution,
        strict: true,
        exactOptionalPropertyTypes,
        skipLibCheck: false,
        noEmit: true,
      };
      const files = isBundled ? ['esm.mts'] : ['esm.mts', 'cjs.cts'];
      await consumer.write('tsconfig.json', JSON.stringify({ compilerOptions, files }));
      const tsc = join(root, 'node_modules', compilers[version], 'bin/tsc');
      const { code, stdout, stderr } = await consumer.node(tsc, '-p', 'tsconfig.json');
      expect(code === 0 ? '' : `${stdout}${stderr}`).toBe('');
    },
  );
});
