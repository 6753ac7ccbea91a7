import type { Environment } from '../internal/environment.ts';
import { equalJson } from '../internal/equal-json.ts';
import { RunSocketError } from '../internal/errors.ts';
import { messageOf } from './abortable.ts';
import { getLastSequence } from './agent-chat-openers.ts';
import type { AgentChatRuns } from './agent-chat-runs.ts';
import type { AgentActionResult, AgentActions, AgentCommandError } from './chat-types.ts';
import type { AgentCommandStore } from './command-store.ts';
import type { AgentCommand, AgentCommandPayloadMap, AgentCommandType } from './command-types.ts';
import { createAgentCommandFactory, getAgentActionKey } from './commands.ts';
import type { AgentEvent } from './event-types.ts';
import type { AnyAgentProvider } from './provider-types.ts';
import { AgentCommandRunnerError, runAgentCommand } from './run-agent-command.ts';
import { getAgentEntityKey, toNode } from './state-node.ts';
import { getIn } from './state-records.ts';
import type { AgentState } from './state-types.ts';

/** What the actions of a conversation work with. */
export interface AgentChatActionsOptions {
  readonly provider: AnyAgentProvider;
  readonly sessionId: string;
  readonly env: Environment;
  readonly runs: AgentChatRuns;
  readonly commands: AgentCommandStore;
  /** The state; throws while the conversation is being restored. */
  readonly getState: () => AgentState;
}

/** What becomes of a command that nobody has heard the end of. */
export const interrupted: AgentCommandError = {
  code: 'interrupted',
  message: 'Nobody has heard what became of the command.',
  retryable: true,
};

function refuse(message: string): never {
  throw new RunSocketError('invalid-argument', message);
}

function toCommandError(cause: unknown, aborted: boolean): AgentCommandError {
  if (aborted) return { ...interrupted, cause };
  const { retryable } = (cause ?? {}) as { readonly retryable?: unknown };
  const known = cause instanceof AgentCommandRunnerError;
  return {
    code: known ? cause.code : 'provider_error',
    message: messageOf(cause, 'The command failed.'),
    retryable: !known && retryable === true,
    cause,
  };
}

/** Make what a user can ask of the runs of a conversation; the commands of one run go one after another. */
export function createAgentChatActions(options: AgentChatActionsOptions): AgentActions {
  const { provider, sessionId, env, runs, commands, getState } = options;
  const { now } = env;
  /** The last command of each run that has commands under way. */
  const tails = new Map<string, Promise<unknown>>();

  async function execute(command: AgentCommand): Promise<AgentActionResult> {
    const { runId, commandId, idempotencyKey } = command;
    const over = runs.signalOf(runId);
    const controller = new AbortController();
    let ending = false;
    // The end of the run breaks off all commands but the one that brings it.
    over?.addEventListener('abort', () => ending || controller.abort());
    try {
      if (!over) throw new AgentCommandRunnerError('invalid_command', `Run '${runId}' is over.`);
      await runAgentCommand({
        provider,
        command,
        signal: controller.signal,
        initialSequence: getLastSequence(getState(), runId),
        now,
        onEvent(event: AgentEvent) {
          ending = true;
          runs.accept(event);
          ending = false;
        },
      });
      commands.settle(command);
    } catch (cause) {
      const { aborted } = controller.signal;
      // The end of the run is what a cancellation asks for, whoever brings it.
      const isDone = aborted && command.type === 'run.cancel';
      commands.settle(command, isDone ? undefined : toCommandError(cause, aborted));
      if (!isDone) throw cause;
    }
    return { commandId, idempotencyKey };
  }

  function send<Type extends AgentCommandType>(
    type: Type,
    runId: string,
    entityId: string | undefined,
    payload: AgentCommandPayloadMap[Type],
    check: (state: AgentState) => void,
  ): Promise<AgentActionResult> {
    const state = getState();
    if (getIn(toNode(state).runs, runId)?.status !== 'running')
      refuse(`The run '${runId}' is not running.`);
    if (!provider.executeCommand || !provider.capabilities.commands?.includes(type)) {
      throw new RunSocketError('unsupported', `The provider does not take the command ${type}.`);
    }
    const before = commands.latest(getAgentActionKey({ runId, type, entityId }));
    const cancel = commands.latest(getAgentActionKey({ runId, type: 'run.cancel' }));
    if (before?.status === 'submitting') refuse(`The command ${type} is under way already.`);
    if (cancel && cancel.status !== 'failed') refuse(`The run '${runId}' is being cancelled.`);
    check(state);

    const createCommandId = () => `${runId}:command:${env.randomId()}:${type}`;
    // The same intent once more: the server must be able to tell that it has it already.
    const again = before?.error?.retryable && equalJson(before.command.payload, payload, 10_000);
    const command = createAgentCommandFactory({ sessionId, runId, now, createCommandId }).create(
      type,
      payload,
      again ? { idempotencyKey: before.command.idempotencyKey } : {},
    ) as AgentCommand;
    commands.add(command);
    const result = (tails.get(runId) ?? Promise.resolve()).then(() => execute(command));
    // Who does not wait for the promise sees the failure in `commandStates`.
    const tail = result.then(
      () => {},
      () => {},
    );
    tails.set(runId, tail);
    tail.then(() => {
      if (tails.get(runId) === tail) tails.delete(runId);
    });
    return result;
  }

  return {
    resolveApproval({ runId, approvalId, decision, data, expectedVersion }) {
      const payload = {
        approvalId,
        decision,
        ...(data !== undefined && { data }),
        ...(expectedVersion !== undefined && { expectedVersion }),
      };
      return send('approval.resolve', runId, approvalId, payload, (state) => {
        const approval = getIn(toNode(state).approvals, getAgentEntityKey(runId, approvalId));
        if (approval?.status !== 'waiting') {
          return refuse(`The approval '${approvalId}' does not wait for an answer.`);
        }
        const { editable, version, expiresAt } = approval;
        if (decision === 'modified' && editable === false) {
          refuse(`What the approval '${approvalId}' asks for cannot be modified.`);
        }
        if (expectedVersion !== undefined && expectedVersion !== version) {
          refuse(`The approval '${approvalId}' has changed to version ${version}.`);
        }
        if (expiresAt !== undefined && expiresAt <= now()) {
          refuse(`The approval '${approvalId}' has expired.`);
        }
      });
    },
    retryTool: ({ runId, toolCallId }) =>
      send('tool.retry', runId, toolCallId, { toolCallId }, (state) => {
        const tool = getIn(toNode(state).toolCalls, getAgentEntityKey(runId, toolCallId));
        if (tool?.status !== 'failed' || tool.error?.retryable !== true) {
          refuse(`The tool call '${toolCallId}' has not failed in a way that can be retried.`);
        }
      }),
    cancelRun: ({ runId, reason }) =>
      send('run.cancel', runId, undefined, reason === undefined ? {} : { reason }, () => {}),
  };
}
