import type { Check, Kit } from './check.ts';
import { expectWhole } from './checks-runs.ts';
import { createStart, expect, type Probe, show } from './probe.ts';

const nonsense = [
  '',
  'hello',
  '{',
  'null',
  '1',
  '"run"',
  '[]',
  '[[]]',
  '{}',
  '{"type":7}',
  '{"type":"run"}',
  '{"type":"run","runId":7,"input":{}}',
  '{"type":"resume"}',
  '{"type":"resume","runId":{}}',
  '{"type":"cancel","runId":null}',
  '{"type":"something.else","runId":"x"}',
  '{"runId":"x","offset":0,"event":{"type":"RUN_FINISHED"}}',
  '{"__proto__":{"type":"run"},"runId":"x"}',
  '{"type":"__proto__"}',
];

async function expectServed(kit: Kit, probe: Probe) {
  const id = kit.id('next');
  probe.run(id, 'say 3');
  expectWhole(await probe.untilEnd(id), 3);
}

/** What bad input does, and what strangers may. */
export const inputChecks: readonly Check[] = [
  {
    name: 'nonsense-harms-nobody',
    rule: 'Whatever one client sends, the others are served.',
    async run(kit) {
      const [probe, other] = [await kit.open(), await kit.open()];
      const id = kit.id();
      other.run(id, 'slow 20');
      for (const text of nonsense) if (probe.closed === undefined) probe.sendText(text);
      expectWhole(await other.untilEnd(id), 20);
      await expectServed(kit, await kit.open());
    },
  },
  {
    name: 'nonsense-is-ignored',
    profile: 'v1',
    rule: 'Frames that are no messages, and messages that are not known, are ignored.',
    async run(kit) {
      const probe = await kit.open();
      for (const text of nonsense) probe.sendText(text);
      await expectServed(kit, probe);
      const answer = probe.messages.find(({ runId }) => runId === 'x');
      expect(!answer, `One of them was answered with ${show(answer)}`);
    },
  },
  {
    name: 'unknown-fields',
    rule: 'Fields that are not known are ignored.',
    profile: 'v1',
    async run(kit) {
      const [probe, id] = [await kit.open(), kit.id()];
      probe.send({ ...createStart(id, 'say 3'), more: { deep: [1] }, offset: 7 });
      expectWhole(await probe.untilEnd(id), 3);
    },
  },
  {
    name: 'too-large',
    rule: 'A frame over the limit closes its connection with 1009, and runs go on.',
    async run(kit) {
      const [probe, other, id] = [await kit.open(), await kit.open(), kit.id()];
      const limit = kit.options.maxMessage ?? Number(kit.v1 && kit.hello(probe).maxMessage);
      if (!(limit > 0)) return;
      probe.run(id, 'slow 20');
      await probe.until('The first event', (one) => one.runId === id && !!one.event);
      probe.sendText(JSON.stringify({ type: 'cancel', runId: id, padding: 'x'.repeat(limit) }));
      const code = await probe.untilClosed('The end of a connection with a frame over the limit');
      expect(code === 1009, `It was closed with ${code}.`);
      other.resume(id);
      expectWhole(await other.untilEnd(id), 20);
    },
  },
  {
    name: 'strangers',
    needs: 'openStranger',
    rule: 'The run of another principal is forbidden: to follow, to start again, to cancel.',
    async run(kit) {
      const [probe, id] = [await kit.open(), kit.id()];
      probe.run(id, 'slow 40');
      await probe.until('The first event', (one) => one.runId === id && !!one.event);
      for (const message of [
        { type: 'resume', runId: id },
        createStart(id, 'say 3'),
        { type: 'cancel', runId: id },
      ]) {
        const stranger = await kit.openStranger();
        stranger.send(message);
        if (kit.v1 && message.type !== 'cancel') {
          const answer = await stranger.until('An answer', ({ runId }) => runId === id);
          const isRight = answer.type === 'run.unknown' && answer.reason === 'forbidden';
          expect(isRight, `The answer to ${show(message.type)} was ${show(answer)}`);
        } else await stranger.settle(200);
        const told = stranger.events(id).find(({ event }) => !/RUN_ERROR/.test(show(event)));
        expect(!told, `A stranger was told ${show(told)}`);
      }
      expectWhole(await probe.untilEnd(id), 40);
    },
  },
];
