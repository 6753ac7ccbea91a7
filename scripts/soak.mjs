// One client, four agents, one fault a second, for as long as you like: `npm run soak -- --minutes 30`.
// Server and proxy are a process of their own. Each minute prints what happened and what is held;
// the exit code is 1 where a run came out wrong, or heap or handles grew.
// Options: --minutes (30), --seed (1), --plain (a server that knows the four messages alone).
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { WebSocket } from 'ws';
import { importSources } from '../bench/bundle.mjs';

setFlagsFromString('--expose-gc');
const gc = runInNewContext('gc');

const { values: options } = parseArgs({
  options: {
    minutes: { type: 'string', default: '30' },
    seed: { type: 'string', default: '1' },
    plain: { type: 'boolean', default: false },
  },
});
const minutes = Number(options.minutes);

const {
  createClient,
  createAgUiAgent,
  createFakePage,
  createRandom,
  createStorageBytes,
  ...given
} = await importSources(
  'src/client/websocket-client.ts',
  'src/ag-ui/agent.ts',
  'src/internal/environment.ts',
  'test/helpers/fake-page.ts',
  'test/helpers/random.ts',
  'test/helpers/storage.ts',
);

const random = createRandom(Number(options.seed));
const pick = (list) => list[Math.floor(random() * list.length)];
const between = (from, to) => from + random() * (to - from);

// The other process.
const peer = fork(fileURLToPath(new URL('soak-server.mjs', import.meta.url)), {
  env: { ...process.env, PLAIN: options.plain ? '1' : '' },
});
const answers = new Map();
let lastCall = 0;
peer.on('message', ({ id, value }) => {
  answers.get(id)?.(value);
  answers.delete(id);
});
const call = (name, ...values) =>
  new Promise((resolve) => {
    answers.set(++lastCall, resolve);
    peer.send({ id: lastCall, name, values });
  });
const port = await call('getPort');

// What went wrong, and how often what was done.
const wrong = [];
const counts = { finished: 0, aborted: 0, forgotten: 0, faults: 0, attempts: 0, thrown: 0 };
const fail = (what) => {
  wrong.push(what);
  console.log(`✗ ${what}`);
};
for (const type of ['uncaughtException', 'unhandledRejection']) {
  process.on(type, (error) => fail(`${type}: ${error?.stack ?? error}`));
}

// The page, with what it holds counted.
const page = createFakePage();
const bytes = createStorageBytes();
let isStorageBroken = false;
let wallShift = 0;
let timers = 0;
let address = () => `ws://127.0.0.1:${port}`;
const environment = {
  ...given.defaultEnvironment,
  page: page.globals,
  now: () => Date.now() + wallShift,
  setTimer(task, ms) {
    timers++;
    let isPending = true;
    const settle = () => {
      if (isPending) timers--;
      isPending = false;
    };
    const stop = given.defaultEnvironment.setTimer(() => {
      settle();
      task();
    }, ms);
    return () => {
      settle();
      stop();
    };
  },
  setFrame: (task) => environment.setTimer(task, 16),
  report(error) {
    if (error?.message === 'a listener of the soak') counts.thrown++;
    else fail(`report: ${error?.stack ?? error}`);
  },
};
const openStorage = () => {
  const storage = bytes.page();
  const broken =
    (task) =>
    (...values) => {
      if (isStorageBroken) throw new Error('storage');
      return task(...values);
    };
  return {
    getItem: broken(storage.getItem),
    setItem: broken(storage.setItem),
    removeItem: broken(storage.removeItem),
  };
};

const client = createClient(
  () => {
    counts.attempts++;
    return address();
  },
  {
    WebSocket,
    connectTimeout: 2_000,
    backoff: { first: 300, min: 100, max: 1_000, resetAfter: 2_000 },
    heartbeat: { interval: 1_000, timeout: 1_500, ...(options.plain && { message: undefined }) },
  },
  { environment },
);
client.on('error', ({ code, message }) => {
  if (code !== 'bad-message') fail(`client: ${code} ${message}`);
});

let isOver = false;
const people = [];

