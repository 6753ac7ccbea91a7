import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { validateAgUiEvents } from '../../src/ag-ui/validate-ag-ui-events.ts';
import { reduceWithReference } from '../helpers/ag-ui-reference.ts';
import { generateRuns } from '../helpers/ag-ui-runs.ts';
import { createRandom } from '../helpers/random.ts';
import type { LooseEvent } from '../helpers/reduce.ts';

beforeAll(() => {
  vi.spyOn(console, 'warn').mockImplementation(() => {});
});
afterAll(() => {
  vi.restoreAllMocks();
});

const run = { type: 'RUN_STARTED', threadId: 't', runId: 'r' };
const finished = { type: 'RUN_FINISHED', threadId: 't', runId: 'r' };
const failed = { type: 'RUN_ERROR', message: 'x' };
const start = { type: 'TEXT_MESSAGE_START', messageId: 'm' };
const content = { type: 'TEXT_MESSAGE_CONTENT', messageId: 'm', delta: 'x' };
const end = { type: 'TEXT_MESSAGE_END', messageId: 'm' };
const think = (phase: string, more = {}) => ({
  type: `REASONING_MESSAGE_${phase}`,
  messageId: 'm',
  ...more,
});
const span = (phase: string) => ({ type: `REASONING_${phase}`, messageId: 'm' });
const call = (phase: string, more = {}) => ({
  type: `TOOL_CALL_${phase}`,
  toolCallId: 'c',
  toolCallName: 'f',
  ...more,
});
const step = (phase: string, more = {}) => ({ type: `STEP_${phase}`, stepName: 's', ...more });
const sub = (phase: string, more = {}) => ({
  type: `SUBAGENT_${phase}`,
  subagentRunId: 'a',
  name: 'n',
  message: 'x',
  ...more,
});
const chunk = (more = {}) => ({ type: 'TEXT_MESSAGE_CHUNK', delta: 'x', ...more });
const on = (event: LooseEvent, subagentRunId: unknown) => ({ ...event, subagentRunId });

