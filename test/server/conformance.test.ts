import { beforeAll, describe, expect, it } from 'vitest';
import { WebSocket } from 'ws';
import { conformanceAgent } from '../../src/server/conformance/conformance-agent.ts';
import { runConformance } from '../../src/server/conformance/run-conformance.ts';
import type {
  ConformanceOptions,
  ConformanceReport,
  ConformanceSocket,
} from '../../src/server/conformance/types.ts';
import { createMemoryRunLog } from '../../src/server/memory-run-log.ts';
import type { RunLog } from '../../src/server/run-log.ts';
import { createRunServer } from '../../src/server/run-server.ts';
import type { RunConnection } from '../../src/server/types.ts';
import { startPlainServer } from '../helpers/plain-server.ts';
import { startV1Server } from '../helpers/v1-server.ts';
import { brokenServers, type Connect, toSocket } from './broken-servers.ts';
import { later, serve } from './set-up.ts';

/** Our server in memory, with everything that the suite may ask for. */
function createRight(plain: boolean) {
  const memory = createMemoryRunLog();
  const gone = new Set<string>();
  const from = new Map<string, number>();
  const log: RunLog = {
    ...memory,
    async head(runId) {
      const head = await memory.head(runId);
      if (gone.has(runId)) return { unknown: 'evicted' };
      return 'unknown' in head ? head : { ...head, from: from.get(runId) ?? 0 };
    },
  };
  const server = createRunServer<string>({
    run: conformanceAgent,
    log,
    plain,
    principal: (user) => user,
    authenticate: (token, user) => (token === 'good' ? user : undefined),
    // One connection may ask for much here.
    limits: { maxRunsPerPrincipal: 10_000 },
  });
  later(() => server.dispose({ grace: 0 }));
  later(() => log.dispose?.());
  const connections = new Set<RunConnection>();
  const connect: Connect = (send, close, stranger) => {
    const end = server.connect(send, close, { context: stranger ? 'stranger' : 'user' });
    connections.add(end);
    return { receive: end.receive, closed: end.closed };
  };
  const hooks: Partial<ConformanceOptions> = {
    evict: (runId) => void gone.add(runId),
    truncate: (runId, offset) => void from.set(runId, offset),
    async lose(runId) {
      const head = await memory.head(runId);
      if (!('unknown' in head)) await memory.end(runId, head.epoch, 'lost');
    },
    reauth: {
      token: 'good',
      ask() {
        for (const connection of connections) connection.reauth();
      },
    },
    leave: () => void server.dispose({ grace: 0 }),
  };
  return { connect, hooks };
}

const failures = ({ results }: ConformanceReport) =>
  results
    .filter(({ status }) => status === 'failed')
    .map(({ name, detail }) => `${name}: ${detail}`);

describe('the conformance suite', () => {
  it('passes on our server with every check of version 1', async () => {
    const { connect, hooks } = createRight(false);
    const report = await runConformance({
      open: () => toSocket(connect),
      openStranger: () => toSocket(connect, true),
      profile: 'v1',
      ...hooks,
    });
    expect(failures(report)).toEqual([]);
    expect(report.passed).toBe(true);
    expect(report.results.filter(({ status }) => status !== 'passed')).toEqual([]);
    expect(report.results.length).toBeGreaterThan(40);
  }, 60_000);

  it('passes on our plain server', async () => {
    const { connect } = createRight(true);
    const report = await runConformance({
      open: () => toSocket(connect),
      openStranger: () => toSocket(connect, true),
      profile: 'plain',
      maxMessage: 2 ** 20,
    });
    expect(failures(report)).toEqual([]);
    expect(report.results.filter(({ status }) => status !== 'passed')).toEqual([]);
    expect(report.results.length).toBeGreaterThan(25);
  }, 60_000);

  it('passes over real sockets, and says what it had to skip', async () => {
    const { url } = await serve({ run: conformanceAgent });
    const seen: string[] = [];
    const report = await runConformance({
      open: () => new WebSocket(url),
      profile: 'v1',
      only: ['whole-run', 'replay-before-live', 'cancel', 'strangers', 'reauth', 'too-large'],
      onCheck: ({ name }) => seen.push(name),
    });
    expect(failures(report)).toEqual([]);
    const skipped = report.results.filter(({ status }) => status === 'skipped');
    expect(skipped.map(({ name, detail }) => `${name}: ${detail}`)).toEqual([
      'reauth: Needs the option `reauth`.',
      'strangers: Needs the option `openStranger`.',
    ]);
    expect(seen.sort()).toEqual(report.results.map(({ name }) => name).sort());
  });

  it('knows its checks by name', async () => {
    const open = () => Promise.reject(new Error('never'));
    await expect(runConformance({ open, profile: 'v1', only: ['nothing'] })).rejects.toMatchObject({
      code: 'invalid-argument',
    });
    const report = await runConformance({ open, profile: 'v1', only: ['ping'] });
    expect(failures(report)).toEqual(['ping: never']);
  });

  it('says what a server that is not there, or says nothing, gets wrong', async () => {
    const closed = await runConformance({
      open: () => new WebSocket('ws://127.0.0.1:1'),
      profile: 'v1',
      only: ['hello'],
    });
    expect(failures(closed)).toEqual([
      'hello: The connection did not come: the server closed with 1006.',
    ]);
    const silent = await runConformance({
      open: () => toSocket(() => ({ receive() {}, closed() {} })),
      profile: 'plain',
      only: ['whole-run'],
      timeout: 50,
    });
    expect(failures(silent)[0]).toMatch(/^whole-run: The end of run .* did not come within 50 ms/);
  });
});

