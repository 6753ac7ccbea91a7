import type { Mutant } from './mutant.ts';

const agent = 'src/ag-ui/agent.ts';
const memory = 'src/ag-ui/agent-memory.ts';
const runTest = 'test/ag-ui/agent-run.test.ts';
const reloadTest = 'test/ag-ui/agent-reload.test.ts';
const signalsTest = 'test/ag-ui/agent-signals.test.ts';

/** The rules of one conversation. */
export const agentMutants: readonly Mutant[] = [
  {
    name: 'stopped-run-is-not-shown',
    rule: 'Events of a run that was stopped do not change the thread.',
    file: agent,
    find: 'current.followed = false;\n    show(',
    replace: 'show(',
    killers: [
      [runTest, 'keeps every later event of that run from the thread, its own error included'],
    ],
  },
  {
    name: 'run-aborts-the-run-before',
    rule: 'A new run stops the one that streams.',
    file: agent,
    find: 'if (old && streaming) runs.get(old.id)?.cancel();',
    replace: '',
    killers: [
      [runTest, 'while a run streams aborts it first: cancel of the old before run of the new'],
    ],
  },
  {
    name: 'follow-aborts-the-run-before',
    rule: '`follow()` stops the run that streams.',
    file: agent,
    find: 'abort();\n      const base = current?.id === runId',
    replace: 'const base = current?.id === runId',
    killers: [[runTest, 'aborts a streaming run first']],
  },
  {
    name: 'abort-is-sent',
    rule: '`abort()` cancels on the server.',
    file: agent,
    find: 'stopShowing();\n    runs.get(current.id)?.cancel();',
    replace: 'stopShowing();',
    killers: [[runTest, 'before the first event cancels on the server']],
  },
  {
    name: 'record-taken-once',
    rule: 'A record that an agent of the page has taken is nobody else’s.',
    file: memory,
    find: '!taken.has(run.runId) && ',
    replace: '',
    killers: [[reloadTest, 'is the next one where the newest is taken already']],
  },
  {
    name: 'record-taken-by-the-faster',
    rule: 'Of two agents that found a record, the first that is used takes it.',
    file: agent,
    find: 'if (claims.has(newest.runId)) {',
    replace: "if (claims.has('')) {",
    killers: [[reloadTest, 'is taken once per page']],
  },
  {
    name: 'newest-record',
    rule: 'The newest record is taken.',
    file: memory,
    find: '.sort((a, b) => b.sentAt - a.sentAt)',
    replace: '.sort((a, b) => a.sentAt - b.sentAt)',
    killers: [[reloadTest, 'is the newest without threadId, and its thread id with it']],
  },
  {
    name: 'foreign-record-purged',
    rule: 'A record of another thread goes after 24 h.',
    file: memory,
    find: 'return record.threadId !== threadId && now - record.sentAt > purgeAfter;',
    replace: 'return record.sentAt > now + purgeAfter && !threadId;',
    killers: [[reloadTest, 'that is of another thread is purged after 24 h']],
  },
  {
    name: 'older-stopped-run',
    rule: 'A stopped run gets its cancel also where a newer one is taken up.',
    file: agent,
    find: 'take(one, false);',
    replace: 'void take;',
    killers: [[reloadTest, 'gets its cancel also where a newer run is taken up']],
  },
  {
    name: 'stopped-stays-aborted',
    rule: 'A run that was stopped before a reload stays aborted.',
    file: memory,
    find: 'return record.cancel ? endRun(shown,',
    replace: 'return record.cancel === null ? endRun(shown,',
    killers: [[reloadTest, 'before its first event is shown as aborted, too']],
  },
  {
    name: 'checkpoint-at-pagehide',
    rule: 'Offset and thread are written together when the page is left.',
    file: agent,
    find: 'hide: saveCheckpoint,',
    replace: '',
    killers: [[reloadTest, 'is written at pagehide alone, offset and thread in one']],
  },
  {
    name: 'checkpoint-limit',
    rule: 'A checkpoint has at most 256 kB.',
    file: memory,
    find: 'return JSON.stringify(checkpoint).length <= checkpointLimit;',
    replace: 'return true;',
    killers: [[reloadTest, 'is not written beyond 256 kB']],
  },
  {
    name: 'no-offset-without-thread',
    rule: 'An offset is used only with its thread.',
    file: memory,
    find: 'isOffset(checkpoint?.offset) ? readThread(checkpoint?.thread, initial) : undefined;',
    replace:
      'isOffset(checkpoint?.offset)\n    ? (readThread(checkpoint?.thread, initial) ?? initial)\n    : undefined;',
    killers: [[reloadTest, 'that is no thread is not used']],
  },
  {
    name: 'restart-shows-base',
    rule: 'A run that is read again is shown on what it found.',
    file: agent,
    find: 'if (isShown(runId) && current) show(current.base, true);',
    replace: '',
    killers: [[reloadTest, 'falls back to the base where the epoch is another']],
  },
  {
    name: 'resync-once',
    rule: 'A snapshot is asked for once in a stale period.',
    file: agent,
    find: 'if (!wasStale && thread.stale) askForSnapshot();',
    replace: 'if (thread.stale) askForSnapshot();',
    killers: [[signalsTest, 'asks only once while other events change the thread']],
  },
  {
    name: 'resync-after-reconnect',
    rule: 'A snapshot is asked for once more after a reconnect.',
    file: agent,
    find: 'if (isShown(runId) && thread.stale) askForSnapshot();',
    replace: '',
    killers: [[signalsTest, 'is asked for once more after a reconnect while it is stale']],
  },
  {
    name: 'reducer-that-throws',
    rule: 'A reducer that throws leaves the thread stale, and the run goes on.',
    file: agent,
    find: 'show({ ...thread, stale: true }, replay);\n          fail(',
    replace: 'fail(',
    killers: [
      [signalsTest, 'reduce: is reported, the thread stays and is stale, and the cursor moves on'],
    ],
  },
  {
    name: 'replay-once-a-frame',
    rule: 'A replay notifies once a frame.',
    file: agent,
    find: 'show(next, replay);',
    replace: 'show(next);',
    killers: [[signalsTest, 'of a replay come once a frame, and the thread has it all']],
  },
  {
    name: 'final-close-is-taken-back',
    rule: 'A new connection takes the error of a final close back.',
    file: agent,
    find: '/^(closed|start-un|run-unr)/',
    replace: '/^(start-un|run-unr)/',
    killers: [[signalsTest, 'is taken back by reconnect(): the run resumes where it was']],
  },
  {
    name: 'error-is-no-checkpoint',
    rule: 'A thread in error is no checkpoint.',
    file: 'src/ag-ui/agent.ts',
    find: "if (thread.status === 'error') return;\n    const position",
    replace: 'const position',
    killers: [
      ['test/ag-ui/agent-reload.test.ts', 'is not written while a final close shows an error'],
    ],
  },
  {
    name: 'edits-survive-a-reload',
    rule: 'What is set during a run is part of what the run is replayed on.',
    file: 'src/ag-ui/agent.ts',
    find: 'current.base = change(current.base);',
    replace: '',
    killers: [
      [
        'test/ag-ui/agent-run.test.ts',
        'during a run survive a reload, and the run goes on top of them',
      ],
    ],
  },
  {
    name: 'finished-is-not-aborted',
    rule: 'Stopping what its own events have ended changes nothing.',
    file: 'src/ag-ui/agent.ts',
    find: 'current.id !== runId || !isUnderWay()) return;',
    replace: 'current.id !== runId || !isStreaming()) return;',
    killers: [
      [
        'test/ag-ui/agent-run.test.ts',
        'between a terminal event and the end of its second leaves the run finished',
      ],
    ],
  },
  {
    name: 'lost-over-finished',
    rule: 'A run that is lost is in error, whatever it said before.',
    file: 'src/ag-ui/agent.ts',
    find: "if (thread.status === 'running' || error?.code === 'run-lost') {",
    replace: "if (thread.status === 'running') {",
    killers: [['test/ag-ui/agent-signals.test.ts', 'lost also where the thread had finished']],
  },
  {
    name: 'asynchronous-storage-comes-late',
    rule: '`run()` wins over what slow storage remembers.',
    file: 'src/ag-ui/agent.ts',
    find: 'if (current) {\n      // A run was faster',
    replace: 'if (!remembered) {\n      // A run was faster',
    killers: [
      [
        'test/ag-ui/agent-storage.test.ts',
        'that answers after run() does not take the thread from it',
      ],
    ],
  },
  {
    name: 'denied-storage',
    rule: 'Reading `sessionStorage` may throw.',
    file: 'src/ag-ui/agent-memory.ts',
    find: '} catch {\n    return undefined;\n  }',
    replace: '} finally {\n  }',
    killers: [
      ['test/ag-ui/agent-storage.test.ts', 'where reading the property sessionStorage throws'],
    ],
  },
  {
    name: 'own-thread-alone',
    rule: 'A record of another thread is left alone.',
    file: 'src/ag-ui/agent-memory.ts',
    find: ' && (threadId ?? run.threadId) === run.threadId',
    replace: '',
    killers: [
      ['test/ag-ui/agent-reload.test.ts', 'is that of its threadId, and it leaves others alone'],
    ],
  },
  {
    name: 'disposed-releases',
    rule: '`dispose()` releases the socket at once.',
    file: 'src/ag-ui/agent.ts',
    find: 'for (const release of holds) release(true);',
    replace: '',
    killers: [
      [
        'test/ag-ui/agent-run.test.ts',
        'cancels nothing, releases the socket at once and leaves no timer, listener or lock',
      ],
    ],
  },
  {
    name: 'run-in-a-listener',
    rule: 'A run that was replaced before it was sent is not sent.',
    file: 'src/ag-ui/agent.ts',
    find: 'if (current !== next) unwanted.abort();',
    replace: '',
    killers: [
      [
        'test/ag-ui/agent-run.test.ts',
        'called by who hears that the run before it is stopped leaves one of both, and no other at work',
      ],
    ],
  },
  {
    name: 'follow-nothing',
    rule: '`follow()` without an id changes nothing.',
    file: 'src/ag-ui/agent.ts',
    find: "if (!runId) throw new RunSocketError('invalid-argument', 'follow() takes a run id.');",
    replace: '',
    killers: [['test/ag-ui/agent-run.test.ts', 'without an id throws, and nothing has changed']],
  },
];
