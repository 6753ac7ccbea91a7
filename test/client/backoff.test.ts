import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { getRetryDelay, isAuthCode, isFinalCode } from '../../src/client/backoff.ts';

describe('isFinalCode', () => {
  it('knows every code that the client is to blame for', () => {
    const final: number[] = [];
    for (let code = 1000; code < 5000; code++) if (isFinalCode(code)) final.push(code);
    const range = (from: number, to: number) =>
      Array.from({ length: to - from + 1 }, (_, i) => from + i);
    expect(final).toEqual([
      1002,
      1003,
      1007,
      1008,
      1010,
      ...range(3500, 3999),
      ...range(4400, 4499).filter((code) => ![4401, 4403, 4408, 4429].includes(code)),
    ]);
  });

  it('asks for credentials after 4401 and 4403 only', () => {
    expect([4400, 4401, 4402, 4403, 4404].filter(isAuthCode)).toEqual([4401, 4403]);
  });
});

describe('getRetryDelay', () => {
  it('is uniform in the bounds of its attempt', () => {
    const bounds = [1, 2, 3, 4, 5, 6, 7, 60, 2_000].map((retry) => [
      getRetryDelay(retry, {}, 0),
      getRetryDelay(retry, {}, 1),
    ]);
    expect(bounds).toEqual([
      [0, 1_000],
      [500, 2_000],
      [500, 4_000],
      [500, 8_000],
      [500, 16_000],
      [500, 20_000],
      [500, 20_000],
      [500, 20_000],
      [500, 20_000],
    ]);
  });

  it('is a number after any number of attempts without a wait', () => {
    expect(getRetryDelay(5_000, { first: 0, min: 0, max: 0, factor: 2 }, 0.5)).toBe(0);
  });

  it('stays within what the options say, whatever they are', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 5_000 }),
        fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
        fc.record({
          first: fc.nat(10_000),
          min: fc.nat(10_000),
          max: fc.nat(100_000),
          factor: fc.double({ min: 1, max: 10, noNaN: true }),
        }),
        (retry, chance, options) => {
          const delay = getRetryDelay(retry, options, chance);
          const { first, min, max } = options;
          expect(delay).toBeGreaterThanOrEqual(retry < 2 ? 0 : min);
          expect(delay).toBeLessThanOrEqual(retry < 2 ? first : Math.max(min, max));
        },
      ),
    );
  });
});
