// @ts-check
import { setTimeout as sleep } from 'node:timers/promises';
import { euros, findOrder } from './orders.mjs';
import { pieces, readConversation, tokens } from './text.mjs';

/**
 * How long the agent takes, in ms at pace 1: it waits so long for a retry, and longer for an answer,
 * which does not keep a run open.
 */
const times = { thought: 45, argument: 60, tool: 1400, word: 58, retry: 300_000 };

/** How long an answer to a question counts, in ms. */
const patience = 10 * 60_000;

/** How many open questions are remembered at most. */
const maxQuestions = 1000;

/**
 * Something the agent does only if it is granted.
 *
 * @typedef {object} Action
 * @property {string} tool
 * @property {Record<string, unknown>} args
 * @property {string} question
 * @property {string} risk
 * @property {string} done What to say of it when it is done.
 * @property {string} refused
 *
 * @typedef {{ action: Action, toolCallId: string, expiresAt: number, isDone: boolean }} Question
 * @typedef {import('./requests.mjs').AgUiEvent} AgUiEvent
 */

/**
 * A second script: an assistant that looks after the orders of a shop. It thinks, looks an order up,
 * asks a carrier who is slow, and needs leave before it spends money or writes to somebody: its run
 * then ends with the question, and the run that brings the answer goes on.
 *
 * What it does follows from the question's words: `where`, `track` or `parcel` ask the carrier (who
 * fails once, or twice where the question says `twice`), `refund` pays back, `tell` writes a letter.
 *
 * @param {{ pace: number }} options
 */
export function createOrdersAgent({ pace }) {
  /** Open questions by interrupt id. They have to outlive the run that asked. @type {Map<string, Question>} */
  const questions = new Map();

  /** @param {string} id @param {Question} question */
  function remember(id, question) {
    questions.set(id, question);
    for (const oldest of questions.keys()) {
      if (questions.size <= maxQuestions) break;
      questions.delete(oldest);
    }
  }

  /** @param {AbortSignal} signal */
  const createWait = (signal) => (/** @type {number} */ time) =>
    sleep(time / pace, undefined, { signal });

  /** @type {import('./requests.mjs').Agent} */
  async function* work({ input, runId, signal, hear }) {
    const wait = createWait(signal);
    const { question } = readConversation(input.messages);
    const order = findOrder(question);
    const asksCarrier = /\b(where|track\w*|parcel|carrier)\b/i.test(question);
    const actions = planActions(question, order);
    yield* think(
      `${runId}-thought`,
      `This is about order ${order.number}. I look it up first. ${asksCarrier ? 'Then I ask the carrier where the parcel is; their service is slow at times. ' : ''}${actions.length ? 'What changes something I do not do by myself: I ask before I act.' : 'There is nothing to change, so nothing needs leave.'}`,
      wait,
    );

    const answerId = `${runId}-answer`;
    const findId = `${runId}-find`;
    yield* call(findId, 'find_order', { number: order.number }, answerId, wait);
    await wait(times.tool);
    yield result(findId, order);

    let parcel = asksCarrier ? '' : order.parcel;
    if (asksCarrier) {
      const trackId = `${runId}-track`;
      let failures = /\btwice\b/i.test(question) ? 2 : 1;
      yield* call(trackId, 'track_parcel', { order: order.number }, answerId, wait);
      for (let isWanted = true; isWanted && parcel === ''; ) {
        await wait(times.tool);
        if (failures-- > 0) {
          // Listen before the failure is told: a retry may come at once.
          const retry = hear(`retry ${trackId}`, times.retry / pace);
          yield result(trackId, failure('The carrier did not answer in time.', true));
          isWanted = await retry;
          // The call as it was, with its arguments: more of them would be appended.
          if (isWanted) yield* call(trackId, 'track_parcel', undefined, answerId, wait);
        } else {
          parcel = order.parcel;
          yield result(trackId, { parcel });
        }
      }
    }

    const status = parcel ? `The parcel is ${parcel}.` : 'I could not find out where it is.';
    const next = actions.length
      ? ` ${actions.length > 1 ? 'There are two things' : 'There is one thing'} I need your leave for.`
      : ' Nothing was changed.';
    yield* say(
      answerId,
      `Order ${order.number} is ${order.item} for ${order.customer}, at ${euros(order.price)}. ${status}${next}`,
      wait,
    );
    if (actions.length === 0) return;

    const interrupts = [];
    for (const action of actions) {
      const toolCallId = `${runId}-${action.tool}`;
      yield* call(toolCallId, action.tool, action.args, answerId, wait);
      const expiresAt = Date.now() + patience;
      const id = `${toolCallId}-leave`;
      remember(id, { action, toolCallId, expiresAt, isDone: false });
      interrupts.push({
        id,
        reason: 'approval',
        message: action.question,
        toolCallId,
        expiresAt: new Date(expiresAt).toISOString(),
        metadata: { risk: action.risk, ...action.args },
      });
    }
    yield { type: 'RUN_FINISHED', outcome: { type: 'interrupt', interrupts } };
  }

  /** Go on with what was asked. @type {import('./requests.mjs').Agent} */
  async function* goOn({ input, runId, signal }) {
    const wait = createWait(signal);
    const told = [];
    for (const { interruptId, isGranted } of answersOf(input)) {
      const question = questions.get(interruptId);
      if (!question) throw new Error('The server no longer knows what it asked you.');
      const { action, toolCallId } = question;
      const isLate = Date.now() > question.expiresAt;
      if (isGranted && !isLate) {
        // Paying twice because somebody answers twice would be bad.
        if (!question.isDone) await wait(times.tool);
        question.isDone = true;
        yield result(toolCallId, { done: true, ...action.args });
        told.push(action.done);
      } else {
        const why = isLate ? 'The answer came too late.' : 'You refused it.';
        yield result(toolCallId, failure(why, false));
        told.push(isLate ? `${why} ${action.refused}` : action.refused);
      }
    }
    yield* say(`${runId}-done`, told.join(' '), wait);
  }

  return {
    /** Whether a run is for this script: it answers what was asked, or is about an order. @param {import('./requests.mjs').RunInput} input */
    takes(input) {
      const { scenario } = /** @type {{ scenario?: unknown }} */ (Object(input.forwardedProps));
      const { question } = readConversation(input.messages);
      return scenario === 'orders' || goesOn(input) || /\border \d{4}\b/i.test(question);
    },
    /** @type {import('./requests.mjs').Agent} */
    async *agent(run) {
      if (goesOn(run.input)) yield* goOn(run);
      if (asks(run.input) || answersOf(run.input).length === 0) yield* work(run);
    },
  };
}

