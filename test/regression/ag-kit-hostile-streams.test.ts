import { describe, expect, it } from 'vitest';
import { agUiToAgKit } from '../../src/ag-kit/ag-ui-to-ag-kit.ts';
import { sendMessageEventSchema } from '../../src/ag-kit/schemas.ts';
import type { SendMessageEvent } from '../../src/ag-kit/types.ts';
import { chatOf } from '../ag-kit/ag-kit-client.ts';
import { createPicks, randomJson } from '../ag-kit/random-streams.ts';

/** AG-UI events in no order, with fields missing or of the wrong types, and hostile ids. */
function generateHostile(seed: number): unknown[] {
  const { below, chance, pick } = createPicks(seed);
  const types = [
    'TEXT_MESSAGE_START',
    'TEXT_MESSAGE_CONTENT',
    'TEXT_MESSAGE_CHUNK',
    'TEXT_MESSAGE_END',
    'TOOL_CALL_START',
    'TOOL_CALL_ARGS',
    'TOOL_CALL_CHUNK',
    'TOOL_CALL_END',
    'TOOL_CALL_RESULT',
    'RUN_STARTED',
    'STATE_SNAPSHOT',
    'CUSTOM',
    '__proto__',
    'constructor',
    'text',
    'tool-call-start',
  ];
  const ids = ['a', 'b', 'c', '__proto__', 'constructor', ''];
  const keys = [
    'messageId',
    'role',
    'delta',
    'toolCallId',
    'toolCallName',
    'subagentRunId',
    'content',
  ];
  const events = Array.from({ length: 3 + below(60) }, (): unknown => {
    if (chance(0.03)) return randomJson(below(1e6));
    const event: Record<string, unknown> = { type: pick(types) };
    for (const key of keys) {
      if (chance(0.3)) continue;
      event[key] =
        key === 'role'
          ? pick(['assistant', 'assistant', 'user', 1, null])
          : chance(0.1)
            ? randomJson(below(1e6))
            : pick(ids);
    }
    return event;
  });
  const interrupt = () =>
    chance(0.1)
      ? randomJson(below(1e6))
      : {
          ...(chance(0.9) && { id: pick<unknown>([...ids, 1]) }),
          ...(chance(0.7) && { reason: pick<unknown>(['approval', '', null, 1, {}]) }),
          ...(chance(0.5) && { message: pick<unknown>(['Pay?', 1]) }),
          ...(chance(0.5) && {
            metadata: chance(0.5) ? { payload: randomJson(below(1e6)) } : randomJson(below(1e6)),
          }),
        };
  const interrupts = chance(0.1)
    ? randomJson(below(1e6))
    : Array.from({ length: below(4) }, interrupt);
  events.push({
    type: 'RUN_FINISHED',
    outcome: chance(0.1) ? randomJson(below(1e6)) : { type: 'interrupt', interrupts },
  });
  return events;
}

describe('an AG-UI stream in no order', () => {
  it('becomes a stream that AG-Kit’s own client can read', () => {
    let events = 0;
    let interrupts = 0;
    for (let seed = 1; seed <= 2000; seed++) {
      const { push } = agUiToAgKit();
      const stream: (SendMessageEvent | '[DONE]')[] = [];
      for (const event of generateHostile(seed)) {
        for (const one of push(event as never)) {
          // As it is on the wire.
          const sent = one === '[DONE]' ? one : JSON.parse(JSON.stringify(one));
          stream.push(sent);
          if (one === '[DONE]') continue;
          events++;
          if (one.type === 'interrupt') interrupts++;
          const { success } = sendMessageEventSchema.safeParse(sent);
          expect({ seed, sent, success }).toEqual({ seed, sent, success: true });
        }
      }
      expect({ seed, done: chatOf(stream).done }).toEqual({ seed, done: true });
    }
    expect(events).toBeGreaterThan(10_000);
    expect(interrupts).toBeGreaterThan(500);
  });

  it('names a reason where an interrupt has none', () => {
    const interrupts = [{ id: 'i' }, { id: 'j', reason: 1 }];
    const stream = agUiToAgKit().push({
      type: 'RUN_FINISHED',
      threadId: 't',
      runId: 'r',
      outcome: { type: 'interrupt', interrupts },
    } as never);
    expect(stream).toMatchObject([{ reason: 'approval' }, { reason: 'approval' }, '[DONE]']);
  });

  it('keeps a result that is neither text nor parts as JSON', () => {
    const resultOf = (content: unknown) =>
      agUiToAgKit().push({
        type: 'TOOL_CALL_RESULT',
        messageId: 'm',
        toolCallId: 'c',
        content,
      } as never);
    expect(resultOf({ at: '10:04' })).toMatchObject([{ result: '{"at":"10:04"}' }]);
    expect(resultOf(24)).toMatchObject([{ result: '24' }]);
    expect(resultOf(null)).toMatchObject([{ result: '' }]);
    expect(resultOf(undefined)).toMatchObject([{ result: '' }]);
  });
});
