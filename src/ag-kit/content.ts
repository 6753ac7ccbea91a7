import { isRecord, isText } from '../internal/json-values.ts';

/** The parts of a message; text alone is one. */
const partsOf = (content: unknown): readonly unknown[] =>
  Array.isArray(content) ? content : [{ type: 'text', text: content ?? '' }];

const textOfPart = (part: unknown): string | undefined =>
  isRecord(part) && part.type === 'text' && isText(part.text) ? part.text : undefined;

/** What a message says in text: that of its parts joined, without media. */
export function joinText(content: unknown): string {
  return partsOf(content)
    .map((part) => textOfPart(part) ?? '')
    .join('');
}

/** What a tool answered, as text: what is neither text nor parts of text as JSON. */
export function flattenResult(content: unknown): string {
  return partsOf(content).some((part) => textOfPart(part) === undefined)
    ? JSON.stringify(content)
    : joinText(content);
}
