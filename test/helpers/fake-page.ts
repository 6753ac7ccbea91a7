import type { LockManagerLike, PageGlobals } from '../../src/internal/environment.ts';

/** Stands for a WebSocket class where a fake dialer makes the sockets. */
export const fakeWebSocket: string = 'a WebSocket class';

/** A page without a browser: its events are dispatched by the test. */
export interface FakePage {
  /** What goes into `Environment.page`. */
  readonly globals: PageGlobals;
  /** How many listeners the page has. */
  readonly listeners: number;
  /** Fires an event of the window: `dispatch('pageshow', { persisted: true })`. */
  dispatch(type: string, fields?: object): void;
  /** Sets `navigator.onLine` and fires `online` or `offline`. */
  setOnline(onLine: boolean): void;
  /** Sets `document.visibilityState` and fires `visibilitychange`, which bubbles up to the window. */
  setVisible(visible: boolean): void;
}

/** Make a page. `globals` are added to it: `WebSocket`, `sessionStorage`, `locks`. */
export function createFakePage(
  globals: {
    readonly WebSocket?: unknown;
    readonly sessionStorage?: unknown;
    readonly locks?: LockManagerLike;
  } = {},
): FakePage {
  const { locks, ...others } = globals;
  const navigator = { onLine: true, ...(locks && { locks }) };
  const entries: { type: string; listener: (event: never) => void }[] = [];
  const document = { visibilityState: 'visible' };
  const dispatch = (type: string, fields: object = {}) => {
    for (const entry of [...entries]) {
      if (entry.type === type) entry.listener({ type, ...fields } as never);
    }
  };
  return {
    globals: {
      WebSocket: fakeWebSocket,
      ...others,
      addEventListener(type, listener, { signal }) {
        const entry = { type, listener };
        entries.push(entry);
        signal.addEventListener('abort', () => entries.splice(entries.indexOf(entry), 1));
      },
      document,
      navigator,
    },
    get listeners() {
      return entries.length;
    },
    dispatch,
    setOnline(onLine) {
      navigator.onLine = onLine;
      dispatch(onLine ? 'online' : 'offline');
    },
    setVisible(visible) {
      document.visibilityState = visible ? 'visible' : 'hidden';
      dispatch('visibilitychange');
    },
  };
}
