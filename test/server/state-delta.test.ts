import fc from 'fast-check';
import { expect, it } from 'vitest';
import { applyPatch } from '../../src/ag-ui/apply-patch.ts';
import { stateDelta } from '../../src/server/state-delta.ts';

it('names what changed', () => {
  expect(stateDelta({ plan: [{ done: false }], n: 1 }, { plan: [{ done: true }], m: 2 })).toEqual([
    { op: 'remove', path: '/n' },
    { op: 'replace', path: '/plan/0/done', value: true },
    { op: 'add', path: '/m', value: 2 },
  ]);
  expect(stateDelta({ a: [1] }, { a: [1] })).toEqual([]);
});

it('replaces a whole state of another kind', () => {
  for (const [before, after] of [
    [undefined, { a: 1 }],
    [{ a: 1 }, [1]],
    [{ a: 1 }, 7],
    ['x', null],
  ]) {
    expect(stateDelta(before, after)).toEqual([{ op: 'replace', path: '', value: after }]);
  }
  expect([stateDelta(1, 1), stateDelta(undefined, null), stateDelta('a', 'a')]).toEqual([
    [],
    [],
    [],
  ]);
});

it('reads states as JSON', () => {
  const date = new Date(0);
  expect(stateDelta({ a: undefined, d: date }, { d: date.toJSON() })).toEqual([]);
  expect(stateDelta({ a: 1 }, { a: undefined })).toEqual([{ op: 'remove', path: '/a' }]);
});

it('does not change the states, and shares nothing with them', () => {
  const [before, after] = [{ list: [{ a: 1 }] }, { list: [{ a: 1 }, { b: 2 }] }];
  const delta = stateDelta(before, after);
  (after.list[1] as { b: number }).b = 3;
  expect(delta).toEqual([{ op: 'add', path: '/list/1', value: { b: 2 } }]);
  expect(before).toEqual({ list: [{ a: 1 }] });
});

it('leads from any state to any other, as the client applies it', () => {
  const key = fc.oneof(
    fc.constantFrom('__proto__', 'constructor', 'a/b', '~', '', '0', '-', 'length'),
    fc.string(),
  );
  const { json } = fc.letrec((tie) => ({
    json: fc.oneof(
      { maxDepth: 4 },
      fc.constantFrom(null, true, 0, 1, '', 'x'),
      fc.array(tie('json'), { maxLength: 4 }),
      fc
        .array(fc.tuple(key, tie('json')), { maxLength: 4 })
        .map((entries) => Object.fromEntries(entries)),
    ),
  }));
  fc.assert(
    fc.property(json, json, (before, after) => {
      const [a, b] = [JSON.parse(JSON.stringify(before)), JSON.parse(JSON.stringify(after))];
      expect(applyPatch(a, JSON.parse(JSON.stringify(stateDelta(before, after))))).toEqual(b);
    }),
    { numRuns: 2_000 },
  );
});
