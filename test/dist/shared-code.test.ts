import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Consumer, createConsumer, formats, moduleText } from './consumer.ts';

let consumer: Consumer;

beforeAll(async () => {
  consumer = await createConsumer();
});
afterAll(() => consumer?.remove());

// A socket that never gets anywhere.
const socket = `class { send() {} close() {} addEventListener() {} }`;

describe.each(formats)('what entries share in %s', (format) => {
  const run = async (name: string, body: string): Promise<unknown> =>
    JSON.parse(
      await consumer.run(
        `${name}.${format}`,
        moduleText(
          format,
          {
            runsocket: '{ RunSocketError, createWebSocketClient, isRunSocketError }',
            'runsocket/ag-ui': '{ applyPatch, createAgUiAgent }',
          },
          `const caught = (task) => { try { task(); } catch (error) { return error; } };
           console.log(JSON.stringify(${body}));`,
        ),
      ),
    );

  it('makes RunSocketError one class for all entries', async () => {
    const body = `[
      caught(() => createAgUiAgent({})),
      caught(() => applyPatch({}, [{ op: 'remove', path: '/a' }])),
      caught(() => createWebSocketClient('ws://127.0.0.1:1').close(1)),
    ].map((error) => [error.code, error instanceof RunSocketError, isRunSocketError(error)])`;
    expect(await run('one-class', body)).toEqual([
      ['unsupported', true, true],
      ['patch-failed', true, true],
      ['invalid-argument', true, true],
    ]);
  });

  it('lets an agent ride on a client of the other entry', async () => {
    const body = `createAgUiAgent(
      createWebSocketClient('ws://127.0.0.1:1', { WebSocket: ${socket} }),
    ).getSnapshot()`;
    expect(await run('fits', body)).toEqual({ messages: [], status: 'idle', stale: false });
  });
});

describe('the ESM and the CJS copy in one process', () => {
  const load = `
    import { createRequire } from 'node:module';
    import * as esm from 'runsocket';
    import { createAgUiAgent } from 'runsocket/ag-ui';
    const require = createRequire(import.meta.url);
    const cjs = require('runsocket');
  `;

  it('tell each other their errors by the guard', async () => {
    const text = `${load}
      const error = new cjs.RunSocketError('closed', 'x');
      console.log(JSON.stringify([
        error instanceof esm.RunSocketError,
        esm.isRunSocketError(error, 'closed'),
        esm.isRunSocketError(error, 'timeout'),
      ]));`;
    expect(JSON.parse(await consumer.run('both-errors.mjs', text))).toEqual([false, true, false]);
  });

  it('take each other for clients', async () => {
    const text = `${load}
      const client = cjs.createWebSocketClient('ws://127.0.0.1:1', { WebSocket: ${socket} });
      console.log(createAgUiAgent(client).getSnapshot().status);`;
    expect(await consumer.run('both-clients.mjs', text)).toBe('idle\n');
  });
});
