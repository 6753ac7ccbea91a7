import { describe, expect, it } from 'vitest';
import { applyPatch, type JsonPatchOperation } from '../../src/ag-ui/apply-patch.ts';
import { deepFreeze } from '../helpers/deep-freeze.ts';
import { failure, nest, patch } from './apply-patch-helpers.ts';

const parse = (text: string): Record<string, unknown> => JSON.parse(text);

describe('sharing', () => {
  it('keeps the identity of siblings, not of the path', () => {
    const document = { a: { b: { c: 1 }, side: {} }, side: [] };
    const next = patch(document, { op: 'replace', path: '/a/b/c', value: 2 }) as typeof document;
    expect(next).toEqual({ a: { b: { c: 2 }, side: {} }, side: [] });
    expect(next).not.toBe(document);
    expect(next.a).not.toBe(document.a);
    expect(next.a.b).not.toBe(document.a.b);
    expect(next.side).toBe(document.side);
    expect(next.a.side).toBe(document.a.side);
  });

  it('keeps the identity of items beside an array item', () => {
    const document = { list: [{ n: 0 }, { n: 1 }, { n: 2 }] };
    const next = patch(document, { op: 'replace', path: '/list/1/n', value: 9 }) as typeof document;
    expect(next).toEqual({ list: [{ n: 0 }, { n: 9 }, { n: 2 }] });
    expect(next.list[0]).toBe(document.list[0]);
    expect(next.list[2]).toBe(document.list[2]);
  });

  it('returns the same document for a patch of tests', () => {
    const document = { a: { b: [1] } };
    expect(
      patch(
        document,
        { op: 'test', path: '/a/b/0', value: 1 },
        { op: 'test', path: '/a', value: { b: [1] } },
      ),
    ).toBe(document);
  });

  it('returns the same document for an empty patch and for writes that change nothing', () => {
    const document = { a: { b: 1, list: [{}, null] } };
    expect(patch(document)).toBe(document);
    expect(
      patch(
        document,
        { op: 'replace', path: '/a/b', value: 1 },
        { op: 'add', path: '/a/b', value: 1 },
        { op: 'replace', path: '/a/list/1', value: null },
        { op: 'replace', path: '', value: document },
        { op: 'copy', from: '/a/list', path: '/a/list' },
      ),
    ).toBe(document);
  });

  it('replaces 0 by -0', () => {
    expect(patch({ a: 0 }, { op: 'replace', path: '/a', value: -0 })).toEqual({ a: -0 });
  });

  it('returns a result that is not frozen', () => {
    const next = patch({ a: { b: 1 } }, { op: 'add', path: '/a/c', value: 2 }) as {
      a: Record<string, unknown>;
    };
    next.a.d = 3;
    expect(next).toEqual({ a: { b: 1, c: 2, d: 3 } });
  });

  it('copies a container once for a patch of many operations', () => {
    const document = { list: Array.from({ length: 50 }, (_, i) => ({ i })) };
    const copies = new Set<unknown>();
    const operations = Array.from({ length: 50 }, (_, i) => ({
      op: 'replace' as const,
      path: `/list/${i}/i`,
      get value() {
        return -1;
      },
    }));
    const slice = Array.prototype.slice;
    let sliced = 0;
    // Counts copies of the list by what a copy of it calls.
    const counted = Object.defineProperty([...document.list], 'slice', {
      value(this: unknown[]) {
        sliced++;
        const copy = slice.call(this);
        copies.add(copy);
        return copy;
      },
    });
    const next = applyPatch({ list: counted }, operations);
    expect(sliced).toBe(1);
    expect(copies.has(next.list)).toBe(true);
    expect(next.list.every((item) => item.i === -1)).toBe(true);
  });
});

describe('atomicity', () => {
  it('leaves the document unchanged and throws when the second operation fails', () => {
    const document = { a: { b: 1 }, list: [1] };
    const before = structuredClone(document);
    const error = failure(
      document,
      { op: 'replace', path: '/a/b', value: 2 },
      { op: 'remove', path: '/missing' },
    );
    expect(error.message).toBe('Operation 1 (remove /missing): no member missing');
    expect(document).toEqual(before);
  });

  it('does not mutate the value of an operation by later operations', () => {
    const value = { x: { y: 1 }, list: [] };
    const next = patch(
      {},
      { op: 'add', path: '/a', value },
      { op: 'replace', path: '/a/x/y', value: 2 },
      { op: 'add', path: '/a/list/-', value: 3 },
    );
    expect(next).toEqual({ a: { x: { y: 2 }, list: [3] } });
    expect(value).toEqual({ x: { y: 1 }, list: [] });
  });

  it('keeps the same value added twice independent', () => {
    const value = { n: [1] };
    expect(
      patch(
        {},
        { op: 'add', path: '/a', value },
        { op: 'add', path: '/b', value },
        { op: 'add', path: '/a/n/-', value: 2 },
        { op: 'add', path: '/b/n/-', value: 3 },
      ),
    ).toEqual({ a: { n: [1, 2] }, b: { n: [1, 3] } });
  });
});