describe('validateAgUiEvents', () => {
  it.each<[string, LooseEvent[]]>([
    ['nothing', []],
    ['a run', [run, start, content, end, finished]],
    ['a run without an end', [run, start, content]],
    ['a failure alone', [failed]],
    ['a failure with things open', [run, start, failed]],
    ['a failure after the end', [run, finished, failed]],
    ['several runs', [run, finished, run, failed, run, finished]],
    ['a run that ends under another id', [run, { ...finished, runId: 'other' }]],
    ['a message that is opened again', [run, start, end, start, end, finished]],
    [
      'a span and a message of one id',
      [run, span('START'), think('START'), think('END'), span('END')],
    ],
    ['a result of an unknown call', [run, call('RESULT', { messageId: 'r', content: '' })]],
    ['an activity delta without a snapshot', [run, { type: 'ACTIVITY_DELTA', messageId: 'x' }]],
    [
      'an event nobody knows',
      [run, { type: 'NEW', messageId: 'm' }, { type: 'TEXT_MESSAGE_ARGS' }],
    ],
    ['chunks', [run, chunk({ messageId: 'm' }), chunk(), { type: 'CUSTOM' }, start, end, finished]],
    ['steps of one name by two agents', [run, step('STARTED'), on(step('STARTED'), 'a')]],
    [
      'nested subagents',
      [run, sub('STARTED'), sub('STARTED', { subagentRunId: 'b', parentSubagentRunId: 'a' })],
    ],
    ['content without the tag of its opener', [run, on(start, 'a'), content, end]],
  ])('finds nothing wrong with %s', async (_, events) => {
    expect(validateAgUiEvents(events)).toEqual([]);
    await expect(reduceWithReference(events)).resolves.toBeDefined();
  });

  it.each<[string, LooseEvent[], RegExp]>([
    ['content first', [content], /first event/],
    ['a run in a run', [run, run], /under way/],
    ['content after the end', [run, finished, start], /has finished/],
    ['two ends', [run, finished, finished], /has finished/],
    ['content after a failure', [run, failed, start], /has failed/],
    ['two failures', [run, failed, failed], /has failed/],
    ['content of a closed message', [run, start, end, content], /message 'm' is not open/],
    ['the end of no message', [run, end], /not open/],
    ['a message opened twice', [run, start, start], /open already/],
    ['arguments of no call', [run, call('ARGS')], /tool call 'c' is not open/],
    ['the end of no call', [run, call('END')], /not open/],
    ['a call opened twice', [run, call('START'), call('START')], /open already/],
    ['reasoning content of nothing', [run, think('CONTENT')], /reasoning message 'm' is not open/],
    ['reasoning opened twice', [run, think('START'), think('START')], /open already/],
    ['a span that never began', [run, span('END')], /reasoning span 'm' is not open/],
    ['a span opened twice', [run, span('START'), span('START')], /open already/],
    ['a step twice', [run, step('STARTED'), step('STARTED')], /step 's' is open already/],
    ['a step that never began', [run, step('FINISHED')], /step 's' is not open/],
    [
      'a step ended by another agent',
      [run, step('STARTED'), on(step('FINISHED'), 'a')],
      /not open/,
    ],
    ['an end with open text', [run, start, finished], /while the message 'm' is open/],
    ['an end with open reasoning', [run, think('START'), finished], /while the reasoning message/],
    ['an end with an open span', [run, span('START'), finished], /while the reasoning span/],
    ['an end with an open call', [run, call('START'), finished], /while the tool call/],
    ['an end with an open step', [run, step('STARTED'), finished], /while the step/],
    ['an end with an open subagent', [run, sub('STARTED'), finished], /while the subagent/],
    ['a subagent twice', [run, sub('STARTED'), sub('STARTED')], /active already/],
    ['a subagent again', [run, sub('STARTED'), sub('FINISHED'), sub('STARTED')], /has ended/],
    ['a subagent that never began', [run, sub('FINISHED')], /not active/],
    ['an unknown parent', [run, sub('STARTED', { parentSubagentRunId: 'x' })], /parent of the sub/],
    ['a subagent without id', [run, sub('STARTED', { subagentRunId: 7 })], /names no subagent/],
    ['a subagent without name', [run, sub('STARTED', { name: undefined })], /no name/],
    [
      'a strange outcome',
      [run, sub('STARTED'), sub('FINISHED', { outcome: { type: 'x' } })],
      /neither/,
    ],
    ['a null outcome', [run, sub('STARTED'), sub('FINISHED', { outcome: null })], /outcome: null/],
    ['a null tag', [run, on(start, null)], /subagentRunId: null/],
    [
      'a null tag in a snapshot',
      [
        run,
        {
          type: 'MESSAGES_SNAPSHOT',
          messages: [{ id: 'u', role: 'user', content: '', subagentRunId: null }],
        },
      ],
      /message has/,
    ],
    [
      'a null tag in an interrupt',
      [
        run,
        {
          ...finished,
          outcome: { type: 'interrupt', interrupts: [{ id: 'i', subagentRunId: null }] },
        },
      ],
      /interrupt has/,
    ],
    [
      'content of another subagent',
      [run, on(start, 'a'), on(content, 'b')],
      /belongs to a, not to b/,
    ],
    [
      'a call of another agent than its parent',
      [run, start, on(call('START', { parentMessageId: 'm' }), 'a')],
      /belongs to the parent agent/,
    ],
    ['a chunk without id', [run, chunk()], /needs an id/],
    [
      'a call chunk without name',
      [run, { type: 'TOOL_CALL_CHUNK', toolCallId: 'c' }],
      /name of its tool/,
    ],
    [
      'a chunk that disagrees',
      [run, chunk({ messageId: 'm' }), chunk({ role: 'user' })],
      /another role/,
    ],
    [
      'a chunk of another subagent',
      [run, chunk({ messageId: 'm' }), chunk({ messageId: 'm', subagentRunId: 'a' })],
      /tagged/,
    ],
    [
      'a chunk that fits two lanes',
      [run, on(chunk({ messageId: 'm' }), 'a'), on(chunk({ messageId: 'n' }), 'b'), chunk()],
      /several lanes/,
    ],
  ])('finds %s, where @ag-ui/client fails', async (_, events, message) => {
    const issues = validateAgUiEvents(events);
    expect(issues[0]?.message).toMatch(message);
    expect(issues[0]).toMatchObject({ index: events.length - 1, type: events.at(-1)?.type });
    await expect(reduceWithReference(events)).rejects.toThrow();
  });

  it('goes on after an issue, and takes what is no event', () => {
    const issues = validateAgUiEvents([null, 7, {}, run, content, end, finished, start]);
    expect(issues.map(({ index, type }) => [index, type])).toEqual([
      [0, ''],
      [1, ''],
      [2, ''],
      [4, 'TEXT_MESSAGE_CONTENT'],
      [5, 'TEXT_MESSAGE_END'],
      [7, 'TEXT_MESSAGE_START'],
    ]);
  });

  it('agrees with @ag-ui/client on random streams, whole and damaged', async () => {
    let damaged = 0;
    for (let seed = 1; seed <= 400; seed++) {
      const random = createRandom(seed);
      const { events, messages, state } = generateRuns(seed, { actions: 15 });
      const at = () => Math.floor(random() * events.length);
      const broken = [...events] as unknown as LooseEvent[];
      const damage = seed % 5;
      if (damage === 1) broken.splice(at(), 1);
      if (damage === 2) broken.splice(at(), 0, broken[at()] as LooseEvent);
      if (damage === 3) broken.push(...broken.splice(at(), 2));
      if (damage === 4) {
        const index = at();
        broken[index] = { ...(broken[index] as LooseEvent), subagentRunId: 'stranger' };
      }
      const reference = await reduceWithReference(broken, { messages, state }).then(
        () => undefined,
        (error: Error) => error.message,
      );
      const issues = validateAgUiEvents(broken);
      if (reference !== undefined) damaged++;
      expect([seed, issues[0]?.message !== undefined]).toEqual([seed, reference !== undefined]);
    }
    expect(damaged).toBeGreaterThan(100);
  }, 60_000);
});
