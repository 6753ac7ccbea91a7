import { isRecord, isText } from '../internal/json-values.ts';

const textOfPart = (part: unknown): string | undefined =>
  isRecord(part) && part.type === 'text' && isText(part.text) ? part.text : undefined;

/** What a message says in text: that of its parts joined, without media. */
export function joinText(content: unknown): string {
  return isText(content)
    ? content
    : Array.isArray(content)
      ? content.map((part) => textOfPart(part) ?? '').join('')
      : '';
}

/** What a tool answered, as text: parts that are not all text as JSON. */
export function flattenResult(content: unknown): string {
  return Array.isArray(content) && content.some((part) => textOfPart(part) === undefined)
    ? JSON.stringify(content)
    : joinText(content);
}