describe('copy', () => {
  it('shares what it copies', () => {
    const document = { a: { deep: { n: 1 } } };
    const next = patch(document, { op: 'copy', from: '/a', path: '/b' }) as {
      a: unknown;
      b: unknown;
    };
    expect(next.b).toBe(document.a);
    expect(next.a).toBe(document.a);
  });

  it('keeps both places independent after the source was written to', () => {
    expect(
      patch(
        { a: { list: [{ n: 1 }] } },
        { op: 'replace', path: '/a/list/0/n', value: 2 },
        { op: 'copy', from: '/a', path: '/b' },
        { op: 'replace', path: '/a/list/0/n', value: 3 },
        { op: 'add', path: '/b/list/-', value: 4 },
      ),
    ).toEqual({ a: { list: [{ n: 3 }] }, b: { list: [{ n: 2 }, 4] } });
  });

  it('keeps both places independent after something below the source was written to', () => {
    expect(
      patch(
        { a: { b: { c: {} } } },
        { op: 'add', path: '/a/b/c/x', value: 1 },
        { op: 'copy', from: '/a/b', path: '/z' },
        { op: 'add', path: '/z/c/y', value: 2 },
        { op: 'add', path: '/a/b/c/w', value: 3 },
      ),
    ).toEqual({ a: { b: { c: { x: 1, w: 3 } } }, z: { c: { x: 1, y: 2 } } });
  });

  it('copies the root into a child', () => {
    const document = { a: 1 };
    const next = patch(document, { op: 'copy', from: '', path: '/b' }) as { b: unknown };
    expect(next).toEqual({ a: 1, b: { a: 1 } });
    expect(next.b).toBe(document);
    expect(
      patch(
        document,
        { op: 'replace', path: '/a', value: 2 },
        { op: 'copy', from: '', path: '/b' },
        { op: 'replace', path: '/b/a', value: 3 },
        { op: 'replace', path: '/a', value: 4 },
      ),
    ).toEqual({ a: 4, b: { a: 3 } });
  });

  it('inserts into an array', () => {
    expect(patch([1, 2], { op: 'copy', from: '/1', path: '/0' })).toEqual([2, 1, 2]);
    expect(patch([1], { op: 'copy', from: '/0', path: '/0' })).toEqual([1, 1]);
  });
});

describe('a missing path', () => {
  it('makes replace and remove throw', () => {
    failure({ a: 1 }, { op: 'replace', path: '/b', value: 1 });
    failure({ a: 1 }, { op: 'remove', path: '/b' });
  });

  it('makes add below a missing parent throw', () => {
    failure({ a: 1 }, { op: 'add', path: '/b/c', value: 1 });
    failure([], { op: 'add', path: '/0/c', value: 1 });
  });

  it('makes add below a scalar throw', () => {
    for (const scalar of [1, 'text', true, null]) {
      failure({ a: scalar }, { op: 'add', path: '/a/b', value: 1 });
      failure({ a: scalar }, { op: 'add', path: '/a/0', value: 1 });
      failure(scalar, { op: 'add', path: '/b', value: 1 });
    }
  });

  it('makes test throw', () => {
    failure({ a: 1 }, { op: 'test', path: '/b', value: 1 });
    failure({ a: 1 }, { op: 'test', path: '/b', value: null });
  });

  it('makes copy from it throw', () => {
    failure({ a: 1 }, { op: 'copy', from: '/b', path: '/c' });
    failure({ a: [] }, { op: 'copy', from: '/a/0', path: '/c' });
  });

  it('makes move from it throw, onto itself too', () => {
    failure({ a: 1 }, { op: 'move', from: '/b', path: '/c' });
    failure({ a: 1 }, { op: 'move', from: '/b', path: '/b' });
  });

  it('is what a character of a string is', () => {
    failure({ a: 'text' }, { op: 'test', path: '/a/0', value: 't' });
    failure({ a: 'text' }, { op: 'test', path: '/a/length', value: 4 });
    failure({ a: 'text' }, { op: 'replace', path: '/a/0', value: 'x' });
    failure({ a: 'text' }, { op: 'copy', from: '/a/0', path: '/b' });
    failure('text', { op: 'remove', path: '/0' });
  });
});

