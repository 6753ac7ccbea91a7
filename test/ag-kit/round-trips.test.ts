import { transformChunks } from '@ag-ui/client';
import type { BaseEvent } from '@ag-ui/core';
import { of } from 'rxjs';
import { describe, expect, it } from 'vitest';
import { agKitToAgUi } from '../../src/ag-kit/ag-kit-to-ag-ui.ts';
import { agUiToAgKit } from '../../src/ag-kit/ag-ui-to-ag-kit.ts';
import { fromSendMessageInput, toSendMessageInput } from '../../src/ag-kit/send-message-input.ts';
import type { ClientMessage, SendMessageEvent, SendMessageInput } from '../../src/ag-kit/types.ts';
import type { AgUiEvent } from '../../src/ag-ui/events.ts';
import type { RunAgentInput } from '../../src/ag-ui/input.ts';
import type { Interrupt } from '../../src/ag-ui/interrupts.ts';
import type { AgUiMessage, ContentPart } from '../../src/ag-ui/messages.ts';
import { emptyThread } from '../../src/ag-ui/thread.ts';
import { validateAgUiEvents } from '../../src/ag-ui/validate-ag-ui-events.ts';
import { generateRuns } from '../helpers/ag-ui-runs.ts';
import { reduce } from '../helpers/reduce.ts';
import { type Chat, chatOf } from './ag-kit-client.ts';
import { createPicks, generateAgKit, randomJson } from './random-streams.ts';

type AgKitEvents = (SendMessageEvent | '[DONE]')[];

const seeds = Array.from({ length: 800 }, (_, index) => index + 1);

const toAgUi = (stream: AgKitEvents, runId = 'r'): AgUiEvent[] =>
  stream.flatMap(agKitToAgUi({ threadId: 't', runId }).push);
const toAgKit = (events: readonly AgUiEvent[]): AgKitEvents =>
  (events as AgUiEvent[]).flatMap(agUiToAgKit().push);

/** The value of JSON text; what is none stays. */
function parsed(value: unknown): unknown {
  try {
    return typeof value === 'string' ? JSON.parse(value) : value;
  } catch {
    return value;
  }
}

/** What the chat of an AG-Kit client and the thread of an AG-UI client both say of a run. */
function saidBy(messages: readonly AgUiMessage[]): Chat['messages'] {
  return messages.flatMap((message): Chat['messages'] => {
    if (message.role === 'tool') {
      const { toolCallId, content } = message;
      return [{ role: 'tool', toolCallId, content: content as string }];
    }
    if (message.role !== 'assistant') return [];
    const { content = '', toolCalls = [] } = message;
    return [
      {
        role: 'assistant',
        content,
        toolCalls: toolCalls.map(({ id, function: { name, arguments: text } }) => ({
          id,
          name,
          arguments: text,
          state: 'input-available',
        })),
      },
    ];
  });
}

/** The chat's messages; AG-UI has no states of calls, and puts answers behind the call's message. */
function saidTo({ messages }: Chat): Chat['messages'] {
  const said: Chat['messages'] = [];
  for (const message of messages) {
    if (message.role === 'assistant') {
      const toolCalls = message.toolCalls.map((call) => ({
        ...call,
        state: 'input-available' as const,
      }));
      said.push({ ...message, toolCalls });
      continue;
    }
    const owner = said.findIndex(
      (one) =>
        one.role === 'assistant' && one.toolCalls.some(({ id }) => id === message.toolCallId),
    );
    let at = owner < 0 ? said.length : owner + 1;
    while (said[at]?.role === 'tool') at++;
    said.splice(at, 0, message);
  }
  return said;
}

/** Everything but the arguments, which a result may have to wait for. */
const skeletonOf = (stream: AgKitEvents): AgKitEvents =>
  stream.filter(
    (one) =>
      one === '[DONE]' ||
      (!/args|end/.test(one.type) && !(one.type === 'text' && one.content === '')),
  );

/** The arguments and the end of each call. */
function argumentsOf(stream: AgKitEvents): Map<string, AgKitEvents> {
  const calls = new Map<string, AgKitEvents>();
  for (const one of stream) {
    if (one === '[DONE]' || (one.type !== 'tool-call-args' && one.type !== 'tool-call-end'))
      continue;
    calls.set(one.toolCallId, [...(calls.get(one.toolCallId) ?? []), one]);
  }
  return calls;
}

