import { describe, expect, it } from 'vitest';
import type { AgentCheckpoint } from '../../src/agent-provider/chat-types.ts';
import { createMemoryAgentCheckpointStorage } from '../../src/agent-provider/checkpoint-storage.ts';
import type { AgentCommand, AgentCommandType } from '../../src/agent-provider/command-types.ts';
import { getAgentActionKey } from '../../src/agent-provider/commands.ts';
import { createAgentEventFactory } from '../../src/agent-provider/event-factory.ts';
import type {
  AgentEvent,
  AgentEventPayloadMap,
  AgentEventType,
} from '../../src/agent-provider/event-types.ts';
import { createScene, type FixtureOptions } from './chat-fixture.ts';

const noop = () => {};

/** A command that the provider has been given, and what the test makes of it. */
interface Sent {
  readonly command: AgentCommand;
  readonly signal: AbortSignal;
  /** The provider's stream gives events, made as the command's options say. */
  give(...events: (readonly [AgentEventType, object])[]): void;
  end(): void;
  fail(error: unknown): void;
}

async function begin(options: FixtureOptions = {}) {
  const sent: Sent[] = [];
  const scene = createScene({
    executeCommand(command, { signal, initialSequence }) {
      const { sessionId, runId } = command;
      const events = createAgentEventFactory({ sessionId, runId, initialSequence });
      const queue: (AgentEvent | { readonly error: unknown } | undefined)[] = [];
      let wake = noop;
      const push = (item: (typeof queue)[number]) => {
        queue.push(item);
        wake();
      };
      sent.push({
        command,
        signal,
        give(...all) {
          for (const [type, payload] of all) {
            push(events.create(type, payload as AgentEventPayloadMap[typeof type]) as AgentEvent);
          }
        },
        end: () => push(undefined),
        fail: (error) => push({ error }),
      });
      return (async function* () {
        for (;;) {
          while (!queue.length) {
            await new Promise<void>((resolve) => {
              wake = resolve;
            });
          }
          const item = queue.shift();
          if (!item) return;
          if ('error' in item) throw item.error;
          yield item;
        }
      })();
    },
    ...options,
  });
  const leave = scene.chat.subscribe(noop);
  scene.chat.onRequest({ prompt: 'Hi' });
  await scene.clock.flush();
  const { run } = scene.fixture;
  run.say(
    ['tool.requested', { toolCallId: 't', name: 'pay' }],
    ['tool.failed', { toolCallId: 't', error: { message: 'Busy', retryable: true } }],
    ['tool.requested', { toolCallId: 'ok', name: 'pay' }],
    ['tool.requested', { toolCallId: 'final', name: 'pay' }],
    ['tool.failed', { toolCallId: 'final', error: { message: 'No' } }],
    ['approval.requested', { approvalId: 'a', version: 2, editable: false }],
    ['approval.requested', { approvalId: 'b', expiresAt: scene.clock.now() + 1_000 }],
  );
  await scene.clock.flush();
  const runId = run.id;
  const latest = (type: AgentCommandType, entityId?: string) => {
    const { commandStates, latestCommandByAction } = scene.snapshot;
    const key = latestCommandByAction[getAgentActionKey({ runId, type, entityId })];
    return key === undefined ? undefined : commandStates[key];
  };
  return { scene, run, runId, sent, latest, leave, ...scene, actions: scene.chat.agentActions };
}

const refused = (task: () => unknown, code: string, text: RegExp) =>
  expect(task).toThrow(
    expect.objectContaining({ name: 'RunSocketError', code, message: expect.stringMatching(text) }),
  );