describe('an array index', () => {
  it('past the end makes add throw', () => {
    failure([1], { op: 'add', path: '/2', value: 1 });
    failure([1], { op: 'add', path: '/4294967295', value: 1 });
    failure([1], { op: 'add', path: '/4294967297', value: 1 });
    failure([1], { op: 'add', path: `/${'9'.repeat(400)}`, value: 1 });
  });

  it('at the end appends by add', () => {
    expect(patch([1], { op: 'add', path: '/1', value: 2 })).toEqual([1, 2]);
    expect(patch([], { op: 'add', path: '/0', value: [] })).toEqual([[]]);
    expect(
      patch([1], { op: 'add', path: '/1', value: 2 }, { op: 'add', path: '/2', value: [3] }),
    ).toEqual([1, 2, [3]]);
  });

  it('inside shifts what follows by add and remove', () => {
    expect(patch([1, 2], { op: 'add', path: '/0', value: 0 })).toEqual([0, 1, 2]);
    expect(patch([1, 2, 3], { op: 'remove', path: '/1' })).toEqual([1, 3]);
    expect(
      patch([1, 2, 3], { op: 'remove', path: '/0' }, { op: 'add', path: '/1', value: [9] }),
    ).toEqual([2, [9], 3]);
  });

  it('at the end makes remove and replace throw', () => {
    failure([1], { op: 'remove', path: '/1' });
    failure([1], { op: 'replace', path: '/1', value: 1 });
    failure([], { op: 'remove', path: '/0' });
  });

  it('of -1 throws', () => {
    failure([1], { op: 'add', path: '/-1', value: 1 });
    failure([1], { op: 'replace', path: '/-1', value: 1 });
    failure([1], { op: 'remove', path: '/-1' });
  });

  it('with a leading zero throws', () => {
    failure([1, 2], { op: 'test', path: '/01', value: 2 });
    failure([1, 2], { op: 'test', path: '/00', value: 1 });
    failure([1, 2], { op: 'copy', from: '/01', path: '/0' });
    failure([1, 2], { op: 'copy', from: '/1', path: '/00' });
    failure([1, 2], { op: 'move', from: '/01', path: '/0' });
    failure([1, 2], { op: 'move', from: '/1', path: '/00' });
  });

  it.each(['1e0', '1.0', '+1', ' 1', '1 ', '0x1', '1_0', 'a', '', '-0', 'NaN', '²'])(
    'written as "%s" throws',
    (index) => {
      failure([1, 2], { op: 'add', path: `/${index}`, value: 1 });
      failure([1, 2], { op: 'replace', path: `/${index}`, value: 1 });
      failure([1, 2], { op: 'remove', path: `/${index}` });
      failure([1, 2], { op: 'test', path: `/${index}`, value: 2 });
      failure([[1], [2]], { op: 'add', path: `/${index}/0`, value: 2 });
    },
  );
});

describe("the token '-'", () => {
  it('appends on add', () => {
    expect(patch([1], { op: 'add', path: '/-', value: 2 })).toEqual([1, 2]);
    expect(patch({ a: [] }, { op: 'add', path: '/a/-', value: [1] })).toEqual({ a: [[1]] });
    expect(patch([1, 2], { op: 'move', from: '/0', path: '/-' })).toEqual([2, 1]);
  });

  it('throws on replace and remove', () => {
    failure([1], { op: 'replace', path: '/-', value: 2 });
    failure([1], { op: 'remove', path: '/-' });
  });

  it('throws on test, copy-from and move-from', () => {
    failure([1], { op: 'test', path: '/-', value: 1 });
    failure([1], { op: 'copy', from: '/-', path: '/0' });
    failure([1], { op: 'move', from: '/-', path: '/0' });
  });

  it('throws in mid-path', () => {
    failure([[1]], { op: 'add', path: '/-/0', value: 1 });
  });

  it('is a plain key of an object', () => {
    expect(patch({ '-': 1 }, { op: 'replace', path: '/-', value: 2 })).toEqual({ '-': 2 });
  });
});

describe("an array's length", () => {
  it('is no member to replace or remove', () => {
    failure([1], { op: 'replace', path: '/length', value: 0 });
    failure([1], { op: 'remove', path: '/length' });
  });

  it('is no member to add', () => {
    failure([1], { op: 'add', path: '/length', value: 0 });
  });

  it('is no member to test', () => {
    failure([1], { op: 'test', path: '/length', value: 1 });
  });

  it('is no member to copy or move from', () => {
    failure({ a: [1] }, { op: 'copy', from: '/a/length', path: '/b' });
    failure({ a: [1] }, { op: 'move', from: '/a/length', path: '/b' });
  });

  it('is a plain key of an object', () => {
    expect(patch({}, { op: 'add', path: '/length', value: 3 })).toEqual({ length: 3 });
  });
});

