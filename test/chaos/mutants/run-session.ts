import type { Mutant } from './mutant.ts';

const live = 'src/runs/live-run.ts';
const session = 'src/runs/session.ts';
const messagesTest = 'test/runs/messages.test.ts';
const timeoutsTest = 'test/runs/timeouts.test.ts';
const v1Test = 'test/runs/v1.test.ts';

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
    find: 'open = false;\n      caps = undefined;',
    replace: 'open = false;',
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
    find: "if (!wire.token || !caps?.has('auth')) return;",
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
];
