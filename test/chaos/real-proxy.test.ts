import { once } from 'node:events';
import { type AddressInfo, connect, createServer } from 'node:net';
import { expect, it } from 'vitest';
import { startTcpProxy } from '../helpers/tcp-proxy.ts';
import { until } from '../helpers/until.ts';
import { later } from './real-set-up.ts';

async function startSink() {
  const got: string[] = [];
  const server = createServer((socket) => {
    const index = got.push('') - 1;
    socket.on('data', (chunk) => {
      got[index] += String(chunk);
    });
    socket.on('error', () => {});
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const proxy = await startTcpProxy((server.address() as AddressInfo).port);
  later(async () => {
    await proxy.close();
    server.close();
  });
  const dial = async () => {
    const socket = connect(proxy.port, '127.0.0.1').setNoDelay(true);
    socket.on('error', () => {});
    await once(socket, 'connect');
    return socket;
  };
  return { got, proxy, dial };
}

it('a proxy keeps the order of what it delays, also when the delay changes', async () => {
  const { got, proxy, dial } = await startSink();
  const socket = await dial();
  let sent = '';
  for (let n = 0; n < 60; n++) {
    proxy.setDelay([30, 0, 5][n % 3] as number);
    sent += `${n} `;
    socket.write(`${n} `);
    const passed = proxy.bytes('up');
    await until(() => proxy.bytes('up') > passed);
  }
  await until(() => got[0]?.length === sent.length, 30_000);
  expect(got).toEqual([sent]);
});

it('a proxy cuts each of the next connections where it is planned', async () => {
  const { got, proxy, dial } = await startSink();
  proxy.cutNext([
    { bytes: 3, direction: 'up', kind: 'fin' },
    { bytes: 5, direction: 'up' },
  ]);
  for (const expected of ['012', '01234']) {
    const socket = await dial();
    socket.write('0123456789');
    await until(() => proxy.open === 0, 30_000);
    await until(() => got.at(-1) === expected, 30_000);
    socket.destroy();
  }
  const whole = await dial();
  whole.write('0123456789');
  await until(() => got.at(-1) === '0123456789', 30_000);
  expect([got, proxy.cuts, proxy.mostOpen]).toEqual([['012', '01234', '0123456789'], 2, 1]);
  whole.destroy();
});