describe('a pointer', () => {
  it('without / throws as path', () => {
    for (const path of ['a', 'a/b', ' /a', '#/a', '0']) {
      const error = failure({ a: 1 }, { op: 'add', path, value: 1 });
      expect(error.message).toContain(`no pointer ${path}`);
    }
  });

  it('without / throws as from', () => {
    failure({ a: 1 }, { op: 'copy', from: 'a', path: '/b' });
    failure({ a: 1 }, { op: 'move', from: 'a', path: '/b' });
  });

  it('with a bad escape throws', () => {
    for (const path of ['/~2', '/~', '/a~', '/~a', '/~~0', '/a/~/b']) {
      failure({ '~2': 1, '~': 1, a: {} }, { op: 'add', path, value: 1 });
      failure({ '~2': 1, '~': 1, a: {} }, { op: 'copy', from: path, path: '/b' });
    }
  });

  it('reads ~01 as ~1, and ~1 as /', () => {
    expect(patch({ '~1': 1 }, { op: 'replace', path: '/~01', value: 2 })).toEqual({ '~1': 2 });
    expect(patch({ '/': 1 }, { op: 'replace', path: '/~1', value: 2 })).toEqual({ '/': 2 });
    expect(patch({}, { op: 'add', path: '/~0~1~00', value: 2 })).toEqual({ '~/~0': 2 });
  });

  it('is read anew after the same one, another one and one that is none', () => {
    const grow = (value: number) => ({ op: 'replace', path: '/a/0/n', value });
    const document = { a: [{ n: 0 }], b: 0 };
    expect(patch(document, grow(1), grow(2))).toEqual({ a: [{ n: 2 }], b: 0 });
    for (const path of ['x', [], ['/a/0/n'], '/~', null]) {
      failure(document, grow(3), { op: 'replace', path, value: 4 });
      expect(patch(document, grow(5))).toEqual({ a: [{ n: 5 }], b: 0 });
      expect(patch(document, { op: 'replace', path: '', value: 1 })).toBe(1);
    }
  });

  it('reads empty tokens as the empty key', () => {
    expect(patch({ '': { '': 1 } }, { op: 'replace', path: '//', value: 2 })).toEqual({
      '': { '': 2 },
    });
    expect(patch({}, { op: 'add', path: '/', value: 1 })).toEqual({ '': 1 });
  });
});

describe('test', () => {
  it('throws when it fails', () => {
    const error = failure({ a: 1 }, { op: 'test', path: '/a', value: 2 });
    expect(error.message).toBe('Operation 0 (test /a): no match');
    for (const [a, b] of [
      [1, '1'],
      [null, {}],
      [null, false],
      [0, null],
      [[], {}],
      [{}, []],
      [[1], [1, 2]],
      [
        [[1], [2]],
        [[1], [3]],
      ],
      [{ a: 1 }, { a: 1, b: 1 }],
      [{ a: 1, b: 1 }, { a: 1 }],
      [{ a: { b: [] } }, { a: { b: {} } }],
      ['', []],
    ]) {
      failure({ a }, { op: 'test', path: '/a', value: b });
    }
  });

  it('takes no notice of the order of keys', () => {
    const document = { a: { x: 1, y: { p: [], q: 0 } } };
    expect(patch(document, { op: 'test', path: '/a', value: { y: { q: 0, p: [] }, x: 1 } })).toBe(
      document,
    );
  });

  it('compares an own __proto__', () => {
    const document = { a: parse('{"__proto__":{"x":1}}') };
    const test = (text: string) => ({ op: 'test', path: '/a', value: parse(text) });
    expect(patch(document, test('{"__proto__":{"x":1}}'))).toBe(document);
    failure(document, test('{"__proto__":{"x":2}}'));
    failure(document, test('{"a":{"x":1}}'));
    failure(document, test('{}'));
    failure({ a: {} }, test('{"__proto__":{"x":1}}'));
  });

  it('does not let an inherited key stand in', () => {
    failure({ a: {} }, { op: 'test', path: '/a', value: { toString: 1 } });
    failure({ a: { x: Object.prototype.toString } }, { op: 'test', path: '/a/toString', value: 1 });
    const heir = Object.create({ x: 1 }, { y: { value: 2, enumerable: true } });
    failure({ a: { x: 1 } }, { op: 'test', path: '/a', value: heir });
    failure({ a: heir }, { op: 'test', path: '/a', value: { x: 1 } });
    failure({ a: { x: undefined } }, { op: 'test', path: '/a', value: { y: 2 } });
    failure({ a: { y: 2 } }, { op: 'test', path: '/a', value: { x: undefined } });
  });

  it('compares documents 20,000 levels deep', () => {
    const document = nest(20_000, 1);
    expect(applyPatch(document, [{ op: 'test', path: '', value: nest(20_000, 1) }])).toBe(document);
    expect(() =>
      applyPatch(document, [{ op: 'test', path: '', value: nest(20_000, 2) }]),
    ).toThrowError('no match');
  });

  it('takes -0 for 0', () => {
    const document = { a: [0, -0] };
    expect(patch(document, { op: 'test', path: '/a', value: [-0, 0] })).toBe(document);
  });
});

