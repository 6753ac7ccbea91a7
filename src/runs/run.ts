import { RunSocketError, type RunSocketErrorCode } from '../internal/errors.ts';
import type { End } from './feed.ts';
import { createLogReader } from './log-reader.ts';
import type { RunControl } from './protocol.ts';
import type { RunMachine, RunRules, RunStart, RunWorld } from './run-machine-types.ts';

const afterWait = 1000;
// A run that still talks this long after its cancel may talk on a connection that is dead the other way.
const stopWait = 5000;

/** Make one run's state machine: no timer, no socket, no clock in it. */
export function createRunMachine<E, Offset extends number | string>(
  start: RunStart<E, Offset>,
  rules: RunRules<E>,
  world: RunWorld<E, Offset>,
): RunMachine<E, Offset> {
  const { wait } = world;
  const { id, startable } = start;
  let { confirmed = false, cancelling = false } = start;
  let phase: RunMachine<E, Offset>['phase'] = start.sent ? 'sent' : 'unsent';
  let end: End | undefined;
  /** A final close stands in the way, until somebody asks for the connection again. */
  let suspended = false;
  let error: RunSocketError | undefined;
  /** Something of the run came in this page. */
  let heard = false;
  let connected = false;
  /** Events came behind the cancel. */
  let unheeded = false;
  let startedId: string | undefined;
  /** The start was sent again on this connection, to a server that had never heard of it. */
  let resent = false;
  let terminal = start.position?.ended;
  let translate: ReturnType<NonNullable<typeof rules.translate>> | undefined;
  /** The first offset that the server had not written when the run was last resumed. */
  let next: number | undefined;
  const log = createLogReader(start, rules, world, give, onReset, onEnd);

  const isLive = () => phase !== 'over' && !end;

  function give(raw: readonly E[], offset: Offset | undefined) {
    for (const event of rules.translate ? raw.flatMap(translated) : raw) {
      world.event(event, offset, next);
      const status = rules.status(event, id, startedId);
      if (!status) continue;
      const { runId } = event as { readonly runId?: unknown };
      if (status === 'started') {
        terminal = undefined;
        startedId = typeof runId === 'string' ? runId : id;
        wait('after');
      } else {
        terminal = status;
        if (!rules.ends) wait('after', afterWait);
      }
    }
  }

  function translated(event: E): readonly E[] {
    try {
      translate ??= rules.translate?.(id);
      return translate!(event);
    } catch (cause) {
      world.hole(new RunSocketError('bad-message', `An event of run ${id} is unusable.`, cause));
      return [];
    }
  }

  function onReset() {
    terminal = startedId = translate = undefined;
    wait('after');
    world.restart();
  }

  function onEnd(status: string) {
    if (status === 'lost') fail('run-lost', 'was lost by the server');
    else {
      finish(terminal ?? (status === 'finished' || status === 'cancelled' ? status : 'failed'));
    }
  }

  function finish(how: End, why?: RunSocketError | false) {
    if (phase === 'over') return;
    phase = 'over';
    const cancelled = cancelling && how !== 'finished';
    end = cancelled ? 'cancelled' : how;
    error = (!cancelled && why) || undefined;
    log.close();
    world.forget();
  }

  function fail(code: RunSocketErrorCode, text: string) {
    finish('failed', new RunSocketError(code, `Run ${id} ${text}.`));
  }

  function revive() {
    phase = 'sent';
    suspended = false;
    end = error = undefined;
  }

  /** A run that was given up comes back with a late event. */
  const isOut = () =>
    phase === 'unsent' || (end && !suspended && !/^(start-un|run-unr)/.test(error?.code ?? ''));

  function hear() {
    if (!confirmed) world.note({ acked: true });
    confirmed = heard = true;
    wait('patience', cancelling ? rules.orphanTimeout : undefined);
  }

  function watchSilence(keep?: boolean) {
    if (rules.silenceTimeout !== undefined) wait('silence', rules.silenceTimeout, keep);
  }

  function onUnknown(control: Extract<RunControl, { type: 'run.unknown' }>) {
    const { reason } = control;
    const never = reason === 'never';
    if (terminal || cancelling) finish(terminal ?? 'cancelled');
    else if (never && startable && (!confirmed || rules.restart)) {
      // One that answers a start like that again is not asked again at once.
      if (resent) return wait('patience', rules.startTimeout, true);
      resent = true;
      log.control(control);
      if (confirmed) log.reset();
      world.send('run');
    } else if (reason === 'forbidden') fail('run-forbidden', 'is closed to these credentials');
    else if (never && confirmed) fail('run-lost', 'was lost by the server');
    else fail('run-unknown', 'is not known to the server');
  }

  return {
    get phase() {
      return phase;
    },
    get live() {
      return isLive();
    },
    get cancelling() {
      return cancelling;
    },
    get ended() {
      return terminal !== undefined;
    },
    get cursor() {
      return log.cursor;
    },
    get position() {
      return { ...log.position, ended: terminal };
    },
    snapshot() {
      const { cursor } = log;
      return {
        id,
        status: end ?? (phase === 'unsent' ? 'queued' : confirmed ? 'streaming' : 'starting'),
        ...(cursor !== undefined && { offset: cursor }),
        ...(next !== undefined && { caughtUp: Number(cursor ?? -1) + 1 >= next }),
        ...(error && { error }),
      };
    },
    open(idle) {
      connected = true;
      resent = false;
      if (suspended) end = error = undefined;
      suspended = false;
      if (phase !== 'sent') return;
      if (!confirmed && rules.restart && startable && !cancelling) {
        world.send('run');
        wait('patience', rules.startTimeout, true);
        return;
      }
      log.resume();
      // What follows a terminal event may have been on its way when the socket went.
      if (terminal) wait('after', afterWait);
      if (cancelling) wait('patience', rules.orphanTimeout, true);
      else if (heard) watchSilence(true);
      else if (!idle) wait('patience', confirmed ? rules.orphanTimeout : rules.startTimeout, true);
    },
    sent() {
      phase = 'sent';
      connected = true;
    },
    receive(offset, events) {
      if (isOut()) return;
      if (end) revive();
      if (!heard || !confirmed || cancelling) hear();
      const { cursor } = log;
      // What is known already is no sign that the run goes on. Strings have no order.
      const isKnown =
        typeof offset === 'string' ? offset === cursor : Number(offset) <= Number(cursor);
      watchSilence(isKnown);
      if (cancelling && !unheeded) wait('stop', stopWait);
      unheeded = cancelling;
      log.receive(offset, events);
    },
    control(control) {
      if (isOut()) return;
      if (control.type === 'run.unknown') return onUnknown(control);
      if (control.type === 'run.accepted') {
        if (end) revive();
        hear();
        next = Number.isSafeInteger(control.next) ? control.next : undefined;
      }
      log.control(control);
    },
    close(final, why, swapped) {
      connected = false;
      log.close();
      if (!isLive()) return;
      wait('after');
      wait('stop');
      if (start.policy === 'cancel' && phase === 'sent' && !cancelling && !swapped) {
        cancelling = true;
        world.note({ cancel: true });
        world.aborted();
      }
      if (final && terminal) finish(terminal);
      else if (final) {
        suspended = true;
        end = 'failed';
        error = why.code === 'closed' ? why : new RunSocketError('closed', why.message, why);
      }
    },
    cancel() {
      if (phase === 'over') return;
      // The server never heard of one that was not sent.
      if (phase === 'unsent') return finish('cancelled');
      cancelling = true;
      world.note({ cancel: true });
      if (!connected) return;
      world.send('cancel');
      wait('patience', rules.orphanTimeout);
    },
    rewind() {
      log.reset();
      if (connected) world.swap();
    },
    fail: (why) => finish('failed', why),
    timer(name) {
      if (!isLive()) return;
      if (name === 'silence') fail('run-lost', 'went silent');
      else if (name === 'stop') world.swap();
      else if (name === 'after') terminal && finish(terminal);
      else if (name === 'patience') {
        if (cancelling) finish('cancelled');
        else if (confirmed) fail('run-unreachable', 'gets no answer from the server');
        else if (rules.restart && startable) {
          world.send('run');
          wait('patience', rules.startTimeout);
        } else fail('start-unknown', 'was never confirmed to have started');
      } else log.timer();
    },
  };
}
