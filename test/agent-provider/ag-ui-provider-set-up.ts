import { createAgUiProvider } from '../../src/agent-provider/ag-ui-provider.ts';
import type {
  AgUiProvider,
  AgUiProviderInput,
  AgUiProviderOptions,
} from '../../src/agent-provider/ag-ui-provider-types.ts';
import type {
  AgentCommandPayloadMap,
  AgentCommandType,
} from '../../src/agent-provider/command-types.ts';
import { createAgentCommandFactory } from '../../src/agent-provider/commands.ts';
import type { AgentEvent } from '../../src/agent-provider/event-types.ts';
import type { AnyAgentProvider } from '../../src/agent-provider/provider-types.ts';
import { runAgentCommand } from '../../src/agent-provider/run-agent-command.ts';
import { driveAgentProvider } from '../../src/agent-provider/run-driver.ts';
import type { AgentRunDriver, AgentRunOutcome } from '../../src/agent-provider/run-driver-types.ts';
import type { AgentState } from '../../src/agent-provider/state-types.ts';
import { type AgentStore, createAgentStore } from '../../src/agent-provider/store.ts';

import { validateAgentProviderEvents } from '../../src/agent-provider/validate-agent-provider-events.ts';

import { createV1Server, toFakePeer, type V1Options, type V1Server } from '../helpers/v1-server.ts';
import { createWorld, type TestEvent, type World, type WorldOptions } from '../helpers/world.ts';

/** What one page wrote down for the next, as JSON. */
export interface Written {
  readonly state: AgentState;
  readonly events: readonly AgentEvent[];
  readonly cursor: unknown;
  readonly context: unknown;
}

/** A run that is read on a page. */
export interface Reading {
  readonly driver: AgentRunDriver<unknown>;
  readonly controller: AbortController;
  /** How it ended; absent while it has not. */
  readonly outcome: AgentRunOutcome | undefined;
  readonly failure: unknown;
  readonly cursor: unknown;
}

/** One page with a provider, a strict store, and a server in memory. */
export interface Page {
  readonly world: World;
  readonly server: V1Server;
  readonly provider: AgUiProvider<unknown>;
  readonly store: AgentStore;
  /** All events of all pages so far. */
  readonly events: AgentEvent[];
  /** These as `sequence type id …`. */
  readonly lines: string[];
  readonly reading: Reading;
  /** Starts the run `r` of the session `s`. */
  run(
    input?: AgUiProviderInput,
    ids?: { readonly sessionId?: string; readonly runId?: string },
  ): Reading;
  /** Goes on with the run that was detached here. */
  again(): Reading;
  command<Type extends AgentCommandType>(
    type: Type,
    payload: AgentCommandPayloadMap[Type],
    idempotencyKey?: string,
  ): Promise<void>;
  write(): Written;
  /** The next page, which goes on with what `written` says. */
  reload(written?: Written, options?: ReloadOptions): Promise<Page>;
  settle(): Promise<void>;
}

export interface ReloadOptions extends WorldOptions {
  readonly crash?: boolean;
  readonly provider?: Partial<AgUiProviderOptions>;
}

export interface PageOptions extends WorldOptions {
  readonly provider?:
    | Partial<AgUiProviderOptions>
    | ((world: World) => Partial<AgUiProviderOptions>);
  readonly server?: V1Server;
  readonly v1?: V1Options;
}

/** One line for an event. */
export function toLine({ sequence, type, payload }: AgentEvent): string {
  const { delta, reason, decision, error, content, ...rest } = payload as Record<string, never>;
  const id = Object.entries(rest).find(([key]) => /Id$/.test(key))?.[1];
  const { code } = (error ?? {}) as { code?: string };
  const words = [sequence, type, id, delta, decision, reason, code].filter(
    (word) => word !== undefined,
  );
  return words.join(' ');
}

const copy = <Value>(value: Value): Value =>
  value === undefined ? value : JSON.parse(JSON.stringify(value));

