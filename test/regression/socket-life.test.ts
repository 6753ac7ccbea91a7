import { afterEach, describe, expect, it } from 'vitest';
import { WebSocket } from 'ws';
import { createAgUiAgent } from '../../src/ag-ui/agent.ts';
import type { ConnectContext } from '../../src/client/types.ts';
import { createClient, createWebSocketClient } from '../../src/client/websocket-client.ts';
import { setUp } from '../client/set-up.ts';
import { createFakeNetwork, type Message } from '../helpers/fake-network.ts';
import { createFakePage } from '../helpers/fake-page.ts';
import { createRandom } from '../helpers/random.ts';
import { until } from '../helpers/until.ts';
import { createV1Server, toFakePeer } from '../helpers/v1-server.ts';
import { createVirtualClock } from '../helpers/virtual-clock.ts';
import { finished, says, started, texts, user } from '../helpers/world.ts';
import { startWsServer } from '../helpers/ws-server.ts';

const cleanUps: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp();
});

// https://github.com/pladaria/reconnecting-websocket/issues/87 and 86
describe('200 quick calls of close() and reconnect()', () => {
  it.each([1, 2, 3])('and then reconnect() leave exactly one socket, open (%i)', async (seed) => {
    const random = createRandom(seed);
    const server = await startWsServer();
    const client = createWebSocketClient(server.url, { WebSocket });
    cleanUps.push(server.close, () => client.close());
    for (let call = 0; call < 200; call++) {
      if (random() < 0.5) client.close();
      else client.reconnect();
      const pause = Math.floor(random() * 4);
      if (pause) await new Promise((resolve) => setTimeout(resolve, pause));
    }
    const before = server.received.length;
    client.reconnect();
    await client.ready;
    client.send('here');
    await until(() => server.received.length > before && server.live.length === 1);
    expect(client.getSnapshot().status).toBe('open');
    expect([server.live.length, server.mostLive]).toEqual([1, 1]);
  });
});

// https://github.com/partykit/partykit/issues/544
describe('a server that fails right behind the upgrade', () => {
  it.each([0, 100, 4_999])('is tried at the times of the backoff (after %i ms)', async (life) => {
    for (let seed = 1; seed <= 20; seed++) {
      const { client, clock, dialer } = setUp({}, { seed });
      const waits: number[] = [];
      let ended: number | undefined;
      const end = () => {
        ended = clock.now();
        dialer.end(1011);
      };
      dialer.onDial = () => {
        if (ended !== undefined) waits.push(clock.now() - ended);
        dialer.open();
        if (life) clock.environment.setTimer(end, life);
        else end();
      };
      client.hold();
      await clock.advance(60_000);
      expect(dialer.dials.length).toBeLessThanOrEqual(25);
      expect(dialer.dials.length).toBeGreaterThanOrEqual(4);
      for (const [index, wait] of waits.entries()) {
        expect(wait).toBeLessThanOrEqual(
          index ? Math.min(20_000, 500 * 2 ** (index + 1)) + 1 : 1e3,
        );
        expect(wait).toBeGreaterThanOrEqual(index ? 500 : 0);
      }
    }
  });
});

/** A page whose url is asked for, before a v1 server in memory. */
function createPage(url: (context: ConnectContext) => string | Promise<string>) {
  const server = createV1Server();
  const clock = createVirtualClock();
  const page = createFakePage();
  const network = createFakeNetwork(toFakePeer(server));
  const environment = { ...clock.environment, page: page.globals };
  const client = createClient(url, {}, { environment, dialer: network.dialer });
  const agent = createAgUiAgent(client, { storage: null });
  return { server, clock, page, network, client, agent };
}
const typesOf = (sent: readonly Message[]) =>
  sent.flatMap(({ type, runId }) => (runId === undefined ? [] : [`${type} ${runId}`]));

