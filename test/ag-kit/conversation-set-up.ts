import { type PlainServer, startPlainServer } from '../helpers/plain-server.ts';
import { until } from '../helpers/until.ts';

/** What comes as `input` of a `run` message. */
export interface SentInput {
  readonly conversationId: string;
  readonly messages?: readonly { readonly role: string; readonly content?: string }[];
  readonly resume?: { readonly interruptId: string; readonly payload: unknown };
  readonly tools?: readonly { readonly name: string }[];
}

/** What the agent says: AG-Kit events, and `'wait'` where it goes on only when it is told to. */
export type Script = readonly (Logged | '[DONE]' | 'wait')[];

/** A WebSocket server that speaks AG-Kit events in the envelope, from logs in its memory. */
export interface AgKitServer extends PlainServer {
  /** The input of every run, in order. */
  readonly inputs: readonly SentInput[];
  /** How often each run was started, in order; `[1, 1]` are two runs that ran once each. */
  starts(): number[];
  /** Resolves once an agent waits. */
  waits(): Promise<void>;
  /** The agent that waits goes on. */
  go(): void;
}

/** Start a server that answers each run as `script` says. */
export async function startAgKitServer(
  script: (input: SentInput) => Script = answer,
): Promise<AgKitServer> {
  const inputs: SentInput[] = [];
  let waiting: (() => void) | undefined;

  async function play(runId: string, input: SentInput) {
    for (const step of script(input)) {
      if (step === 'wait') {
        await new Promise<void>((resolve) => {
          waiting = resolve;
        });
        waiting = undefined;
        // `[DONE]` travels as it is, in place of an event.
      } else server.append(runId, step as Logged);
    }
  }

  const server: PlainServer = await startPlainServer((runId, run) => {
    const input = run.input as unknown as SentInput;
    inputs.push(input);
    // The run is known to the server only behind this.
    queueMicrotask(() => void play(runId, input));
  });

  return Object.assign(server, {
    inputs,
    starts: () => [...server.runs.values()].map((run) => run.starts),
    waits: () => until(() => waiting !== undefined),
    go: () => waiting?.(),
  });
}

/** An event as the server's log takes it. */
interface Logged {
  readonly type: string;
  readonly [field: string]: unknown;
}

const event = (type: string, fields: object): Logged => ({ type, ...fields });

export const text = (content: string): Logged => event('text', { content });

export const call = (toolCallId: string, toolCallName: string, args: string): Logged[] => [
  event('tool-call-start', { toolCallId, toolCallName }),
  event('tool-call-args', { toolCallId, delta: args.slice(0, 3) }),
  event('tool-call-args', { toolCallId, delta: args.slice(3) }),
  event('tool-call-end', { toolCallId }),
];

export const result = (toolCallId: string, content: string): Logged =>
  event('tool-result', { toolCallId, result: content });

export const interrupt = (id: string, payload: unknown, reason = 'approval'): Logged =>
  event('interrupt', { id, reason, payload });

/** The questions of the conversation of three turns. */
export const questions = ['A train to Bern?', 'Book it.', 'Book the way back.'] as const;

/** What it says in all, questions and tool results included, in order. */
export const wholeConversation: readonly (readonly [role: string, content: string])[] = [
  ['user', questions[0]],
  ['assistant', 'I look that up.'],
  ['tool', '{"at":"10:04"}'],
  ['assistant', 'The next one leaves at 10:04.'],
  ['user', questions[1]],
  ['assistant', 'It has seats left.'],
  ['assistant', 'Booked. Have a good journey!'],
  ['user', questions[2]],
  ['assistant', 'The 18:02 has seats left.'],
  ['assistant', 'Then not.'],
];

/** A ticket desk: a tool in the first turn, a question each in the second and the third. */
export function answer({ messages, resume }: SentInput): Script {
  if (resume) {
    const { approved } = Object(resume.payload) as { approved?: boolean };
    return approved
      ? [text('Booked.'), 'wait', text(' Have a good'), text(' journey!'), '[DONE]']
      : [text('Then '), 'wait', text('not.'), '[DONE]'];
  }
  const question = messages?.at(-1)?.content;
  if (question === questions[0]) {
    return [
      text('I look '),
      text('that up.'),
      ...call('c1', 'find_train', '{"to":"Bern"}'),
      'wait',
      result('c1', '{"at":"10:04"}'),
      text('The next one '),
      text('leaves at 10:04.'),
      '[DONE]',
    ];
  }
  if (question === questions[1]) {
    const payload = { message: 'Book the 10:04?', price: 24 };
    return [text('It has seats left.'), interrupt('i1', payload), '[DONE]'];
  }
  if (question === questions[2]) {
    const payload = { message: 'Book the 18:02?', price: 24 };
    return [text('The 18:02 has '), text('seats left.'), interrupt('i2', payload), '[DONE]'];
  }
  return [text('I sell tickets.'), '[DONE]'];
}
