import { describe, expect, it } from 'vitest';
import { finished, interrupt, lines, push, setUpBridge, started } from './bridge-set-up.ts';

const snapshot = (...messages: readonly unknown[]) => ({ type: 'MESSAGES_SNAPSHOT', messages });

describe('steps and subagents', () => {
  it('are tasks; a name may come again, and in a subagent', () => {
    const bridge = setUpBridge();
    const step = (type: string, subagentRunId?: string) => ({
      type: `STEP_${type}`,
      stepName: 'plan',
      subagentRunId,
    });
    const events = push(
      bridge,
      started,
      step('STARTED'),
      step('STARTED'),
      step('STARTED', 'sub'),
      step('FINISHED'),
      step('FINISHED'),
      step('STARTED'),
    );
    expect(lines(events).slice(1)).toEqual([
      '1 task.created plan {"title":"plan"}',
      '2 task.created sub/plan {"title":"plan"} ^sub @{"ag-ui.subagentRunId":"sub"}',
      '3 task.completed plan',
      '4 task.created plan~2 {"title":"plan"} @{"ag-ui.id":"plan"}',
    ]);
  });

  it('stay open while they are suspended, and go on after it', () => {
    const bridge = setUpBridge();
    const sub = (type: string, rest?: object) => ({
      type: `SUBAGENT_${type}`,
      subagentRunId: 'sub',
      ...rest,
    });
    const begin = sub('STARTED', { name: 'x', description: 'helps' });
    const events = push(
      bridge,
      started,
      begin,
      sub('FINISHED', { outcome: { type: 'suspended', interruptIds: ['i'] } }),
      interrupt({ id: 'i', subagentRunId: 'sub' }),
    );
    push(bridge, started);
    events.push(
      ...push(bridge, begin, sub('ERROR', { message: 'no', code: 'E' }), begin, sub('FINISHED')),
    );
    const meta = '@{"ag-ui.subagentRunId":"sub"}';
    expect(lines(events).slice(1)).toEqual([
      `1 task.created sub {"title":"x","description":"helps"} ${meta}`,
      `2 approval.requested i {"data":{}} ^sub ${meta}`,
      `4 task.failed sub {"error":{"message":"no","code":"E"}} ${meta}`,
      '5 task.created sub~2 {"title":"x","description":"helps"} @{"ag-ui.subagentRunId":"sub","ag-ui.id":"sub"}',
      `6 task.completed sub~2 ${meta}`,
    ]);
  });
});

describe('activities', () => {
  it('are artifacts, with their whole content each time', () => {
    const bridge = setUpBridge();
    const activity = (content: unknown, rest?: object) => ({
      type: 'ACTIVITY_SNAPSHOT',
      messageId: 'act',
      activityType: 'chart',
      content,
      ...rest,
    });
    const delta = (path: string, messageId = 'act') => ({
      type: 'ACTIVITY_DELTA',
      messageId,
      patch: [{ op: 'replace', path, value: 2 }],
    });
    const events = push(
      bridge,
      started,
      delta('/n', 'unknown'),
      activity('no content'),
      activity({ n: 1 }),
      activity({ n: 9 }, { replace: false }),
      delta('/n'),
      delta('/gone'),
      delta('/n'),
      activity({ n: 3 }),
      delta('/n'),
      // The whole content is no object any more.
      delta(''),
      snapshot({ id: 'act', role: 'activity', activityType: 'chart', content: { n: 2 } }),
      snapshot({ id: 'act', role: 'activity', activityType: 'chart', content: { n: 2 } }),
    );
    expect(lines(events).slice(1)).toEqual([
      '1 artifact.created act {"name":"chart","mediaType":"application/json","content":{"n":1}}',
      '2 artifact.updated act {"content":{"n":2}}',
      '3 artifact.updated act {"content":{"n":3}}',
      '4 artifact.updated act {"content":{"n":2}}',
      '5 artifact.updated act {"content":{"n":2}}',
    ]);
    push(bridge, finished);
    expect(lines(bridge.flush())).toEqual(['6 artifact.completed act', '7 run.completed']);
  });

  it('open again in the run after a failure', () => {
    const bridge = setUpBridge({ state: { n: 1 } });
    const delta = [{ op: 'replace', path: '/n', value: 2 }];
    const events = push(
      bridge,
      started,
      { type: 'STATE_SNAPSHOT', snapshot: { n: 1 } },
      { type: 'ACTIVITY_SNAPSHOT', messageId: 'act', activityType: 'a', content: { n: 1 } },
      { type: 'RUN_ERROR', message: 'x' },
      started,
      { type: 'STATE_DELTA', delta },
      { type: 'ACTIVITY_DELTA', messageId: 'act', patch: delta },
    );
    expect(lines(events).slice(5)).toEqual([
      '5 artifact.created state~2 {"name":"state","mediaType":"application/json","content":{"n":2}} @{"ag-ui.id":"state"}',
      '6 artifact.created act~2 {"name":"a","mediaType":"application/json","content":{"n":2}} @{"ag-ui.id":"act"}',
    ]);
  });
});

describe("the application's own events", () => {
  it('have a place in the run, and are closed with it', () => {
    const bridge = setUpBridge({
      custom: ({ value }, events) => [
        events.create('task.created', { taskId: 'plan', title: String(value) }),
        events.create('task.updated', { taskId: 'plan', progress: 0.5 }),
        // None of these has a place.
        events.create('task.created', { taskId: 'plan', title: 'again' }),
        events.create('task.completed', { taskId: 'unknown' }),
        events.create('run.completed', {}),
        events.create('task.created', { taskId: '', title: 'x' }),
      ],
    });
    const events = push(
      bridge,
      started,
      { type: 'CUSTOM', name: 'x', value: 'Plan' },
      {
        type: 'STEP_STARTED',
        stepName: 'plan',
      },
    );
    expect(lines([...events, ...bridge.cancel()])).toEqual([
      '0 run.started',
      '1 task.created plan {"title":"Plan"}',
      '2 task.updated plan {"progress":0.5}',
      '7 task.created plan~2 {"title":"plan"} @{"ag-ui.id":"plan"}',
      '8 task.cancelled plan~2',
      '9 task.cancelled plan',
      '10 run.cancelled',
    ]);
  });

  it('may close what the run opened', () => {
    const bridge = setUpBridge({
      custom: (_event, events) => [events.create('message.completed', { messageId: 'm' })],
    });
    push(bridge, started, { type: 'TEXT_MESSAGE_START', messageId: 'm' });
    expect(push(bridge, { type: 'CUSTOM', name: 'x' }, { type: 'CUSTOM', name: 'x' })).toHaveLength(
      1,
    );
    expect(push(bridge, { type: 'TEXT_MESSAGE_CONTENT', messageId: 'm', delta: 'x' })).toEqual([]);
    expect(lines(bridge.cancel()).map((line) => line.slice(2))).toEqual(['run.cancelled']);
  });
});
