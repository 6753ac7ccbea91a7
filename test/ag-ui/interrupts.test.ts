import { isInterruptExpired as referenceIsExpired } from '@ag-ui/client';
import { describe, expect, it } from 'vitest';
import { createResume, type Interrupt, isInterruptExpired } from '../../src/ag-ui/interrupts.ts';
import { isRunSocketError } from '../../src/internal/errors.ts';

const now = Date.parse('2030-01-01T00:00:00Z');
const at = (expiresAt?: string): Interrupt => ({
  id: 'i',
  reason: 'ask',
  ...(expiresAt !== undefined && { expiresAt }),
});

describe('isInterruptExpired', () => {
  it.each([
    [undefined, false],
    ['2029-12-31T23:59:59Z', true],
    ['2030-01-01T00:00:00Z', true],
    ['2030-01-01T00:00:01Z', false],
    ['soon', false],
    ['', false],
  ])('says of %j: %s, as @ag-ui/client does', (expiresAt, expired) => {
    expect(isInterruptExpired(at(expiresAt), now)).toBe(expired);
    expect(isInterruptExpired(at(expiresAt), new Date(now))).toBe(expired);
    expect(referenceIsExpired(at(expiresAt), new Date(now))).toBe(expired);
  });

  it('goes by the clock where no time is given', () => {
    expect(isInterruptExpired(at('2000-01-01T00:00:00Z'))).toBe(true);
    expect(isInterruptExpired(at('9999-01-01T00:00:00Z'))).toBe(false);
  });
});

describe('createResume', () => {
  const open: Interrupt[] = [
    { id: 'a', reason: 'ask' },
    { id: '__proto__', reason: 'ask' },
    { id: 'old', reason: 'ask', expiresAt: '2029-01-01T00:00:00Z' },
  ];
  const answers = JSON.parse(`{
    "old": { "status": "cancelled" },
    "__proto__": { "status": "resolved", "payload": { "ok": true }, "metadata": { "m": 1 } },
    "a": { "status": "resolved", "payload": null }
  }`);

  it('has an entry for every open interrupt, in their order', () => {
    const resume = [
      { interruptId: 'a', status: 'resolved', payload: null },
      {
        interruptId: '__proto__',
        status: 'resolved',
        payload: { ok: true },
        metadata: { m: 1 },
      },
      { interruptId: 'old', status: 'cancelled' },
    ];
    expect(createResume(open, answers, now)).toEqual(resume);
    expect(createResume(open, [...resume].reverse() as never, now)).toEqual(resume);
    expect(createResume([], {}, now)).toEqual([]);
  });

  it.each([
    ['one has no answer', open, { a: answers.a }, /__proto__ has no answer/],
    [
      'an answer is to none of them',
      open.slice(0, 1),
      { a: answers.a, b: answers.a },
      /b is not open/,
    ],
    [
      'an expired one is resolved',
      open.slice(2),
      { old: { status: 'resolved' } },
      /old has expired/,
    ],
    ['an answer is inherited', [{ id: 'toString', reason: 'ask' }], {}, /toString has no answer/],
  ])('is refused where %s', (_, interrupts, responses, message) => {
    try {
      createResume(interrupts, responses as never, now);
      expect.unreachable();
    } catch (error) {
      expect(isRunSocketError(error, 'invalid-argument')).toBe(true);
      expect((error as Error).message).toMatch(message);
    }
  });
});
