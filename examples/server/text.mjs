// @ts-check

/**
 * What is asked, what was asked before, and all that was answered.
 *
 * @param {unknown} messages
 */
export function readConversation(messages) {
  /** @type {string[]} */
  const asked = [];
  let told = '';
  for (const message of Array.isArray(messages) ? messages : []) {
    const text = readText(message?.content);
    if (message?.role === 'user') asked.push(text.replace(/\s+/g, ' ').trim());
    if (message?.role === 'assistant') told += `${text}\n`;
  }
  return { question: shorten(asked.at(-1) ?? ''), earlier: asked.slice(0, -1).map(shorten), told };
}

/** The text of a message: a string, or the text among its parts. @param {unknown} content @returns {string} */
export function readText(content) {
  if (typeof content === 'string') return content;
  if (!Array.isArray(content)) return '';
  return content.map((part) => (typeof part?.text === 'string' ? part.text : '')).join('');
}

/** @param {string} text */
function shorten(text) {
  const characters = [...text];
  return characters.length > 120 ? `${characters.slice(0, 119).join('')}…` : text;
}

/** Cut a text the way models do: words with the space before them, long ones in two. @param {string} text */
export function tokens(text) {
  return (text.match(/\s*\S+\s*$|\s*\S+/gu) ?? []).flatMap((word) =>
    word.length > 8 ? pieces(word, Math.ceil(word.length / 2)) : [word],
  );
}

/** Cut a text into pieces of a length, never through a character. @param {string} text @param {number} length @returns {string[]} */
export function pieces(text, length) {
  const characters = [...text];
  const result = [];
  for (let start = 0; start < characters.length; start += length) {
    result.push(characters.slice(start, start + length).join(''));
  }
  return result;
}
