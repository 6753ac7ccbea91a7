import { between, type FaultKind, pick } from './fault.ts';
import { openPage, queueLimit } from './page.ts';
import type { World } from './world.ts';

const day = 24 * 60 * 60 * 1000;

function later(world: World, ms: number, task: () => void) {
  world.occupy(ms);
  world.timeline.at(world.timeline.now() + ms, task);
}

/** As `later`, for what the page does itself: one that is frozen or gone does not. */
function inPage(world: World, ms: number, task: () => void) {
  world.occupy(ms);
  world.page.host.deliver(task, ms);
}

function reload(world: World, crash: boolean) {
  const { page } = world;
  page.host.thaw(false);
  page.close(crash);
  // The queue is the page's.
  world.notes.waiting = 0;
  world.page = openPage(world, page.disk, page);
}

/** Sets how url providers answer for a while. */
const urls =
  (mode: World['urls']): FaultKind['apply'] =>
  (world, { a }) => {
    world.urls = mode;
    world.link.current(world.page.host)?.cut();
    later(world, between(100, 6_000, a), () => {
      if (world.urls === mode) world.urls = 'ok';
    });
    return true;
  };

/** Lets storage fail for a while. */
function breakStorage(world: World, mode: 'full' | 'denied', ms: number) {
  const { disk } = world.page;
  disk.mode = mode;
  disk.isTouched = true;
  later(world, ms, () => {
    if (disk.mode === mode) disk.mode = 'ok';
  });
}

