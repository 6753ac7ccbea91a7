const key = 'example:stopped';

/** The ids of the messages that older answers were stopped at; the thread itself knows of the latest. */
let ids: ReadonlySet<string> = read();

export function getStopped(): ReadonlySet<string> {
  return ids;
}

/** Remember that an answer was stopped at a message, for as long as the tab keeps the conversation. */
export function markStopped(id: string): void {
  ids = new Set(ids).add(id);
  write();
}

export function clearStopped(): void {
  ids = new Set();
  write();
}

function read(): ReadonlySet<string> {
  try {
    return new Set(JSON.parse(sessionStorage.getItem(key) ?? '[]'));
  } catch {
    return new Set();
  }
}

function write(): void {
  try {
    if (ids.size > 0) sessionStorage.setItem(key, JSON.stringify([...ids]));
    else sessionStorage.removeItem(key);
  } catch {
    // Storage is full or forbidden: the marks stay until a reload.
  }
}
