import { describe, expect, it } from 'vitest';
import { WebSocket as WS } from 'ws';
import { createAgUiAgent } from '../../src/ag-ui/agent.ts';
import { createWebSocketClient } from '../../src/client/websocket-client.ts';
import { createRuns } from '../../src/runs/runs.ts';
import { memoryRunLog } from '../../src/server/memory-run-log.ts';
import type { AgentOutput, RunServerOptions } from '../../src/server/types.ts';
import { createRandom } from '../helpers/random.ts';
import { startTcpProxy } from '../helpers/tcp-proxy.ts';
import { until } from '../helpers/until.ts';
import { createPuppet, later, serve } from './set-up.ts';

const words = Array.from({ length: 400 }, (_, n) => `word ${n} `);
const answer = words.join('');

/** Says its words, with a pause here and there. */
async function* talk({ runId }: { readonly runId: string }): AsyncIterable<AgentOutput> {
  yield { type: 'STATE_SNAPSHOT', snapshot: { said: 0 } };
  yield { type: 'TEXT_MESSAGE_START', messageId: `${runId}-m` };
  for (const [n, delta] of words.entries()) {
    yield { type: 'TEXT_MESSAGE_CONTENT', messageId: `${runId}-m`, delta };
    yield { type: 'STATE_DELTA', delta: [{ op: 'replace', path: '/said', value: n }] };
    if (n % 4 === 0) await new Promise((resolve) => setTimeout(resolve, 6));
  }
}

async function start(options: Partial<RunServerOptions> = {}) {
  const runs: string[] = [];
  const served = await serve({
    run(run) {
      runs.push(run.runId);
      return talk(run);
    },
    ...options,
  });
  const proxy = await startTcpProxy(served.port);
  later(proxy.close);
  const connect = () => {
    const client = createWebSocketClient(`ws://127.0.0.1:${proxy.port}`, {
      WebSocket: WS,
      backoff: { first: 5, min: 1, max: 20 },
    });
    later(() => client.close());
    return client;
  };
  const agent = () => {
    const made = createAgUiAgent<{ said: number }>(connect(), {
      storage: null,
      idleTimeout: 500,
    } as never);
    later(() => made.dispose());
    return made;
  };
  return { runs, proxy, connect, agent, server: served.server, port: served.port, wss: served };
}

const textOf = (agent: ReturnType<Awaited<ReturnType<typeof start>>['agent']>) => {
  const message = agent.getSnapshot().messages.at(-1);
  return message?.role === 'assistant' ? message.content : undefined;
};

describe.each([false, true])('our client, plain: %s', (plain) => {
  it.each([1, 2, 3])('gets the whole answer once over many cuts (seed %i)', async (seed) => {
    const { runs, proxy, agent: make } = await start({ plain });
    const random = createRandom(seed);
    const agent = make();
    agent.subscribe(() => {});
    agent.run({ messages: [{ role: 'user', content: 'Go' }] });
    // A plain server cannot tell whether a start has arrived before its first event.
    await until(() => agent.getSnapshot().messages[1] !== undefined);
    let cuts = 0;
    for (; cuts < 12 && agent.getSnapshot().status === 'running'; cuts++) {
      const { accepted } = proxy;
      // In the middle of frames, also of long ones.
      proxy.cutAfter(1 + Math.floor(random() * 4_000), 'down', random() < 0.5 ? 'rst' : 'fin');
      await until(() => proxy.accepted > accepted || agent.getSnapshot().status !== 'running');
    }
    await until(() => agent.getSnapshot().status !== 'running');
    expect(agent.getSnapshot().error).toBeUndefined();
    expect(agent.getSnapshot()).toMatchObject({
      status: 'finished',
      stale: false,
      state: { said: 399 },
    });
    expect(textOf(agent)).toBe(answer);
    expect(runs).toHaveLength(1);
    expect(cuts).toBeGreaterThan(3);
  });

  it('stops a run during an outage', async () => {
    const { proxy, agent: make, server } = await start({ plain });
    const agent = make();
    agent.subscribe(() => {});
    agent.run({ messages: [{ role: 'user', content: 'Go' }] });
    await until(() => (textOf(agent) ?? '').length > 50);
    await proxy.refuse(true);
    agent.abort();
    expect(server.getSnapshot().running).toBe(1);
    await proxy.refuse(false);
    await until(() => server.getSnapshot().running === 0);
    expect(agent.getSnapshot().status).toBe('aborted');
  });

  it('shows one run to several pages', async () => {
    const { runs, agent: make } = await start({ plain });
    const first = make();
    first.subscribe(() => {});
    const runId = first.run({ messages: [{ role: 'user', content: 'Go' }] });
    await until(() => (textOf(first) ?? '').length > 50);
    const others = [make(), make(), make()];
    for (const other of others) {
      other.subscribe(() => {});
      other.follow(runId);
    }
    await until(() => [first, ...others].every((one) => one.getSnapshot().status === 'finished'));
    for (const one of [first, ...others]) expect(textOf(one)).toBe(answer);
    expect(runs).toHaveLength(1);
  });
});

