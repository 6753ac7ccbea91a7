import { isText, textOf } from '../internal/json-values.ts';
import type { AgentContentPart, AgentMessageContent } from './event-types.ts';

function toPart(part: unknown): AgentContentPart {
  const { type, text, source } = Object(part);
  const { type: from, value, mimeType } = Object(source);
  if (type === 'text' && isText(text)) return { type, text };
  return isText(value) && /^(url|data)$/.test(from)
    ? {
        type: type === 'image' ? type : 'file',
        [from]: value,
        ...(isText(mimeType) && { mediaType: mimeType }),
      }
    : // A provider's file handle, or what nobody knows.
      { type: 'ag-ui.part', data: part };
}

/** What an AG-UI message says, as events carry it; '' where it says nothing. */
export function toAgentContent(content: unknown): AgentMessageContent {
  return Array.isArray(content) ? content.map(toPart) : (textOf(content) ?? '');
}
