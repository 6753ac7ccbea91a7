import type { PageGlobals } from '../internal/environment.ts';

/** The events of a page's life that concern a connection; `visibilitychange` bubbles up to the window. */
export type PageEventType = 'online' | 'offline' | 'pagehide' | 'pageshow' | 'visibilitychange';

/** Listens to the page, as far as there is one; aborting what it returns stops it. */
export function listenToPage(
  page: PageGlobals,
  listeners: { readonly [Type in PageEventType]: () => void },
): AbortController {
  const controller = new AbortController();
  for (const type in listeners) {
    page.addEventListener?.(type, listeners[type as PageEventType], controller);
  }
  return controller;
}
