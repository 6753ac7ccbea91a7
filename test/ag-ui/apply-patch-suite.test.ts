import { createRequire } from 'node:module';
import { describe, expect, it } from 'vitest';
import { failure, patch } from './apply-patch-helpers.ts';

interface Case {
  readonly comment?: string;
  readonly doc: unknown;
  readonly patch: readonly unknown[];
  readonly expected?: unknown;
  readonly error?: string;
  readonly disabled?: boolean;
}

const require = createRequire(import.meta.url);
const files = ['spec_tests', 'tests'] as const;

/** Cases of the official suite that this package decides otherwise, each with its reason. */
const exceptions: Readonly<Record<string, string>> = {};

for (const file of files) {
  const cases: Case[] = require(`json-patch-test-suite/${file}.json`);
  const enabled = cases.filter((one) => !one.disabled && one.patch);

  describe(`the official ${file}`, () => {
    it.each(enabled.map((one, i) => [one.comment ?? `case ${i}`, one] as const))(
      'agree on: %s',
      (name, one) => {
        if (exceptions[name]) return expect(exceptions[name]).toMatch(/./);
        if (one.error !== undefined) failure(one.doc, ...one.patch);
        else {
          const result = patch(one.doc, ...one.patch);
          // A case without an expected document passes by being applied.
          expect(result).toEqual('expected' in one ? one.expected : result);
        }
      },
    );
  });
}

it('has run the whole official suite', () => {
  const count = files.reduce((sum, file) => {
    const cases: Case[] = require(`json-patch-test-suite/${file}.json`);
    return sum + cases.filter((one) => !one.disabled && one.patch).length;
  }, 0);
  expect(count).toBe(91);
});