describe('documents', () => {
  it('may be 20,000 levels deep', () => {
    const document = deepFreeze(nest(20_000, { x: 1 }));
    const path = '/d'.repeat(20_000);
    const next = applyPatch(document, [
      { op: 'replace', path: `${path}/x`, value: 2 },
      { op: 'add', path: `${path}/y`, value: 3 },
      { op: 'move', from: `${path}/y`, path: `${path}/z` },
      { op: 'test', path: `${path}/z`, value: 3 },
    ]);
    let leaf: unknown = next;
    for (let i = 0; i < 20_000; i++) leaf = (leaf as { d: unknown }).d;
    expect(leaf).toEqual({ x: 2, z: 3 });
    expect(next.side).toBe(1);
  });

  it('keep an undefined member elsewhere', () => {
    const next = patch({ a: undefined, b: 1 }, { op: 'replace', path: '/b', value: 2 }) as object;
    expect(Object.keys(next)).toEqual(['a', 'b']);
    expect(next).toStrictEqual({ a: undefined, b: 2 });
  });

  it('keep a sparse array elsewhere, and on the path', () => {
    const sparse = new Array(5);
    sparse[3] = {};
    const document = { sparse, other: 1 };
    const next = patch(document, { op: 'replace', path: '/other', value: 2 }) as typeof document;
    expect(next.sparse).toBe(sparse);
    const changed = patch(document, { op: 'add', path: '/sparse/3/x', value: 2 }) as {
      sparse: unknown[];
    };
    expect(changed.sparse).toHaveLength(5);
    expect(Object.keys(changed.sparse)).toEqual(['3']);
    const appended = patch(document, { op: 'add', path: '/sparse/-', value: 2 }) as {
      sparse: unknown[];
    };
    expect(Object.keys(appended.sparse)).toEqual(['3', '5']);
  });

  it('may have no prototype', () => {
    const bare = (value: object): Record<string, unknown> =>
      Object.assign(Object.create(null), value);
    const next = patch(
      bare({ a: bare({ b: 1 }), side: bare({}) }),
      { op: 'replace', path: '/a/b', value: bare({ c: 1 }) },
      { op: 'add', path: '/a/b/toString', value: 2 },
      { op: 'add', path: '/a/__proto__', value: 3 },
      { op: 'test', path: '/side', value: {} },
    ) as Record<string, Record<string, unknown>>;
    expect(JSON.stringify(next)).toBe('{"a":{"b":{"c":1,"toString":2},"__proto__":3},"side":{}}');
  });

  it('may have any number of keys', () => {
    for (const count of [126, 127, 128, 129, 1_000]) {
      const document = parse(
        `{${Array.from({ length: count }, (_, i) => `"k${i}":{"i":${i}}`).join()},"__proto__":{"own":1}}`,
      );
      const next = patch(
        document,
        { op: 'replace', path: '/k7/i', value: 'new' },
        { op: 'add', path: '/__proto__/more', value: 2 },
        { op: 'remove', path: '/k8' },
      ) as Record<string, unknown>;
      expect(Object.getPrototypeOf(next)).toBe(Object.prototype);
      expect(Object.keys(next)).toEqual(Object.keys(document).filter((key) => key !== 'k8'));
      expect(next.k9).toBe(document.k9);
      expect(next.k7).toEqual({ i: 'new' });
      expect(Object.getOwnPropertyDescriptor(next, '__proto__')?.value).toEqual({
        own: 1,
        more: 2,
      });
    }
  });
});

describe('a value', () => {
  it('that is missing throws for add, replace and test', () => {
    for (const op of ['add', 'replace', 'test']) {
      expect(failure({ a: 1 }, { op, path: '/a' }).message).toContain('no value');
      failure({ a: undefined }, { op, path: '/a' });
      failure({ a: undefined }, { op, path: '/a', value: undefined });
    }
  });

  it('may be null, false, 0 and the empty string', () => {
    for (const value of [null, false, 0, '']) {
      expect(patch({}, { op: 'add', path: '/a', value })).toEqual({ a: value });
      expect(patch({ a: 1 }, { op: 'replace', path: '/a', value })).toEqual({ a: value });
      expect(patch({ a: value }, { op: 'test', path: '/a', value })).toEqual({ a: value });
      expect(patch({ a: value }, { op: 'move', from: '/a', path: '/b' })).toEqual({ b: value });
    }
  });
});

