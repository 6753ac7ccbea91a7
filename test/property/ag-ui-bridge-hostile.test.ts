import { describe, expect, it } from 'vitest';
import type { AgUiEvent } from '../../src/ag-ui/events.ts';
import { createAgUiBridge } from '../../src/agent-provider/ag-ui-bridge.ts';
import { createAgentEventFactory } from '../../src/agent-provider/event-factory.ts';
import { agentEventTypes } from '../../src/agent-provider/event-guards.ts';
import type { AgentEvent, AgentEventFactory } from '../../src/agent-provider/event-types.ts';
import { createAgentStore } from '../../src/agent-provider/store.ts';
import { validateAgentProviderEvents } from '../../src/agent-provider/validate-agent-provider-events.ts';
import { createRandom } from '../helpers/random.ts';

const types = [
  'RUN_STARTED',
  'RUN_FINISHED',
  'RUN_ERROR',
  'STEP_STARTED',
  'STEP_FINISHED',
  'TEXT_MESSAGE_START',
  'TEXT_MESSAGE_CONTENT',
  'TEXT_MESSAGE_END',
  'TEXT_MESSAGE_CHUNK',
  'TOOL_CALL_START',
  'TOOL_CALL_ARGS',
  'TOOL_CALL_END',
  'TOOL_CALL_CHUNK',
  'TOOL_CALL_RESULT',
  'REASONING_START',
  'REASONING_END',
  'REASONING_MESSAGE_START',
  'REASONING_MESSAGE_CONTENT',
  'REASONING_MESSAGE_END',
  'REASONING_MESSAGE_CHUNK',
  'REASONING_ENCRYPTED_VALUE',
  'THINKING_START',
  'THINKING_TEXT_MESSAGE_START',
  'THINKING_TEXT_MESSAGE_CONTENT',
  'THINKING_TEXT_MESSAGE_END',
  'STATE_SNAPSHOT',
  'STATE_DELTA',
  'MESSAGES_SNAPSHOT',
  'ACTIVITY_SNAPSHOT',
  'ACTIVITY_DELTA',
  'SUBAGENT_STARTED',
  'SUBAGENT_FINISHED',
  'SUBAGENT_ERROR',
  'CUSTOM',
  'RAW',
  'toString',
];
const keys = [
  'messageId',
  'toolCallId',
  'toolCallName',
  'parentMessageId',
  'subagentRunId',
  'parentSubagentRunId',
  'parentToolCallId',
  'stepName',
  'activityType',
  'name',
  'role',
  'delta',
  'content',
  'patch',
  'snapshot',
  'messages',
  'outcome',
  'usage',
  'result',
  'error',
  'message',
  'code',
  'input',
  'metadata',
  'timestamp',
  'replace',
  'description',
];