/** What happens to the page, its clock, its storage and its user. */
export const clientFaults: Readonly<Record<string, FaultKind>> = {
  reload: {
    group: 'client',
    weight: 4,
    apply(world, { a }) {
      reload(world, a < 0.3);
      return true;
    },
  },
  'reload-twice': {
    group: 'client',
    weight: 1,
    apply(world, { a, b }) {
      reload(world, a < 0.3);
      later(world, between(0, 60, b), () => reload(world, a > 0.7));
      return true;
    },
  },
  'reload-at-start': {
    group: 'client',
    weight: 1,
    // Between the write and the send, or right behind it.
    apply(world, { a, b }) {
      const { view } = world.page;
      if (!world.page.isActive || view.isAway) return false;
      if (view.agent.getSnapshot().status === 'running') view.abort();
      view.run();
      const { storageDelay = 0 } = world.setting;
      later(world, between(0, storageDelay * 2 + 10, b), () => reload(world, a < 0.5));
      return true;
    },
  },
  'tab-copied': {
    group: 'client',
    weight: 0.5,
    apply(world, { a }) {
      const { page } = world;
      if (!page.isActive) return false;
      const copy = openPage(world, page.disk.copy(), page);
      later(world, between(200, 8_000, a), () => {
        if (copy !== world.page) copy.close(false);
      });
      return true;
    },
  },
  bfcache: {
    group: 'client',
    weight: 2,
    apply(world, { a }) {
      const { page } = world;
      if (!page.isActive) return false;
      page.fake.dispatch('pagehide', { persisted: true });
      // An open socket keeps a page out of the cache.
      if (world.link.current(page.host)) world.fail('clean', 'a socket is open behind pagehide');
      page.isHidden = true;
      page.host.freeze();
      later(world, between(50, 4_000, a), () => {
        page.isHidden = false;
        page.host.thaw(false);
        page.causes.push(world.timeline.now());
        page.fake.dispatch('pageshow', { persisted: true });
      });
      return true;
    },
  },
  frozen: {
    group: 'client',
    weight: 2,
    apply(world, { a, b }) {
      const { page } = world;
      if (!page.isActive || world.timeline.now() - page.sleptAt < 8_000) return false;
      page.host.freeze();
      later(world, between(50, 60_000, a ** 4), () => {
        page.sleptAt = world.timeline.now();
        if (!page.isHidden) page.host.thaw(b < 0.5);
      });
      return true;
    },
  },
  'wall-clock': {
    group: 'client',
    weight: 1,
    apply(world) {
      world.stops.add('day');
      world.page.host.shiftWall(day);
      return true;
    },
  },
  'wall-clock-back': {
    group: 'client',
    weight: 1,
    apply(world) {
      world.page.host.shiftWall(-day);
      return true;
    },
    // A clock that was set back hides that the page slept.
    excludes: ['frozen', 'leap'],
  },
  leap: {
    group: 'client',
    weight: 2,
    apply(world) {
      const { page, timeline } = world;
      // One who wakes up and falls asleep at once has not been there.
      if (timeline.now() - page.sleptAt < 8_000) return false;
      page.sleptAt = timeline.now();
      page.causes.push(timeline.now());
      page.host.leap(600_000);
      return true;
    },
  },
  wake: {
    group: 'client',
    weight: 1,
    apply(world) {
      const { page } = world;
      if (!page.isActive) return false;
      page.causes.push(world.timeline.now());
      page.fake.setVisible(false);
      page.fake.setVisible(true);
      return true;
    },
  },
  offline: {
    group: 'client',
    weight: 2,
    apply(world, { a }) {
      const { page } = world;
      if (!page.isActive) return false;
      page.fake.setOnline(false);
      inPage(world, between(50, 5_000, a), () => {
        page.causes.push(world.timeline.now());
        page.fake.setOnline(true);
      });
      return true;
    },
  },
  'slow-consumer': {
    group: 'client',
    weight: 2,
    apply(world, { a }) {
      const { page } = world;
      page.reduceTime = 5;
      later(world, between(100, 4_000, a), () => {
        page.reduceTime = 0;
      });
      return true;
    },
  },
  'listener-throws': {
    group: 'client',
    weight: 2,
    apply(world, { a }) {
      const { page } = world;
      page.throws = true;
      later(world, between(100, 4_000, a), () => {
        page.throws = false;
      });
      return true;
    },
  },
  'storage-full': {
    group: 'client',
    weight: 0.6,
    apply(world, { a, b }) {
      world.page.disk.quota = Math.floor(between(0, 3_000, b));
      breakStorage(world, 'full', between(50, 5_000, a));
      return true;
    },
  },
  'storage-denied': {
    group: 'client',
    weight: 0.6,
    apply(world, { a }) {
      breakStorage(world, 'denied', between(50, 5_000, a));
      return true;
    },
  },
  'storage-corrupt': {
    group: 'client',
    weight: 0.6,
    apply(world, { a }) {
      world.page.disk.overwrite(
        pick(['{"v":1,"runs":[{', 'null', '[]', '{"v":1,"runs":[7,{"runId":"x","sentAt":1}]}'], a),
      );
      return true;
    },
  },
  'storage-version': {
    group: 'client',
    weight: 0.6,
    apply(world) {
      world.page.disk.overwrite('{"v":2,"runs":[{"runId":"r1","threadId":"t","sentAt":1}]}');
      return true;
    },
  },
  'second-thread': {
    group: 'client',
    weight: 0.4,
    apply(world) {
      const { page } = world;
      if (!page.isActive || page.views.length > 8) return false;
      const view = page.addView(`extra${page.views.length}`);
      view.subscribe();
      view.run();
      return true;
    },
  },
  'eight-runs': {
    group: 'client',
    weight: 0.04,
    apply(world) {
      const { page } = world;
      if (!page.isActive) return false;
      while (page.views.length < 8) {
        const view = page.addView(`extra${page.views.length}`);
        view.subscribe();
        view.run();
      }
      return true;
    },
  },
  abort: {
    group: 'client',
    weight: 0.5,
    apply(world) {
      const { page } = world;
      const { status } = page.view.agent.getSnapshot();
      if (!page.isActive || status !== 'running') return false;
      page.view.abort();
      return true;
    },
  },
  'run-again': {
    group: 'client',
    weight: 0.5,
    apply(world) {
      const { page } = world;
      if (!page.isActive || page.view.isAway) return false;
      page.view.run();
      return true;
    },
  },
  dispose: {
    group: 'client',
    weight: 1,
    apply(world, { a }) {
      const { page } = world;
      const { view } = page;
      if (!page.isActive || view.isAway) return false;
      view.dispose();
      // Where storage is slow, one that waits for it may still be there for a moment.
      const late = world.setting.storageDelay === undefined ? 0 : 1;
      // After "Reconnect" without anybody there, a connection stays until it is closed.
      const isKept = !/idle|closed/.test(page.client.getSnapshot().status);
      if (!isKept && page.views.every((one) => one.isAway) && page.host.timers > late) {
        world.fail('clean', `${page.host.timers} timers are left by dispose()`);
      }
      inPage(world, between(0, 3_000, a), () => {
        page.causes.push(world.timeline.now());
        if (view.isAway) view.subscribe();
      });
      return true;
    },
  },
  'app-messages': {
    group: 'client',
    weight: 1,
    fits: ({ server }) => server === 'v1',
    apply(world, { a }) {
      const { page, notes } = world;
      if (!page.isActive || page.client.getSnapshot().status === 'closed') return false;
      for (let n = 0; n < 4 + a * 30; n++) {
        try {
          notes.waiting++;
          page.client.send({ type: 'note', n: ++notes.made });
        } catch {
          notes.made--;
          notes.waiting--;
          if (notes.waiting < queueLimit) world.fail('bounded', 'the queue is full too early');
        }
      }
      if (notes.waiting > queueLimit) world.fail('bounded', `${notes.waiting} messages wait`);
      return true;
    },
  },
  'url-rejects': { group: 'client', weight: 1.5, apply: urls('reject') },
  'url-hangs': { group: 'client', weight: 1, apply: urls('hang') },
  'url-same': { group: 'client', weight: 0.5, apply: urls('same') },
};
