import { describe, expect, it } from 'vitest';
import { createRedisKeys, escapeId, unescapeId } from '../../src/server/redis-keys.ts';

const ids = [
  '',
  '%',
  '%%',
  '{',
  '}',
  '%7b',
  '%7d',
  '{}',
  '%25',
  '\ud800',
  '%d800',
  '\udc00',
  'a',
  '😀',
];

describe('the id of a run in the name of a key', () => {
  it('is written as no other id is, and read as it was', () => {
    const written = ids.map(escapeId);
    expect(new Set(written).size).toBe(ids.length);
    expect(written.map(unescapeId)).toEqual(ids);
  });

  it('is the whole hash tag, so that the keys of a run stand on one node of a cluster', () => {
    const keys = createRedisKeys('p');
    for (const id of ids) {
      const names = [keys.run(id), keys.log(id), keys.cancel(id)];
      const tags = names.map((name) => /\{(.+?)\}/.exec(name)?.[1]);
      expect(tags).toEqual([escapeId(id), escapeId(id), escapeId(id)]);
    }
  });
});
