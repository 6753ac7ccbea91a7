// @ts-check

/**
 * What the scripted agent knows, and its search. `words` are what a question may say.
 *
 * @typedef {{ title: string, words: string, text: string }} Note
 * @type {readonly Note[]}
 */
export const notes = [
  {
    title: 'Reloading the page',
    words: 'reload refresh f5 page tab close reopen remember storage lost again',
    text: 'When you reload this page, the browser forgets everything but a small record: which run was under way, and the conversation it started from. The new page reads it, asks the server for the events it has not seen, and the answer goes on in the middle of the sentence where you left it.',
  },
  {
    title: 'Lost connections',
    words:
      'connection drop network offline tunnel wifi reconnect disconnect socket lost train sleep',
    text: 'A lost connection does not end an answer. The server goes on working and writes every event to a log under a number. The page dials again, at first within a second and then more and more patiently, and asks for what came after the last number it has. Nothing is missing and nothing appears twice.',
  },
  {
    title: 'Stopping an answer',
    words: 'stop cancel abort escape end interrupt quit',
    text: 'Only you can stop an answer: by the Stop button or the Escape key. If you do so while there is no connection, the wish is kept, even over a reload, and the server hears it as soon as it can be reached.',
  },
  {
    title: 'The plan beside the conversation',
    words: 'plan state shared panel step snapshot delta patch progress todo',
    text: 'The plan that you see is state the agent shares with the page. It is sent once as a whole, and then as small patches, such as this one step being done now. After a reload the page has the same plan as before, since the patches are events like any other.',
  },
  {
    title: 'Several tabs',
    words: 'tabs two duplicate copy window browser device share follow same',
    text: 'Duplicate this tab in the middle of an answer, and both show it: the copy gets the record of the run along with the tab, which a tab that you open anew does not. Each follows the same log at its own pace, either may press Stop, and closing one changes nothing for the other.',
  },
  {
    title: 'What a server has to do',
    words: 'server backend message protocol implement python go api write own wire event',
    text: 'A server of your own has to understand three messages: run, resume and cancel. It answers with one kind of message, which carries a run, a number and an event. The program that talks to you now is about two hundred lines long and made to be copied.',
  },
  {
    title: 'Talking to a real model',
    words: 'model openai llm key gpt real scripted fake ai',
    text: 'I am a script, so I need neither a key nor a network. Set OPENAI_BASE_URL and OPENAI_API_KEY before you start the demo, and a model of your choice answers instead. All that you see here, reloads and lost connections included, works the same with it.',
  },
  {
    title: 'Back and forward',
    words: 'back forward history navigation navigate leave cache return',
    text: 'Leave this page by a link and come back by the Back button. The page lets go of its connection when it is left, so that the browser can keep it as it was, and takes the answer up again when you return.',
  },
];

/**
 * The notes that fit a question, best first; where it fits none, the first ones. Those that were
 * told before come last.
 *
 * @param {string} question
 * @param {string} told
 * @param {number} count
 */
export function searchNotes(question, told, count) {
  const asked = new Set(question.toLowerCase().match(/\p{L}{2,}/gu) ?? []);
  const scored = notes.map((note) => {
    const hits = note.words.split(' ').filter((word) => asked.has(word) || asked.has(`${word}s`));
    const isTold = told.includes(note.text);
    return { note, score: hits.length * (isTold ? 1 : 3) - (isTold ? 2 : 0) };
  });
  return scored
    .sort((a, b) => b.score - a.score)
    .slice(0, count)
    .map(({ note }) => note);
}
