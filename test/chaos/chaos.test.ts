import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { describe, expect, it, vi } from 'vitest';
import { allKinds, createTally, findIdle } from './campaign.ts';
import { faults } from './faults.ts';
import { createSchedule, profileOf, profiles } from './schedule.ts';
import { shrink } from './shrink.ts';
import { simulate } from './simulate.ts';

vi.mock('partysocket/ws', () => import('./engine.ts'));

// Schedules of all profiles; `npm run chaos -- --seeds 50000` runs more of them.
const seeds = process.env.RUNSOCKET_CHAOS_SEEDS ?? '2000';
const root = join(import.meta.dirname, '../..');

describe('random faults in virtual time', () => {
  it(`change nothing of what users see, in ${seeds} schedules`, () => {
    const args = ['scripts/chaos.mjs', '--seeds', seeds, ...(process.env.CI ? [] : ['--bail'])];
    const { stdout, stderr, status } = spawnSync(process.execPath, args, {
      cwd: root,
      encoding: 'utf8',
      maxBuffer: 2 ** 28,
    });
    expect(stderr).toBe('');
    expect(stdout).not.toContain('WRONG');
    expect(stdout).not.toContain('never took effect');
    expect(stdout).toContain(`${seeds} of ${seeds} schedules`);
    expect(status).toBe(0);
  }, 900_000);
});

describe('a schedule', () => {
  it('is the same for the same seed, and another for another', () => {
    for (const profile of profiles) {
      expect(createSchedule(7, profile)).toEqual(createSchedule(7, profile));
      expect(createSchedule(7, profile)).not.toEqual(createSchedule(8, profile));
    }
  });

  it('is played the same way each time', async () => {
    for (const seed of [1, 2, 3, 4, 5]) {
      const schedule = createSchedule(seed);
      const [first, second] = [await simulate(schedule, true), await simulate(schedule, true)];
      expect(first.log.length).toBeGreaterThan(20);
      expect(second.log).toEqual(first.log);
    }
  });

  it('has at least 25 faults, and 200 where it is deep', () => {
    for (let seed = 0; seed < 200; seed++) {
      const { length } = createSchedule(seed).faults;
      expect(length).toBeGreaterThanOrEqual(profileOf(seed) === 'deep' ? 200 : 25);
    }
  });

  it('never holds kinds that exclude each other', () => {
    for (let seed = 0; seed < 300; seed++) {
      const kinds = new Set(createSchedule(seed).faults.map(({ kind }) => kind));
      for (const kind of kinds) {
        for (const other of faults[kind]?.excludes ?? []) expect([...kinds]).not.toContain(other);
      }
    }
  });

  it('that does not fail is left as it is by shrinking', async () => {
    const schedule = createSchedule(1);
    expect(await shrink(schedule)).toBe(schedule);
  });
});

describe('the tally', () => {
  it('names every kind that never took effect', () => {
    const tally = createTally();
    expect(findIdle(tally).slice(0, allKinds.length)).toEqual(allKinds);
    expect(findIdle(tally)).toContain('loss of checkpoint');
    tally.counts['cut-rst'] = 1;
    tally.losses.checkpoint = 1;
    expect(findIdle(tally)).not.toContain('cut-rst');
    expect(findIdle(tally)).not.toContain('loss of checkpoint');
  });
});