/** @typedef {(time: number) => Promise<void>} Wait */

/** @param {string} messageId @param {string} text @param {Wait} wait @returns {AsyncIterable<AgUiEvent>} */
async function* think(messageId, text, wait) {
  yield { type: 'REASONING_START', messageId };
  yield { type: 'REASONING_MESSAGE_START', messageId, role: 'reasoning' };
  for (const delta of tokens(text)) {
    yield { type: 'REASONING_MESSAGE_CONTENT', messageId, delta };
    await wait(times.thought);
  }
  yield { type: 'REASONING_MESSAGE_END', messageId };
  yield { type: 'REASONING_END', messageId };
}

/** @param {string} messageId @param {string} text @param {Wait} wait @returns {AsyncIterable<AgUiEvent>} */
async function* say(messageId, text, wait) {
  yield { type: 'TEXT_MESSAGE_START', messageId, role: 'assistant' };
  for (const delta of tokens(text)) {
    yield { type: 'TEXT_MESSAGE_CONTENT', messageId, delta };
    await wait(times.word);
  }
  yield { type: 'TEXT_MESSAGE_END', messageId };
}

/**
 * A tool call up to its result. One that is tried again keeps its id, and has its arguments already.
 *
 * @param {string} toolCallId @param {string} toolCallName @param {unknown} args
 * @param {string} parentMessageId @param {Wait} wait @returns {AsyncIterable<AgUiEvent>}
 */
async function* call(toolCallId, toolCallName, args, parentMessageId, wait) {
  yield { type: 'TOOL_CALL_START', toolCallId, toolCallName, parentMessageId };
  for (const delta of args === undefined ? [] : pieces(JSON.stringify(args), 9)) {
    yield { type: 'TOOL_CALL_ARGS', toolCallId, delta };
    await wait(times.argument);
  }
  yield { type: 'TOOL_CALL_END', toolCallId };
}

/** @param {string} toolCallId @param {unknown} content @returns {AgUiEvent} */
function result(toolCallId, content) {
  const messageId = `${toolCallId}-result`;
  return { type: 'TOOL_CALL_RESULT', messageId, toolCallId, content: JSON.stringify(content) };
}

/** How this server tells that a tool failed; the page knows it by `error`. @param {string} message @param {boolean} retryable */
function failure(message, retryable) {
  return { error: { message, retryable } };
}

/** @param {string} question @param {import('./orders.mjs').Order} order */
function planActions(question, order) {
  const { number, customer, price } = order;
  /** @type {Action[]} */
  const actions = [];
  if (/\b(refund\w*|pay)\b/i.test(question)) {
    actions.push({
      tool: 'refund_order',
      args: { order: number, amount: euros(price) },
      question: `Pay ${euros(price)} back to ${customer} for order ${number}?`,
      risk: 'Money that is paid back is gone.',
      done: `${euros(price)} went back to ${customer}.`,
      refused: `The refund was not made; ${customer} has not been paid anything.`,
    });
  }
  if (/\b(tell|write|letter|mail)\b/i.test(question)) {
    actions.push({
      tool: 'write_letter',
      args: { to: customer, subject: `Your order ${number}` },
      question: `Write to ${customer} about order ${number}?`,
      risk: 'A letter that is sent cannot be called back.',
      done: `The letter to ${customer} is on its way.`,
      refused: `No letter was written to ${customer}.`,
    });
  }
  return actions;
}

/** Whether a run brings something new to do. @param {import('./requests.mjs').RunInput} input */
function asks({ messages }) {
  return Array.isArray(messages) && messages.at(-1)?.role === 'user';
}

/** Whoever asks something else has dropped the questions that were open. @param {import('./requests.mjs').RunInput} input */
function goesOn(input) {
  const answers = answersOf(input);
  return answers.length > 0 && !(asks(input) && answers.every(({ isDropped }) => isDropped));
}

/** The answers that a run brings. @param {import('./requests.mjs').RunInput} input */
function answersOf({ resume }) {
  if (!Array.isArray(resume)) return [];
  return resume
    .filter((entry) => typeof entry?.interruptId === 'string')
    .map((entry) => ({
      interruptId: String(entry.interruptId),
      isGranted: entry.status === 'resolved' && entry.payload?.approved === true,
      isDropped: entry.status === 'cancelled',
    }));
}
