// What happens to the soak, one a second. Faults that last are over by themselves.
import { setTimeout as sleep } from 'node:timers/promises';

const later = (ms, task) => setTimeout(task, ms).unref();

/** Make the faults, by name; `call` asks the other process, `between` and `pick` take chances. */
export function createFaults({ page, people, call, between, pick }) {
  const { client, fake } = page;
  return {
    'cut by FIN': () => call('cut', 'fin'),
    'cut by RST': () => call('cut', 'rst'),
    'cut at a byte': () =>
      call('cutAfter', Math.floor(between(1, 2_000)), pick(['up', 'down']), pick(['fin', 'rst'])),
    'half-open': async () => {
      await call('blackHole', true, pick([undefined, 'up', 'down']));
      // Until the client has given up, at most: a hole that is filled again would be no TCP.
      const end = Date.now() + 8_000;
      while (client.getSnapshot().status === 'open' && Date.now() < end) await sleep(5);
      await call('blackHole', false);
      if (client.getSnapshot().status === 'open') await call('cut', 'rst');
    },
    refused: async () => {
      await call('refuse', true);
      later(between(100, 5_000), () => call('refuse', false));
    },
    slow: async () => {
      await call('setDelay', between(50, 2_000));
      later(900, () => call('setDelay', 0));
    },
    closed: () =>
      call(
        'closeAll',
        pick([1000, 1001, 1005, 1006, 1011, 1012, 1013, 3000, 4000, 4408, 4429, 4500]),
      ),
    'malformed JSON': () => call('sendAll', '{"runId":'),
    'a foreign message': () => call('sendAll', '{"type":"moon","runId":"__proto__"}'),
    'a megabyte': () => call('sendMegabyte'),
    'a binary frame': () => call('sendBinary'),
    doubled: async () => {
      await call('double', true);
      later(900, () => call('double', false));
    },
    'reconnect()': () => client.reconnect(),
    offline: () => {
      fake.setOnline(false);
      later(between(0, 900), () => fake.setOnline(true));
    },
    'pagehide and pageshow': () => {
      fake.dispatch('pagehide', { persisted: true });
      later(between(0, 900), () => fake.dispatch('pageshow', { persisted: true }));
    },
    hidden: () => {
      fake.setVisible(false);
      later(between(0, 900), () => fake.setVisible(true));
    },
    reload: () => pick(people).reload(),
    'abort()': () => pick(people).agent.abort(),
    'storage denied': () => {
      page.isStorageBroken = true;
      for (const person of people) person.mayForget = true;
      later(900, () => {
        page.isStorageBroken = false;
      });
    },
    'a listener that throws': () => {
      const person = pick(people);
      person.throws = true;
      later(900, () => {
        person.throws = false;
      });
    },
    'a url that cannot be had': () => {
      const before = page.address;
      page.address = pick([() => Promise.reject(new Error('no url')), () => new Promise(() => {})]);
      client.reconnect();
      later(900, () => {
        page.address = before;
      });
    },
    'the wall clock': () => {
      page.wallShift = pick([-86_400_000, 0, 86_400_000]);
    },
  };
}