describe('an action', () => {
  it('is sent to the provider, and its events come into the run', async () => {
    const { scene, runId, sent, latest, clock, actions, run } = await begin();
    const result = actions.resolveApproval({
      runId,
      approvalId: 'a',
      decision: 'approved',
      data: { limit: 5 },
      expectedVersion: 2,
    });
    expect(latest('approval.resolve', 'a')).toMatchObject({ status: 'submitting' });
    await clock.flush();
    expect(sent[0]?.command).toMatchObject({
      type: 'approval.resolve',
      sessionId: 'c',
      runId,
      payload: { approvalId: 'a', decision: 'approved', data: { limit: 5 }, expectedVersion: 2 },
    });
    sent[0]?.give(['approval.resolved', { approvalId: 'a', decision: 'approved' }]);
    await clock.flush();
    run.say('Thanks');
    await clock.flush();
    sent[0]?.end();
    const { command } = sent[0]!;
    expect(await result).toEqual({
      commandId: command.commandId,
      idempotencyKey: command.idempotencyKey,
    });
    expect(latest('approval.resolve', 'a')).toMatchObject({ status: 'succeeded', command });
    expect(Object.values(scene.snapshot.agentState.approvals)[0]).toMatchObject({
      status: 'completed',
      decision: 'approved',
    });
    expect(scene.texts).toEqual(['Hi', 'Thanks']);
    expect(scene.snapshot.agentState.issues).toEqual([]);
  });

  it('is refused at once where it is not possible', async () => {
    const { runId, clock, actions, sent } = await begin();
    const answer = { runId, approvalId: 'a', decision: 'approved' as const };
    refused(() => actions.cancelRun({ runId: 'x' }), 'invalid-argument', /'x' is not running/);
    refused(() => actions.cancelRun({ runId: '__proto__' }), 'invalid-argument', /not running/);
    refused(
      () => actions.resolveApproval({ ...answer, approvalId: 'x' }),
      'invalid-argument',
      /'x' does not wait/,
    );
    refused(
      () => actions.resolveApproval({ ...answer, decision: 'modified' }),
      'invalid-argument',
      /cannot be modified/,
    );
    refused(
      () => actions.resolveApproval({ ...answer, expectedVersion: 1 }),
      'invalid-argument',
      /changed to version 2/,
    );
    refused(() => actions.retryTool({ runId, toolCallId: 'ok' }), 'invalid-argument', /'ok'/);
    refused(() => actions.retryTool({ runId, toolCallId: 'final' }), 'invalid-argument', /'final'/);
    refused(() => actions.retryTool({ runId, toolCallId: 'x' }), 'invalid-argument', /'x'/);
    await clock.advance(1_000);
    refused(
      () => actions.resolveApproval({ ...answer, approvalId: 'b' }),
      'invalid-argument',
      /has expired/,
    );
    expect(sent).toEqual([]);
  });

  it('is refused where the provider does not take it', async () => {
    for (const options of [
      { executeCommand: undefined },
      {
        capabilities: {
          ...(await begin()).fixture.provider.capabilities,
          commands: ['tool.retry' as const],
        },
      },
    ]) {
      const { actions, runId } = await begin(options as FixtureOptions);
      refused(() => actions.cancelRun({ runId }), 'unsupported', /run\.cancel/);
    }
  });

  it('is refused while the same one is under way, and once the run is being cancelled', async () => {
    const { runId, actions, sent, clock, latest } = await begin();
    actions.retryTool({ runId, toolCallId: 't' });
    refused(() => actions.retryTool({ runId, toolCallId: 't' }), 'invalid-argument', /under way/);
    await clock.flush();
    sent[0]?.end();
    await clock.flush();
    expect(latest('tool.retry', 't')?.status).toBe('succeeded');
    actions.retryTool({ runId, toolCallId: 't' });
    await clock.flush();
    sent[1]?.end();

    actions.cancelRun({ runId, reason: 'Enough' });
    for (const again of [
      () => actions.cancelRun({ runId }),
      () => actions.retryTool({ runId, toolCallId: 't' }),
    ]) {
      refused(again, 'invalid-argument', /under way|being cancelled/);
    }
    await clock.flush();
    expect(sent[2]?.command.payload).toEqual({ reason: 'Enough' });
    sent[2]?.end();
    await clock.flush();
    refused(() => actions.cancelRun({ runId }), 'invalid-argument', /being cancelled/);
    expect(clock.reports).toEqual([]);
  });

  it('waits for the one before it in its run, failed or not', async () => {
    const { runId, actions, sent, clock, latest } = await begin();
    actions.retryTool({ runId, toolCallId: 't' });
    actions.resolveApproval({ runId, approvalId: 'a', decision: 'rejected' });
    await clock.flush();
    expect(sent).toHaveLength(1);
    sent[0]?.fail(new Error('Busy'));
    await clock.flush();
    expect(latest('tool.retry', 't')).toMatchObject({
      status: 'failed',
      error: { code: 'provider_error', message: 'Busy', retryable: false },
    });
    expect(sent).toHaveLength(2);
  });

  it('that fails rejects, and may be tried again under the same key where that is worth it', async () => {
    const { runId, actions, sent, clock, latest } = await begin();
    const retry = () => actions.retryTool({ runId, toolCallId: 't' });
    const key = async (fail?: object) => {
      const result = retry().catch((error) => error);
      await clock.flush();
      const one = sent.at(-1)!;
      if (fail) one.fail(fail);
      else one.end();
      const settled = await result;
      if (fail) expect(settled).toBe(fail);
      return one.command.idempotencyKey;
    };
    const first = await key(Object.assign(new Error('Busy'), { retryable: true }));
    expect(latest('tool.retry', 't')?.error?.retryable).toBe(true);
    const second = await key(new Error('Wrong'));
    const third = await key();
    const fourth = await key();
    expect(second).toBe(first);
    expect(new Set([second, third, fourth]).size).toBe(3);
    const ids = sent.map(({ command }) => command.commandId);
    expect(new Set(ids).size).toBe(4);
  });

  it('that answers something else has a key of its own', async () => {
    const { runId, actions, sent, clock } = await begin();
    const answer = (decision: 'approved' | 'rejected') =>
      actions.resolveApproval({ runId, approvalId: 'a', decision }).catch(noop);
    for (const decision of ['approved', 'rejected', 'rejected'] as const) {
      answer(decision);
      await clock.flush();
      sent.at(-1)?.fail(Object.assign(new Error('Busy'), { retryable: true }));
      await clock.flush();
    }
    const keys = sent.map(({ command }) => command.idempotencyKey);
    expect(keys[1]).not.toBe(keys[0]);
    expect(keys[2]).toBe(keys[1]);
  });

  it('whose events break the rules fails, and leaves the run alone', async () => {
    const { scene, runId, actions, sent, clock, latest, run } = await begin();
    const result = actions.resolveApproval({ runId, approvalId: 'a', decision: 'approved' });
    const failure = result.catch((error) => error);
    await clock.flush();
    sent[0]?.give(['approval.resolved', { approvalId: 'a', decision: 'nonsense' }]);
    expect(await failure).toMatchObject({ name: 'AgentCommandRunnerError' });
    expect(latest('approval.resolve', 'a')).toMatchObject({
      status: 'failed',
      error: { code: 'protocol_error', retryable: false },
    });
    run.say('On');
    await clock.flush();
    expect(scene.texts).toEqual(['Hi', 'On']);
    expect(scene.snapshot.agentState.issues).toEqual([]);
  });

  it('that lost the race for its sequence fails, and no text of the run is lost', async () => {
    const { scene, runId, actions, sent, clock, latest, run } = await begin();
    actions.resolveApproval({ runId, approvalId: 'a', decision: 'approved' }).catch(noop);
    await clock.flush();
    run.say('one', ' two');
    await clock.flush();
    sent[0]?.give(['approval.resolved', { approvalId: 'a', decision: 'approved' }]);
    await clock.flush();
    run.say(' three');
    run.say(['approval.resolved', { approvalId: 'b', decision: 'expired' }]);
    await clock.flush();
    expect(latest('approval.resolve', 'a')?.error?.code).toBe('protocol_error');
    expect(scene.texts).toEqual(['Hi', 'one two three']);
    expect(scene.snapshot.agentState.issues).toEqual([]);
  });
});

