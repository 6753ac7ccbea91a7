import type { Mutant } from './mutant.ts';

const requests = 'src/server/run-requests.ts';
const serverTest = 'test/server/run-server.test.ts';

/** The duties of a server towards its clients. */
export const serverMutants: readonly Mutant[] = [
  {
    name: 'one-feed',
    rule: 'A repeated `resume` never makes a second feed.',
    file: requests,
    find: 'unfollow(runId);\n    if (followers.size',
    replace: 'if (followers.size',
    killers: [[serverTest, 'has one feed a connection, however often it is resumed']],
  },
  {
    name: 'server-disconnect-is-no-cancel',
    rule: 'A lost connection stops no run.',
    file: requests,
    find: 'close() {\n      for (const runId of [...followers.keys()]) unfollow(runId);',
    replace:
      "close() {\n      for (const runId of [...followers.keys()]) {\n        unfollow(runId);\n        void log.control(runId, { type: 'cancel' });\n      }",
    killers: [[serverTest, 'is not what a lost connection means']],
  },
  {
    name: 'server-policy-cancel',
    rule: 'With the policy `cancel` the server stops a run whose last follower is gone.',
    file: 'src/server/audience.ts',
    find: 'if (run.stops) watch(runId, run);\n      else runs.delete(runId);',
    replace: 'runs.delete(runId);',
    killers: [
      ['test/server/connection.test.ts', 'stops a run 10 s after its last follower has gone'],
    ],
  },
  {
    name: 'abandoned-runs-are-lost',
    rule: 'A server that goes away ends its runs as lost.',
    file: 'src/server/run-server.ts',
    find: 'starts.abandon();',
    replace: '',
    killers: [[serverTest, 'ends the runs that are left as lost']],
  },
  {
    name: 'principal',
    rule: 'Another principal’s run is forbidden.',
    file: requests,
    find: 'meta.principal !== undefined && meta.principal !== requester.principal;',
    replace: "meta.principal === '' && requester.principal !== '';",
    killers: [
      [
        'test/server/access.test.ts',
        'is forbidden to others: to follow, to start again, to cancel',
      ],
    ],
  },
  {
    name: 'plain-server',
    rule: 'A plain server sends no controls.',
    file: requests,
    find: 'if (!plain) say(message);',
    replace: 'say(message);',
    killers: [
      [
        serverTest,
        'says nothing but run, resume and cancel get an answer for, in the three fields',
      ],
    ],
  },
  {
    name: 'batches-asked-for',
    rule: 'Batches go only to a client that said so.',
    file: 'src/server/connection.ts',
    find: 'takesBatches && batch.length > 1',
    replace: 'batch.length > 1',
    killers: [[serverTest, 'are not sent to who did not']],
  },
  {
    name: 'largest-frame',
    rule: 'A frame that is too large is closed with 1009.',
    file: 'src/server/connection.ts',
    find: "if (isLarger(data, limits.maxMessage)) return close(1009, 'message too large');",
    replace: '',
    killers: [
      [serverTest, 'is closed with 1009 for a frame that is too large, and the runs go on'],
    ],
  },
  {
    name: 'flood',
    rule: 'A flood of requests is sent away.',
    file: 'src/server/connection.ts',
    find: 'if (queued >= longestQueue || !bucket.take()) return flood();',
    replace: '',
    killers: [
      ['test/server/access.test.ts', 'send a flood of requests away, with a time to stay away'],
    ],
  },
  {
    name: 'slow-reader',
    rule: 'A slow reader waits, and nobody else does.',
    file: 'src/server/outlet.ts',
    find: 'const isFull = () => port.bufferedAmount() > limit;',
    replace: 'const isFull = () => port.bufferedAmount() > limit * 1e9;',
    killers: [
      [
        'test/server/connection.test.ts',
        'is paused while its socket is full, goes on from the log',
      ],
    ],
  },
  {
    name: 'silent-client',
    rule: 'A client that pings and then says nothing for three heartbeats is given up.',
    file: 'src/server/connection.ts',
    find: '(isGreeted && quiet > limit) || outlet.isStuck(limit)',
    replace: 'outlet.isStuck(limit)',
    killers: [
      [
        'test/server/connection.test.ts',
        'that has said hello and then nothing for three heartbeats is given up',
      ],
    ],
  },
  {
    name: 'origin',
    rule: 'A page of another origin is closed with 1008.',
    file: 'src/server/run-server.ts',
    find: "if (!isAllowed) connection.close(1008, 'origin');\n    else if",
    replace: 'if',
    killers: [
      ['test/server/access.test.ts', 'that are wrong are told nothing, and cannot send anything'],
    ],
  },
  {
    name: 'token-does-not-come',
    rule: 'A client that renews no token in time is closed with 4401.',
    file: 'src/server/connection.ts',
    find: "stopReauth = setIdleTimer(() => close(4401, 'token'), wait);",
    replace: 'void wait;',
    killers: [['test/server/access.test.ts', 'that is bad, or does not come, closes with 4401']],
  },
  {
    name: 'start-again-on-one-connection',
    rule: 'Who follows a run already, and asks for its start again, is not told it twice.',
    file: 'src/server/run-requests.ts',
    find: 'if (keeps) return;',
    replace: '',
    killers: [
      [
        'test/server/run-server.test.ts',
        'starts once, however many connections ask for it at the same moment',
      ],
    ],
  },
  {
    name: 'other-process-follows',
    rule: 'A run that another process follows is not stopped.',
    file: 'src/server/audience.ts',
    find: "else if (type === 'followed' && !run.count) drop(runId);",
    replace: '',
    killers: [
      [
        'test/server/connection.test.ts',
        'leaves a run alone that another process follows, which then looks after it',
      ],
    ],
  },
  {
    name: 'renewed-principal',
    rule: 'A token of somebody else ends the connection.',
    file: 'src/server/connection.ts',
    find: "if (before !== principal) sendAway(0, 1012, 'other principal');",
    replace: '',
    killers: [
      [
        'test/server/access.test.ts',
        'of somebody else ends the connection, since its runs are another’s',
      ],
    ],
  },
  {
    name: 'goes-away-politely',
    rule: 'A server that goes away says for how long.',
    file: 'src/server/connection.ts',
    find: "if (!plain) say({ type: 'retry', after: Math.round(ms), reason });",
    replace: '',
    killers: [
      ['test/server/access.test.ts', 'send a flood of requests away, with a time to stay away'],
    ],
  },
  {
    name: 'greeting',
    rule: 'The server speaks first.',
    file: 'src/server/connection.ts',
    find: 'if (!silent && !plain) say(hello);',
    replace: '',
    killers: [
      ['test/server/access.test.ts', 'is asked for again, and a good one keeps the connection'],
    ],
  },
  {
    name: 'authorize',
    rule: '`authorize` is asked for each resume.',
    file: 'src/server/run-requests.ts',
    find: "if (!('unknown' in head) && !(await isAllowed('resume', runId, head.meta.threadId))) {\n        return unknown(runId, 'forbidden');\n      }",
    replace: '',
    killers: [
      [
        'test/server/access.test.ts',
        'is asked for each start, resume and cancel, with the thread where it is known',
      ],
    ],
  },
];
