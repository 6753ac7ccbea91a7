import type { AgUiMessage } from '../ag-ui/messages.ts';
import { callsOf, itemsOf, lastIndex, type WireEvent } from '../ag-ui/thread-edits.ts';
import { equalJson } from '../internal/equal-json.ts';
import { isText, textOf } from '../internal/json-values.ts';
import { applyActivity } from './bridge-artifacts.ts';
import { toAgentContent } from './bridge-content.ts';
import { type BridgeDraft, close, find } from './bridge-entities.ts';
import type { BridgeEntity } from './bridge-state.ts';
import { closeLanes, extend, startStream } from './bridge-streams.ts';
import { applyResult, runTool, startTool } from './bridge-tools.ts';

/** What is nested deeper in an activity is not compared, but told again. */
const comparedDepth = 20;

const kindOf = ({ role }: AgUiMessage) => (role === 'reasoning' ? role : 'message');

/** The server knows better what streams: the missing end is told now, anything else at the end. */
function reconcile(
  draft: BridgeDraft,
  event: WireEvent,
  entity: BridgeEntity,
  content: unknown,
): void {
  const { content: old } = entity;
  if (isText(content) && isText(old) && content.startsWith(old)) {
    extend(draft, event, entity, content.slice(old.length));
  } else if (entity.kind !== 'tool') Object.assign(entity, { content, diverged: true });
}

/** Tell a whole message that is new, or what is new in one that is there. */
export function takeMessage(
  draft: BridgeDraft,
  { timestamp }: WireEvent,
  message: AgUiMessage,
  isNew: boolean,
): BridgeEntity | undefined {
  const { role, id } = message;
  const event: WireEvent = { ...message, type: '', timestamp, messageId: id };
  if (role === 'tool') {
    if (find(draft, 'tool', message.toolCallId)) applyResult(draft, event);
    return undefined;
  }
  if (role === 'activity') {
    const old = find(draft, 'artifact', id);
    if (old ? old.stale || !equalJson(old.content, message.content, comparedDepth) : isNew) {
      applyActivity(draft, event);
    }
    return undefined;
  }
  const calls = callsOf(message);
  const kind = kindOf(message);
  const isAnswer = kind === 'message';
  const content = isAnswer ? toAgentContent(message.content) : (textOf(message.content) ?? '');
  let entity = find(draft, kind, id);
  if (entity) {
    if (entity.open && !entity.part) reconcile(draft, event, entity, content);
  } else if (isNew && (content[0] || !calls[0])) {
    entity = startStream(draft, event, kind, isAnswer ? content : undefined);
    close(draft, event, entity, 'completed', isAnswer ? undefined : { content });
  }
  if (isNew || entity || calls.some((call) => find(draft, 'tool', call?.id))) {
    for (const call of calls) {
      const { name, arguments: args } = Object(call?.function);
      const text = textOf(args);
      const old = find(draft, 'tool', call?.id);
      const source = {
        ...event,
        metadata: call?.metadata,
        toolCallId: call?.id,
        toolCallName: name,
        parentMessageId: id,
      };
      if (!old) runTool(draft, source, startTool(draft, source, text));
      else if (text) reconcile(draft, source, old, text);
    }
  }
  return entity;
}

/**
 * `MESSAGES_SNAPSHOT`: what stands behind the last message that is known is new.
 *
 * What has come to its end cannot change any more, and nothing can be taken back.
 */
export function applyMessagesSnapshot(draft: BridgeDraft, event: WireEvent): void {
  const { known } = draft.state;
  const messages = itemsOf(event.messages);
  const last = lastIndex(
    messages,
    (message) =>
      known.has(message.id) ||
      find(draft, kindOf(message), message.id) ||
      find(draft, 'artifact', message.id) ||
      find(draft, 'tool', (message as WireEvent & AgUiMessage).toolCallId) ||
      callsOf(message).some((call) => find(draft, 'tool', call?.id)),
  );
  messages.forEach((message, index) => {
    takeMessage(draft, event, message, index > last);
    known.set(message.id, true);
  });
  closeLanes(draft, event);
}