/** One user: asks, reads the answer, looks whether it is right, and asks again. */
function createPerson(name) {
  const make = () => {
    const agent = createAgUiAgent(client, {
      name,
      threadId: name,
      storage: openStorage(),
      remember: 'thread',
      idleTimeout: 2_000,
      // Without the server's word a start that was lost would be given up after its time.
      restart: options.plain,
    });
    agent.on('error', ({ code, message }) => {
      if (code !== 'storage') fail(`${name}: ${code} ${message}`);
    });
    agent.subscribe(() => {
      if (person.throws) throw new Error('a listener of the soak');
    });
    return agent;
  };
  const person = { agent: undefined, throws: false, mayForget: false, words: 0, reload };
  person.agent = make();

  function reload() {
    // A run that was never sent is not remembered.
    if (person.agent.runs.getSnapshot().some(({ status }) => status === 'queued')) {
      person.mayForget = true;
    }
    person.agent.dispose();
    person.agent = make();
  }

  const textOf = () =>
    person.agent
      .getSnapshot()
      .messages.filter(({ role }) => role === 'assistant')
      .map(({ content }) => content ?? '')
      .join('');

  const wholeOf = (words) => Array.from({ length: words }, (_, n) => `${n} `).join('');

  // What was to be forgotten while storage was denied is still there for the page behind a reload.
  const isOlder = (text) => person.mayForget && text === wholeOf(person.words);

  const judge = (words) => {
    const { status, error } = person.agent.getSnapshot();
    const whole = wholeOf(words);
    const text = textOf();
    if (status === 'finished' && text !== whole && isOlder(text)) counts.forgotten++;
    else if (status === 'finished') {
      counts.finished++;
      if (text !== whole) {
        const at = [...text].findIndex((letter, index) => letter !== whole[index]);
        const where =
          at < 0 ? `after ${text.length} letters` : text.slice(Math.max(0, at - 30), at + 30);
        fail(`${name}: ${words} words came out wrong ${where} (${person.words} before)`);
      }
      person.words = words;
    } else if (status === 'aborted') {
      counts.aborted++;
      if (!whole.startsWith(text)) fail(`${name}: aborted, with ${text.slice(0, 200)}`);
    } else if (status === 'idle' && person.mayForget) counts.forgotten++;
    else fail(`${name}: ${status} ${error?.code} ${error?.message}`);
  };

  person.live = async () => {
    while (!isOver) {
      // What could not be written down is forgotten by a reload.
      person.mayForget = isStorageBroken;
      const words = Math.floor(between(20, 400));
      const ask = { words, pause: Math.floor(between(5, 120)) };
      person.agent.run({ messages: [{ role: 'user', content: JSON.stringify(ask) }] });
      const end = Date.now() + 180_000;
      while (person.agent.getSnapshot().status === 'running') {
        if (Date.now() > end) {
          fail(`${name}: still running after 3 min`);
          break;
        }
        await sleep(20);
      }
      judge(words);
      // The thread starts anew, or it would be what grows.
      person.agent.reset();
      await sleep(between(0, 300));
    }
  };
  people.push(person);
  return person;
}

const later = (ms, task) => setTimeout(task, ms).unref();

