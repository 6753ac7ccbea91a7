import { once } from 'node:events';
import { type AddressInfo, connect, createServer } from 'node:net';
import { expect, it, onTestFinished } from 'vitest';
import { startTcpProxy } from './tcp-proxy.ts';
import { until } from './until.ts';
import { createVirtualClock } from './virtual-clock.ts';

async function setUp() {
  let atServer = '';
  let endings = 0;
  const server = createServer((socket) => {
    socket.on('data', (data) => {
      atServer += data;
      socket.write(data);
    });
    socket.on('error', () => {});
    socket.on('close', () => endings++);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const proxy = await startTcpProxy((server.address() as AddressInfo).port);
  onTestFinished(async () => {
    await proxy.close();
    server.close();
  });
  const dial = () => {
    const socket = connect(proxy.port, '127.0.0.1');
    const seen = { data: '', ending: '' };
    socket.on('data', (data) => {
      seen.data += data;
    });
    socket.on('end', () => {
      seen.ending ||= 'fin';
    });
    socket.on('error', (error: NodeJS.ErrnoException) => {
      seen.ending ||= String(error.code);
    });
    return { socket, seen };
  };
  return { proxy, dial, getAtServer: () => atServer, getEndings: () => endings };
}

it('passes bytes, then ends every connection by FIN or RST', async () => {
  const { proxy, dial, getEndings } = await setUp();
  for (const [kind, ending] of [
    ['fin', 'fin'],
    ['rst', 'ECONNRESET'],
  ] as const) {
    const { socket, seen } = dial();
    socket.write('hello');
    await until(() => seen.data === 'hello');
    proxy.cut(kind);
    await until(() => seen.ending === ending);
  }
  await until(() => getEndings() === 2);
  expect(proxy.accepted).toBe(2);
});

it('cuts after a number of bytes, each of which arrives', async () => {
  const { proxy, dial, getAtServer } = await setUp();
  for (const direction of ['up', 'down'] as const) {
    const { socket, seen } = dial();
    socket.write('0123');
    await until(() => seen.data === '0123');
    proxy.cutAfter(3, direction, 'fin');
    socket.write('456789');
    await until(() => seen.ending === 'fin');
    expect(seen.data).toBe(direction === 'down' ? '0123456' : '0123');
  }
  expect(getAtServer()).toBe('0123456' + '0123456789');
});

it('swallows bytes while it is a black hole, and refuses when told', async () => {
  const { proxy, dial, getAtServer } = await setUp();
  const { socket, seen } = dial();
  socket.write('a');
  await until(() => seen.data === 'a');
  proxy.blackHole(true);
  socket.write('b');
  const other = dial();
  await until(() => proxy.accepted === 2);
  other.socket.write('c');
  await new Promise((resolve) => setTimeout(resolve, 20));
  expect([getAtServer(), seen.ending, proxy.open]).toEqual(['a', '', 2]);
  proxy.blackHole(false);
  socket.write('d');
  await until(() => seen.data === 'ad');
  await proxy.refuse(true);
  const refused = dial();
  await until(() => refused.seen.ending === 'ECONNREFUSED');
  await proxy.refuse(false);
  const { socket: last, seen: lastSeen } = dial();
  last.write('e');
  await until(() => lastSeen.data === 'e');
});

it('runs timers in order, late after a sleep, and unmoved by the wall clock', async () => {
  const clock = createVirtualClock({ start: 0 });
  const log: string[] = [];
  const { setTimer, now } = clock.environment;
  const note = (name: string) => () => log.push(`${name}@${now()}`);
  setTimer(note('b'), 20);
  setTimer(note('a'), 10);
  setTimer(note('never'), 15)();
  setTimer(() => {
    Promise.resolve().then(() => setTimer(note('nested'), 5));
  }, 10);
  await clock.advance(20);
  setTimer(note('late'), 10);
  await clock.sleep(1_000);
  setTimer(note('shifted'), 10);
  clock.shiftWall(-500);
  await clock.advance(10);
  expect(log).toEqual(['a@10', 'nested@15', 'b@20', 'late@1020', 'shifted@530']);
  expect(clock.timers).toBe(0);
});