describe('the end of a run', () => {
  it('by the command itself is a success of it, and stops the stream', async () => {
    const { scene, runId, actions, sent, clock, run } = await begin();
    run.say('Half');
    await clock.flush();
    const result = actions.cancelRun({ runId });
    await clock.flush();
    sent[0]?.give(['run.cancelled', { reason: 'Asked' }]);
    await clock.flush();
    expect(sent[0]?.signal.aborted).toBe(false);
    sent[0]?.end();
    await result;
    run.say(' more');
    await clock.flush();
    expect(scene.statuses).toEqual(['cancelled']);
    expect(run.readers).toBe(0);
    const { agentState, messages, commandStates, latestCommandByAction } = scene.snapshot;
    expect(messages[1]).toMatchObject({ status: 'abort', message: { content: 'Half' } });
    expect(Object.values(agentState.toolCalls).map(({ status }) => status)).toEqual([
      'failed',
      'cancelled',
      'failed',
    ]);
    expect(agentState.issues).toEqual([]);
    expect([commandStates, latestCommandByAction]).toEqual([{}, {}]);
  });

  it('closes what is open where a command ends a run that nobody reads', async () => {
    const { scene, runId, actions, sent, clock, run, leave } = await begin();
    run.say('Half');
    await clock.flush();
    leave();
    await clock.advance(0);
    expect(run.readers).toBe(0);
    const result = actions.cancelRun({ runId });
    await clock.flush();
    sent[0]?.give(['run.cancelled', { reason: 'Asked' }]);
    sent[0]?.end();
    await result;
    expect(scene.statuses).toEqual(['cancelled']);
    expect(scene.snapshot.messages[1]?.status).toBe('abort');
    expect(Object.values(scene.snapshot.agentState.runs)[0]?.reason).toBe('Asked');
    expect(scene.snapshot.agentState.issues).toEqual([]);
  });

  it('breaks off its commands, and forgets them all', async () => {
    const { scene, runId, actions, sent, clock, run } = await begin();
    actions.retryTool({ runId, toolCallId: 't' });
    await clock.flush();
    sent[0]?.end();
    await clock.flush();
    const one = actions.resolveApproval({ runId, approvalId: 'a', decision: 'approved' });
    const two = actions.cancelRun({ runId });
    const ends = Promise.allSettled([one, two]);
    await clock.flush();
    run.finish();
    await clock.flush();
    expect(sent).toHaveLength(2);
    expect(sent[1]?.signal.aborted).toBe(true);
    expect((await ends).map(({ status }) => status)).toEqual(['rejected', 'rejected']);
    expect(scene.snapshot.commandStates).toEqual({});
    expect(scene.snapshot.latestCommandByAction).toEqual({});
    expect(scene.statuses).toEqual(['completed']);
    refused(() => actions.cancelRun({ runId }), 'invalid-argument', /not running/);
  });

  it('by the stream is a success of the command that asked for it', async () => {
    const { scene, runId, actions, sent, clock, run } = await begin();
    const result = actions.cancelRun({ runId });
    await clock.flush();
    run.say(['run.cancelled', { reason: 'Asked' }]);
    expect(await result).toMatchObject({ commandId: sent[0]?.command.commandId });
    expect(sent[0]?.signal.aborted).toBe(true);
    expect(scene.statuses).toEqual(['cancelled']);
    expect(scene.snapshot.commandStates).toEqual({});
  });

  it('is not brought by a command that only asks for it', async () => {
    const { scene, runId, actions, sent, clock } = await begin();
    const result = actions.cancelRun({ runId });
    await clock.flush();
    sent[0]?.end();
    await result;
    expect(scene.statuses).toEqual(['running']);
  });
});