// One a second. Those that last are over by themselves.
const faults = {
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
    page.setOnline(false);
    later(between(0, 900), () => page.setOnline(true));
  },
  'pagehide and pageshow': () => {
    page.dispatch('pagehide', { persisted: true });
    later(between(0, 900), () => page.dispatch('pageshow', { persisted: true }));
  },
  hidden: () => {
    page.setVisible(false);
    later(between(0, 900), () => page.setVisible(true));
  },
  reload: () => pick(people).reload(),
  'abort()': () => pick(people).agent.abort(),
  'storage denied': () => {
    isStorageBroken = true;
    for (const person of people) person.mayForget = true;
    later(900, () => {
      isStorageBroken = false;
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
    const before = address;
    address = pick([() => Promise.reject(new Error('no url')), () => new Promise(() => {})]);
    client.reconnect();
    later(900, () => {
      address = before;
    });
  },
  'the wall clock': () => {
    wallShift = pick([-86_400_000, 0, 86_400_000]);
  },
};
const realAddress = address;

async function measure() {
  for (let n = 0; n < 3; n++) {
    gc();
    await sleep(2);
  }
  const server = await call('measure');
  return {
    heap: process.memoryUsage().heapUsed / 2 ** 20,
    handles: process.getActiveResourcesInfo().length,
    timers,
    listeners: page.listeners,
    server,
  };
}

const before = await measure();
for (const name of ['ann', 'bob', 'cleo', 'dan']) createPerson(name);
const lives = people.map((person) => person.live());
const samples = [];
const start = Date.now();
const names = Object.keys(faults);
const format = (value) => value.toFixed(1).padStart(6);
console.log(`${minutes} min, seed ${options.seed}, a ${options.plain ? 'plain' : 'v1'} server`);
console.log('minute   runs  faults  attempts  heap MB  handles  timers  server MB  server sockets');

for (let second = 1; second <= minutes * 60; second++) {
  await sleep(Math.max(0, start + second * 1_000 - Date.now()));
  counts.faults++;
  const name = pick(names);
  Promise.resolve(faults[name]()).catch((error) => fail(`${name}: ${error.stack}`));
  if (second % 15) continue;
  const sample = await measure();
  samples.push(sample);
  if (second % 60) continue;
  const { finished, aborted } = counts;
  const { server } = sample;
  console.log(
    `${String(second / 60).padStart(6)} ${String(finished + aborted).padStart(6)} ${String(counts.faults).padStart(7)} ${String(counts.attempts).padStart(9)}   ${format(sample.heap)} ${String(sample.handles).padStart(8)} ${String(sample.timers).padStart(7)}     ${format(server.heap)} ${String(server.sockets).padStart(15)}`,
  );
  for (const runId of server.twice) fail(`${runId} was executed twice`);
}

// The faults are over: everything has to come to rest.
isOver = true;
await sleep(1_000);
address = realAddress;
isStorageBroken = false;
page.setOnline(true);
page.setVisible(true);
page.dispatch('pageshow', { persisted: true });
await call('heal');
await Promise.all(lives);
for (const { agent } of people) agent.reset();
const untilRest = Date.now() + 90_000;
const isAtRest = async () =>
  people.every(({ agent }) => agent.runs.getSnapshot().length === 0) &&
  (await call('measure')).running === 0;
while (!(await isAtRest())) {
  if (Date.now() > untilRest) {
    fail(`not at rest: ${JSON.stringify(people.map(({ agent }) => agent.runs.getSnapshot()))}`);
    break;
  }
  await sleep(100);
}
for (const { agent } of people) agent.dispose();
client.close();
people.length = 0;
await sleep(2_000);
const after = await measure();
if (bytes.map.size) fail(`left in storage: ${[...bytes.map.keys()]}`);
if (after.timers || after.listeners) {
  fail(`${after.timers} timers and ${after.listeners} listeners are left`);
}
if (after.server.sockets) fail(`${after.server.sockets} sockets are left at the server`);
if (after.handles > before.handles) {
  fail(`handles: ${before.handles} before, ${after.handles} after`);
}

// Flat: what the second half held is what the first half held, but for noise. The start is warm-up.
const median = (list) => list.toSorted((a, b) => a - b)[list.length >> 1] ?? 0;
// A megabyte on its way at the wrong moment is no leak: of heaps the least counts.
const least = (list) => Math.min(...list);
const warm = samples.slice(Math.min(8, samples.length >> 2));
const halves = [warm.slice(0, warm.length >> 1), warm.slice(warm.length >> 1)];
for (const [title, get, most, of = median] of [
  ['least heap, MB', ({ heap }) => heap, 1, least],
  ['handles', ({ handles }) => handles, 3],
  ['timers', (sample) => sample.timers, 5],
  ['listeners', ({ listeners }) => listeners, 0],
  ["the server's least heap, MB", ({ server }) => server.heap, 1, least],
  ["the server's handles", ({ server }) => server.handles, 5],
]) {
  const [first, second] = halves.map((half) => of(half.map(get)));
  console.log(
    `${title}: ${first.toFixed(2)} in the first half, ${second.toFixed(2)} in the second`,
  );
  if (second - first > most) fail(`${title} grew`);
}
console.log(
  `${counts.finished} runs whole, ${counts.aborted} stopped, ${counts.forgotten} forgotten, ${counts.faults} faults, ${counts.attempts} attempts, ${counts.thrown} errors thrown by listeners`,
);
console.log(wrong.length ? `${wrong.length} wrong` : 'nothing wrong');
peer.disconnect();
await once(peer, 'exit');
process.exit(wrong.length ? 1 : 0);