// https://github.com/cloudflare/partykit/pull/403
describe('a socket that is replaced because the url is another one', () => {
  it('takes a cancel and a run that waited for the old one along, once and in order', async () => {
    let token = 'old';
    const { server, clock, network, client, agent } = createPage(async () => `wss://x/${token}`);
    agent.run({ messages: [user('one')] }, { runId: 'a' });
    await clock.flush();
    server.append('a', started('a'), says('one'));
    network.mode = 'hold';
    network.socket.end();
    agent.run({ messages: [user('two')] }, { runId: 'b' });
    await clock.advance(1_000);
    expect(network.socket.state).toBe('dialling');
    token = 'new';
    network.mode = 'up';
    client.reconnect();
    await clock.flush();
    expect(network.sockets.map((socket) => socket.url)).toEqual([
      'wss://x/old',
      'wss://x/old',
      'wss://x/new',
    ]);
    expect(network.sockets.slice(1).map((socket) => typesOf(socket.sent))).toEqual([
      [],
      ['resume a', 'cancel a', 'run b'],
    ]);
    expect([...server.runs.values()].map((run) => [run.executions, run.cancels])).toEqual([
      [1, 1],
      [1, 0],
    ]);
    client.reconnect();
    await clock.flush();
    expect(typesOf(network.socket.sent)).toEqual(['resume b']);
  });
});

// https://github.com/cloudflare/partykit/pull/330, https://github.com/cloudflare/agents/pull/839
describe('tokens that are good once', () => {
  it('are asked for anew for each of ten cuts, and the run is whole', async () => {
    const used = new Set<string>();
    let refused = 0;
    let token = 0;
    const runs = createV1Server();
    const server = await startWsServer({
      admit({ url = '' }) {
        if (!used.has(url)) return void used.add(url);
        refused++;
        return 401;
      },
      onConnection(socket) {
        const end = runs.connect({
          send: (message) => socket.send(JSON.stringify(message)),
          close: (code) => socket.close(code),
        });
        socket.on('message', (data) => end.receive(JSON.parse(String(data))));
        socket.on('close', () => end.closed());
      },
    });
    const client = createWebSocketClient(async () => `${server.url}/${++token}`, {
      WebSocket,
      backoff: { first: 5, min: 1, max: 5 },
    });
    const agent = createAgUiAgent(client, { storage: null });
    cleanUps.push(server.close, () => agent.dispose());
    agent.run({ messages: [user('Hi')] }, { runId: 'a' });
    await until(() => runs.runs.has('a'));
    runs.append('a', started('a'));
    for (let cut = 1; cut <= 10; cut++) {
      await until(() => server.requests.length === cut && server.live.length === 1);
      runs.append('a', says(`${cut} `));
      server.live[0]?.terminate();
    }
    await until(() => server.requests.length === 11);
    runs.append('a', finished('a'));
    runs.end('a', 'finished');
    await until(() => agent.getSnapshot().status === 'finished');
    expect(texts(agent)).toEqual(['Hi', '1 2 3 4 5 6 7 8 9 10 ']);
    expect([used.size, refused, runs.runs.get('a')?.executions]).toEqual([11, 0, 1]);
  });
});

// https://github.com/enisdenjo/graphql-ws/issues/482 and 558
describe.each([4401, 4403])('a close with %i', (code) => {
  it('is answered with new credentials once, and the second time is the end', async () => {
    const reasons: string[] = [];
    const { server, clock, network, client, agent } = createPage(async ({ reason }) => {
      reasons.push(reason);
      return 'wss://x';
    });
    agent.run({ messages: [user('Hi')] }, { runId: 'a' });
    await clock.flush();
    server.append('a', started('a'), says('one'));
    server.cut(code);
    await clock.advance(1_001);
    expect(reasons).toEqual(['first', 'auth']);
    expect(client.getSnapshot().status).toBe('open');
    server.append('a', says(' two'));
    expect(texts(agent)).toEqual(['Hi', 'one two']);
    server.cut(code);
    expect(client.getSnapshot()).toMatchObject({ status: 'closed', error: { code: 'closed' } });
    expect(agent.getSnapshot()).toMatchObject({ status: 'error', error: { code: 'closed' } });
    await clock.advance(3_600_000);
    expect([network.sockets.length, reasons.length, clock.timers]).toEqual([2, 2, 0]);
    client.reconnect();
    await clock.flush();
    expect(agent.getSnapshot().status).toBe('running');
  });
});
