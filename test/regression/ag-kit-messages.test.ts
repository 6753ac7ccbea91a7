import { describe, expect, it } from 'vitest';
import { agKitRuns } from '../../src/ag-kit/ag-kit-runs.ts';
import { fromSendMessageInput, toSendMessageInput } from '../../src/ag-kit/send-message-input.ts';
import type { SendMessageInput } from '../../src/ag-kit/types.ts';
import type { RunAgentInput } from '../../src/ag-ui/input.ts';

/** A request of a thread with a user's messages, whose ids are what they say. */
const request = (threadId: string, ...contents: string[]): RunAgentInput => ({
  threadId,
  runId: 'r',
  messages: contents.map((content) => ({ id: content, role: 'user', content })),
  tools: [],
  context: [],
});

/** What a run sends of its messages. */
const sentBy = (message: unknown) =>
  (message as { readonly input: SendMessageInput }).input.messages?.map(({ content }) => content);

describe('the messages of a run', () => {
  it('go again where all that came was a failure', () => {
    const { run, translate } = agKitRuns();
    run(request('t', 'One'), 'a');
    translate('a')({ type: 'RUN_ERROR', message: 'Too many requests.' } as never);
    expect(sentBy(run(request('t', 'One', 'Two'), 'b'))).toEqual(['One', 'Two']);
  });

  it('do not go again where it failed behind an answer', () => {
    const { run, translate } = agKitRuns();
    run(request('t', 'One'), 'a');
    const take = translate('a');
    take({ type: 'text', content: 'Well' } as never);
    take({ type: 'RUN_ERROR', message: 'The agent fell over.' } as never);
    expect(sentBy(run(request('t', 'One', 'Two'), 'b'))).toEqual(['Two']);
  });

  it('are known of the threads that were used last, and of no more than 1,000', () => {
    const { run, translate } = agKitRuns();
    const answer = (threadId: string, runId = threadId) => {
      run(request(threadId, 'One'), runId);
      // Without a message, so that the thread does not tell.
      translate(runId)('[DONE]' as never);
    };
    for (let index = 0; index < 10_000; index++) {
      answer(`t${index}`);
      if (index === 9500) answer('t8999', 'again');
    }
    const next = (threadId: string) => sentBy(run(request(threadId, 'One', 'Two'), `${threadId}b`));
    expect(next('t9999')).toEqual(['Two']);
    expect(next('t9002')).toEqual(['Two']);
    expect(next('t8999')).toEqual(['Two']);
    expect(next('t8990')).toEqual(['One', 'Two']);
    expect(next('t0')).toEqual(['One', 'Two']);
  });
});

describe('an answer of null', () => {
  const resume = [{ interruptId: 'i', status: 'resolved', payload: null }] as const;

  it.each([false, true])('stays null, with JSON text %o', (jsonText) => {
    const input = { ...request('t'), resume: [...resume] };
    const sent = toSendMessageInput(input, undefined, { jsonText });
    expect(sent.resume).toEqual({ interruptId: 'i', payload: jsonText ? 'null' : null });
    expect(fromSendMessageInput(sent, { runId: 'r' }).resume).toEqual(resume);
  });

  it('does not stand for a cancelled one', () => {
    const input = { ...request('t'), resume: [{ ...resume[0], status: 'cancelled' as const }] };
    expect(() => toSendMessageInput(input)).toThrow(
      expect.objectContaining({ code: 'unsupported' }),
    );
  });
});
