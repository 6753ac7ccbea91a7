import type { Setting, World } from './world.ts';

/** One fault of a schedule. `a` and `b` are uniform in 0 … 1; each kind makes its own of them. */
export interface Fault {
  /** In ms since the start. */
  readonly at: number;
  readonly kind: string;
  readonly a: number;
  readonly b: number;
}

/** A kind of fault: how often it is drawn, where it makes sense, and what it does. */
export interface FaultKind {
  readonly group: 'link' | 'stream' | 'server' | 'client';
  readonly weight: number;
  /** Whether what the documents promise covers it there. @default everywhere */
  readonly fits?: (setting: Setting) => boolean;
  /** Kinds that must not share a schedule with it, because nobody could tell right from wrong. */
  readonly excludes?: readonly string[];
  /** Does it. `false`: there was nothing that it could happen to; a kind that waits for its moment counts itself. */
  apply(world: World, fault: Fault): boolean | 'waits';
}

/** A number between two bounds, out of one that is uniform in 0 … 1. */
export function between(from: number, to: number, chance: number): number {
  return from + (to - from) * chance;
}

/** One of a list. */
export function pick<Item>(list: readonly Item[], chance: number): Item {
  return list[Math.floor(chance * list.length)] as Item;
}