describe('a bridge in front of a hostile server', () => {
  it('makes a valid run of anything, without a throw', () => {
    const seen = new Set<string>();
    for (let seed = 1; seed <= 300; seed++) {
      const random = createRandom(seed);
      const pick = <T>(list: readonly T[]): T => list[Math.floor(random() * list.length)] as T;
      const id = () =>
        pick(['', 'a', 'b', 'a~2', '__proto__', 'constructor', 'undefined', 'state']);
      const junk = (depth = 0): unknown =>
        pick<() => unknown>([
          id,
          id,
          id,
          () => null,
          () => undefined,
          () => pick([0, -1, 7.5, Number.NaN, Number.POSITIVE_INFINITY, 1e308, true, false]),
          () => [],
          () =>
            depth < 3
              ? Array.from({ length: 1 + Math.floor(random() * 3) }, () => junk(depth + 1))
              : {},
          () => ({ type: pick(['text', 'image', 'binary', 'interrupt', 'cancelled', 'success']) }),
          () => ({
            id: id(),
            type: pick(['interrupt', 'text', 'image', 'suspended', 'success', 'function']),
            role: pick<unknown>([
              'user',
              'assistant',
              'tool',
              'activity',
              'reasoning',
              '',
              7,
              null,
            ]),
            ...(depth < 3 && {
              content: junk(depth + 1),
              source: junk(depth + 1),
              toolCalls: junk(depth + 1),
              function: junk(depth + 1),
              interrupts: [
                { id: id(), reason: junk(depth + 1), toolCallId: id(), expiresAt: junk() },
              ],
              messages: junk(depth + 1),
              resume: junk(depth + 1),
              error: junk(depth + 1),
              pendingToolCallIds: junk(depth + 1),
            }),
            toolCallId: id(),
            interruptId: id(),
            text: junk(3),
            op: pick(['add', 'remove', 'copy', 'x']),
            path: pick(['', '/a', '/a/b', 'x', '/__proto__', 7]),
            value: id(),
          }),
        ])();
      const event = (): unknown =>
        random() < 0.02
          ? junk()
          : {
              type: random() < 0.01 ? junk() : pick(types),
              ...Object.fromEntries(
                keys
                  .filter(() => random() < 0.7)
                  .map((key) => [key, random() < 0.5 ? id() : junk()]),
              ),
            };
      const custom = (_event: unknown, events: AgentEventFactory): readonly AgentEvent[] => {
        if (random() < 0.01) throw new Error('custom');
        if (random() < 0.3) return junk() as never;
        const type = pick(agentEventTypes);
        const payload = {
          ...Object.fromEntries(
            ['messageId', 'reasoningId', 'toolCallId', 'approvalId', 'taskId', 'artifactId'].map(
              (key) => [key, id()],
            ),
          ),
          role: 'assistant',
          name: 'x',
          title: 'x',
          delta: 'x',
          decision: 'approved',
          content: 'x',
          error: { message: 'x' },
        };
        const one = events.create(type, payload as never) as AgentEvent;
        return random() < 0.9 ? [one] : [one, junk() as never];
      };
      const bridge = createAgUiBridge({
        events: createAgentEventFactory({ sessionId: 's', runId: 'r', now: () => 7 }),
        input: random() < 0.5 ? (junk() as never) : { messages: [junk() as never] },
        interrupts: pick(['hold', 'settle', undefined]),
        clientTools: random() < 0.5,
        toolMessages: random() < 0.5,
        toolFailure: () => {
          if (random() < 0.01) throw junk();
          return random() < 0.5 ? null : (junk() as never);
        },
        custom,
      });
      const out: AgentEvent[] = [];
      for (let index = 0; index < 120; index++) {
        out.push(...bridge.push(event() as AgUiEvent));
        if (random() < 0.002) out.push(...bridge.start());
        if (bridge.phase === 'held' && random() < 0.5) {
          const [waits] = bridge.waiting;
          const [tool] = bridge.pendingTools;
          if (waits !== undefined) out.push(...bridge.answer(waits, 'modified', junk()));
          else if (tool) {
            out.push(
              ...bridge.answerTool(
                tool.toolCallId,
                pick([{ result: junk() }, { error: junk() as never }]),
              ),
            );
          } else out.push(...bridge.push({ type: 'RUN_STARTED', threadId: 't', runId: 'next' }));
        }
        seen.add(bridge.phase);
        if (bridge.phase === 'ended') break;
      }
      out.push(...pick([() => bridge.cancel(), () => bridge.flush(), () => bridge.fail(junk())])());
      out.push(...bridge.cancel());
      expect(bridge.phase).toBe('ended');
      out.push(...bridge.push(event() as AgUiEvent), ...bridge.start(), ...bridge.flush());
      const message = `seed ${seed}`;
      const issues = validateAgentProviderEvents({ eventTypes: agentEventTypes }, out);
      if (issues.length) expect(issues, message).toEqual([]);
      const store = createAgentStore({ protocolMode: 'strict' });
      store.batch(out);
      expect(store.getSnapshot().issues, message).toEqual([]);
      for (const { type } of out) seen.add(type);
    }
    expect([...seen].sort()).toEqual(
      [
        'ended',
        'ending',
        'held',
        'new',
        'running',
        ...agentEventTypes.filter((type) => type !== 'session.started'),
      ].sort(),
    );
  }, 300_000);
});
