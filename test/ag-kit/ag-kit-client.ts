import type { SendMessageEvent } from '../../src/ag-kit/types.ts';

/** A message as AG-Kit's own client shows it. */
export type ChatMessage =
  | { role: 'assistant'; content: string; toolCalls: ChatToolCall[] }
  | { role: 'tool'; toolCallId: string; content: string };

/** A tool call as AG-Kit's own client shows it. */
export interface ChatToolCall {
  id: string;
  name: string;
  arguments: string;
  state: 'input-streaming' | 'input-available' | 'output-available';
}

/** What AG-Kit's own client has after a stream. */
export interface Chat {
  messages: ChatMessage[];
  interrupt?: { id: string; reason: string; payload: unknown };
  done: boolean;
}

/**
 * Folds a stream as AG-Kit's own client does: text and calls share the last message until a result
 * breaks it, arguments throw where the last message is not the assistant's, a second interrupt takes
 * the place of the first.
 */
export function chatOf(events: readonly (SendMessageEvent | '[DONE]')[]): Chat {
  const chat: Chat = { messages: [], done: false };
  const { messages } = chat;
  const assistant = () => {
    const last = messages.at(-1);
    if (last?.role === 'assistant') return last;
    const made: ChatMessage = { role: 'assistant', content: '', toolCalls: [] };
    messages.push(made);
    return made;
  };
  const calls = new Map<string, ChatToolCall>();
  for (const event of events) {
    if (chat.done) throw new Error('An event behind [DONE].');
    if (event === '[DONE]') {
      chat.done = true;
      continue;
    }
    switch (event.type) {
      case 'text':
        assistant().content += event.content;
        break;
      case 'tool-call-start': {
        const { toolCallId: id, toolCallName: name } = event;
        if (calls.has(id)) throw new Error('A call that started twice.');
        const call: ChatToolCall = { id, name, arguments: '', state: 'input-streaming' };
        calls.set(id, call);
        assistant().toolCalls.push(call);
        break;
      }
      case 'tool-call-args': {
        const last = messages.at(-1);
        const call = calls.get(event.toolCallId);
        if (last?.role !== 'assistant') throw new Error('Last message is not an assistant message');
        if (call?.state !== 'input-streaming' || !last.toolCalls.includes(call)) {
          throw new Error('Arguments of no open call.');
        }
        call.arguments += event.delta;
        break;
      }
      case 'tool-call-end': {
        const call = calls.get(event.toolCallId);
        if (call?.state !== 'input-streaming') throw new Error('The end of no open call.');
        call.state = 'input-available';
        break;
      }
      case 'tool-result': {
        const call = calls.get(event.toolCallId);
        if (call) call.state = 'output-available';
        messages.push({ role: 'tool', toolCallId: event.toolCallId, content: event.result });
        break;
      }
      case 'interrupt':
        chat.interrupt = { id: event.id, reason: event.reason, payload: event.payload };
    }
  }
  return chat;
}
