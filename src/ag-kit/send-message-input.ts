import type { AgUiTool, RunAgentInput } from '../ag-ui/input.ts';
import type { ResumeEntry } from '../ag-ui/interrupts.ts';
import type { AgUiMessage, AssistantMessage, ToolMessage } from '../ag-ui/messages.ts';
import { toPlainTools } from '../ag-ui/plain-tools.ts';
import { findById, listOf } from '../ag-ui/thread-edits.ts';
import { RunSocketError } from '../internal/errors.ts';
import { joinText } from './content.ts';
import { defined } from './defined.ts';
import { parseJson } from './parse-json.ts';
import type { ClientMessage, SendMessageInput, Tool } from './types.ts';

/** How requests are written. */
export interface SendMessageInputOptions {
  /** Send `payload` and `parameters` as JSON text, as AG-Kit's own client does. @default false */
  readonly jsonText?: boolean | undefined;
  /** The payload that by agreement with the server declines an interrupt. @default none: a cancelled one stays unanswered */
  readonly cancelPayload?: unknown;
}

function toClientMessages(message: AgUiMessage): ClientMessage[] {
  const { role, content, toolCallId, toolCalls, error } = message as Pick<AgUiMessage, 'role'> &
    Partial<Pick<ToolMessage, 'content' | 'toolCallId' | 'error'>> &
    Pick<AssistantMessage, 'toolCalls'>;
  if (/^(activity|reasoning)$/.test(role)) return [];
  const text = joinText(content);
  // The application's own tool has its error in the content already.
  const more = error && !text.includes(error) ? (text && '\n') + error : '';
  return [
    defined({
      role: role === 'developer' ? 'system' : role,
      content: content == null ? undefined : text + more,
      toolCallId,
      toolCalls: toolCalls?.map(({ id, type, function: { name, arguments: args } }) => ({
        id,
        type,
        function: { name, arguments: args },
      })),
    }) as ClientMessage,
  ];
}

/**
 * Make AG-Kit's request of AG-UI's: the messages after the one with the id `cursor`, or all of them
 * where there is none.
 *
 * AG-Kit cannot say that an interrupt is cancelled. Where no `cancelPayload` says so, the messages go
 * without an answer, as AG-Kit's own client sends what is asked beside an open question.
 *
 * Throws `unsupported` where there are no messages either, and `invalid-argument` for a tool whose
 * `parameters` are no JSON Schema and cannot be made one.
 * AG-Kit has no place for the rest: ids, media, reasoning, state, context, all answers but the first
 * that it can say.
 */
export function toSendMessageInput(
  input: RunAgentInput,
  cursor?: string | undefined,
  { jsonText, cancelPayload }: SendMessageInputOptions = {},
): SendMessageInput {
  const encode = (value: unknown): unknown => (jsonText ? JSON.stringify(value) : value);
  const { resume } = input;
  const answer = resume
    ?.map(({ interruptId, status, payload = {} }) => ({
      interruptId,
      payload: encode(status === 'resolved' ? payload : cancelPayload),
    }))
    .find(({ payload }) => payload !== undefined);
  const messages = listOf(
    input.messages
      .slice(cursor === undefined ? 0 : findById(input.messages, cursor) + 1)
      .flatMap(toClientMessages),
  );
  if (resume?.[0] && !answer && !messages) {
    throw new RunSocketError(
      'unsupported',
      'AG-Kit cannot cancel: pass a cancelPayload or messages.',
    );
  }
  return defined({
    conversationId: input.threadId,
    messages,
    resume: answer,
    tools: listOf(
      toPlainTools(input.tools).map(
        ({ name, description, parameters }): Tool => ({
          name,
          description,
          parameters: encode((jsonText ? parseJson(parameters) : parameters) ?? {}),
        }),
      ),
    ),
  }) as SendMessageInput;
}

/**
 * Make AG-UI's request of AG-Kit's, whose messages follow those that the thread has.
 *
 * The ids of its messages are `ag-kit-input:<runId>:<n>`. JSON text of `payload` and `parameters` is
 * read.
 */
export function fromSendMessageInput(
  input: SendMessageInput,
  {
    runId,
    messages = [],
  }: {
    readonly runId: string;
    /** The thread as it is known. @default [] */
    readonly messages?: readonly AgUiMessage[] | undefined;
  },
): RunAgentInput {
  const { resume } = input;
  return defined<RunAgentInput>({
    threadId: input.conversationId,
    runId,
    messages: [
      ...messages,
      ...(input.messages ?? []).map((message, index) => ({
        ...message,
        id: `ag-kit-input:${runId}:${index}`,
      })),
    ],
    tools: (input.tools ?? []).map(({ name, description, parameters }) =>
      defined<AgUiTool>({ name, description, parameters: parseJson(parameters) }),
    ),
    context: [],
    resume: resume && [
      defined<ResumeEntry>({
        interruptId: resume.interruptId,
        status: 'resolved',
        payload: parseJson(resume.payload),
      }),
    ],
  });
}