/** The arguments of each call as one text, and whether they ended. */
function textsOf(stream: AgKitEvents): Map<string, readonly [text: string, ended: boolean]> {
  const texts = new Map<string, readonly [string, boolean]>();
  for (const [id, events] of argumentsOf(stream)) {
    const deltas = events.map((one) => (one as { readonly delta?: string }).delta ?? '');
    const ends = events.filter(
      (one) => (one as { readonly type: string }).type === 'tool-call-end',
    );
    texts.set(id, [deltas.join(''), ends.length === 1 && ends[0] === events.at(-1)]);
  }
  return texts;
}

/** Whether a result comes while arguments stream, which AG-Kit's own client cannot take. */
function isOutOfTurn(stream: AgKitEvents): boolean {
  const open = new Set<string>();
  return stream.some((one) => {
    if (one === '[DONE]') return false;
    if (one.type === 'tool-call-start') open.add(one.toolCallId);
    if (one.type === 'tool-call-end') open.delete(one.toolCallId);
    return one.type === 'tool-result' && open.size > 0;
  });
}

describe('AG-Kit to AG-UI and back', () => {
  it('loses nothing but empty text; results wait for arguments', () => {
    let exact = 0;
    for (const seed of seeds) {
      const stream = generateAgKit(seed);
      const events = toAgUi(stream);
      expect({ seed, issues: validateAgUiEvents(events) }).toEqual({ seed, issues: [] });
      const back = toAgKit(events);
      expect({ seed, back: skeletonOf(back) }).toEqual({ seed, back: skeletonOf(stream) });
      expect({ seed, calls: argumentsOf(back) }).toEqual({ seed, calls: argumentsOf(stream) });
      const thread = reduce(emptyThread(), ...events);
      expect({ seed, said: saidBy(thread.messages) }).toEqual({ seed, said: saidTo(chatOf(back)) });
      if (isOutOfTurn(stream)) continue;
      exact++;
      const whole = stream.filter((one) => one === '[DONE]' || one.type !== 'text' || one.content);
      expect({ seed, back }).toEqual({ seed, back: whole });
    }
    expect(exact).toBeGreaterThan(seeds.length / 4);
  });
});

