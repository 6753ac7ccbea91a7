import { isObject, isText, textOf } from '../ag-ui/thread-edits.ts';
import type { AgentContentPart, AgentMessageContent } from './event-types.ts';

function toPart(part: unknown): AgentContentPart {
  const { type, text, source, ...legacy } = (isObject(part) ? part : {}) as Readonly<
    Record<string, unknown>
  >;
  // Before AG-UI 1.0, media is a part of the type `binary`.
  const media = isObject(source) ? source : type === 'binary' ? legacy : {};
  const mediaType = textOf(media.mimeType);
  const url = textOf(media.type === 'url' ? media.value : media.url);
  const data = media.type === 'data' ? media.value : media.data;
  const name = textOf(legacy.filename);
  if (type === 'text' && isText(text)) return { type, text };
  // A provider's file handle, or what nobody knows.
  if (url === undefined && data === undefined) return { type: 'ag-ui.part', data: part };
  return {
    type:
      type === 'image' || (type === 'binary' && mediaType?.startsWith('image/')) ? 'image' : 'file',
    ...(url === undefined ? { data } : { url }),
    ...(mediaType !== undefined && { mediaType }),
    ...(name !== undefined && { name }),
  };
}

/** What an AG-UI message says, as events carry it; '' where it says nothing. */
export function toAgentContent(content: unknown): AgentMessageContent {
  return Array.isArray(content) ? content.map(toPart) : (textOf(content) ?? '');
}
