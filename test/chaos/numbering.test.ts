import { describe, expect, it } from 'vitest';
import { createNames, type Numbering } from './numbering.ts';
import { createTruth } from './truth.ts';

const numberings: readonly Numbering[] = ['sparse', 'stream', 'digits', 'random'];

function setUp(numbering: Numbering) {
  const truth = createTruth();
  const wrong: string[] = [];
  const names = createNames(numbering, truth, (text) => wrong.push(text));
  if (!names) throw new Error('It has no names.');
  const name = (n: number) =>
    (JSON.parse(names.down(`{"runId":"a","offset":${n},"event":{}}`)) as { offset: unknown })
      .offset;
  const ask = (after: unknown) =>
    (
      JSON.parse(names.up(JSON.stringify({ type: 'resume', runId: 'a', after }))) as {
        after?: number;
      }
    ).after;
  truth.begin('a');
  return { truth, wrong, names, name, ask };
}

describe('the places of a log', () => {
  for (const numbering of numberings) {
    it(`have a name each, and are found by it: ${numbering}`, () => {
      const { wrong, name, ask } = setUp(numbering);
      const given = Array.from({ length: 200 }, (_, n) => name(n));
      expect(new Set(given).size).toBe(200);
      expect(given.map(ask)).toEqual(given.map((_, n) => n));
      expect(wrong).toEqual([]);
    });

    it(`have no name that nobody has told: ${numbering}`, () => {
      const { wrong, name, ask } = setUp(numbering);
      const later = name(150);
      const other = setUp(numbering);
      other.name(3);
      expect(other.ask(later)).toBe(undefined);
      expect(other.wrong.length).toBe(1);
      expect(ask(later)).toBe(150);
      expect(wrong).toEqual([]);
    });
  }

  it('of an earlier execution are before all of the next one, where they are strings', () => {
    for (const numbering of numberings) {
      const { truth, wrong, name, ask } = setUp(numbering);
      const first = name(7);
      truth.begin('a');
      expect(ask(first)).toBe(numbering === 'sparse' ? 7 : undefined);
      expect(name(7) === first).toBe(numbering === 'sparse');
      expect(wrong).toEqual([]);
    }
  });

  it('leave alone what is no event and no question for one', () => {
    const { names } = setUp('random');
    for (const frame of ['{"runId":"a","ev', '', 'null', '[]', '{"type":"alive"}']) {
      expect(names.down(frame)).toBe(frame);
    }
    const run = '{"type":"run","runId":"a","input":{"after":1}}';
    expect(names.up(run)).toBe(run);
  });
});
