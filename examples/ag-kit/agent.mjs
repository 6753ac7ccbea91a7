// @ts-check
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { pieces, tokens } from '../server/text.mjs';

/**
 * @typedef {import('runsocket/ag-kit').ClientMessage} ClientMessage
 * @typedef {import('runsocket/ag-kit').SendMessageEvent} SendMessageEvent
 * @typedef {import('runsocket/ag-kit').SendMessageInput} SendMessageInput
 *
 * What the agent knows of a conversation: all of its messages, and what it asked and was not answered.
 *
 * @typedef {{ messages: ClientMessage[], questions: Map<string, Train> }} Conversation
 * @typedef {{ to: string, at: string, price: number }} Train
 */

/** How long the agent takes, in ms at pace 1. */
const times = { word: 60, argument: 80, tool: 1200 };

/** @type {readonly Train[]} */
const trains = [
  { to: 'Bern', at: '10:04', price: 24 },
  { to: 'Basel', at: '10:11', price: 31 },
  { to: 'Lugano', at: '10:32', price: 58 },
];

/**
 * A ticket desk that needs neither a key nor a network, and speaks AG-Kit's events. What it does
 * follows from the words of a question: `train` looks one up with a tool of its own, `book` asks for
 * leave before it spends money, `near` asks the page's tool `locate` where the traveller is, and
 * `break` has it fall over in the middle of a sentence.
 *
 * @param {{ pace?: number }} [options] `pace` 2 talks twice as fast.
 */
export function createAgent({ pace = 1 } = {}) {
  /**
   * @param {Conversation} conversation With the new messages at its end.
   * @param {Omit<SendMessageInput, 'conversationId'>} request
   * @param {AbortSignal} signal
   * @returns {AsyncGenerator<SendMessageEvent, void, undefined>}
   */
  return async function* answer({ messages, questions }, request, signal) {
    const { resume, tools = [] } = request;
    /** @param {number} time */
    const wait = (time) => sleep(time / pace, undefined, { signal });

    /** @param {string} text @returns {AsyncGenerator<SendMessageEvent, void, undefined>} */
    async function* say(text) {
      for (const content of tokens(text)) {
        yield { type: 'text', content };
        await wait(times.word);
      }
    }

    /** @param {string} toolCallId @param {string} toolCallName @param {unknown} args @returns {AsyncGenerator<SendMessageEvent, void, undefined>} */
    async function* call(toolCallId, toolCallName, args) {
      yield { type: 'tool-call-start', toolCallId, toolCallName };
      for (const delta of pieces(JSON.stringify(args), 6)) {
        yield { type: 'tool-call-args', toolCallId, delta };
        await wait(times.argument);
      }
      yield { type: 'tool-call-end', toolCallId };
    }

    if (resume) {
      const train = questions.get(resume.interruptId);
      questions.delete(resume.interruptId);
      if (!train) yield* say('Nobody waits for that answer any more.');
      else if (isGranted(resume.payload)) {
        yield* say(`Booked: the ${train.at} to ${train.to}. Have a good journey!`);
      } else yield* say(`I did not book the ${train.at} to ${train.to}.`);
      if (!request.messages?.length) return;
      yield { type: 'text', content: ' ' };
    }

    const last = messages.at(-1);
    if (last?.role === 'tool') {
      return yield* say(`You are at ${last.content}. Trains leave from the next corner.`);
    }

    const questionsSoFar = messages.filter(({ role }) => role === 'user');
    const question = questionsSoFar.at(-1)?.content ?? '';
    const train = trains.find(({ to }) => question.includes(to)) ?? trains[0];
    if (/\bbook/i.test(question) && train) {
      const id = randomUUID();
      questions.set(id, train);
      yield* say(`The ${train.at} to ${train.to} has seats left. I need your leave to pay.`);
      const message = `Book the ${train.at} to ${train.to} for ${train.price} francs?`;
      yield { type: 'interrupt', id, reason: 'approval', payload: { message, ...train } };
    } else if (/\btrains?\b/i.test(question) && train) {
      const toolCallId = randomUUID();
      yield* say('I look that up.');
      yield* call(toolCallId, 'find_train', { to: train.to });
      await wait(times.tool);
      yield { type: 'tool-result', toolCallId, result: JSON.stringify(train) };
      yield* say(`The next train to ${train.to} leaves at ${train.at}.`);
    } else if (/\bnear/i.test(question) && tools.some(({ name }) => name === 'locate')) {
      yield* call(randomUUID(), 'locate', { exact: false });
    } else if (/\bbreak\b/i.test(question)) {
      yield* say('I am about to');
      throw new Error('The agent fell over.');
    } else {
      yield* say(
        `This is question ${questionsSoFar.length} of our conversation. Ask me for a train to Bern, Basel or Lugano, to book one, or what is near you.`,
      );
    }
  };
}

/**
 * Whether an answer says yes. Clients of AG-Kit send a payload as JSON text, others as it is.
 *
 * @param {unknown} payload
 */
function isGranted(payload) {
  let answer = payload;
  try {
    if (typeof payload === 'string') answer = JSON.parse(payload);
  } catch {
    // Plain words are no leave.
  }
  return answer === true || Object(answer).approved === true;
}
