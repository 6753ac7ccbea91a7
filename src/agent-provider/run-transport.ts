import type { WebSocketClient } from '../client/types.ts';
import { getWire } from '../client/wire.ts';
import { RunSocketError } from '../internal/errors.ts';
import { isRecord } from '../internal/json-values.ts';
import { agUiEventStatus, isOffset } from '../runs/protocol.ts';
import type { RunsCore } from '../runs/runs.ts';
import type { Run } from '../runs/types.ts';
import { isId } from './event-guards.ts';
import type { AgentTransport } from './provider-types.ts';
import { createRunFollower, type FollowerOptions, type RunFollower } from './run-follower.ts';
import { createRunReader, type RunChunk, type RunCursor } from './run-reader.ts';

export type { RunChunk, RunCursor } from './run-reader.ts';

/** What a request is made into: the run's input, and its id. */
export interface RunTransportRequest<Input = unknown> {
  /** @default a random id */
  readonly runId?: string | undefined;
  readonly input: Input;
}

/** Options of `createRunTransport`: those of `createRuns` but for its memory, which checkpoints have instead. */
export interface RunTransportOptions<
  Request,
  Input,
  E,
  In,
  Out,
  Offset extends number | string = number,
> extends FollowerOptions<Input, E, In, Out, Offset> {
  /** Makes the run of a request. @default the request's `runId` and `input`, or a random id and the request itself */
  readonly request?: ((request: Request) => RunTransportRequest<Input>) | undefined;
  /** How many events wait for a consumer that does not come for them. @default 1000 */
  readonly queueLimit?: number | undefined;
}

/** A transport that can go on behind a cursor. Made by `createRunTransport`. */
export interface RunTransport<Request, E, Offset extends number | string = number>
  extends AgentTransport<Request, RunChunk<E, Offset>> {
  readonly kind: 'websocket';
  getCursor(chunk: RunChunk<E, Offset>): RunCursor<Offset> | undefined;
  resume(
    request: Request | undefined,
    cursor: unknown,
    signal: AbortSignal,
  ): AsyncIterable<RunChunk<E, Offset>>;
}

const defaultRequest = (request: unknown): RunTransportRequest =>
  isRecord(request) && 'input' in request
    ? { runId: isId(request.runId) ? request.runId : undefined, input: request.input }
    : { input: request };

/**
 * Make a transport of agent runs over a client's connection.
 *
 * `open()` starts a run with the first `next()` and yields each of its events once, in order, across
 * reconnects. The signal stops the run at the server, again after each reconnect until it is over, and
 * the iteration throws an AbortError; leaving the loop only stops following. `resume()` goes on behind
 * a cursor, or from the start of a request's run without one; it throws `invalid-argument` where
 * neither names a run. The iteration throws the RunSocketError of a run that failed for a reason that
 * is not in its events, and `run-lost` where the server ran it again.
 *
 * Past `queueLimit` waiting events nothing is kept for the consumer: the run is no longer followed,
 * and asked for again behind the last event that was taken as soon as another is wanted.
 *
 * @example
 * const transport = createRunTransport<{ runId: string; input: { prompt: string } }, MyEvent>(client);
 */
export function createRunTransport<
  Request = unknown,
  E = unknown,
  In = unknown,
  Out = unknown,
  Offset extends number | string = number,
  Input = unknown,
>(
  client: WebSocketClient<In, Out>,
  options: RunTransportOptions<Request, Input, E, In, Out, Offset> = {},
): RunTransport<Request, E, Offset> {
  const { request: toRun = defaultRequest, queueLimit = 1000, ...rest } = options;
  const { status = agUiEventStatus } = options;
  const { environment } = getWire(client);
  type Begin = (core: RunsCore<Input, E, Offset>) => Run<E, Offset>;
  /** Runs that were left before their start was sent. */
  const leaving = new Map<string, RunFollower<E, Offset>>();
  /** What each request was last opened as: its id may have been made by chance. */
  const asked = new WeakMap<object, { readonly runId: string; readonly input: Input }>();

  function identify(request: Request) {
    const { runId = environment.randomId(), input } = toRun(request) as RunTransportRequest<Input>;
    const made = { runId, input };
    asked.set(Object(request), made);
    return made;
  }

  function getCursor({ runId, offset, event }: RunChunk<E, Offset>): RunCursor<Offset> | undefined {
    if (offset === undefined) return undefined;
    const how = status(event, runId, runId);
    return { runId, offset, ...(how && how !== 'started' && { ended: how }) };
  }

  const toRecord = (runId: string, acked: boolean) => {
    return { runId, threadId: '', policy: 'keep', acked, sentAt: environment.now() } as const;
  };

  // A server that says nothing of ends says nothing at all behind the last event.
  const behind = (runId: string, after: RunCursor<Offset> | undefined): Begin => {
    const { offset, ended } = after ?? {};
    const from = { offset, ...(/^(fin|can|fai)/.test(`${ended}`) && { ended }) };
    return (core) =>
      options.policy === 'cancel' && !ended
        ? core.follow(runId, offset === undefined ? {} : { after: offset })
        : core.adopt(toRecord(runId, true), { from });
  };

  function read(
    runId: string,
    begin: Begin,
    signal: AbortSignal,
    underWay: boolean,
    after?: RunCursor<Offset>,
  ): AsyncIterable<RunChunk<E, Offset>> {
    return createRunReader<E, Offset>({
      runId,
      after,
      signal,
      underWay,
      limit: queueLimit,
      environment,
      getCursor,
      follow(sink, again) {
        const left = leaving.get(runId);
        if (left) {
          leaving.delete(runId);
          left.sink = sink;
          return left;
        }
        return createRunFollower<Input, E, In, Out, Offset>(
          client,
          rest,
          leaving,
          again ? behind(runId, again.after) : begin,
          (again ? again.after : after)?.offset,
          sink,
        );
      },
    });
  }

  return {
    kind: 'websocket',
    open(request, signal) {
      const { runId, input } = identify(request);
      return read(runId, (core) => core.start(input, { runId }), signal, false);
    },
    getCursor,
    resume(request, cursor, signal) {
      if (cursor === undefined && request !== undefined) {
        const { runId, input } = asked.get(Object(request)) ?? identify(request);
        // A start that the server never heard of may be sent, one that it has lost may not.
        const begin: Begin = (core) =>
          core.adopt(toRecord(runId, false), { makeInput: () => input });
        return read(runId, begin, signal, true);
      }
      if (!isRecord(cursor) || !isId(cursor.runId) || !isOffset(cursor.offset)) {
        throw new RunSocketError('invalid-argument', 'The cursor names no place in a run.');
      }
      const { runId } = cursor;
      const after = cursor as unknown as RunCursor<Offset>;
      return read(runId, behind(runId, after), signal, true, after);
    },
  };
}
