// One user of the soak: asks, reads the answer, looks whether it is right, and asks again.
import { setTimeout as sleep } from 'node:timers/promises';

const wholeOf = (words) => Array.from({ length: words }, (_, n) => `${n} `).join('');

/** Make a user of `page`; `between` gives a number between two bounds. */
export function createPerson(name, { page, between, counts, fail }) {
  const make = () => {
    const agent = page.makeAgent(name);
    agent.on('error', ({ code, message }) => {
      if (code !== 'storage') fail(`${name}: ${code} ${message}`);
    });
    agent.subscribe(() => {
      if (person.throws) throw new Error('a listener of the soak');
    });
    return agent;
  };

  const person = {
    agent: undefined,
    throws: false,
    /** What it asked last may be forgotten by a reload. */
    mayForget: false,
    isDone: false,
    reload() {
      // A run that was never sent is not remembered.
      if (person.agent.runs.getSnapshot().some(({ status }) => status === 'queued')) {
        person.mayForget = true;
      }
      person.agent.dispose();
      person.agent = make();
    },
    live,
  };
  person.agent = make();
  /** How long the last whole answer was. */
  let wordsBefore = 0;

  const textOf = () =>
    person.agent
      .getSnapshot()
      .messages.filter(({ role }) => role === 'assistant')
      .map(({ content }) => content ?? '')
      .join('');

  function judge(words) {
    const { status, error } = person.agent.getSnapshot();
    const whole = wholeOf(words);
    const text = textOf();
    // What was to be forgotten while storage was denied is still there for the page behind a reload.
    const isOlder = person.mayForget && text === wholeOf(wordsBefore);
    if (status === 'finished' && text !== whole && isOlder) counts.forgotten++;
    else if (status === 'finished') {
      counts.finished++;
      if (text !== whole) {
        const at = [...text].findIndex((letter, index) => letter !== whole[index]);
        const where =
          at < 0 ? `after ${text.length} letters` : text.slice(Math.max(0, at - 30), at + 30);
        fail(`${name}: ${words} words came out wrong ${where} (${wordsBefore} before)`);
      }
      wordsBefore = words;
    } else if (status === 'aborted') {
      counts.aborted++;
      if (!whole.startsWith(text)) fail(`${name}: aborted, with ${text.slice(0, 200)}`);
    } else if (status === 'idle' && person.mayForget) counts.forgotten++;
    else fail(`${name}: ${status} ${error?.code} ${error?.message}`);
  }

  async function live() {
    while (!person.isDone) {
      // What could not be written down is forgotten by a reload.
      person.mayForget = page.isStorageBroken;
      const words = Math.floor(between(20, 400));
      const ask = { words, pause: Math.floor(between(5, 120)) };
      person.agent.run({ messages: [{ role: 'user', content: JSON.stringify(ask) }] });
      const end = Date.now() + 180_000;
      while (person.agent.getSnapshot().status === 'running') {
        if (Date.now() > end) {
          fail(`${name}: still running after 3 min`);
          break;
        }
        await sleep(20);
      }
      judge(words);
      // The thread starts anew, or it would be what grows.
      person.agent.reset();
      await sleep(between(0, 300));
    }
  }

  return person;
}
