import type {
  AgentChatMethods,
  DefaultMessageInfo,
  MessageInfo,
  MessageStatus,
} from './chat-types.ts';
import type { AgentMessageState } from './state-types.ts';

type Info = MessageInfo<AgentMessageState>;
type Id = Info['id'];

/** A message that events made, and what an edit has changed of it. */
interface Entry {
  base: Info;
  edit?: Partial<Info> | undefined;
}

/** The messages that a conversation shows: default ones, those of the state, and edits over both. */
export interface AgentChatProjection
  extends Pick<AgentChatMethods<unknown>, 'setMessages' | 'setMessage' | 'removeMessage'> {
  /** The same array, and the same object for each message, until it changes. */
  getMessages(): readonly Info[];
  /** A message of the state is new, or another object than before. */
  touch(key: string): void;
  /** Puts messages before all others. */
  prepend(defaults: readonly DefaultMessageInfo<AgentMessageState>[]): void;
}

const statusOf = ({ status, role }: AgentMessageState): MessageStatus =>
  status === 'failed'
    ? 'error'
    : status === 'cancelled'
      ? 'abort'
      : role === 'user'
        ? 'local'
        : status === 'completed'
          ? 'success'
          : 'updating';

/** The default messages as they are shown. */
export function toMessages(
  defaults: readonly DefaultMessageInfo<AgentMessageState>[],
): readonly Info[] {
  const ids = new Set<Id>();
  return defaults.map((entry, index) => {
    // An id given twice would hide a message.
    const id = entry.id === undefined || ids.has(entry.id) ? `default_${index}` : entry.id;
    ids.add(id);
    return { ...entry, id, status: entry.status ?? 'local' };
  });
}

/**
 * Make the messages of one conversation.
 *
 * @param read - Gives a message of the state by its key.
 * @param changed - Called after each edit.
 */
export function createAgentChatProjection(
  read: (key: string) => AgentMessageState | undefined,
  changed: () => void,
): AgentChatProjection {
  const entries = new Map<Id, Entry>();
  const places = new Map<Id, number>();
  /** What has changed in the state since it was looked at, in the order in which it opened. */
  const touched = new Set<string>();
  let shown: Info[] = [];
  /** Somebody has `shown`: it must not be changed any more. */
  let given = false;

  function set(place: number, info: Info) {
    if (given) shown = shown.slice();
    given = false;
    shown[place] = info;
  }

  function arrange(infos: Info[]) {
    shown = infos;
    given = false;
    places.clear();
    for (let i = 0; i < infos.length; i++) places.set(infos[i]!.id, i);
  }

  const merge = ({ base, edit }: Entry): Info => (edit ? { ...base, ...edit } : base);

  function put(id: Id, place: number, edit: Partial<Info>) {
    const { id: _, ...changes } = edit;
    const entry = entries.get(id);
    if (entry) entry.edit = { ...entry.edit, ...changes };
    set(place, { ...shown[place]!, ...changes });
    changed();
  }

  /** What a list that the user has made says of a message. */
  function adopt(info: Info): Info {
    const entry = entries.get(info.id);
    if (!entry || shown[places.get(info.id) ?? -1] === info) return info;
    // Only what differs stays as the user has put it; the rest goes on with the run.
    const { base } = entry;
    const edit: Record<string, unknown> = {};
    for (const key of ['message', 'status', 'extraInfo'] as const) {
      if (info[key] !== base[key]) edit[key] = info[key];
    }
    entry.edit = Object.keys(edit).length ? edit : undefined;
    return merge(entry);
  }

  function refresh() {
    for (const key of touched) {
      const message = read(key);
      if (message) show(key, message);
    }
    touched.clear();
  }

  function show(key: string, message: AgentMessageState) {
    const base: Info = { id: key, message, status: statusOf(message) };
    const entry = entries.get(key);
    const place = places.get(key);
    if (!entry) {
      entries.set(key, { base });
      places.set(key, place ?? shown.length);
      set(place ?? shown.length, base);
    } else if (entry.base.message !== message) {
      entry.base = base;
      if (place !== undefined) set(place, merge(entry));
    }
  }

  function getMessages() {
    refresh();
    given = true;
    return shown;
  }

  return {
    getMessages,
    touch: (key) => touched.add(key),
    prepend(defaults) {
      refresh();
      arrange([...toMessages(defaults).filter(({ id }) => !places.has(id)), ...shown]);
    },
    setMessages(next) {
      const before = getMessages();
      const list = typeof next === 'function' ? next(before) : next;
      if (!Array.isArray(list)) return false;
      const ids = new Set<Id>();
      arrange(
        (list as readonly Info[])
          .filter(({ id }) => !ids.has(id) && ids.add(id))
          .map((info) => adopt(info)),
      );
      changed();
      return true;
    },
    setMessage(id, next) {
      refresh();
      const place = places.get(id);
      if (place === undefined) return false;
      put(id, place, typeof next === 'function' ? next(shown[place]!) : next);
      return true;
    },
    removeMessage(id) {
      refresh();
      if (!places.has(id)) return false;
      arrange(shown.filter((info) => info.id !== id));
      changed();
      return true;
    },
  };
}
