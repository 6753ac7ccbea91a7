import { describe, expect, it } from 'vitest';
import type { AgUiEvent } from '../../src/ag-ui/events.ts';
import { createAgUiBridge } from '../../src/agent-provider/ag-ui-bridge.ts';
import type { AgUiBridge } from '../../src/agent-provider/bridge-types.ts';
import { createAgentEventFactory } from '../../src/agent-provider/event-factory.ts';
import type { AgentEvent } from '../../src/agent-provider/event-types.ts';
import type { AgentState } from '../../src/agent-provider/state-types.ts';
import { createAgentStore } from '../../src/agent-provider/store.ts';
import { generateBridgeRuns } from '../helpers/ag-ui-bridge-runs.ts';

type Step = (bridge: AgUiBridge) => readonly AgentEvent[];

const copy = <T>(value: T): T => JSON.parse(JSON.stringify(value));

const answer: Step = (bridge) => {
  const [id] = bridge.waiting;
  if (id !== undefined) return bridge.answer(id, 'approved');
  const [tool] = bridge.pendingTools;
  return tool ? bridge.answerTool(tool.toolCallId, { result: tool.arguments }) : [];
};

const pushed =
  (event: object): Step =>
  (bridge) =>
    bridge.push(event as AgUiEvent);

/** Whatever the run leaves undone is answered, gone on with and ended. */
const last: readonly Step[] = [
  answer,
  answer,
  pushed({ type: 'RUN_STARTED', threadId: 't', runId: 'next' }),
  pushed({ type: 'THINKING_TEXT_MESSAGE_CONTENT', delta: 'hm' }),
  pushed({ type: 'TEXT_MESSAGE_CHUNK', messageId: 'done', delta: 'Done' }),
  pushed({ type: 'RUN_FINISHED', threadId: 't', runId: 'next', usage: [{ outputTokens: 1 }] }),
  answer,
  (bridge) => bridge.flush(),
  (bridge) => bridge.cancel('over'),
];

describe('a bridge that is written down and restored', () => {
  it('goes on as if nothing had happened, from every event of 200 random runs', () => {
    let reloads = 0;
    for (let seed = 1; seed <= 200; seed++) {
      const { events, messages, state } = generateBridgeRuns(seed, { actions: 4 + (seed % 16) });
      const steps = [...events.map(pushed), ...last];
      const options = {
        clientTools: seed % 2 === 0,
        toolMessages: seed % 3 === 0,
        toolFailure: ({ content }: { readonly content: unknown }) =>
          content === 'sun' ? { message: 'It rains.', retryable: true } : null,
      };
      const make = (restore?: unknown, from?: AgentState) => ({
        bridge: createAgUiBridge({
          ...options,
          events: createAgentEventFactory({
            sessionId: 's',
            runId: 'r',
            initialSequence: from?.lastSequenceByRun.r,
            now: () => 7,
          }),
          ...(restore === undefined
            ? { knownMessageIds: messages.map(({ id }) => id), state }
            : { restore }),
        }),
        store: createAgentStore({ initialState: from }),
      });

      const whole = make();
      const places = [
        [undefined, undefined],
        ...steps.map((step) => {
          whole.store.batch(step(whole.bridge));
          return [copy(whole.bridge.snapshot()), copy(whole.store.getSnapshot())];
        }),
      ] as [unknown, AgentState | undefined][];
      const message = `seed ${seed}`;
      expect(whole.bridge.phase, message).toBe('ended');
      expect(whole.store.getSnapshot().issues, message).toEqual([]);
      const final = JSON.stringify(whole.store.getSnapshot());

      places.forEach(([saved, from], place) => {
        const { bridge, store } = make(saved, from);
        for (const step of steps.slice(place)) store.batch(step(bridge));
        reloads++;
        if (JSON.stringify(store.getSnapshot()) !== final) {
          expect(store.getSnapshot(), `${message}, event ${place}`).toEqual(JSON.parse(final));
        }
      });
    }
    expect(reloads).toBeGreaterThan(5_000);
  }, 300_000);
});