describe('AG-UI to AG-Kit and back', () => {
  /** The events of a run with chunks spelled out, by AG-UI's own client. */
  function spelledOut(events: readonly AgUiEvent[]): AgUiEvent[] {
    const out: unknown[] = [];
    const source = of(...structuredClone(events as unknown as BaseEvent[]));
    transformChunks()(source as never).subscribe((event) => out.push(event));
    return out as AgUiEvent[];
  }

  /** An interrupt: what AG-Kit does not know is in its payload. */
  function withoutInterruptLosses({ id, reason, metadata, ...rest }: Interrupt): SendMessageEvent {
    const payload = metadata?.payload;
    if (payload === undefined) {
      return { type: 'interrupt', id, reason, payload: metadata ? { ...rest, metadata } : rest };
    }
    const isObject = typeof payload === 'object' && payload && !Array.isArray(payload);
    return { type: 'interrupt', id, reason, payload: isObject ? { ...rest, ...payload } : payload };
  }

  /**
   * What is lost: ids, boundaries and names of messages, text that is not the assistant's, what
   * contains a call, a second answer to one, media, results, usage, pending calls, that a run was
   * cancelled, and every event that is not named here.
   */
  function withoutLosses(events: readonly AgUiEvent[]): AgKitEvents {
    const foreign = new Set<string>();
    const begun = new Set<string>();
    const open = new Set<string>();
    const answered = new Set<string>();
    const out: AgKitEvents = [];
    const end = (toolCallId: string) => {
      if (open.delete(toolCallId)) out.push({ type: 'tool-call-end', toolCallId });
    };
    for (const event of events) {
      switch (event.type) {
        case 'TEXT_MESSAGE_START':
          if ((event.role ?? 'assistant') !== 'assistant') foreign.add(event.messageId);
          break;
        case 'TEXT_MESSAGE_CONTENT':
          if (event.delta && !foreign.has(event.messageId)) {
            out.push({ type: 'text', content: event.delta });
          }
          break;
        case 'TOOL_CALL_START': {
          const { toolCallId, toolCallName } = event;
          if (begun.has(toolCallId)) break;
          begun.add(toolCallId);
          open.add(toolCallId);
          out.push({ type: 'tool-call-start', toolCallId, toolCallName });
          break;
        }
        case 'TOOL_CALL_ARGS': {
          const { toolCallId, delta } = event;
          if (open.has(toolCallId)) out.push({ type: 'tool-call-args', toolCallId, delta });
          break;
        }
        case 'TOOL_CALL_END':
          end(event.toolCallId);
          break;
        case 'TOOL_CALL_RESULT': {
          const { toolCallId, content } = event;
          end(toolCallId);
          if (answered.has(toolCallId)) break;
          answered.add(toolCallId);
          const isMedia = Array.isArray(content) && content.some((part) => part.type !== 'text');
          const result =
            typeof content === 'string'
              ? content
              : isMedia
                ? JSON.stringify(content)
                : content.map((part) => (part as { text: string }).text).join('');
          out.push({ type: 'tool-result', toolCallId, result });
          break;
        }
        case 'RUN_FINISHED':
          for (const id of open) end(id);
          if (event.outcome?.type === 'interrupt') {
            out.push(...event.outcome.interrupts.map(withoutInterruptLosses));
          }
          out.push('[DONE]');
          return out;
        case 'RUN_ERROR':
          throw new Error(event.message);
      }
    }
    return out;
  }

  it('loses what AG-Kit has no form for, and nothing else', () => {
    let done = 0;
    let failed = 0;
    let exact = 0;
    for (const seed of seeds) {
      const { events } = generateRuns(seed, { runs: 1 });
      const last = events.at(-1);
      if (last?.type === 'RUN_ERROR') {
        failed++;
        expect(() => toAgKit(events), `${seed}`).toThrow(last.message);
        continue;
      }
      const expected = withoutLosses(spelledOut(events));
      const stream = toAgKit(events);
      expect({ seed, stream: skeletonOf(stream) }).toEqual({ seed, stream: skeletonOf(expected) });
      expect({ seed, calls: textsOf(stream) }).toEqual({ seed, calls: textsOf(expected) });
      // Calls in chunks have no end of their own: when it comes is told by other tests.
      const isChunked = events.some(({ type }) => type === 'TOOL_CALL_CHUNK');
      if (!isChunked && !isOutOfTurn(expected)) {
        exact++;
        expect({ seed, stream }).toEqual({ seed, stream: expected });
      }
      const chat = chatOf(stream);
      expect({ seed, done: chat.done }).toEqual({ seed, done: true });
      done++;

      const back = toAgUi(stream);
      expect({ seed, issues: validateAgUiEvents(back) }).toEqual({ seed, issues: [] });
      expect({ seed, said: saidBy(reduce(emptyThread(), ...back).messages) }).toEqual({
        seed,
        said: saidTo(chat),
      });
      const outcome = last?.type === 'RUN_FINISHED' ? last.outcome : undefined;
      if (outcome?.type !== 'interrupt') continue;
      for (const interrupt of outcome.interrupts) {
        const { message, toolCallId, responseSchema, expiresAt } = interrupt;
        const told = (back.at(-1) as { readonly outcome: typeof outcome }).outcome;
        expect(told.interrupts.find(({ id }) => id === interrupt.id)).toMatchObject({
          id: interrupt.id,
          reason: interrupt.reason,
          ...(message !== undefined && { message }),
          ...(toolCallId !== undefined && { toolCallId }),
          ...(responseSchema !== undefined && { responseSchema }),
          ...(expiresAt !== undefined && { expiresAt }),
        });
      }
    }
    expect({ done: done > 300, failed: failed > 30, exact: exact > 50 }).toEqual({
      done: true,
      failed: true,
      exact: true,
    });
  });
});

