import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { applyAgUiEvent } from '../../src/ag-ui/apply-event.ts';
import { type AgUiThread, emptyThread } from '../../src/ag-ui/thread.ts';
import { reduceWithReference } from '../helpers/ag-ui-reference.ts';
import { generateRuns } from '../helpers/ag-ui-runs.ts';
import { deepFreeze } from '../helpers/deep-freeze.ts';

const seeds = Array.from({ length: 400 }, (_, index) => index + 1);

beforeAll(() => {
  vi.spyOn(console, 'warn').mockImplementation(() => {});
});
afterAll(() => {
  vi.restoreAllMocks();
});

describe('applyAgUiEvent on 400 random legal streams', () => {
  it('makes the messages and the state that @ag-ui/client makes', async () => {
    const seen = new Map<string, number>();
    for (const seed of seeds) {
      const { events, messages, state } = generateRuns(seed);
      for (const { type } of events) seen.set(type, (seen.get(type) ?? 0) + 1);
      deepFreeze(events);
      let thread: AgUiThread<unknown> = deepFreeze(emptyThread({ messages, state }));
      for (const event of events) thread = deepFreeze(applyAgUiEvent(thread, event));
      const reference = await reduceWithReference(events, { messages, state });
      const message = `seed ${seed}`;
      expect(thread.messages, message).toEqual(reference.messages);
      expect(thread.state, message).toEqual(reference.state);
      expect(thread.stale, message).toBe(false);
      expect(['finished', 'error', 'aborted'], message).toContain(thread.status);
    }
    const types = [...seen.keys()].filter((type) => !type.startsWith('THINKING'));
    // Every type of AG-UI 1.0 takes part.
    expect(types.length).toBe(31);
    for (const [type, count] of seen) expect(count, type).toBeGreaterThan(30);
  }, 120_000);
});