describe('on a server that', () => {
  it.each(brokenServers)(
    '$name ($profile) the suite fails, by the name of the rule',
    async (broken) => {
      const { profile, fails, wrap } = broken;
      const { connect } = createRight(profile === 'plain');
      const wrapped = wrap(connect);
      const report = await runConformance({
        open: () => toSocket(wrapped),
        openStranger: () => toSocket(wrapped, true),
        profile,
        only: fails,
        timeout: 1_000,
      });
      expect(report.passed).toBe(false);
      expect(
        failures(report)
          .map((text) => text.split(':')[0])
          .sort(),
      ).toEqual([...fails].sort());
    },
    60_000,
  );
});

describe('the servers that the client is tested with', () => {
  const drive = (script: string, say: (...events: object[]) => void) => {
    const [word, count] = script.split(' ');
    say({ type: 'RUN_STARTED' }, { type: 'TEXT_MESSAGE_START', messageId: 'm' });
    for (let n = 1; n <= Number(count); n++) {
      say({ type: 'TEXT_MESSAGE_CONTENT', messageId: 'm', delta: `${n} ` });
    }
    if (word === 'say') say({ type: 'TEXT_MESSAGE_END', messageId: 'm' }, { type: 'RUN_FINISHED' });
    return word === 'say';
  };
  const open = (url: string) => (): ConformanceSocket => new WebSocket(url);

  it('keep what they claim of version 1', async () => {
    const server = await startV1Server({
      onRun(run) {
        const { messages } = run.input as { messages: { content: string }[] };
        const isOver = drive(`${messages[0]?.content}`, (...events) =>
          server.append(run.runId, ...(events as never[])),
        );
        if (isOver) server.end(run.runId, 'finished');
      },
    });
    later(() => server.close());
    const only = ['hello', 'whole-run', 'offsets', 'resume-after', 'resume-from-the-start', 'ping'];
    const more = [
      'cancel',
      'cancel-from-elsewhere',
      'unknown-never',
      'end-for-who-has-all',
      'batch',
    ];
    const report = await runConformance({
      open: open(server.url),
      profile: 'v1',
      only: [...only, ...more],
    });
    expect(failures(report)).toEqual([]);
  });

  it('keep what they claim of a plain server', async () => {
    const server = await startPlainServer((runId, run) => {
      setImmediate(() =>
        drive(`${run.input.messages[0]?.content}`, (...events) =>
          server.append(runId, ...(events as never[])),
        ),
      );
    });
    later(() => server.close());
    const only = ['events', 'offsets', 'whole-run', 'resume-after', 'resume-from-the-start'];
    const more = ['nonsense-harms-nobody', 'unknown-run-of-a-plain-server', 'no-controls'];
    const report = await runConformance({
      open: open(server.url),
      profile: 'plain',
      only: [...only, ...more.slice(1)],
    });
    expect(failures(report)).toEqual([]);
  });
});

beforeAll(() => {
  const names = new Set(brokenServers.map(({ name }) => name));
  expect(names.size).toBe(brokenServers.length);
  expect(names.size).toBeGreaterThanOrEqual(10);
});
