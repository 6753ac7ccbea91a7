import { expect, it } from 'vitest';
import type { AgentEvent } from '../../src/agent-provider/event-types.ts';
import type { AgentProvider } from '../../src/agent-provider/provider-types.ts';
import { isAgentProvider, runAgentProvider } from '../../src/agent-provider/run-agent-provider.ts';
import { createAgentStore } from '../../src/agent-provider/store.ts';
import { validateAgentProviderEvents } from '../../src/agent-provider/validate-agent-provider-events.ts';
import { createRecordedProvider, type Recorded } from './ax-page-fixture.ts';
import { lines, settle } from './runner-fixture.ts';

const answer: Recorded[] = [
  { text: 'Let me ' },
  { tool: 'search', result: '42' },
  { text: 'see: 42.' },
];

function run(recorded: ReturnType<typeof createRecordedProvider>, signal?: AbortSignal) {
  const provider = recorded as unknown as AgentProvider<{ prompt: string }, unknown, unknown>;
  expect(isAgentProvider(provider)).toBe(true);
  const store = createAgentStore({ protocolMode: 'strict' });
  const events: AgentEvent[] = [];
  const done = runAgentProvider({
    provider,
    input: { prompt: 'What?' },
    run: { sessionId: 's', runId: 'r', signal },
    onEvent(event) {
      events.push(event);
      store.dispatch(event);
    },
  });
  const texts = () => Object.values(store.getSnapshot().messages).map(({ content }) => content);
  const issues = () => validateAgentProviderEvents(provider.capabilities, events);
  return { store, events, done, texts, issues };
}

it('a provider that knows the page alone runs to its end', async () => {
  const { events, done, texts, issues } = run(createRecordedProvider(answer));
  await done;
  expect(lines(events)).toEqual([
    '0 run.started',
    '1 message.started question',
    '2 message.completed question',
    '3 message.started answer',
    '4 message.delta answer',
    '5 tool.requested call-1',
    '6 tool.running call-1',
    '7 tool.completed call-1',
    '8 message.delta answer',
    '9 message.completed answer',
    '10 run.completed',
  ]);
  expect(texts()).toEqual(['What?', 'Let me see: 42.']);
  expect(issues()).toEqual([]);
});

it('its failure is told', async () => {
  const { events, done, issues } = run(createRecordedProvider(answer, { fails: true }));
  await done;
  expect(lines(events).slice(-2)).toEqual(['9 message.failed answer', '10 run.failed']);
  expect(events.at(-1)).toMatchObject({ payload: { error: { message: 'the recording is torn' } } });
  expect(issues()).toEqual([]);
});

it('its abort is told', async () => {
  const controller = new AbortController();
  const { events, done, issues } = run(
    createRecordedProvider(answer, { pauses: true }),
    controller.signal,
  );
  await settle();
  controller.abort();
  await done;
  expect(lines(events).slice(-2)).toEqual(['9 message.cancelled answer', '10 run.cancelled']);
  expect(issues()).toEqual([]);
});
