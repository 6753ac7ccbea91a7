import type { AgUiMessage, AgUiMetadata, ToolCall } from './messages.ts';
import type { AgUiThread, OpenItems } from './thread.ts';

/** A thread whose state is of no interest. */
export type Thread = AgUiThread<unknown>;

/** An event as it comes off the wire: nothing in it is sure to be there, or of the right type. */
export type WireEvent = { readonly type: string } & { readonly [key: string]: unknown };

/** A message as it may come off the wire. */
export interface WireMessage {
  readonly id: string;
  readonly role?: unknown;
  readonly content?: unknown;
  readonly toolCalls?: unknown;
  readonly metadata?: unknown;
  readonly [key: string]: unknown;
}

/** Whether `value` is an object, arrays included. */
export function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null;
}

/** Whether `value` is text. */
export function isText(value: unknown): value is string {
  return typeof value === 'string';
}

/** `value` where it is text. */
export function textOf(value: unknown): string | undefined {
  return isText(value) ? value : undefined;
}

/** Whether `value` is a list of texts. */
export function areTexts(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every(isText);
}

/** `{ [key]: value }`, or nothing where there is no value: absent fields stay absent. */
export function field<Key extends string, Value>(
  key: Key,
  value: Value | null | undefined,
): { readonly [K in Key]?: Value } {
  return value == null ? {} : ({ [key]: value } as { readonly [K in Key]?: Value });
}

/** What to change; `undefined` removes. */
export type Changes<T> = { readonly [Key in keyof T]?: T[Key] | undefined };

/** A copy with `changes`; what they set to `undefined` is gone. */
export function change<T extends object>(target: T, changes: Changes<T>): T {
  const copy = { ...target, ...changes } as T;
  for (const key in changes) if (changes[key] === undefined) delete copy[key];
  return copy;
}

/** The thread with `changes` to what is open. */
export function setOpen(thread: Thread, changes: Changes<OpenItems>): Thread {
  const open = change(thread.open ?? {}, changes);
  return change(thread, { open: Object.keys(open).length ? open : undefined });
}

/** The list with `item` at its end, once. */
export function including<Item>(
  list: readonly Item[] | undefined,
  item: Item,
): readonly Item[] | undefined {
  return list?.includes(item) ? list : [...(list ?? []), item];
}

/** What passes `test`; nothing rather than an empty list, and the same list where all pass. */
export function only<Item>(
  list: readonly Item[] | undefined,
  test: (item: Item, index: number) => unknown,
): readonly Item[] | undefined {
  const kept = list?.filter(test);
  return kept?.length === list?.length ? list : kept?.length ? kept : undefined;
}

/** The last index that passes `test`, or -1: what streams is near the end. */
export function lastIndex<Item>(list: readonly Item[], test: (item: Item) => unknown): number {
  let index = list.length;
  while (index-- && !test(list[index] as Item));
  return index;
}

/** The index of a message, or -1. */
export function findMessage(messages: readonly AgUiMessage[], id: unknown): number {
  return lastIndex(messages, (message) => message.id === id);
}

/** The tool calls of a message that came from anywhere. */
export function callsOf(message: AgUiMessage | undefined): readonly ToolCall[] {
  const calls = (message as WireMessage | undefined)?.toolCalls;
  return Array.isArray(calls) ? calls : [];
}

/** The list with another item at `index`, or the same list. */
export function replaced<Item>(list: readonly Item[], index: number, item: Item): readonly Item[] {
  if (list[index] === item) return list;
  const copy = list.slice();
  copy[index] = item;
  return copy;
}

/** The thread with these messages, or the same thread. */
export function setMessages(thread: Thread, messages: readonly AgUiMessage[]): Thread {
  return messages === thread.messages ? thread : { ...thread, messages };
}

/** The thread with another message at `index`. */
export function setMessage(thread: Thread, index: number, message: AgUiMessage): Thread {
  return setMessages(thread, replaced(thread.messages, index, message));
}

/** `target` with the event's metadata merged in, key by key, the last write winning (AG-UI 1.0). */
export function withMetadata<T extends { readonly metadata?: AgUiMetadata }>(
  target: T,
  event: WireEvent,
): T {
  const { metadata } = event;
  return isObject(metadata) && !Array.isArray(metadata) && Object.keys(metadata).length
    ? { ...target, metadata: { ...target.metadata, ...metadata } }
    : target;
}

/** A list that has something in it. */
export function listOf<Item = Readonly<Record<string, unknown>> | undefined>(
  value: unknown,
): readonly Item[] | undefined {
  return Array.isArray(value) && value.length ? value : undefined;
}

/** What of a list off the wire has an id, without the nulls that older servers send. */
export function itemsOf<Item extends { readonly id: string } = AgUiMessage>(list: unknown): Item[] {
  return (Array.isArray(list) ? list : [])
    .filter((item) => isText(item?.id))
    .map((item) =>
      item.subagentRunId === null ? change(item, { subagentRunId: undefined }) : item,
    );
}
