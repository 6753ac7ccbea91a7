import { isRecord, isText } from '../internal/json-values.ts';
import type { AgUiMessage, ToolCall } from './messages.ts';
import type { AgUiThread, OpenItems } from './thread.ts';

/** An event as it comes off the wire: nothing in it is sure to be there, or of the right type. */
export type WireEvent = { readonly type: string } & { readonly [key: string]: unknown };

type Writable<T> = { -readonly [Key in keyof T]: T[Key] | undefined };

/** A copy of a thread to write to; what is set to `undefined` is gone. Its messages are still shared. */
export type Draft = Writable<Omit<AgUiThread<unknown>, 'messages' | 'open'>> & {
  messages: readonly AgUiMessage[];
  open: Writable<OpenItems>;
};

/** A list off the wire; nothing where it is none or empty. */
export function listOf<Item = { readonly [key: string]: unknown } | null | undefined>(
  value: unknown,
): readonly Item[] | undefined {
  return Array.isArray(value) && value.length ? value : undefined;
}

/** `copy` without what is undefined, or `original` where they are the same. */
function tidy<T extends object>(copy: T, original: T): T {
  let changed = false;
  for (const key in copy) {
    changed ||= !Object.is(copy[key], original[key]);
    if (copy[key] === undefined && key !== 'state') delete copy[key];
  }
  return changed ? copy : original;
}

/** `target` with `changes`: what they set to `undefined` is gone, and no change is the same object. */
export function merge<T extends object>(
  target: T,
  changes: { readonly [Key in keyof T]?: T[Key] | undefined },
): T {
  return tidy({ ...target, ...changes } as T, target);
}

/** Write to a copy of the thread; no change is the same thread. */
export function edit<S>(thread: AgUiThread<S>, write: (draft: Draft) => void): AgUiThread<S> {
  const draft: Draft = { ...thread, open: { ...thread.open } };
  write(draft);
  const open = tidy(draft.open, thread.open ?? {});
  (draft as { open?: object | undefined }).open = Object.keys(open).length ? open : undefined;
  return tidy(draft as AgUiThread<unknown>, thread) as AgUiThread<S>;
}

/** The list with `item` at `index`, or the same list where it is there. */
export function replaced<Item>(list: readonly Item[], index: number, item: Item): readonly Item[] {
  if (list[index] === item) return list;
  const copy = list.slice();
  copy[index] = item;
  return copy;
}

/** What passes `test`: the same list where all do, nothing where none does. */
export function only<Item>(
  list: readonly Item[] | undefined,
  test: (item: Item, index: number) => unknown,
): readonly Item[] | undefined {
  const kept = list?.filter(test);
  return kept?.length === list?.length ? list : listOf(kept);
}

/** The last index that passes `test`, or -1: what streams is near the end. */
export function lastIndex<Item>(list: readonly Item[], test: (item: Item) => unknown): number {
  let index = list.length;
  while (index-- && !test(list[index] as Item));
  return index;
}

/** The index of the last item with this id, or -1. */
export function findById(
  list: readonly ({ readonly id: string } | null | undefined)[],
  id: unknown,
): number {
  return lastIndex(list, (item) => item?.id === id);
}

/** Put a message at `index`; at -1 it is new. */
export function putMessage(draft: Draft, index: number, message: AgUiMessage): void {
  const { messages } = draft;
  draft.messages = replaced(messages, index < 0 ? messages.length : index, message);
}

/** The tool calls of a message that came from anywhere. */
export function callsOf(message: AgUiMessage | undefined): readonly ToolCall[] {
  return (
    listOf<ToolCall>((message as { readonly toolCalls?: unknown } | undefined)?.toolCalls) ?? []
  );
}

/** `target` with the event's metadata, key by key, the last write winning (AG-UI 1.0). */
export function withMetadata<T extends { readonly metadata?: unknown }>(
  target: T,
  { metadata }: WireEvent,
): T {
  return isRecord(metadata)
    ? { ...target, metadata: { ...(target.metadata as object), ...metadata } }
    : target;
}

/** What of a list off the wire has an id, without the nulls that older servers send. */
export function itemsOf<Item extends { readonly id: string } = AgUiMessage>(list: unknown): Item[] {
  return (listOf<Item & { readonly subagentRunId?: unknown }>(list) ?? [])
    .filter((item) => isText(item?.id))
    .map((item) => merge(item, { subagentRunId: item.subagentRunId ?? undefined } as never));
}
