import type { Mutant } from './mutant.ts';

const live = 'src/runs/live-run.ts';
const session = 'src/runs/session.ts';
const messagesTest = 'test/runs/messages.test.ts';
const timeoutsTest = 'test/runs/timeouts.test.ts';
const v1Test = 'test/runs/v1.test.ts';
const slowTest = 'test/regression/slow-line.test.ts';
const lyingTest = 'test/runs/lying-servers.test.ts';

/** The rules of what runs share: a connection and its server. */
export const runSessionMutants: readonly Mutant[] = [
  {
    name: 'order-after-open',
    rule: 'After each open: resume, then cancel, then unsent starts.',
    file: session,
    find: 'for (const run of runs) run.repeatCancel();\n      for (const run of runs) run.followUp();',
    replace:
      'for (const run of runs) run.followUp();\n      for (const run of runs) run.repeatCancel();',
    killers: [
      [messagesTest, 'is resume, cancel, unsent runs, then the queue of the client; oldest first'],
    ],
  },
  {
    name: 'one-order-for-all',
    rule: 'Runs are taken up oldest first, however many `createRuns` share the client.',
    file: session,
    find: '.sort((a, b) => a.since - b.since || a.serial - b.serial)',
    replace: '',
    killers: [[messagesTest, 'is one order for all createRuns of a client']],
  },
  {
    name: 'hello-before-controls',
    rule: 'Controls count only behind the `hello` of this connection.',
    file: session,
    find: 'if (!caps) return false;',
    replace: '',
    killers: [[v1Test, 'makes controls count; before it they are foreign']],
  },
  {
    name: 'hello-of-this-connection',
    rule: 'What `hello` announced ends with its connection.',
    file: session,
    find: 'caps = asks = undefined;',
    replace: 'asks = undefined;',
    killers: [[v1Test, 'is forgotten with its connection']],
  },
  {
    name: 'hello-version',
    rule: 'A `hello` counts only with an integer `v` of 1 or more.',
    file: 'src/runs/protocol.ts',
    find: 'Number.isInteger(message.v) &&\n    Number(message.v) >= 1 &&',
    replace: '',
    killers: [[v1Test, ' is a message like any other']],
  },
  {
    name: 'plain-gets-four-messages',
    rule: 'Nothing but the reference messages is sent before `hello`.',
    file: live,
    find: "machine.phase === 'sent' && session.has('policy')",
    replace: "machine.phase === 'sent'",
    killers: [[messagesTest, 'sends nothing else before hello, whatever the policy']],
  },
  {
    name: 'batch-announced',
    rule: 'An array is a batch only from a server that announced it.',
    file: session,
    find: "caps?.has('batch') && Array.isArray(message)",
    replace: 'Array.isArray(message)',
    killers: [[v1Test, 'takes no batch from a server that did not announce it']],
  },
  {
    name: 'largest-start',
    rule: 'A start larger than the server takes fails before it is sent.',
    file: live,
    find: 'if (limit !== undefined && isLarger(data, limit)) {',
    replace: 'if (limit === null) {',
    killers: [[v1Test, 'maxMessage fails a larger start before it is sent, and nothing else']],
  },
  {
    name: 'too-large-run',
    rule: '1009 fails the run whose start was too large, and no other.',
    file: 'src/runs/session.ts',
    find: 'if (run.id === owner) run.fail(',
    replace: 'run.fail(',
    killers: [
      ['test/runs/v1.test.ts', 'fails the run whose start was too large, and the others go on'],
    ],
  },
  {
    name: 'heartbeat-bounds',
    rule: 'The heartbeat of a server is held between 5 and 60 s.',
    file: session,
    find: 'Math.min(60_000, Math.max(5000, asDuration(heartbeat) ?? 15_000))',
    replace: 'asDuration(heartbeat) ?? 15_000',
    killers: [[v1Test, 'ping is held between 5 and 60 s where hello says']],
  },
  {
    name: 'retry-delay',
    rule: '`retry` delays the next attempt once.',
    file: session,
    find: 'wire.setRetryHint({ after: Math.min(after, longestWait) });',
    replace: 'void after;',
    killers: [[v1Test, 'retry delays the next attempt once']],
  },
  {
    name: 'auth-announced',
    rule: 'A token is renewed only where the server announced `auth`.',
    file: session,
    find: "if (!wire.token || !asking?.has('auth')) return;",
    replace: 'if (!wire.token) return;',
    killers: [[v1Test, 'auth answers reauth with a new token, and only where it was announced']],
  },
  {
    name: 'shortest-idle-timeout',
    rule: 'The shortest idle timeout of all runs counts.',
    file: 'src/runs/session.ts',
    find: 'if (idleTimeout !== undefined && !(idle !== undefined && idle <= idleTimeout)) {',
    replace: 'if (idleTimeout !== undefined) {',
    killers: [['test/runs/timeouts.test.ts', 'is an option, and the shortest one counts']],
  },
  {
    name: 'followed-run-is-watched',
    rule: 'A run that is followed on an open connection has its silence watched.',
    file: live,
    find: 'session.refresh();\n      if (!session.open) return;',
    replace: 'if (!session.open) return;',
    killers: [
      [timeoutsTest, 'watches a run that is followed on a connection that is open already'],
    ],
  },
  {
    name: 'patience-grows',
    rule: 'A frame that is waited for is waited for ever longer, on a slow line.',
    file: session,
    find: 'patience = Math.min(patience * 2, longestPatience);',
    replace: 'void longestPatience;',
    killers: [
      [slowTest, 'arrives where it is an event'],
      [slowTest, 'arrives where it is a start'],
    ],
  },
  {
    name: 'patience-ends',
    rule: 'An event that comes ends the patience with a slow line.',
    file: session,
    find: 'if (moved) patience = 1;\n      else if',
    replace: 'if',
    killers: [
      [
        slowTest,
        'is waited for no longer once events come: a dead line is found as soon as before',
      ],
    ],
  },
  {
    name: 'patience-where-owed',
    rule: 'A line is waited for longer only where something is owed.',
    file: session,
    find: 'if (timedOut && allRuns().some((run) => run.isOwed)) {',
    replace: 'if (timedOut) {',
    killers: [[slowTest, 'is waited for only where something is owed']],
  },
  {
    name: 'session-on-the-wire',
    rule: 'Two copies of the package share the session of a client.',
    file: session,
    find: 'const holder = wire as',
    replace: 'const holder = getSession as unknown as',
    killers: [
      [
        'test/regression/two-copies.test.ts',
        'two copies of the package share the connection of one client, as one would',
      ],
    ],
  },
  {
    name: 'hello-answered-once',
    rule: '`hello` is answered once on a connection.',
    file: session,
    find: 'if (isFirst) send(',
    replace: 'send(',
    killers: [[lyingTest, 'each hello with hello gets one a connection']],
  },
  {
    name: 'spread-bounds',
    rule: 'No `spread` keeps a client away for more than an hour.',
    file: session,
    find: 'spread: Math.min(within, longestWait)',
    replace: 'spread: within',
    killers: [[lyingTest, ' ms is no reason to stay away for more than an hour']],
  },
  {
    name: 'auth-own-connection',
    rule: 'A token goes to the connection that asked for it.',
    file: session,
    find: 'if (caps === asking) send(',
    replace: 'send(',
    killers: [
      [v1Test, 'auth sends a token that comes late on no connection but the one that asked'],
    ],
  },
  {
    name: 'starts-in-order',
    rule: 'A start is later than all before it, whatever the clock says.',
    file: session,
    find: 'at ?? Math.max(wire.environment.now(), latest + 1)',
    replace: 'at ?? wire.environment.now()',
    killers: [
      [messagesTest, 'is the order of the starts also where the clock was set back in between'],
    ],
  },
  {
    name: 'open-that-is-ended',
    rule: 'Nothing is sent where a listener ends the connection as it opens.',
    file: session,
    find: 'if (asks !== mine) return;',
    replace: '',
    killers: [
      [messagesTest, 'ends where a listener closes the client, and no run is left streaming'],
    ],
  },
  {
    name: 'names-have-no-order',
    rule: 'Followers that stand at different names ask from the start.',
    file: session,
    find: "else if (typeof after === 'string' && after !== other.after) {",
    replace: 'else if (after === null) {',
    killers: [
      [
        messagesTest,
        'ask from the start where they stand at different ones, and each has every event once',
      ],
    ],
  },
];
