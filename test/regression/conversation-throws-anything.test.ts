import { expect, it } from 'vitest';
import { messageOf } from '../../src/agent-provider/abortable.ts';
import { createAgUiProvider } from '../../src/agent-provider/ag-ui-provider.ts';
import { runClientTools, type ToolAnswer } from '../../src/agent-provider/ag-ui-provider-tools.ts';
import { createWorld } from '../helpers/world.ts';

it('answers a call whose tool throws what is no text', async () => {
  const answers: ToolAnswer[] = [];
  const cycle: Record<string, unknown> = {};
  cycle.cycle = cycle;
  const tools = {
    bare: () => {
      throw Object.create(null);
    },
    nothing: () => Promise.reject(undefined),
    cycle: () => cycle,
    big: () => 1n,
  };
  const calls = Object.keys(tools).map((name) => ({ toolCallId: name, name, arguments: '' }));
  runClientTools(calls, tools, { sessionId: 's', runId: 'r' }, (one) => answers.push(one));
  await expect.poll(() => answers.length).toBe(4);
  for (const { message, answer } of answers) {
    expect(message?.error).toBeTruthy();
    expect(answer).toMatchObject({ error: { message: message?.error } });
  }
});

it('says what an error says, whatever it is', () => {
  expect(messageOf(new Error('no'), 'x')).toBe('no');
  expect(messageOf('no', 'x')).toBe('no');
  expect(messageOf(undefined, 'x')).toBe('x');
  expect(messageOf(null, 'x')).toBe('x');
  expect(messageOf(Object.create(null), 'x')).toBe('x');
});

it('takes a history of 20,000 messages in time that grows with it', () => {
  const world = createWorld();
  const provider = createAgUiProvider({ client: world.client as never });
  const make = (count: number) =>
    Array.from({ length: count }, (_, n) => ({
      id: `message ${n}`,
      role: 'user' as const,
      content: 'Hi',
    }));
  const measure = (count: number) => {
    const sessionId = `${count}`;
    provider.getAgent(sessionId).setMessages(make(count) as never);
    const run = {
      sessionId,
      runId: 'r',
      events: { create: () => ({}), getSequence: () => 0 } as never,
    };
    const before = process.cpuUsage();
    provider.start({ messages: make(count) }, provider.createContext(run));
    const { user, system } = process.cpuUsage(before);
    return user + system;
  };
  measure(500);
  // Noise aside: quadratic work would make it four hundred.
  expect(measure(20_000) / Math.max(1_000, measure(1_000))).toBeLessThan(150);
});
