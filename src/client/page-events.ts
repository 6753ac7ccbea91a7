import type { PageGlobals } from '../internal/environment.ts';

/** What of the page's life concerns a connection. */
export interface PageHandlers {
  online(): void;
  offline(): void;
  /** The page can be seen again. */
  visible(): void;
  /** The page is left; it may be kept in the back/forward cache. */
  hide(): void;
  /** The page is shown, for the first time or after it was kept. */
  show(): void;
}

/** Listens to the page, as far as there is one; returns what stops it. */
export function listenToPage(page: PageGlobals, handlers: PageHandlers): () => void {
  const { document } = page;
  const listeners = {
    online: handlers.online,
    offline: handlers.offline,
    pagehide: handlers.hide,
    pageshow: handlers.show,
  };
  const onVisibility = () => {
    if (document?.visibilityState === 'visible') handlers.visible();
  };
  for (const [type, listener] of Object.entries(listeners)) page.addEventListener?.(type, listener);
  document?.addEventListener?.('visibilitychange', onVisibility);
  return () => {
    for (const [type, listener] of Object.entries(listeners)) {
      page.removeEventListener?.(type, listener);
    }
    document?.removeEventListener?.('visibilitychange', onVisibility);
  };
}