describe('the root', () => {
  it('is replaced and added as a whole', () => {
    expect(patch({ a: 1 }, { op: 'replace', path: '', value: [1] })).toEqual([1]);
    expect(patch({ a: 1 }, { op: 'add', path: '', value: null })).toBe(null);
    expect(patch(undefined, { op: 'add', path: '', value: 1 })).toBe(1);
  });

  it('does not mutate the value that replaced it', () => {
    const value = { a: { b: 1 } };
    expect(
      patch(
        {},
        { op: 'replace', path: '', value },
        { op: 'replace', path: '/a/b', value: 2 },
        { op: 'add', path: '/c', value: 3 },
      ),
    ).toEqual({ a: { b: 2 }, c: 3 });
    expect(value).toEqual({ a: { b: 1 } });
  });

  it('may be a scalar or null', () => {
    expect(patch(1, { op: 'test', path: '', value: 1 })).toBe(1);
    expect(patch(null, { op: 'replace', path: '', value: 'x' })).toBe('x');
    failure(null, { op: 'add', path: '/a', value: 1 });
    failure(1, { op: 'test', path: '', value: 2 });
    failure('text', { op: 'replace', path: '/0', value: 1 });
  });

  it('is no more removed', () => {
    failure({ a: 1 }, { op: 'remove', path: '' });
    failure({ a: 1 }, { op: 'remove', path: '' }, { op: 'add', path: '', value: 1 });
  });

  it('is replaced by a child that moves or is copied to it', () => {
    const document = { a: { b: { c: 1 } } };
    expect(patch(document, { op: 'move', from: '/a/b', path: '' })).toBe(document.a.b);
    expect(patch(document, { op: 'copy', from: '/a', path: '' })).toBe(document.a);
    expect(
      patch(
        document,
        { op: 'move', from: '/a/b', path: '' },
        { op: 'add', path: '/d', value: 2 },
        { op: 'move', from: '/c', path: '/e' },
      ),
    ).toEqual({ d: 2, e: 1 });
  });
});

describe('move', () => {
  it('into its own child throws', () => {
    failure({ a: { b: {} } }, { op: 'move', from: '/a', path: '/a/b' });
    failure({ a: { b: {} } }, { op: 'move', from: '/a', path: '/a/b/c' });
    // After the removal another item would stand at the index.
    failure([{}, {}], { op: 'move', from: '/0', path: '/0/a' });
  });

  it('of the root into a child throws', () => {
    failure({ a: {} }, { op: 'move', from: '', path: '/a' });
    failure({ a: {} }, { op: 'move', from: '', path: '/b' });
  });

  it('to a path that begins with the same letters works', () => {
    expect(patch({ a: { x: 1 }, ab: {} }, { op: 'move', from: '/a', path: '/ab/c' })).toEqual({
      ab: { c: { x: 1 } },
    });
    const long = 'k'.repeat(500);
    failure({ [long]: { x: 1 } }, { op: 'move', from: `/${long}`, path: `/${long}/x` });
  });

  it('onto itself changes nothing', () => {
    const document = { a: [1, { b: 2 }] };
    expect(patch(document, { op: 'move', from: '/a/1/b', path: '/a/1/b' })).toBe(document);
    expect(patch(document, { op: 'move', from: '/a/1', path: '/a/1' })).toBe(document);
    expect(patch(document, { op: 'move', from: '', path: '' })).toBe(document);
  });

  it('inside one array reads the second index after the removal', () => {
    expect(patch([1, 2, 3], { op: 'move', from: '/0', path: '/2' })).toEqual([2, 3, 1]);
    expect(patch([1, 2, 3], { op: 'move', from: '/2', path: '/0' })).toEqual([3, 1, 2]);
    failure([1, 2, 3], { op: 'move', from: '/0', path: '/3' });
  });

  it('shares what it moves, and stays independent of the document', () => {
    const document = { a: { b: { n: 1 } }, list: [] };
    const moved = patch(document, { op: 'move', from: '/a/b', path: '/list/0' }) as {
      list: unknown[];
    };
    expect(moved).toEqual({ a: {}, list: [{ n: 1 }] });
    expect(moved.list[0]).toBe(document.a.b);
    expect(
      patch(
        document,
        { op: 'add', path: '/a/b/m', value: 2 },
        { op: 'move', from: '/a/b', path: '/list/0' },
        { op: 'replace', path: '/list/0/n', value: 3 },
        { op: 'move', from: '/list', path: '/a/list' },
        { op: 'remove', path: '/a/list/0/m' },
      ),
    ).toEqual({ a: { list: [{ n: 3 }] } });
  });

  it('keeps a member that is undefined', () => {
    expect(patch({ a: undefined }, { op: 'move', from: '/a', path: '/b' })).toStrictEqual({
      b: undefined,
    });
    expect(patch({ a: undefined }, { op: 'copy', from: '/a', path: '/b' })).toStrictEqual({
      a: undefined,
      b: undefined,
    });
  });
});

