import { useState } from 'react';

/** A conversation, as its tab shows it. */
export interface Conversation {
  readonly key: string;
  /** Its first question. */
  readonly title?: string;
}

interface Conversations {
  readonly all: readonly Conversation[];
  readonly active: string;
}

const storageKey = 'example:conversations';

/** The conversations of this browser tab, over reloads; what was said in them the provider remembers. */
export function useConversations() {
  const [conversations, setConversations] = useState(read);

  function change(next: Conversations) {
    setConversations(next);
    try {
      sessionStorage.setItem(storageKey, JSON.stringify(next));
    } catch {
      // Storage is full or forbidden: the tabs stay until a reload.
    }
  }

  const { all, active } = conversations;
  return {
    all,
    active,
    select: (key: string) => change({ all, active: key }),
    open() {
      const { key } = create();
      change({ all: [...all, { key }], active: key });
    },
    /** Name a conversation that has no name yet. */
    name(key: string, title: string) {
      const isUnnamed = (one: Conversation) => one.key === key && one.title === undefined;
      change({ all: all.map((one) => (isUnnamed(one) ? { key, title } : one)), active });
    },
  };
}

function create(): Conversation {
  return { key: crypto.randomUUID() };
}

function read(): Conversations {
  try {
    const { all, active } = JSON.parse(sessionStorage.getItem(storageKey) ?? '');
    if (all.some((one: Conversation) => one.key === active)) return { all, active };
  } catch {
    // There is nothing to go on with.
  }
  const first = create();
  return { all: [first], active: first.key };
}
