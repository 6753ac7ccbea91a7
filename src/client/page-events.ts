import type { PageGlobals } from '../internal/environment.ts';

/** The events of a page's life that concern a connection; `visibilitychange` bubbles up to the window. */
export type PageEventType = 'online' | 'offline' | 'pagehide' | 'pageshow' | 'visibilitychange';

/** Listens to the page, as far as there is one; returns what stops it. */
export function listenToPage(
  page: PageGlobals,
  listeners: { readonly [Type in PageEventType]: () => void },
): () => void {
  const visit = (method: 'addEventListener' | 'removeEventListener') => {
    for (const type in listeners) page[method]?.(type, listeners[type as PageEventType]);
  };
  visit('addEventListener');
  return () => visit('removeEventListener');
}