describe('requests', () => {
  /** A request of AG-Kit. */
  function generateInput(seed: number): SendMessageInput {
    const { below, chance, pick } = createPicks(seed);
    const words = ['', 'Hello', '{"a":1}', '日本'];
    const message = (): ClientMessage => {
      const role = pick(['system', 'user', 'tool', 'assistant'] as const);
      if (role === 'tool')
        return { role, content: pick(words), toolCallId: pick(['c', '__proto__']) };
      if (role !== 'assistant') return { role, content: pick(words) };
      return {
        role,
        ...(chance(0.7) && { content: pick(words) }),
        ...(chance(0.5) && {
          toolCalls: Array.from({ length: below(3) }, (_, index) => ({
            id: `c${index}`,
            type: 'function' as const,
            function: { name: pick(words), arguments: pick(words) },
          })),
        }),
      };
    };
    return {
      conversationId: pick(['t', '', '__proto__']),
      ...(chance(0.8) && { messages: Array.from({ length: below(5) }, message) }),
      ...(chance(0.4) && {
        resume: {
          interruptId: pick(['i', '']),
          ...(chance(0.9) && { payload: randomJson(seed) }),
        } as { interruptId: string; payload: unknown },
      }),
      ...(chance(0.5) && {
        tools: Array.from({ length: below(3) }, (_, index) => ({
          name: `tool${index}`,
          description: pick(words),
          ...(chance(0.9) && {
            parameters: chance(0.5) ? { type: 'object' } : '{"type":"object"}',
          }),
        })) as never[],
      }),
    };
  }

  it('of AG-Kit come back: JSON text is read, what is missing or empty is one', () => {
    for (const seed of seeds) {
      const input = generateInput(seed);
      const { messages, resume, tools } = input;
      const expected: SendMessageInput = {
        conversationId: input.conversationId,
        ...(messages?.[0] && { messages }),
        ...(resume && {
          resume: {
            interruptId: resume.interruptId,
            payload: resume.payload === undefined ? {} : parsed(resume.payload),
          },
        }),
        ...(tools?.[0] && {
          tools: tools.map(({ name, description, parameters }) => ({
            name,
            description,
            parameters: parsed(parameters) ?? {},
          })),
        }),
      };
      const there = fromSendMessageInput(input, { runId: 'r' });
      expect({ seed, input: toSendMessageInput(there) }).toEqual({ seed, input: expected });
      const asText = toSendMessageInput(there, undefined, { jsonText: true });
      expect(fromSendMessageInput(asText, { runId: 'r' })).toEqual(
        fromSendMessageInput(expected, { runId: 'r' }),
      );
    }
  });

  const textIn = (content: string | readonly ContentPart[]) =>
    typeof content === 'string'
      ? content
      : content.map((part) => (part.type === 'text' ? part.text : '')).join('');

  /** What is lost of a message: its id and name, media, metadata; an error is told in the content. */
  function withoutMessageLosses(message: AgUiMessage): ClientMessage[] {
    switch (message.role) {
      case 'user':
      case 'system':
        return [{ role: message.role, content: textIn(message.content) }];
      case 'developer':
        return [{ role: 'system', content: message.content }];
      case 'tool': {
        const { content, toolCallId, error } = message;
        const text = textIn(content);
        const isTold = !error || text.includes(error);
        return [
          { role: 'tool', content: isTold ? text : text ? `${text}\n${error}` : error, toolCallId },
        ];
      }
      case 'assistant':
        return [
          {
            role: 'assistant',
            ...(message.content !== undefined && { content: message.content }),
            ...(message.toolCalls && {
              toolCalls: message.toolCalls.map(
                ({ id, type, function: { name, arguments: text } }) => ({
                  id,
                  type,
                  function: { name, arguments: text },
                }),
              ),
            }),
          },
        ];
      default:
        return [];
    }
  }

  it('of AG-UI come back with their messages, tools and first answer, and nothing else', () => {
    for (const seed of seeds) {
      const { messages, events } = generateRuns(seed, { runs: 2, actions: 20 });
      const thread = reduce(emptyThread({ messages }), ...events);
      const payload = randomJson(seed);
      const input: RunAgentInput = {
        threadId: 't',
        runId: 'r',
        parentRunId: 'p',
        protocolVersion: '1.0',
        state: { lost: true },
        context: [{ description: 'lost', value: 'x' }],
        forwardedProps: { lost: true },
        messages: [
          ...thread.messages,
          { id: 'e1', role: 'tool', toolCallId: 'c', content: 'Failed: no.', error: 'no.' },
          { id: 'e2', role: 'tool', toolCallId: 'c', content: 'So', error: 'no.' },
          { id: 'e3', role: 'tool', toolCallId: 'c', content: '', error: 'no.' },
          { id: 'd', role: 'developer', content: 'Be brief.', name: 'lost' },
        ],
        tools: [
          { name: 'a', description: 'A', parameters: { type: 'object' }, metadata: { lost: true } },
          { name: 'b', description: 'B' },
        ],
        resume: [
          { interruptId: 'i', status: 'resolved', payload, metadata: { lost: true } },
          { interruptId: 'lost', status: 'resolved' },
        ],
      };
      const there = toSendMessageInput(input, undefined, { jsonText: seed % 2 === 0 });
      const back = fromSendMessageInput(there, { runId: 'r' });
      const sent = input.messages.flatMap(withoutMessageLosses);
      expect({ seed, messages: there.messages }).toEqual({ seed, messages: sent });
      expect({ seed, back }).toEqual({
        seed,
        back: {
          threadId: 't',
          runId: 'r',
          messages: sent.map((message, index) => ({ ...message, id: `ag-kit-input:r:${index}` })),
          tools: [
            { name: 'a', description: 'A', parameters: { type: 'object' } },
            { name: 'b', description: 'B', parameters: {} },
          ],
          context: [],
          resume: [
            {
              interruptId: 'i',
              status: 'resolved',
              payload: seed % 2 ? parsed(payload) : payload,
            },
          ],
        },
      });
    }
  });
});
