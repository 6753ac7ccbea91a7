/**
 * What the AX page says of a provider and of who runs it, and nothing else: a runner that knows no
 * more than the page.
 */

/** The page's event, as far as a runner looks at it. */
export interface PageEvent {
  readonly type: string;
  readonly eventId: string;
  readonly sessionId: string;
  readonly runId: string;
  readonly sequence: number;
  readonly payload: object;
}

/** The page's provider. */
export interface PageProvider<Input, Request, Chunk, Context> {
  readonly id: string;
  readonly protocol: { readonly name: 'agent-event'; readonly version: '0.1' };
  readonly capabilities: {
    readonly eventTypes: readonly string[];
    readonly transports: readonly string[];
  };
  readonly transport: {
    readonly kind: string;
    open(request: Request, signal: AbortSignal): AsyncIterable<Chunk>;
  };
  createContext(options: never): Context;
  start(input: Input, context: Context): readonly PageEvent[];
  prepareRequest(input: Input, context: Context): Request;
  transformChunk(chunk: Chunk, context: Context): readonly PageEvent[];
  flush(context: Context): readonly PageEvent[];
  transformError(error: unknown, context: Context): readonly PageEvent[];
}

/** Makes the `events` that `createContext` gets: what this package's factory is. */
export type MakeEvents = (run: { readonly sessionId: string; readonly runId: string }) => unknown;

/** Runs a provider once, in the order of the page: start, request, chunks, flush; an error in place of the rest. */
export async function runAsThePageSays<Input, Request, Chunk, Context>(
  provider: PageProvider<Input, Request, Chunk, Context>,
  input: Input,
  run: { readonly sessionId: string; readonly runId: string; readonly signal: AbortSignal },
  makeEvents: MakeEvents,
  onEvent: (event: PageEvent) => void,
): Promise<void> {
  const { name, version } = provider.protocol;
  if (name !== 'agent-event' || version !== '0.1') throw new Error('another protocol');
  const { eventTypes, transports } = provider.capabilities;
  if (!transports.includes(provider.transport.kind)) throw new Error('another transport');
  const context = provider.createContext({ ...run, events: makeEvents(run) } as never);
  let sequence = -1;
  const emit = (events: readonly PageEvent[]) => {
    for (const event of events) {
      if (!eventTypes.includes(event.type)) throw new Error(`${event.type} is not declared`);
      if (event.sequence <= sequence) throw new Error(`${event.type} goes back`);
      if (event.runId !== run.runId || event.sessionId !== run.sessionId) {
        throw new Error(`${event.type} is of another run`);
      }
      sequence = event.sequence;
      onEvent(event);
    }
  };
  emit(provider.start(input, context));
  const request = provider.prepareRequest(input, context);
  let left: readonly PageEvent[];
  try {
    for await (const chunk of provider.transport.open(request, run.signal)) {
      emit(provider.transformChunk(chunk, context));
    }
    left = provider.flush(context);
  } catch (error) {
    left = provider.transformError(error, context);
  }
  emit(left);
}
