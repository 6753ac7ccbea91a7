import fc from 'fast-check';
import fastJsonPatch from 'fast-json-patch';
import { describe, expect, it } from 'vitest';
import { applyPatch, type JsonPatchOperation } from '../../src/ag-ui/apply-patch.ts';
import { isRunSocketError } from '../../src/internal/errors.ts';
import { deepFreeze } from '../helpers/deep-freeze.ts';

type Operation = Record<string, unknown>;
type Outcome = { readonly result: unknown } | { readonly error: unknown };

// Few keys and short arrays, so that random pointers often meet something.
const key = fc.constantFrom('a', 'b', 'c', '', '0', '1', 'a/b', 'm~n', '-', 'é');
const json = fc.letrec<{ node: unknown }>((tie) => ({
  node: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    fc.constantFrom(0, 1, -1, 'text', '', null, true, false),
    fc.array(tie('node'), { maxLength: 4 }),
    fc.dictionary(key, tie('node'), { maxKeys: 4, noNullPrototype: true }),
  ),
})).node;

const documents = fc.oneof(
  { arbitrary: json, weight: 1 },
  {
    arbitrary: fc.record(
      {
        a: json,
        b: fc.array(json, { minLength: 1, maxLength: 4 }),
        c: fc.dictionary(key, json, { maxKeys: 4, noNullPrototype: true }),
      },
      { noNullPrototype: true },
    ) as fc.Arbitrary<unknown>,
    weight: 9,
  },
);

const escaped = (token: string) => token.replaceAll('~', '~0').replaceAll('/', '~1');

/** Every pointer to a member of `value`; with `open`, also those where one can be added. */
function pointersOf(value: unknown, open: boolean, prefix = '', found: string[] = []): string[] {
  found.push(prefix);
  if (Array.isArray(value)) {
    value.forEach((item, i) => {
      pointersOf(item, open, `${prefix}/${i}`, found);
    });
    if (open) found.push(`${prefix}/${value.length}`, `${prefix}/-`);
  } else if (typeof value === 'object' && value !== null) {
    for (const [name, item] of Object.entries(value)) {
      pointersOf(item, open, `${prefix}/${escaped(name)}`, found);
    }
    if (open) found.push(`${prefix}/new`);
  }
  return found;
}

interface Draw {
  readonly op: string;
  readonly at: number;
  readonly to: number;
  readonly value: unknown;
  readonly wild?: string | undefined;
}

const draws = fc.array(
  fc.record<Draw>({
    op: fc.oneof(
      { arbitrary: fc.constantFrom('add', 'replace', 'move', 'copy', 'same'), weight: 16 },
      { arbitrary: fc.constant('remove'), weight: 2 },
      { arbitrary: fc.constant('test'), weight: 1 },
    ),
    at: fc.nat(),
    to: fc.nat(),
    value: json,
    wild: fc.oneof(
      { arbitrary: fc.constant(undefined), weight: 40 },
      {
        arbitrary: fc
          .array(key, { maxLength: 2 })
          .map((tokens) => tokens.map((one) => `/${escaped(one)}`).join('')),
        weight: 1,
      },
    ),
  }),
  { maxLength: 8 },
);

/** Mostly applicable operations: each pointer is drawn from the document as it then is. */
function operationsFor(document: unknown, plan: readonly Draw[]): Operation[] {
  let state = document;
  return plan.map(({ op, at, to, value, wild }) => {
    const members = pointersOf(state, false);
    const targets = /add|move|copy/.test(op) ? pointersOf(state, true) : members;
    // The root comes first in both; as a place to remove or replace it would end most plans.
    const path = wild ?? targets[1 + (at % (targets.length - 1))] ?? '';
    const from = members[1 + (to % (members.length - 1))] ?? '';
    let operation: Operation;
    if (op === 'same') {
      let current: unknown = value;
      try {
        current = fastJsonPatch.getValueByPointer(structuredClone(state), path);
      } catch {}
      operation = { op: 'test', path, value: current === undefined ? value : current };
    } else if (op === 'move' || op === 'copy') operation = { op, from, path };
    else operation = op === 'remove' ? { op, path } : { op, path, value };
    try {
      state = applyPatch(state, [operation as unknown as JsonPatchOperation]);
    } catch {}
    return operation;
  });
}

function outcomeOf(apply: () => unknown): Outcome {
  try {
    return { result: apply() };
  } catch (error) {
    return { error };
  }
}

/** What the parent of a pointer's last token is, walked by own members only. */
function parentOf(document: unknown, pointer: string): { parent: unknown; token: string } {
  const tokens = pointer
    .split('/')
    .slice(1)
    .map((token) => token.replaceAll('~1', '/').replaceAll('~0', '~'));
  const token = tokens.pop() ?? '';
  let parent = document;
  for (const one of tokens) {
    if (typeof parent !== 'object' || parent === null || !Object.hasOwn(parent, one)) {
      return { parent: undefined, token };
    }
    parent = (parent as Record<string, unknown>)[one];
  }
  return { parent, token };
}