/** Make a page. */
export function createPage(options: PageOptions = {}, written?: Written): Page {
  const server = options.server ?? createV1Server(options.v1);
  const world = createWorld({ peer: toFakePeer(server), ...options });
  const given = options.provider ?? {};
  const provider = createAgUiProvider({
    client: world.client as never,
    ...(typeof given === 'function' ? given(world) : given),
  });
  const store = createAgentStore({
    protocolMode: 'strict',
    ...(written && { initialState: written.state }),
  });
  const events: AgentEvent[] = [...(written?.events ?? [])];
  const onEvent = (event: AgentEvent) => {
    store.dispatch(event);
    events.push(event);
  };
  let reading: Reading | undefined;
  let request: { readonly input: unknown; readonly sessionId: string; readonly runId: string } = {
    input: undefined,
    sessionId: 's',
    runId: 'r',
  };

  function drive(resume?: Parameters<typeof driveAgentProvider>[0]['resume']): Reading {
    const controller = new AbortController();
    const { sessionId, runId, input } = request;
    const last = store.getSnapshot().lastSequenceByRun[runId];
    const made: { -readonly [Key in keyof Reading]: Reading[Key] } = {
      driver: undefined as never,
      controller,
      outcome: undefined,
      failure: undefined,
      cursor: resume?.cursor,
    };
    made.driver = driveAgentProvider(
      {
        provider: provider as AnyAgentProvider,
        input,
        run: {
          sessionId,
          runId,
          signal: controller.signal,
          now: world.clock.now,
          ...(last !== undefined && { initialSequence: last }),
        },
        onEvent,
        strict: true,
        onCursor: (cursor) => {
          made.cursor = cursor;
        },
        resume: resume as never,
      },
      world.clock.environment,
    );
    made.driver.done.then(
      (outcome) => {
        made.outcome = outcome;
      },
      (error) => {
        made.failure = error;
      },
    );
    reading = made;
    return made;
  }

  const openOf = () => {
    const closed = new Set<string>();
    const openers: AgentEvent[] = [];
    const keyOf = ({ type, payload }: AgentEvent) =>
      `${type.split('.')[0]} ${Object.entries(payload).find(([key]) => /Id$/.test(key))?.[1]}`;
    for (const event of events) {
      if (/(completed|failed|cancelled|resolved)$/.test(event.type)) closed.add(keyOf(event));
      else if (/(requested|created)$|[eg]\.started$/.test(event.type)) openers.push(event);
    }
    return openers.filter((event) => !closed.has(keyOf(event)));
  };

  const page: Page = {
    world,
    server,
    provider,
    store,
    events,
    get lines() {
      return events.map(toLine);
    },
    get reading() {
      if (!reading) throw new Error('nothing is read');
      return reading;
    },
    run(input = { prompt: 'Hi' }, { sessionId = 's', runId = 'r' } = {}) {
      request = { input, sessionId, runId };
      return drive();
    },
    again() {
      const { driver, cursor } = page.reading;
      return drive({ cursor, context: { live: driver.context }, open: openOf() });
    },
    async command(type, payload, idempotencyKey) {
      const { sessionId, runId } = request;
      const commands = createAgentCommandFactory({ sessionId, runId, now: world.clock.now });
      const command = commands.create(type, payload, { idempotencyKey });
      await runAgentCommand({
        provider: provider as AnyAgentProvider,
        command: command as never,
        initialSequence: store.getSnapshot().lastSequenceByRun[runId] ?? -1,
        onEvent,
      });
    },
    write() {
      const { driver, cursor } = page.reading;
      return copy({
        state: store.getSnapshot(),
        events,
        cursor,
        context: provider.saveContext?.(driver.context),
      });
    },
    async reload(from = page.write(), { crash, provider: more, ...changes } = {}) {
      const world2 = world.reload({ crash: crash ?? false });
      world2.network.kill();
      const next = createPage(
        {
          ...options,
          ...(more && { provider: more }),
          clock: world.clock,
          storage: world.storage,
          server,
          ...changes,
        },
        from,
      );
      (next as unknown as { adopt(value: typeof request): void }).adopt(request);
      await next.settle();
      return next;
    },
    settle: () => world.settle(),
  };
  Object.assign(page, {
    adopt(value: typeof request) {
      request = value;
      drive({
        cursor: written?.cursor,
        context: { saved: written?.context },
        open: openOf(),
      });
    },
  });
  return page;
}

/** What a state says to a person: the text of all messages but the user's, joined. */
export const textOf = (state: AgentState): string =>
  Object.values(state.messages)
    .filter(({ role }) => role !== 'user')
    .map(({ content }) => content)
    .join('|');

/** A state without the times, as JSON. */
export const withoutTimes = (state: AgentState): unknown =>
  JSON.parse(
    JSON.stringify(state, (key, value) => (/^(created|updated)At$/.test(key) ? undefined : value)),
  );

/** The rules of one run that the page's events break. */
export const faultsOf = (page: Page): unknown =>
  validateAgentProviderEvents(page.provider.capabilities, page.events);

/** An event of AG-UI. */
export const event = (type: string, fields: Record<string, unknown> = {}): TestEvent => ({
  type,
  ...fields,
});

export const text = (delta: string, messageId = 'm'): TestEvent =>
  event('TEXT_MESSAGE_CONTENT', { messageId, delta });
export const textStart = (messageId = 'm'): TestEvent =>
  event('TEXT_MESSAGE_START', { messageId, role: 'assistant' });
export const textEnd = (messageId = 'm'): TestEvent => event('TEXT_MESSAGE_END', { messageId });
export const runStarted = (runId = 'r'): TestEvent =>
  event('RUN_STARTED', { threadId: 't', runId });
export const runFinished = (runId = 'r', fields: Record<string, unknown> = {}): TestEvent =>
  event('RUN_FINISHED', { threadId: 't', runId, ...fields });
export const interrupted = (runId: string, ...interrupts: Record<string, unknown>[]): TestEvent =>
  runFinished(runId, { outcome: { type: 'interrupt', interrupts } });
export const toolCall = (toolCallId: string, name = 'look', args = '{}'): TestEvent[] => [
  event('TOOL_CALL_START', { toolCallId, toolCallName: name }),
  event('TOOL_CALL_ARGS', { toolCallId, delta: args }),
  event('TOOL_CALL_END', { toolCallId }),
];
