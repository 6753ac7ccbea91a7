import { describe, expect, it } from 'vitest';
import type { AgUiAgentOptions } from '../../src/ag-ui/agent-types.ts';
import type { Message } from '../helpers/fake-network.ts';
import { createRandom } from '../helpers/random.ts';
import { createV1Server, toFakePeer, type V1Connection } from '../helpers/v1-server.ts';
import { createVirtualClock } from '../helpers/virtual-clock.ts';
import { createLatency, createWorld, type TestEvent, texts, type World } from '../helpers/world.ts';

const events = 300;
const word = (epoch: string, n: number) => `${epoch}.${n} `;
const eventAt = (runId: string, epoch: string, n: number): TestEvent =>
  n === 0
    ? { type: 'RUN_STARTED', threadId: 't', runId }
    : n === events - 1
      ? { type: 'RUN_FINISHED', threadId: 't', runId }
      : {
          type: 'TEXT_MESSAGE_CHUNK',
          messageId: 'm',
          role: 'assistant',
          delta: word(epoch, n),
        };
const whole = (epoch: string) =>
  Array.from({ length: events - 2 }, (_, n) => word(epoch, n + 1)).join('');

/** A plain server in memory; an idempotent one attaches whoever sends `run` again. */
function createPlainServer(idempotent: boolean) {
  const logs = new Map<string, TestEvent[]>();
  const followers = new Map<string, Set<V1Connection>>();
  const starts: string[] = [];
  const server = {
    starts,
    dead: false,
    logs,
    connect(connection: V1Connection) {
      return {
        receive({ type, runId, after }: Message) {
          if (server.dead) return;
          const id = String(runId);
          const known = logs.get(id);
          if (type === 'run' && !known) {
            starts.push(id);
            logs.set(id, []);
            followers.set(id, new Set([connection]));
          } else if (known && (type === 'resume' || (type === 'run' && idempotent))) {
            followers.get(id)?.add(connection);
            const from = ((after as number | undefined) ?? -1) + 1;
            for (let n = from; n < known.length; n++) {
              connection.send({ runId, offset: n, event: known[n] });
            }
          }
        },
        closed() {
          for (const set of followers.values()) set.delete(connection);
        },
      };
    },
    append(runId: string, ...list: TestEvent[]) {
      for (const event of list) {
        const offset = (logs.get(runId)?.push(event) ?? 0) - 1;
        for (const connection of followers.get(runId) ?? []) {
          connection.send({ runId, offset, event });
        }
      }
    },
  };
  return server;
}

interface Play {
  readonly random: () => number;
  world: World;
  agent: ReturnType<World['agent']>;
  readonly runId: string;
  reload(): void;
}

function begin(
  seed: number,
  peer: (later: (task: () => void) => void) => ReturnType<typeof toFakePeer>,
  options: AgUiAgentOptions<unknown, never, never, never> = {},
): Play {
  const random = createRandom(seed);
  const clock = createVirtualClock({ seed });
  const later = createLatency(clock, () => random() * 20);
  const client = { backoff: { first: 100, min: 20, max: 200 } };
  const world = createWorld({ clock, later, client, peer: peer(later) });
  const agent = world.agent(options);
  agent.subscribe(() => {});
  const runId = agent.run({ messages: [{ role: 'user', content: 'Hi' }] });
  const { threadId } = agent;
  const play: Play = {
    random,
    world,
    agent,
    runId,
    reload() {
      play.world = play.world.reload({ crash: random() < 0.5 });
      play.agent = play.world.agent(options);
      expect(play.agent.threadId).toBe(threadId);
      expect(texts(play.agent)[0]).toBe('Hi');
      expect(play.agent.getSnapshot().status).toBe('running');
      play.agent.subscribe(() => {});
    },
  };
  return play;
}

/** Cuts or reloads at random, and lets some time pass. */
async function disturb(play: Play, chance = 0.5): Promise<void> {
  const dice = play.random();
  if (dice < chance / 2) play.reload();
  else if (dice < chance) play.world.socket.end();
  await play.world.clock.advance(play.random() * 60);
}

async function finish(play: Play): Promise<void> {
  for (let i = 0; i < 60 && play.agent.getSnapshot().status === 'running'; i++) {
    await play.world.clock.advance(2_000);
  }
  await play.world.clock.advance(2_000);
}

const seeds = (count: number, from = 1) => Array.from({ length: count }, (_, i) => from + i);