/** Where fast-json-patch is known to be laxer: whether that explains a failure of one operation. */
const differences: Readonly<Record<string, (document: unknown, operation: Operation) => boolean>> =
  {
    'it adds to a scalar without effect': (document, { path }) =>
      typeof parentOf(document, path as string).parent !== 'object',
    'it takes an empty token for the index 0': (document, { path }) => {
      const { parent, token } = parentOf(document, path as string);
      return Array.isArray(parent) && token === '';
    },
    'it reads what is no own member, such as a length or a bad index, by test, copy and move': (
      document,
      { op, path, from },
    ) => {
      if (op !== 'test' && op !== 'copy' && op !== 'move') return false;
      const { parent, token } = parentOf(document, (op === 'test' ? path : from) as string);
      if (typeof parent !== 'object' || parent === null) return true;
      return token === 'length' || !Object.hasOwn(parent, token);
    },
    'it does not check where copy and move write to': (document, { op, path, from }) => {
      if (op !== 'copy' && op !== 'move') return false;
      const rest =
        op === 'copy' ? document : applyPatch(document, [{ op: 'remove', path: from as string }]);
      const { parent } = parentOf(rest, path as string);
      return typeof parent !== 'object' || parent === null || Array.isArray(parent);
    },
    'it lets an item move into itself where the next one takes its index': (
      _,
      { op, path, from },
    ) => op === 'move' && (path as string).startsWith(`${from}/`),
    'it lets the whole document be removed': (_, { op, path }) => op === 'remove' && path === '',
    'it moves the whole document into a member': (_, { op, from }) => op === 'move' && from === '',
  };

const agree = (
  ours: Outcome,
  theirs: Outcome,
  document: unknown,
  operations: readonly Operation[],
): void => {
  if ('result' in ours) {
    if ('error' in theirs) expect.fail(`only fast-json-patch throws: ${String(theirs.error)}`);
    expect(ours.result).toStrictEqual(theirs.result);
    return;
  }
  expect(isRunSocketError(ours.error, 'patch-failed')).toBe(true);
  if ('error' in theirs) return;
  const { message } = ours.error as Error;
  const index = Number(/^Operation (\d+)/.exec(message)?.[1]);
  const before = applyPatch(document, operations.slice(0, index) as never);
  const known = Object.values(differences).some((holds) => holds(before, operations[index]!));
  if (!known) expect.fail(`only this throws: ${message}`);
};

describe('against fast-json-patch', () => {
  it('has the same result, or throws too, and leaves document and operations as they were', () => {
    let applied = 0;
    let failed = 0;
    let laxer = 0;
    fc.assert(
      fc.property(documents, draws, (document, plan) => {
        const operations = operationsFor(deepFreeze(document), plan);
        deepFreeze(operations);
        const ours = outcomeOf(() =>
          applyPatch(document, operations as unknown as JsonPatchOperation[]),
        );
        const theirs = outcomeOf(
          () =>
            fastJsonPatch.applyPatch(
              structuredClone(document),
              structuredClone(operations) as never,
              true,
            ).newDocument,
        );
        if ('result' in ours) applied++;
        else if ('error' in theirs) failed++;
        else laxer++;
        agree(ours, theirs, document, operations);
      }),
      { numRuns: 1_500 },
    );
    // The draw is worth something only if both kinds are common, and the exception is rare.
    expect(applied).toBeGreaterThan(400);
    expect(failed).toBeGreaterThan(200);
    expect(laxer).toBeLessThan(failed + applied);
  });

  it('applies what it computes between two documents', () => {
    fc.assert(
      fc.property(json, json, (before, after) => {
        const from = { root: before };
        const to = { root: after };
        const operations = fastJsonPatch.compare(from, to) as JsonPatchOperation[];
        expect(applyPatch(deepFreeze(from), operations)).toStrictEqual(to);
      }),
      { numRuns: 500 },
    );
  });
});

describe('structural sharing', () => {
  it('keeps every value that no operation came near', () => {
    fc.assert(
      fc.property(json, fc.nat(), json, (document, at, value) => {
        deepFreeze(document);
        const pointers = pointersOf(document, false).filter((one) => one !== '');
        const path = pointers[at % pointers.length];
        if (path === undefined) return;
        const result = outcomeOf(() => applyPatch(document, [{ op: 'replace', path, value }]));
        if (!('result' in result)) return;
        let before: unknown = document;
        let after: unknown = result.result;
        if (before === after) return;
        for (const token of path.slice(1).split('/')) {
          const name = token.replaceAll('~1', '/').replaceAll('~0', '~');
          const a = before as Record<string, unknown>;
          const b = after as Record<string, unknown>;
          expect(b).not.toBe(a);
          expect(Object.keys(b)).toEqual(Object.keys(a));
          for (const sibling of Object.keys(a)) {
            if (sibling !== name) expect(b[sibling]).toBe(a[sibling]);
          }
          before = a[name];
          after = b[name];
        }
        expect(after).toBe(value);
      }),
      { numRuns: 500 },
    );
  });

  it('gives one patch of many operations the result of many patches of one', () => {
    fc.assert(
      fc.property(documents, draws, (document, plan) => {
        const operations = operationsFor(
          deepFreeze(document),
          plan,
        ) as never as JsonPatchOperation[];
        deepFreeze(operations);
        const atOnce = outcomeOf(() => applyPatch(document, operations));
        const oneByOne = outcomeOf(() =>
          operations.reduce((state, operation) => applyPatch(state, [operation]), document),
        );
        expect('result' in atOnce).toBe('result' in oneByOne);
        if ('result' in atOnce && 'result' in oneByOne) {
          expect(atOnce.result).toStrictEqual(oneByOne.result);
        }
      }),
      { numRuns: 1_500 },
    );
  });

  it('leaves every earlier version as it was', () => {
    fc.assert(
      fc.property(documents, draws, (document, plan) => {
        const operations = operationsFor(document, plan) as never as JsonPatchOperation[];
        const versions: { readonly value: unknown; readonly text: string }[] = [];
        let state = document;
        for (let size = 1; size <= operations.length; size++) {
          try {
            state = applyPatch(state, operations.slice(0, size));
          } catch {}
          versions.push({ value: state, text: JSON.stringify(state) });
        }
        for (const { value, text } of versions) expect(JSON.stringify(value)).toBe(text);
      }),
      { numRuns: 500 },
    );
  });
});
