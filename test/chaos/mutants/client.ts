import type { Mutant } from './mutant.ts';

const connection = 'src/client/connection.ts';
const dialer = 'src/client/dialer.ts';
const heartbeat = 'src/client/heartbeat.ts';
const policyTest = 'test/client/policy.test.ts';
const heartbeatTest = 'test/client/heartbeat.test.ts';

/** The rules of one socket, of its silence, of the page, and of messages. */
export const clientMutants: readonly Mutant[] = [
  {
    name: 'late-frames',
    rule: 'Events of a socket that was given up are never looked at.',
    file: dialer,
    find: 'if (socket === attached) task(event);',
    replace: 'task(event);',
    killers: [
      ['test/client/dialer.test.ts', 'detaches first: nothing of the old socket is looked at'],
    ],
  },
  {
    name: 'detach-before-close',
    rule: 'A socket is detached first and closed second.',
    file: dialer,
    find: 'attached = undefined;\n      engine?.close(code, reason);',
    replace: 'engine?.close(code, reason);\n      attached = undefined;',
    killers: [['test/client/dialer.test.ts', 'detaches before it closes']],
  },
  {
    name: 'no-goodbye',
    rule: 'Nobody waits for the goodbye of a socket that was given up.',
    file: dialer,
    find: 'if (!code) socket?.terminate?.();',
    replace: '',
    killers: [['test/client/dialer.test.ts', 'without a code waits for nobody']],
  },
  {
    name: 'too-large-blame',
    rule: '1009 blames the largest frame since the last one received.',
    file: 'src/client/websocket-client.ts',
    find: 'largest = undefined;\n      read(',
    replace: 'read(',
    killers: [
      ['test/client/messages.test.ts', 'blames the largest frame since the last one received'],
    ],
  },
  {
    name: 'too-large-fails-once',
    rule: '1009 fails the message to blame, and the connection goes on.',
    file: 'src/client/websocket-client.ts',
    find: 'if (close?.code === 1009 && largest) {',
    replace: 'if (!close && largest) {',
    killers: [
      ['test/client/messages.test.ts', 'blames the largest frame since the last one received'],
    ],
  },
  {
    name: 'queue-limit',
    rule: 'The queue of unsent messages has a limit.',
    file: 'src/client/outbox.ts',
    find: 'if (outbox.size >= limit) throw',
    replace: 'if (outbox.size === Infinity) throw',
    killers: [
      ['test/client/messages.test.ts', 'throws queue-full past the limit and loses nothing'],
    ],
  },
  {
    name: 'ping-watchdog',
    rule: 'A ping that no frame answers within 5 s gives the socket up.',
    file: heartbeat,
    find: 'if (isOver && (probes > 1',
    replace: 'if (isOver && !ping && (probes > 1',
    killers: [[heartbeatTest, 'is pinged after the heartbeat and swapped 5 s later']],
  },
  {
    name: 'ping-sent',
    rule: 'Silence is answered by a ping.',
    file: heartbeat,
    find: "if (ping) act = 'ping';",
    replace: '',
    killers: [[heartbeatTest, 'is pinged after the heartbeat and swapped 5 s later']],
  },
  {
    name: 'any-frame-is-life',
    rule: 'Any frame answers a ping and resets the idle time.',
    file: connection,
    find: 'liveness.frame(now());',
    replace: '',
    killers: [[heartbeatTest, 'end nothing while any frame answers them']],
  },
  {
    name: 'idle-swap',
    rule: 'A silent socket is replaced while a run streams.',
    file: connection,
    find: "else if (act) connect('idle', new RunSocketError('timeout', 'Idle timeout.'));",
    replace: '',
    killers: [[heartbeatTest, 'is swapped after the idle timeout while a run streams']],
  },
  {
    name: 'idle-doubles',
    rule: 'The idle timeout doubles while the run stays quiet.',
    file: heartbeat,
    find: 'interval = Math.min(interval * 2, longestIdle);',
    replace: '',
    killers: [[heartbeatTest, 'is swapped ever later while the run stays quiet']],
  },
  {
    name: 'wake-up-grace',
    rule: 'A page that wakes up gives its socket 1 s for any frame.',
    file: heartbeat,
    find: '|| (woken && !probes)',
    replace: '',
    killers: [
      [heartbeatTest, 'a page that is seen again probes: pings, or 1 s for a streaming run'],
    ],
  },
  {
    name: 'sleep-is-noticed',
    rule: 'A leap of the clock is a wake-up.',
    file: heartbeat,
    find: '|| (late >= tick && !hidden)',
    replace: '',
    killers: [[heartbeatTest, 'a leap of the wall clock alone is noticed within 5 s']],
  },
  {
    name: 'late-look-asks-again',
    rule: 'A timer that slept with its page ends nothing before frames could be read.',
    file: heartbeat,
    find: '(late < grace && (probes || !ping))',
    replace: '(probes || !ping)',
    killers: [[heartbeatTest, 'a ping from before gets a new chance']],
  },
  {
    name: 'pagehide-closes',
    rule: 'A page that is left closes its socket.',
    file: connection,
    find: "wait(new RunSocketError('closed', 'pagehide'));",
    replace: '',
    killers: [[policyTest, 'closes when it is left and dials when it is shown again']],
  },
  {
    name: 'pageshow-dials',
    rule: 'A page that comes back from the cache dials at once.',
    file: connection,
    find: "handlers.page('show');\n      connect('wake');",
    replace: "handlers.page('show');",
    killers: [[policyTest, 'closes when it is left and dials when it is shown again']],
  },
  {
    name: 'offline-detaches',
    rule: '`offline` detaches the socket.',
    file: connection,
    find: "if (!isSuspended) wait(new RunSocketError('closed', 'offline'));",
    replace: '',
    killers: [[policyTest, 'is detached offline and dialled at once when it is back']],
  },
  {
    name: 'online-dials',
    rule: '`online` dials at once.',
    file: connection,
    find: 'online: wake,',
    replace: 'online() {},',
    killers: [[policyTest, 'is detached offline and dialled at once when it is back']],
  },
  {
    name: 'linger',
    rule: 'The connection outlives its last holder by a moment.',
    file: 'src/client/websocket-client.ts',
    find: 'else stopLinger = setTimer(rest, linger);',
    replace: 'else rest();',
    killers: [[policyTest, 'dials once for many holders and lingers after the last']],
  },
  {
    name: 'page-left-alone',
    rule: 'A connection that has ended listens to no page.',
    file: 'src/client/connection.ts',
    find: 'pageWatch?.abort();\n    pageWatch = undefined;',
    replace: 'pageWatch = undefined;',
    killers: [
      ['test/client/policy.test.ts', 'dials once for many holders and lingers after the last'],
    ],
  },
  {
    name: 'queue-order',
    rule: 'What waits goes out before what is sent now.',
    file: 'src/client/websocket-client.ts',
    find: 'if (!outbox.size && transmit(data, message))',
    replace: 'if (transmit(data, message))',
    killers: [
      [
        'test/client/messages.test.ts',
        'keeps the order when something is sent while the queue is flushed',
      ],
    ],
  },
  {
    name: 'controls-before-schema',
    rule: 'Controls are consumed before the schema, which sees everything else.',
    file: 'src/client/websocket-client.ts',
    find: 'if (safely(() => wire.peer?.control(message))) return;',
    replace: 'safely(() => wire.peer?.control(message));',
    killers: [
      [
        'test/runs/v1.test.ts',
        'keeps controls from the listeners; what it does not know reaches them',
      ],
    ],
  },
  {
    name: 'batch-of-a-closed-socket',
    rule: 'What follows in a batch behind the end of the connection is not looked at.',
    file: 'src/client/websocket-client.ts',
    find: "if (getSnapshot().status === 'open') deliver(part, true);",
    replace: 'deliver(part, true);',
    killers: [['test/client/messages.test.ts', 'ends where a part closes the connection']],
  },
  {
    name: 'clock-set-back',
    rule: 'A clock that is set back delays little.',
    file: 'src/client/heartbeat.ts',
    find: 'since = Math.min(since, now);',
    replace: '',
    killers: [
      ['test/client/heartbeat.test.ts', 'a wall clock that is set back by a day delays little'],
    ],
  },
  {
    name: 'hidden-timers',
    rule: 'Late timers of a hidden page are no sleep.',
    file: 'src/client/heartbeat.ts',
    find: '(late >= tick && !hidden)',
    replace: 'late >= tick',
    killers: [
      [
        'test/client/heartbeat.test.ts',
        'throttled timers of a hidden page are no sleep to a quiet run',
      ],
    ],
  },
  {
    name: 'idle-time-falls-back',
    rule: 'Any frame puts the idle timeout back to where it began.',
    file: 'src/client/heartbeat.ts',
    find: 'probes = 0;\n    quiet = idle;',
    replace: 'probes = 0;',
    killers: [
      [
        'test/client/heartbeat.test.ts',
        'is swapped ever later while the run stays quiet, up to 5 min; any frame starts over',
      ],
    ],
  },
];
