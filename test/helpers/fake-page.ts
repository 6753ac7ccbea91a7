import type { LockManagerLike, PageGlobals } from '../../src/internal/environment.ts';

/** A page without a browser: its events are dispatched by the test. */
export interface FakePage {
  /** What goes into `Environment.page`. */
  readonly globals: PageGlobals;
  /** How many listeners the page and its document have. */
  readonly listeners: number;
  /** Fires an event of the window: `dispatch('pageshow', { persisted: true })`. */
  dispatch(type: string, fields?: object): void;
  /** Sets `navigator.onLine` and fires `online` or `offline`. */
  setOnline(onLine: boolean): void;
  /** Sets `document.visibilityState` and fires `visibilitychange`. */
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
  let listeners = 0;
  const createTarget = () => {
    const entries: { type: string; listener: (event: never) => void }[] = [];
    return {
      addEventListener(type: string, listener: (event: never) => void) {
        entries.push({ type, listener });
        listeners++;
      },
      removeEventListener(type: string, listener: (event: never) => void) {
        const at = entries.findIndex((e) => e.type === type && e.listener === listener);
        if (at < 0) return;
        entries.splice(at, 1);
        listeners--;
      },
      dispatch(type: string, fields: object = {}) {
        for (const entry of [...entries]) {
          if (entry.type === type) entry.listener({ type, ...fields } as never);
        }
      },
    };
  };
  const window = createTarget();
  const document = Object.assign(createTarget(), { visibilityState: 'visible' });
  return {
    globals: {
      ...others,
      addEventListener: window.addEventListener,
      removeEventListener: window.removeEventListener,
      document,
      navigator,
    },
    get listeners() {
      return listeners;
    },
    dispatch: window.dispatch,
    setOnline(onLine) {
      navigator.onLine = onLine;
      window.dispatch(onLine ? 'online' : 'offline');
    },
    setVisible(visible) {
      document.visibilityState = visible ? 'visible' : 'hidden';
      document.dispatch('visibilitychange');
    },
  };
}