describe('after a reload', () => {
  it('a command that was under way is shown as interrupted, and not sent again', async () => {
    const checkpointStorage = createMemoryAgentCheckpointStorage();
    const { scene, runId, actions, sent, clock, page } = await begin({ checkpointStorage });
    actions.resolveApproval({ runId, approvalId: 'a', decision: 'approved' });
    actions.retryTool({ runId, toolCallId: 't' }).catch(noop);
    await clock.flush();
    page.dispatch('pagehide');
    expect((checkpointStorage.load('c') as AgentCheckpoint).pendingCommands).toHaveLength(2);

    const { executeCommand } = scene.fixture.provider;
    const next = createScene({ fixture: scene.fixture.page({ executeCommand: executeCommand! }) });
    next.chat.subscribe(noop);
    await next.clock.flush();
    expect(sent).toHaveLength(1);
    const { commandStates, latestCommandByAction } = next.snapshot;
    const key = getAgentActionKey({ runId, type: 'approval.resolve', entityId: 'a' });
    const state = commandStates[latestCommandByAction[key]!];
    expect(state).toMatchObject({
      status: 'failed',
      error: { code: 'interrupted', retryable: true },
      command: sent[0]?.command,
    });
    // The user asks again: the server can tell that it is the same answer.
    next.chat.agentActions.resolveApproval({ runId, approvalId: 'a', decision: 'approved' });
    await next.clock.flush();
    expect(sent[1]?.command.idempotencyKey).toBe(sent[0]?.command.idempotencyKey);
    expect(sent[1]?.command.commandId).not.toBe(sent[0]?.command.commandId);
  });
});
