import type { WebSocketClient } from '../client/types.ts';
import { RunSocketError } from '../internal/errors.ts';
import { createRunsCore, type RunsCore } from '../runs/runs.ts';
import type { Run, RunsOptions } from '../runs/types.ts';

/** Takes what a follower reads. */
export interface RunSink<E, Offset> {
  /** The events of one place of the log; without an offset they have none of their own. */
  take(events: readonly E[], offset: Offset | undefined): void;
  /** Nothing more comes. */
  end(error: RunSocketError | undefined): void;
}

/** One run that is followed on a client. */
export interface RunFollower<E, Offset> {
  /** Whom the events go to; nobody once the run was left. */
  sink: RunSink<E, Offset> | undefined;
  /** Stops the run at the server, however long that takes. */
  cancel(): void;
  /** Stops following and lets go of the connection; a start that is still to be sent is sent before. */
  leave(): void;
}

/** Options of the runs beneath a follower. */
export type FollowerOptions<Input, E, In, Out, Offset extends number | string> = Omit<
  RunsOptions<Input, E, In, Out, Offset>,
  'name' | 'storage'
>;

/**
 * Follow one run apart from every other reader of the client, from `after` on.
 *
 * A log that is read from its start again, or that lost events, ends it with an error: what was given
 * to the sink cannot be taken back. One that is left before its start was sent stands in `leaving` until
 * it is, for whoever comes back to the run.
 */
export function createRunFollower<Input, E, In, Out, Offset extends number | string>(
  client: WebSocketClient<In, Out>,
  options: FollowerOptions<Input, E, In, Out, Offset>,
  leaving: Map<string, RunFollower<E, Offset>>,
  begin: (core: RunsCore<Input, E, Offset>) => Run<E, Offset>,
  after: Offset | undefined,
  sink: RunSink<E, Offset>,
): RunFollower<E, Offset> {
  let frame: E[] = [];
  let place = after;
  let last = after;

  // The events of one frame stand at one place, which is reached with the last of them.
  function flush() {
    if (!frame.length) return;
    const events = frame;
    frame = [];
    self.sink?.take(events, place === last ? undefined : place);
    last = place;
  }

  function end(error?: RunSocketError) {
    flush();
    self.sink?.end(error);
    self.sink = undefined;
  }

  // Not while the run's state machine is in the middle of a step.
  const disposeSoon = () => Promise.resolve().then(core.dispose);

  const lose = (error: RunSocketError) => {
    end(error);
    disposeSoon();
  };

  const core = createRunsCore<Input, E, In, Out, Offset>(
    client,
    { ...options, storage: null },
    {
      event(id, event) {
        const { offset } = core.get(id)!.getSnapshot();
        if (offset !== place) flush();
        place = offset;
        frame.push(event);
      },
      restart: (id) => lose(new RunSocketError('run-lost', `The server ran run ${id} again.`)),
      hole: (_id, error) => lose(error),
      end(_id, { error }) {
        end(error);
        disposeSoon();
      },
    },
  );

  const self: RunFollower<E, Offset> = {
    sink,
    cancel() {
      run.cancel();
    },
    leave() {
      self.sink = undefined;
      if (run.getSnapshot().status === 'queued') leaving.set(run.id, self);
      else core.dispose();
    },
  };
  const run = begin(core);
  core.subscribe(() => {
    flush();
    if (leaving.get(run.id) === self && run.getSnapshot().status !== 'queued') {
      leaving.delete(run.id);
      disposeSoon();
    }
  });
  return self;
}
