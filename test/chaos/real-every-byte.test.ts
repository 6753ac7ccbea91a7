import { describe, expect, it } from 'vitest';
import { createRandom } from '../helpers/random.ts';
import type { CutKind, Direction, PlannedCut } from '../helpers/tcp-proxy.ts';
import { answer, openPage, talk, textOf } from './real-set-up.ts';
import { type ServerKind, type Stage, serverKinds, startStage } from './real-stage.ts';

// A prime step visits another residue of every frame. CUT_EVERY=1 cuts at each byte, by FIN and by RST.
const step = Number(process.env.CUT_EVERY ?? 61);
const pairs = Number(process.env.CUT_PAIRS ?? 60);
const limit = 3_600_000;
// Another one for each page, or their runs would have the same ids.
let seed = 0;

const startTalking = (kind: ServerKind) =>
  startStage(kind, (stage, runId) => {
    stage.say(runId, ...talk);
    stage.end(runId);
  });

/** What is left of a run whose connections break where it is planned. */
async function runAndCut(stage: Stage, kind: ServerKind, cuts: readonly PlannedCut[]) {
  const { proxy } = stage;
  proxy.cutNext(cuts);
  const restart = kind === 'attaching';
  const { accepted } = proxy;
  const before = { up: proxy.bytes('up'), down: proxy.bytes('down') };
  const page = openPage(proxy.port, { seed: ++seed, agent: { restart, idleTimeout: 300_000 } });
  const { agent, clock, client } = page;
  const runId = agent.run({ messages: [{ role: 'user', content: 'Hi' }] });
  const isOver = () => agent.getSnapshot().status !== 'running';
  // Whatever a broken connection brought to the server has been read before the next one is open.
  const isUnheard = () =>
    client.getSnapshot().status === 'open' &&
    proxy.accepted > accepted + 1 &&
    !stage.executions.has(runId);
  while (!isOver()) {
    await page.drive(() => isOver() || isUnheard());
    // A start that never arrived is asked for, and given up when its time is over. In small steps: an
    // attempt that begins meanwhile needs real time, and is not to be timed out.
    if (!isOver()) await clock.advance(kind === 'plain' ? 1_000 : 0);
  }
  await page.rest();
  await page.drive(() => stage.live <= 1);
  const { status, error } = agent.getSnapshot();
  const bytes = { up: proxy.bytes('up') - before.up, down: proxy.bytes('down') - before.down };
  const left = {
    end: error?.code ?? status,
    text: textOf(agent),
    executions: stage.executions.get(runId) ?? 0,
    stored: [...page.storage.map],
    errors: page.errors,
    mostSockets: page.mostSockets,
    askedTwice: stage.starts(runId) > 1,
  };
  page.close();
  await page.drive(() => stage.live === 0 && proxy.open === 0);
  return { left, bytes };
}

const clean = { stored: [], errors: [], mostSockets: 1, askedTwice: false };
const whole = { ...clean, end: 'finished', text: answer, executions: 1 };
const unheard = { ...clean, end: 'start-unknown', text: '', executions: 0 };

/** Plays one schedule of cuts, and holds what must be true after any. */
async function check(stage: Stage, kind: ServerKind, cuts: readonly PlannedCut[]) {
  const { left } = await runAndCut(stage, kind, cuts);
  // Only a plain server leaves it open whether a start arrived.
  const isLost = kind === 'plain' && left.executions === 0;
  expect({ cuts, left }).toEqual({ cuts, left: isLost ? unheard : whole });
}

/** The bytes of a run that nothing breaks. */
async function measure(stage: Stage, kind: ServerKind) {
  const { left, bytes } = await runAndCut(stage, kind, []);
  expect(left).toEqual(whole);
  return bytes;
}

function expectQuiet(stage: Stage) {
  expect(stage.errors).toEqual([]);
  // No connection is dialled while the one before is up.
  expect(stage.proxy.mostOpen).toBe(1);
}

describe.each(serverKinds)('a run of a %s server', (kind) => {
  it.each<Direction>(['down', 'up'])(
    'is whole wherever in its bytes %s the connection breaks',
    async (direction) => {
      const stage = await startTalking(kind);
      const { [direction]: total } = await measure(stage, kind);
      expect(total).toBeGreaterThan(direction === 'down' ? 4_000 : 400);
      const kinds: readonly CutKind[] = ['fin', 'rst'];
      const chosen = step === 1 ? kinds : undefined;
      // Fewer bytes go up: a smaller step, and each place by FIN or RST in turn.
      const stride = direction === 'down' ? step : Math.ceil(step / 5);
      const places = [total];
      for (let bytes = 1; bytes < total; bytes += stride) places.push(bytes);
      let planned = 0;
      for (const bytes of places) {
        for (const how of chosen ?? [kinds[bytes % 2] as CutKind]) {
          planned++;
          await check(stage, kind, [{ bytes, direction, kind: how }]);
        }
      }
      expectQuiet(stage);
      // The frames that end a run may be put together otherwise, and then be a few bytes fewer.
      expect(stage.proxy.cuts).toBeGreaterThan(planned * 0.95);
      if (step === 1)
        console.info(`${kind}, ${direction}: ${total} bytes, ${stage.proxy.cuts} cuts`);
    },
    limit,
  );

  it(
    'is whole where two connections break at random',
    async () => {
      const stage = await startTalking(kind);
      const total = await measure(stage, kind);
      const random = createRandom(20_260_101);
      let both = 0;
      for (let n = 0; n < pairs; n++) {
        const any = (): PlannedCut => {
          const direction = random() < 0.7 ? 'down' : 'up';
          const bytes = 1 + Math.floor(random() * total[direction]);
          return { bytes, direction, kind: random() < 0.5 ? 'fin' : 'rst' };
        };
        const { cuts } = stage.proxy;
        await check(stage, kind, [any(), any()]);
        if (stage.proxy.cuts === cuts + 2) both++;
      }
      expectQuiet(stage);
      expect(both).toBeGreaterThan(pairs / 4);
      if (process.env.CUT_PAIRS) {
        console.info(`${kind}: ${pairs} pairs, ${both} of them with both cuts`);
      }
    },
    limit,
  );
});