describe('an op', () => {
  it('that is unknown throws', () => {
    for (const op of ['merge', 'ADD', '', 'add ', null, undefined, 1, {}, ['add']]) {
      const error = failure({ a: 1 }, { op, path: '/a', value: 1 });
      expect(error.message).toContain('no operation');
    }
  });

  it('named after an inherited member throws', () => {
    for (const op of ['toString', 'constructor', '__proto__', 'hasOwnProperty']) {
      failure({ a: 1 }, { op, path: '/a', value: 1 });
    }
  });
});

describe('prototypes', () => {
  it('are out of reach: __proto__ is an own member to add, replace, remove and go through', () => {
    const added = patch({}, { op: 'add', path: '/__proto__', value: { x: 1 } }) as object;
    expect(JSON.stringify(added)).toBe('{"__proto__":{"x":1}}');
    expect(Object.getPrototypeOf(added)).toBe(Object.prototype);
    expect(
      JSON.stringify(patch(added, { op: 'replace', path: '/__proto__', value: { y: 2 } })),
    ).toBe('{"__proto__":{"y":2}}');
    expect(JSON.stringify(patch(added, { op: 'add', path: '/__proto__/y', value: 2 }))).toBe(
      '{"__proto__":{"x":1,"y":2}}',
    );
    expect(JSON.stringify(patch(added, { op: 'remove', path: '/__proto__' }))).toBe('{}');
    const many = patch(
      { a: {}, b: 1 },
      { op: 'replace', path: '/b', value: 2 },
      { op: 'add', path: '/__proto__', value: { x: 1 } },
      { op: 'add', path: '/__proto__/y', value: 2 },
      { op: 'add', path: '/a/__proto__', value: 3 },
      { op: 'move', from: '/__proto__', path: '/a/moved' },
      { op: 'copy', from: '/a/__proto__', path: '/__proto__' },
    );
    expect(JSON.stringify(many)).toBe(
      '{"a":{"__proto__":3,"moved":{"x":1,"y":2}},"b":2,"__proto__":3}',
    );
  });

  it('leave an own __proto__ elsewhere as it is', () => {
    const document = parse('{"a":{"__proto__":{"x":1},"b":1},"c":1}');
    const next = patch(document, { op: 'replace', path: '/a/b', value: 2 });
    expect(JSON.stringify(next)).toBe('{"a":{"__proto__":{"x":1},"b":2},"c":1}');
    expect(Object.getPrototypeOf((next as { a: object }).a)).toBe(Object.prototype);
  });

  it('are not polluted through constructor/prototype', () => {
    failure({}, { op: 'add', path: '/constructor/prototype/polluted', value: 1 });
    failure([], { op: 'add', path: '/constructor/prototype/polluted', value: 1 });
    expect('polluted' in {}).toBe(false);
  });

  it('are not polluted through constructor or a missing __proto__', () => {
    failure({}, { op: 'add', path: '/constructor/polluted', value: 1 });
    failure({}, { op: 'add', path: '/__proto__/polluted', value: 1 });
    failure([], { op: 'add', path: '/__proto__', value: 1 });
    failure({ a: 'text' }, { op: 'add', path: '/a/__proto__/polluted', value: 1 });
    expect('polluted' in {}).toBe(false);
    expect('polluted' in Object).toBe(false);
  });

  it('lend no member to replace', () => {
    failure({}, { op: 'replace', path: '/toString', value: 1 });
    failure({}, { op: 'replace', path: '/__proto__', value: 1 });
  });

  it('lend no member to remove, copy or move', () => {
    failure({}, { op: 'remove', path: '/toString' });
    failure({}, { op: 'copy', from: '/toString', path: '/a' });
    failure({}, { op: 'move', from: '/toString', path: '/a' });
    failure([], { op: 'remove', path: '/map' });
  });

  it('do not keep constructor and toString from being plain keys', () => {
    const next = patch(
      {},
      { op: 'add', path: '/constructor', value: {} },
      { op: 'add', path: '/toString', value: 1 },
      { op: 'add', path: '/constructor/prototype', value: 2 },
      { op: 'replace', path: '/toString', value: 3 },
    );
    expect(JSON.stringify(next)).toBe('{"constructor":{"prototype":2},"toString":3}');
    expect(JSON.stringify(patch({}, { op: 'add', path: '/valueOf', value: 1 }))).toBe(
      '{"valueOf":1}',
    );
  });

  it('may be frozen or polluted with setters', () => {
    const seen: unknown[] = [];
    Object.defineProperty(Object.prototype, 'trap', {
      configurable: true,
      get: () => 'inherited',
      set: (value) => seen.push(value),
    });
    Object.defineProperty(Object.prototype, 'fixed', {
      configurable: true,
      writable: false,
      value: 'inherited',
    });
    try {
      const next = patch(
        { a: 1 },
        { op: 'add', path: '/trap', value: 1 },
        { op: 'add', path: '/fixed', value: 2 },
        { op: 'replace', path: '/trap', value: 3 },
      );
      expect(JSON.stringify(next)).toBe('{"a":1,"trap":3,"fixed":2}');
      expect(seen).toEqual([]);
    } finally {
      delete (Object.prototype as Record<string, unknown>).trap;
      delete (Object.prototype as Record<string, unknown>).fixed;
    }
  });
});

