import { type RefObject, useCallback, useEffect, useLayoutEffect, useRef, useState } from 'react';

/** How near the end counts as the end, in CSS pixels. */
const slack = 40;

interface PinnedScroll {
  readonly log: RefObject<HTMLDivElement | null>;
  /** Whether the end is in view, and kept there. */
  readonly isPinned: boolean;
  readonly scrollToEnd: () => void;
}

/**
 * Keeps the end of a growing box in view, until the user scrolls away from it, and again when they
 * come back to it.
 */
export function usePinnedScroll(): PinnedScroll {
  const log = useRef<HTMLDivElement>(null);
  const pinned = useRef(true);
  const [isPinned, setIsPinned] = useState(true);

  const follow = useCallback(() => {
    const box = log.current;
    if (box && pinned.current) box.scrollTop = box.scrollHeight;
  }, []);

  const scrollToEnd = useCallback(() => {
    pinned.current = true;
    setIsPinned(true);
    follow();
    log.current?.focus({ preventScroll: true });
  }, [follow]);

  useEffect(() => {
    const box = log.current;
    if (!box) return;
    let lastTop = box.scrollTop;
    const onScroll = () => {
      const isAtEnd = box.scrollHeight - box.scrollTop - box.clientHeight <= slack;
      // Only a user scrolls up; content that grew since the last frame is no reason to let go.
      if (isAtEnd) pinned.current = true;
      else if (box.scrollTop < lastTop) pinned.current = false;
      lastTop = box.scrollTop;
      setIsPinned(pinned.current);
    };
    box.addEventListener('scroll', onScroll, { passive: true });
    // The box shrinks when the keyboard of a phone opens.
    const observer = new ResizeObserver(follow);
    observer.observe(box);
    return () => {
      box.removeEventListener('scroll', onScroll);
      observer.disconnect();
    };
  }, [follow]);

  // Whatever was drawn anew may have grown.
  useLayoutEffect(follow);

  return { log, isPinned, scrollToEnd };
}
