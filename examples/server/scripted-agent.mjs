// @ts-check
import { setTimeout as sleep } from 'node:timers/promises';
import { searchNotes } from './notes.mjs';
import { createOrdersAgent } from './orders-agent.mjs';
import { pieces, readConversation, tokens } from './text.mjs';

/** How long the agent takes, in ms at pace 1. */
const times = { thought: 40, argument: 60, search: 1500, word: 58, pause: 500 };

/**
 * An agent that needs neither a key nor a network: it thinks, searches its notes with a tool, and
 * answers token by token, while it keeps a plan in the shared state. Where the page asks for it by
 * `forwardedProps: { scenario: 'orders' }`, or the question names one, it looks after orders instead.
 *
 * @param {{ pace?: number }} [options] `pace` 2 talks twice as fast.
 * @returns {import('./requests.mjs').Agent}
 */
export function createScriptedAgent({ pace = 1 } = {}) {
  const orders = createOrdersAgent({ pace });
  return async function* scriptedAgent(run) {
    if (orders.takes(run.input)) return yield* orders.agent(run);
    const { input, runId, signal } = run;
    /** @param {number} time */
    const wait = (time) => sleep(time / pace, undefined, { signal });
    /** @param {string} path @param {unknown} value */
    const set = (path, value, op = 'replace') => ({
      type: 'STATE_DELTA',
      delta: [{ op, path: `/plan/${path}`, value }],
    });
    const { question, earlier, told } = readConversation(input.messages);
    const found = searchNotes(question, told, 3);
    const answer = compose(question, earlier, found);

    const steps = ['Understand the question', 'Search the notes', 'Write the answer'];
    yield {
      type: 'STATE_SNAPSHOT',
      snapshot: {
        plan: {
          goal: question || 'Say hello',
          steps: steps.map((title, index) => ({ title, status: index ? 'pending' : 'active' })),
        },
      },
    };

    yield { type: 'STEP_STARTED', stepName: 'Thinking' };
    const thoughtId = `${runId}-thought`;
    yield { type: 'REASONING_START', messageId: thoughtId };
    yield { type: 'REASONING_MESSAGE_START', messageId: thoughtId, role: 'reasoning' };
    for (const delta of tokens(think(question, earlier))) {
      yield { type: 'REASONING_MESSAGE_CONTENT', messageId: thoughtId, delta };
      await wait(times.thought);
    }
    yield { type: 'REASONING_MESSAGE_END', messageId: thoughtId };
    yield { type: 'REASONING_END', messageId: thoughtId };
    yield { type: 'STEP_FINISHED', stepName: 'Thinking' };
    yield set('steps/0/status', 'done');
    yield set('steps/1/status', 'active');
    await wait(times.pause);

    yield { type: 'STEP_STARTED', stepName: 'Searching the notes' };
    const answerId = `${runId}-answer`;
    const toolCallId = `${runId}-search`;
    yield {
      type: 'TOOL_CALL_START',
      toolCallId,
      toolCallName: 'search_notes',
      parentMessageId: answerId,
    };
    for (const delta of pieces(JSON.stringify({ query: question, limit: found.length }), 9)) {
      yield { type: 'TOOL_CALL_ARGS', toolCallId, delta };
      await wait(times.argument);
    }
    yield { type: 'TOOL_CALL_END', toolCallId };
    await wait(times.search);
    const titles = found.map((note) => note.title);
    yield {
      type: 'TOOL_CALL_RESULT',
      messageId: `${runId}-found`,
      toolCallId,
      content: JSON.stringify({ found: titles }),
    };
    yield { type: 'STEP_FINISHED', stepName: 'Searching the notes' };
    yield set('steps/1/status', 'done');
    yield set('steps/1/detail', `${found.length} notes`, 'add');
    yield set('steps/2/status', 'active');
    yield set('steps/-', { title: 'Read it over', status: 'pending' }, 'add');
    await wait(times.pause);

    yield { type: 'STEP_STARTED', stepName: 'Writing' };
    yield { type: 'TEXT_MESSAGE_START', messageId: answerId, role: 'assistant' };
    for (const [index, paragraph] of answer.entries()) {
      const detail = `paragraph ${index + 1} of ${answer.length}`;
      yield set('steps/2/detail', detail, index ? 'replace' : 'add');
      for (const delta of tokens(index ? `\n\n${paragraph}` : paragraph)) {
        yield { type: 'TEXT_MESSAGE_CONTENT', messageId: answerId, delta };
        await wait(times.word);
      }
    }
    yield { type: 'TEXT_MESSAGE_END', messageId: answerId };
    yield { type: 'STEP_FINISHED', stepName: 'Writing' };
    yield set('steps/2/status', 'done');
    yield set('steps/3/status', 'active');
    await wait(times.pause);
    yield set('steps/3/status', 'done');
  };
}

/** @param {string} question @param {readonly string[]} earlier */
function think(question, earlier) {
  const context = earlier.length
    ? `We have talked before: the last question was “${earlier.at(-1)}”. I should not repeat myself.`
    : 'This is the first question of the conversation.';
  return `The question is “${question || 'empty'}”. ${context} I cannot look anything up on the web, but I have notes about how this page works. I will search them, take the three that fit best, and put them into a few short paragraphs.`;
}

/** @param {string} question @param {readonly string[]} earlier @param {readonly import('./notes.mjs').Note[]} found */
function compose(question, earlier, found) {
  const opening = /^(hi|hello|hey|good (morning|evening|day))\b/i.test(question)
    ? 'Hello! Nice to meet you.'
    : /^(thanks|thank you)\b/i.test(question)
      ? 'You are welcome. There is more to tell.'
      : `You asked: “${question || 'nothing yet'}”.`;
  const place = earlier.length
    ? `This is question ${earlier.length + 1} of our conversation, and the ones before it came along with it.`
    : 'I am a scripted agent, so what I know is how the answer you are reading gets to you.';
  return [
    `${opening} ${place} Here is what my notes on “${found[0]?.title.toLowerCase()}” and two more say.`,
    ...found.map((note) => note.text),
    'Do try it while I am still talking: reload the page, drop the connection, or duplicate this tab.',
  ];
}
