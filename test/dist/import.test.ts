import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Consumer, createConsumer, entries, formats } from './consumer.ts';

// Loaded first: notes down every use of time, chance, sockets, storage, the page and the console.
const watch = `
const net = require('node:net');
const touched = (globalThis.touched = []);
const note = (owner, name, label) => {
  const real = owner[name];
  owner[name] = function (...args) {
    touched.push(label);
    return Reflect.apply(real, this, args);
  };
};
for (const name of ['setTimeout', 'setInterval', 'setImmediate', 'queueMicrotask', 'fetch']) {
  note(globalThis, name, name);
}
for (const name of ['log', 'info', 'warn', 'error', 'debug']) note(console, name, 'console.' + name);
note(Math, 'random', 'Math.random');
note(Date, 'now', 'Date.now');
note(crypto, 'getRandomValues', 'crypto.getRandomValues');
note(crypto, 'randomUUID', 'crypto.randomUUID');
note(net.Socket.prototype, 'connect', 'net.connect');
note(process, 'on', 'process.on');
for (const name of [
  'WebSocket', 'document', 'window', 'navigator', 'location', 'sessionStorage', 'localStorage',
  'indexedDB', 'BroadcastChannel', 'addEventListener', 'requestAnimationFrame',
]) {
  const value = name === 'WebSocket' ? undefined : globalThis[name];
  Object.defineProperty(globalThis, name, { get: () => (touched.push(name), value) });
}
`;

let consumer: Consumer;

beforeAll(async () => {
  consumer = await createConsumer();
  await consumer.write('watch.cjs', watch);
});
afterAll(() => consumer?.remove());

const load = (format: string, entry: string) =>
  format === 'mjs' ? `await import('${entry}')` : `require('${entry}')`;

describe.each(formats)('importing in %s', (format) => {
  const run = async (name: string, body: string): Promise<unknown> =>
    JSON.parse(
      await consumer.run(
        `${name}.${format}`,
        `(async () => {
          const turn = setImmediate;
          // React is somebody else's: it is there before anything is noted down.
          ${load(format, 'react')};
          await new Promise((go) => turn(go));
          touched.length = 0;
          const result = {};
          ${body}
          // partysocket looks whether it is in React Native, and does no more with it.
          const used = touched.filter((name) => name !== 'navigator');
          await new Promise((go) => turn(go));
          const left = process.getActiveResourcesInfo().filter((name) => /Time|TCP|UDP/.test(name));
          process.stdout.write(JSON.stringify({ used, left, ...result }));
          globalThis.stop?.();
        })();`,
        ['--require', './watch.cjs'],
      ),
    );

  it.each(entries)('%s does nothing', async (entry) => {
    const name = `import-${entry.replace('/', '-')}`;
    const body = `result.names = Object.keys(${load(format, entry)}).length > 0;`;
    expect(await run(name, body)).toEqual({ used: [], left: [], names: true });
  });

  it('notes down what a module that does something uses', async () => {
    const used = ['setInterval', 'document', 'Math.random', 'net.connect'];
    await consumer.write(
      'busy.cjs',
      `const timer = setInterval(() => {}, 1000);
       globalThis.stop = () => clearInterval(timer);
       document;
       Math.random();
       require('net').connect(1, '127.0.0.1').on('error', () => {});`,
    );
    const result = await run('uses-busy', load(format, './busy.cjs'));
    expect(result).toMatchObject({
      used: expect.arrayContaining(used),
      left: expect.arrayContaining(['Timeout']),
    });
  });

  it('makes clients, runs and agents without a timer, a socket or a DOM', async () => {
    const result = await run(
      'create',
      `const { createWebSocketClient, createRuns } = ${load(format, 'runsocket')};
       const { createAgUiAgent } = ${load(format, 'runsocket/ag-ui')};
       const client = createWebSocketClient('ws://127.0.0.1:1');
       createRuns(client);
       result.status = createAgUiAgent(client).getSnapshot().status;
       result.connection = client.getSnapshot().status;`,
    );
    expect(result).toEqual({
      // The id of the thread, and a look whether this is a page, which an earlier one may have left something.
      used: expect.arrayContaining(['crypto.randomUUID', 'document']),
      left: [],
      status: 'idle',
      connection: 'idle',
    });
    const { used } = result as { used: readonly string[] };
    expect(
      used.filter((name) => !['crypto.randomUUID', 'document', 'Date.now'].includes(name)),
    ).toEqual([]);
  });

  it('tells apart a platform without a WebSocket by a typed error, once it is used', async () => {
    const result = await run(
      'unsupported',
      `const { createWebSocketClient } = ${load(format, 'runsocket')};
       const client = createWebSocketClient('ws://127.0.0.1:1');
       client.hold();
       result.state = client.getSnapshot();
       result.code = result.state.error.code;`,
    );
    expect(result).toMatchObject({ left: [], state: { status: 'closed' }, code: 'unsupported' });
  });
});