describe('a restart of a server that keeps its log in memory', () => {
  it.each([false, true])(
    'ends its runs with a clear error, never with a splice (plain: %s)',
    async (plain) => {
      const { agent: make, port, server, wss } = await start({ plain });
      const agent = make();
      agent.subscribe(() => {});
      agent.run({ messages: [{ role: 'user', content: 'Go' }] });
      await until(() => (textOf(agent) ?? '').length > 500);
      // As a crash: nobody is told anything.
      await wss.close();
      later(() => server.dispose({ grace: 0 }));
      await serve({ run: talk, plain }, undefined, port);
      await until(() => agent.getSnapshot().status === 'error');
      expect(agent.getSnapshot().error).toMatchObject({ code: plain ? 'run-unknown' : 'run-lost' });
      expect(answer.startsWith(textOf(agent) as string)).toBe(true);
    },
  );

  it('starts the run once more where its client says so, and shows that execution alone', async () => {
    const { connect, port, server, wss } = await start();
    const client = connect();
    const agent = createAgUiAgent(client, { storage: null, restart: true });
    later(() => agent.dispose());
    agent.subscribe(() => {});
    agent.run({ messages: [{ role: 'user', content: 'Go' }] });
    await until(() => JSON.stringify(agent.getSnapshot()).length > 1_000);
    await wss.close();
    later(() => server.dispose({ grace: 0 }));
    const second = 'another answer';
    await serve(
      {
        async *run() {
          yield { type: 'TEXT_MESSAGE_START', messageId: 'again' };
          yield { type: 'TEXT_MESSAGE_CONTENT', messageId: 'again', delta: second };
        },
      },
      undefined,
      port,
    );
    await until(() => agent.getSnapshot().status === 'finished');
    expect(agent.getSnapshot().messages.map(({ content }) => content)).toEqual(['Go', second]);
  });

  it('is told of before, where the server can say it: the run is lost', async () => {
    const { agent: make, server } = await start();
    const agent = make();
    agent.subscribe(() => {});
    agent.run({ messages: [{ role: 'user', content: 'Go' }] });
    await until(() => (textOf(agent) ?? '').length > 500);
    await server.dispose({ grace: 0 });
    await until(() => agent.getSnapshot().status === 'error');
    expect(agent.getSnapshot().error).toMatchObject({ code: 'run-lost' });
  });
});

describe('createRuns', () => {
  it('ends with what the server says of a run', async () => {
    const puppet = createPuppet();
    const log = memoryRunLog({ maxBytes: 3_200 });
    const { connect } = await start({
      run: puppet.run,
      log,
      limits: { maxRunsPerConnection: 3 },
      authorize: ({ runId }) => runId !== 'foreign',
    });
    const runs = createRuns(connect());
    later(() => runs.dispose());
    const end = async (runId: string) => {
      const { status, error } = await runs.start({ threadId: 't' }, { runId }).done;
      return error ? `${status} ${error.code}` : status;
    };
    puppet.end('fine');
    puppet.fail('broken', new Error('x'));
    expect(await end('fine')).toBe('finished');
    expect(await end('broken')).toBe('failed');
    expect(await end('foreign')).toBe('failed run-forbidden');
    const cancelled = runs.start({}, { runId: 'cancelled' });
    cancelled.cancel();
    puppet.say('big', 'x'.repeat(2_500));
    puppet.end('big');
    expect((await cancelled.done).status).toBe('cancelled');
    expect(await end('big')).toBe('finished');
    expect((await createRuns(connect()).follow('fine').done).error?.code).toBe('run-unknown');
  });

  it('fails a start that is larger than the server takes, and goes on', async () => {
    const puppet = createPuppet();
    const { connect } = await start({ run: puppet.run, limits: { maxMessage: 2_000 } });
    const client = connect();
    const runs = createRuns(client);
    client.hold();
    await client.ready;
    const large = runs.start({ text: 'x'.repeat(3_000) });
    expect((await large.done).error?.code).toBe('too-large');
    const small = runs.start({ text: 'x' }, { runId: 'small' });
    puppet.end('small');
    expect((await small.done).status).toBe('finished');
  });

  it('with the policy `cancel` stops its run when its page is gone', async () => {
    const puppet = createPuppet();
    const { connect } = await start({ run: puppet.run });
    const client = connect();
    const runs = createRuns(client, { policy: 'cancel' });
    const run = runs.start({}, { runId: 'a' });
    await until(() => run.getSnapshot().status === 'streaming');
    client.close();
    await until(() => puppet.signals.get('a')?.aborted === true, 15_000);
  }, 30_000);
});