describe('hostile operations', () => {
  it.each([null, undefined, 'add', '', 1, {}, { length: 0 }, { op: 'add', path: '/a', value: 1 }])(
    'that are %j instead of an array throw',
    (operations) => {
      expect(() => applyPatch({ a: 1 }, operations as never)).toThrowError(
        expect.objectContaining({ name: 'RunSocketError', code: 'patch-failed' }),
      );
    },
  );

  it.each([null, undefined, 'add', 1, true, [], {}, () => 1])('of which one is %s throw', (one) => {
    const error = failure({ a: 1 }, { op: 'replace', path: '/a', value: 2 }, one);
    expect(error.message).toMatch(/^Operation 1 /);
  });

  const pointers: unknown[] = [5, null, undefined, true, {}, { toString: null }, [], ['/a'], ['']];
  it.each([...pointers, Symbol('a'), 1n].map((pointer) => ({ pointer })))(
    'with a pointer that is no string throw (%#)',
    ({ pointer }) => {
      // Frozen operations must not be needed for this: what is no JSON cannot always be frozen.
      const apply = (operation: object) => () =>
        applyPatch({ a: { b: 1 } }, [operation as JsonPatchOperation]);
      const thrown = expect.objectContaining({ name: 'RunSocketError', code: 'patch-failed' });
      expect(apply({ op: 'add', path: pointer, value: 1 })).toThrowError(thrown);
      expect(apply({ op: 'remove', path: pointer })).toThrowError(thrown);
      expect(apply({ op: 'test', path: pointer, value: 1 })).toThrowError(thrown);
      expect(apply({ op: 'copy', from: '/a', path: pointer })).toThrowError(thrown);
      expect(apply({ op: 'move', from: '/a', path: pointer })).toThrowError(thrown);
      expect(apply({ op: 'copy', from: pointer, path: '/a' })).toThrowError(thrown);
      expect(apply({ op: 'move', from: pointer, path: pointer })).toThrowError(thrown);
    },
  );

  it('name themselves in a message of bounded length', () => {
    const error = failure({}, { op: 'x'.repeat(1e5), path: `/${'y'.repeat(1e6)}`, value: 1 });
    expect(error.message.length).toBeLessThan(500);
    expect(
      failure({ a: 1 }, { op: 'replace', path: `/a/${'y'.repeat(1e6)}`, value: 1 }).message.length,
    ).toBeLessThan(500);
    expect(failure({}, { op: { toString: null }, path: '/a', value: 1 }).message).toBe(
      'Operation 0 (object /a): no operation',
    );
  });

  it('on an array of 300,000 items apply', () => {
    const list = Array.from({ length: 300_000 }, (_, i) => i);
    const next = applyPatch({ list }, [
      { op: 'add', path: '/list/-', value: -1 },
      { op: 'remove', path: '/list/0' },
      { op: 'replace', path: '/list/299999', value: -2 },
    ]);
    expect(next.list).toHaveLength(300_000);
    expect(next.list.at(-1)).toBe(-2);
    expect(list[0]).toBe(0);
    expect(applyPatch({ list }, [{ op: 'test', path: '/list', value: [...list] }]).list).toBe(list);
  });

  it('of a hundred thousand in one patch apply', () => {
    const operations = Array.from(
      { length: 100_000 },
      (_, i): JsonPatchOperation => ({ op: 'add', path: '/list/-', value: i }),
    );
    expect(applyPatch({ list: [] as unknown[] }, operations).list).toHaveLength(100_000);
  });
});
