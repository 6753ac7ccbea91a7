import type { SendMessageEvent } from '../../src/ag-kit/types.ts';
import { createRandom } from '../helpers/random.ts';

/** Helpers that pick at random, the same for the same seed. */
export function createPicks(seed: number): {
  below(limit: number): number;
  chance(p: number): boolean;
  pick<T>(list: readonly T[]): T;
} {
  const random = createRandom(seed);
  const below = (limit: number): number => Math.floor(random() * limit);
  return {
    below,
    chance: (p) => random() < p,
    pick: <T>(list: readonly T[]): T => list[below(list.length)] as T,
  };
}

const words = ['sun', ' and ', 'rain', '…', '日本', '"', '{', '\n', ''];
const hostileIds = ['__proto__', 'constructor', 'toString', '', 'ag-kit:r:0', 'ag-kit:r:1'];

/** Any JSON value. */
export function randomJson(seed: number, depth = 2): unknown {
  const { below, pick, chance } = createPicks(seed);
  const leaf = () =>
    pick<unknown>([null, true, 0, -1.5, 'x', '', '5', '{"a":1}', 'not json {', '[', 'null']);
  if (depth === 0 || chance(0.3)) return leaf();
  const items = Array.from({ length: below(4) }, (_, index) =>
    randomJson(seed * 31 + index + 1, depth - 1),
  );
  if (chance(0.3)) return items;
  const keys = ['message', 'toolCallId', 'responseSchema', 'expiresAt', 'a', '__proto__'];
  const object: Record<string, unknown> = {};
  for (const value of items) {
    Object.defineProperty(object, pick(keys), {
      value,
      enumerable: true,
      configurable: true,
      writable: true,
    });
  }
  return object;
}

/** A stream as an AG-Kit server in good order sends it; calls may run side by side. */
export function generateAgKit(seed: number): (SendMessageEvent | '[DONE]')[] {
  const { below, chance, pick } = createPicks(seed);
  const events: (SendMessageEvent | '[DONE]')[] = [];
  const open: string[] = [];
  const ended: string[] = [];
  let count = 0;
  const take = (list: string[]) => list.splice(below(list.length), 1)[0] as string;
  for (let left = 5 + below(40); left > 0; left--) {
    const roll = below(10);
    if (roll < 3) events.push({ type: 'text', content: pick(words) });
    else if (roll < 5) {
      const toolCallId =
        count < hostileIds.length && chance(0.2) ? hostileIds[count]! : `c${count}`;
      count++;
      events.push({ type: 'tool-call-start', toolCallId, toolCallName: pick(['find', '', 'pay']) });
      open.push(toolCallId);
    } else if (roll < 7 && open[0] !== undefined) {
      events.push({ type: 'tool-call-args', toolCallId: pick(open), delta: pick(words) });
    } else if (roll < 8 && open[0] !== undefined) {
      const toolCallId = take(open);
      events.push({ type: 'tool-call-end', toolCallId });
      ended.push(toolCallId);
    } else if (ended[0] !== undefined) {
      events.push({ type: 'tool-result', toolCallId: take(ended), result: pick(words) });
    } else if (chance(0.2)) {
      events.push({ type: 'tool-result', toolCallId: `before${count++}`, result: pick(words) });
    }
  }
  while (open[0] !== undefined) events.push({ type: 'tool-call-end', toolCallId: take(open) });
  for (let left = chance(0.4) ? 1 + below(3) : 0; left > 0; left--) {
    const payload = randomJson(seed * 7 + left);
    events.push({ type: 'interrupt', id: `i${left}`, reason: pick(['approval', '']), payload });
  }
  events.push('[DONE]');
  return events;
}

/** Anything: AG-Kit events in no order, of the wrong types, with hostile ids. */
export function generateGarbage(seed: number): unknown[] {
  const { below, chance, pick } = createPicks(seed);
  const types = [
    'text',
    'tool-call-start',
    'tool-call-args',
    'tool-call-end',
    'tool-result',
    'interrupt',
    'unknown',
    '__proto__',
    'constructor',
  ];
  const value = () => (chance(0.08) ? randomJson(below(1e6)) : pick(['a', 'b', ...hostileIds]));
  return Array.from({ length: 3 + below(60) }, (): unknown => {
    if (chance(0.03)) return randomJson(below(1e6));
    if (chance(0.02)) return pick(['[DONE]', { type: '[DONE]' }]);
    const event: Record<string, unknown> = { type: pick(types) };
    for (const key of [
      'toolCallId',
      'toolCallName',
      'delta',
      'content',
      'result',
      'id',
      'reason',
    ]) {
      if (!chance(0.03)) event[key] = value();
    }
    if (chance(0.8)) event.payload = randomJson(below(1e6));
    return event;
  });
}
