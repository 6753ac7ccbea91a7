import type { AgentAccess } from '../ag-ui/agent-access.ts';
import type { AgUiAgent } from '../ag-ui/agent-types.ts';
import type { AgUiEvent } from '../ag-ui/events.ts';
import { RunSocketError } from '../internal/errors.ts';
import type { Run } from '../runs/types.ts';

/** A place in the log of an AG-UI run. */
export type AgUiOffset = number | string;

/** Where a reader stands: before all events of an AG-UI run, behind one, or (`null`) behind one that the server does not number. */
export interface AgUiCursor {
  readonly runId: string;
  readonly offset?: AgUiOffset | null;
}

/** Listens to one AG-UI run at a time. */
export interface AgUiListener {
  /** The run that was listened to last. */
  readonly run: Run<AgUiEvent, AgUiOffset> | undefined;
  /** It has come to its end among the events that were known: another execution was told before. */
  readonly stale: boolean;
  /** Listens to a run behind a place, and `behind` more events of one frame. */
  listen(runId: string, after?: AgUiOffset, behind?: number): void;
  /** As `listen()`, also to a run that is over, or that nobody here knows. */
  follow(runId: string, place: AgUiCursor | undefined, behind: number): void;
  stop(): void;
}

/** Make a listener; `onEnd` looks at the run again, `onLost` is told why the run cannot be trusted any more. */
export function createAgUiListener(
  agent: AgUiAgent<unknown>,
  access: AgentAccess,
  onEvent: (runId: string, event: AgUiEvent, offset: AgUiOffset | undefined) => void,
  onEnd: () => void,
  onLost: (error: RunSocketError) => void,
): AgUiListener {
  const { runs, environment } = access;
  let run: AgUiListener['run'];
  let stale = false;
  let stops: (() => void)[] = [];

  function stop() {
    for (const one of stops) one();
    stops = [];
  }

  function listen(id: string, after?: AgUiOffset, behind = 0) {
    stop();
    const one = runs.get(id)!;
    const { offset: at } = one.getSnapshot();
    let skip = at === after ? undefined : after;
    let drop = after === undefined ? 0 : behind;
    let met = false;
    let fresh = at === undefined && after === undefined;
    run = one;
    stale = false;
    stops = [
      one.on('event', (event) => {
        const { offset } = one.getSnapshot();
        fresh = stale = false;
        if (skip !== undefined) {
          met ||= offset === skip;
          if (typeof offset === 'number' ? offset <= (skip as number) : !met || offset === skip) {
            stale = /^RUN_[EF]/.test(event.type);
            return;
          }
          skip = undefined;
        }
        if (drop-- < 1) onEvent(id, event, offset);
      }),
      one.on('end', onEnd),
    ];
    // Its thread has seen more than was told here.
    if (at !== undefined && at !== after && !(typeof at === 'number' && at < (after as number))) {
      runs.rewind(id);
    }
    stops.push(
      one.on('restart', () => {
        if (!fresh) onLost(new RunSocketError('run-lost', `Run ${id} was executed again.`));
      }),
    );
  }

  return {
    get run() {
      return run;
    },
    get stale() {
      return stale;
    },
    listen,
    follow(id, place, behind) {
      const after = place?.runId === id ? place.offset : undefined;
      if (after === null) {
        throw new RunSocketError('invalid-argument', `Run ${id} has events without an offset.`);
      }
      if (runs.isOver(id)) {
        // The thread that shows it must see all of it, once.
        const offset = access.isShown(id) ? undefined : after;
        access.restart(id);
        runs.adopt(
          {
            runId: id,
            threadId: agent.threadId,
            sentAt: environment.now(),
            policy: 'keep',
            acked: true,
          },
          { from: { offset } },
        );
      }
      listen(id, after, behind);
    },
    stop,
  };
}
