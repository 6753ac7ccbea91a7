import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { build } from 'esbuild';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startTcpProxy } from '../helpers/tcp-proxy.ts';
import { startWsServer } from '../helpers/ws-server.ts';

let folder: string;

// Inside the project, so that partysocket and ws are found.
beforeAll(async () => {
  folder = await mkdtemp(resolve('node_modules/.runsocket-'));
  for (const format of ['esm', 'cjs'] as const) {
    await build({
      entryPoints: ['src/client/websocket-client.ts'],
      outfile: join(folder, `client.${format === 'esm' ? 'mjs' : 'cjs'}`),
      bundle: true,
      format,
      platform: 'neutral',
      external: ['partysocket'],
    });
  }
});
afterAll(() => rm(folder, { recursive: true, force: true }));

/** Runs a program until it ends by itself. */
async function run(name: string, code: string) {
  const file = join(folder, name);
  await writeFile(file, code);
  const start = Date.now();
  return new Promise<{ output: string; ms: number; failed: boolean }>((done) => {
    execFile(process.execPath, [file], { timeout: 15_000 }, (error, stdout, stderr) => {
      done({ output: `${stdout}${stderr}`, ms: Date.now() - start, failed: error !== null });
    });
  });
}

const imports = `
  import { WebSocket } from 'ws';
  import { createWebSocketClient } from './client.mjs';
`;

describe('Node', () => {
  it('is not touched by an import or a creation', async () => {
    const { output, failed } = await run(
      'import.mjs',
      `
      const calls = [];
      for (const name of ['setTimeout', 'setInterval', 'setImmediate', 'queueMicrotask']) {
        const real = globalThis[name];
        globalThis[name] = (...values) => (calls.push(name), real(...values));
      }
      Math.random = () => (calls.push('random'), 0);
      Date.now = () => (calls.push('now'), 0);
      const before = Object.keys(globalThis).length;
      const { createWebSocketClient } = await import('./client.mjs');
      const client = createWebSocketClient('ws://127.0.0.1:1');
      client.subscribe(() => {});
      await null;
      console.log(JSON.stringify([calls, Object.keys(globalThis).length - before, client.getSnapshot()]));
    `,
    );
    expect([output, failed]).toEqual(['[[],0,{"status":"idle","attempt":0}]\n', false]);
  });

  it('says unsupported where it has no WebSocket', async () => {
    const { output } = await run(
      'unsupported.mjs',
      `
      delete globalThis.WebSocket;
      const { createWebSocketClient } = await import('./client.mjs');
      const client = createWebSocketClient('ws://127.0.0.1:1');
      client.hold();
      const { status, error } = client.getSnapshot();
      console.log(status, error.code, error.name, error.message);
    `,
    );
    expect(output).toMatch(/^closed unsupported RunSocketError .*WebSocket/);
  });

  it.each([
    ['close() of an open connection', 'await client.ready; client.close();'],
    ['close() in the middle of an attempt', 'client.close();'],
    ['close() right before the socket is made', 'await null; await null; client.close();'],
    ['close() as soon as it opens', "client.on('open', () => client.close());"],
    ['close() while waiting', 'await client.ready; client.reconnect(); client.close();'],
    ['the last release and its linger', 'await client.ready; release();'],
    [
      'reconnect() and close()',
      'await client.ready; client.reconnect(); await client.ready; client.close();',
    ],
    ['a final close of the server', "await client.ready; client.send('final');"],
  ])('ends by itself after %s', async (name, code) => {
    const server = await startWsServer({ onMessage: (_, socket) => socket.close(4400) });
    const { output, failed } = await run(
      `exit-${name.replace(/\W/g, '-')}.mjs`,
      `${imports}
      const client = createWebSocketClient('${server.url}', { WebSocket, linger: 50 });
      const release = client.hold();
      ${code}
      process.on('exit', () => console.log(client.getSnapshot().status));
      const start = performance.now();
      process.on('exit', () => { if (performance.now() - start > 3000) console.log('late'); });
    `,
    );
    await server.close();
    expect([output, failed]).toEqual([name.includes('linger') ? 'idle\n' : 'closed\n', false]);
  });

  it('ends by itself after close() against a server that refuses, hangs, or is half-open', async () => {
    const server = await startWsServer();
    const silent = await startWsServer({ admit: () => null });
    const proxy = await startTcpProxy(server.port);
    for (const url of ['ws://127.0.0.1:1', silent.url]) {
      const { output, failed } = await run(
        'exit-refused.mjs',
        `${imports}
        const client = createWebSocketClient('${url}', { WebSocket, connectTimeout: 50 });
        client.hold();
        client.on('close', ({ error }) => {
          console.log(error.name);
          setImmediate(() => client.close());
        });
      `,
      );
      expect([output, failed]).toEqual(['RunSocketError\n', false]);
    }
    const half = run(
      'exit-half-open.mjs',
      `${imports}
      const client = createWebSocketClient('ws://127.0.0.1:${proxy.port}', {
        WebSocket,
        heartbeat: { interval: 50, timeout: 50, message: 'ping' },
        connectTimeout: 50,
        maxRetries: 1,
      });
      client.on('close', ({ error }) => console.log(error.code));
      client.hold();
      await client.ready;
      client.send('open');
    `,
    );
    while (server.received.length === 0) await new Promise((done) => setTimeout(done, 5));
    proxy.blackHole(true);
    const { output, failed } = await half;
    expect([output, failed]).toEqual(['timeout\ntimeout\ntimeout\n', false]);
    await Promise.all([server.close(), silent.close(), proxy.close()]);
  });

  it('does not wait for the goodbye of a dead peer for longer than a second or so', async () => {
    const server = await startWsServer();
    const proxy = await startTcpProxy(server.port);
    const dead = run(
      'exit-dead-peer.mjs',
      `${imports}
      const client = createWebSocketClient('ws://127.0.0.1:${proxy.port}', { WebSocket });
      process.on('exit', () => console.log(performance.now() - closed < 10_000));
      let closed;
      client.on('message', () => {
        closed = performance.now();
        client.close();
      });
      client.hold();
      await client.ready;
      client.send('open');
    `,
    );
    while (server.received.length === 0) await new Promise((done) => setTimeout(done, 5));
    // What the client says from now on never arrives.
    proxy.blackHole(true, 'up');
    for (const socket of server.live) socket.send('"now"');
    const { output, failed } = await dead;
    expect([output, failed]).toEqual(['true\n', false]);
    await Promise.all([server.close(), proxy.close()]);
  });

  it('takes the CommonJS build, where partysocket is a module in a module', async () => {
    const server = await startWsServer();
    const { output, failed } = await run(
      'cjs.cjs',
      `
      const { WebSocket } = require('ws');
      const { createWebSocketClient } = require('./client.cjs');
      const client = createWebSocketClient('${server.url}', { WebSocket });
      client.hold();
      client.ready.then(() => {
        console.log(client.getSnapshot().status);
        client.close();
      });
    `,
    );
    await server.close();
    expect([output, failed]).toEqual(['open\n', false]);
  });
});

describe('a bundle', () => {
  it('without the client has no partysocket in it', async () => {
    const { outputFiles } = await build({
      stdin: {
        contents:
          "import { isRunSocketError } from './src/index.ts'; console.log(isRunSocketError(1));",
        resolveDir: resolve('.'),
      },
      bundle: true,
      minify: true,
      format: 'esm',
      write: false,
    });
    expect(outputFiles[0]?.text.length).toBeLessThan(300);
  });
});