describe('a plain server', () => {
  async function stream(play: Play, server: ReturnType<typeof createPlainServer>, from = 0) {
    const { runId } = play;
    for (let n = from; n < events; ) {
      const upTo = Math.min(events, n + 1 + Math.floor(play.random() * 40));
      server.append(runId, ...seeds(upTo - n, n).map((i) => eventAt(runId, 'e', i)));
      n = upTo;
      await (n < events ? disturb(play) : undefined);
    }
    await finish(play);
  }

  it('is read whole and asked to start once, whatever happens after the first event', async () => {
    for (const seed of seeds(60)) {
      const server = createPlainServer(false);
      const play = begin(seed, (later) => toFakePeer(server, later));
      await play.world.clock.advance(100);
      server.append(play.runId, eventAt(play.runId, 'e', 0));
      await play.world.clock.advance(50);
      await stream(play, server, 1);
      expect([seed, texts(play.agent)]).toEqual([seed, ['Hi', whole('e')]]);
      expect([seed, server.starts]).toEqual([seed, [play.runId]]);
      expect([seed, play.world.storage.map.size]).toEqual([seed, 0]);
    }
  }, 60_000);

  it('is read whole, or the start is unknown after its time, whatever happens before', async () => {
    let unknown = 0;
    for (const seed of seeds(60, 100)) {
      const server = createPlainServer(false);
      const play = begin(seed, (later) => toFakePeer(server, later));
      await play.world.clock.advance(play.random() * 60);
      // Before the frame was handed over there is nothing that a next page could know.
      if (play.world.storage.map.size) await disturb(play, 1);
      await play.world.clock.advance(500);
      if (server.starts.length) {
        await stream(play, server);
        expect([seed, texts(play.agent)]).toEqual([seed, ['Hi', whole('e')]]);
      } else {
        unknown++;
        await play.world.clock.advance(61_000);
        expect([seed, play.agent.getSnapshot().error?.code]).toEqual([seed, 'start-unknown']);
      }
      expect(server.starts.length).toBeLessThanOrEqual(1);
      expect([seed, play.world.storage.map.size]).toEqual([seed, 0]);
    }
    expect(unknown).toBeGreaterThan(0);
  }, 60_000);

  it('that starts a run once however often it is asked is read whole in any case', async () => {
    for (const seed of seeds(60, 200)) {
      const server = createPlainServer(true);
      const play = begin(seed, (later) => toFakePeer(server, later), { restart: true });
      await play.world.clock.advance(play.random() * 60);
      // Before the frame was handed over there is nothing that a next page could know.
      if (play.world.storage.map.size) await disturb(play, 1);
      await play.world.clock.advance(1_000);
      await stream(play, server);
      expect([seed, texts(play.agent)]).toEqual([seed, ['Hi', whole('e')]]);
      expect([seed, server.starts]).toEqual([seed, [play.runId]]);
      expect([seed, play.world.storage.map.size]).toEqual([seed, 0]);
    }
  }, 60_000);
});

describe('a v1 server', () => {
  it('is read whole through lost starts, doubles, disorder, gaps and new executions', async () => {
    for (const seed of seeds(100, 500)) {
      const server = createV1Server();
      const play = begin(seed, (later) => toFakePeer(server, later));
      const { random, runId } = play;
      const lost = new Set<unknown>();
      server.mangle = (frames) => {
        const list: Message[] = [];
        for (const frame of frames) {
          const key = `${server.runs.get(runId)?.epoch}/${frame.offset}`;
          // Each event is lost at most once: what is lost for good is another test. Losses and
          // disorder take turns: behind a hole, an event that comes again says that it stays.
          if (seed % 2 && random() < 0.03 && !lost.has(key)) {
            lost.add(key);
            continue;
          }
          list.push(frame);
          if (random() < 0.1) list.push(frame);
        }
        if (seed % 2 === 0 && random() < 0.1) list.reverse();
        return list;
      };
      // The start is lost, or its answer.
      if (random() < 0.5) {
        server.silent = true;
        await play.world.clock.advance(100);
        server.silent = false;
        if (random() < 0.5) play.reload();
        else play.world.socket.end();
      }
      await play.world.clock.advance(1_000);
      let executions = 1;
      for (let n = 0; n < events; ) {
        const { epoch } = server.runs.get(runId)!;
        const upTo = Math.min(events, n + 1 + Math.floor(random() * 40));
        server.append(runId, ...seeds(upTo - n, n).map((i) => eventAt(runId, epoch, i)));
        n = upTo;
        if (n === events) break;
        await disturb(play);
        if (random() < 0.05) {
          executions++;
          server.reexecute(runId);
          server.cut();
          n = 0;
        }
      }
      server.end(runId, 'finished');
      await finish(play);
      const run = server.runs.get(runId)!;
      expect([seed, texts(play.agent)]).toEqual([seed, ['Hi', whole(run.epoch)]]);
      expect([seed, play.agent.getSnapshot().status]).toEqual([seed, 'finished']);
      expect([seed, run.executions]).toEqual([seed, executions]);
      expect([seed, play.world.storage.map.size]).toEqual([seed, 0]);
    }
  }, 60_000);
});
