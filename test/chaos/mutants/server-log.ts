import type { Mutant } from './mutant.ts';

const memory = 'src/server/memory-run-log.ts';
const producer = 'src/server/producer.ts';
const serverTest = 'test/server/run-server.test.ts';
const brokenLogTest = 'test/server/broken-log.test.ts';
const contractTest = 'test/server/memory-run-log.test.ts';

/** The duties of a server about logs and those who write them. */
export const serverLogMutants: readonly Mutant[] = [
  {
    name: 'append-before-send',
    rule: 'An event that the store refused is written before anything behind it.',
    file: 'src/server/log-writer.ts',
    find: 'if (isRunSocketError(error)) throw error;\n        report(error);',
    replace:
      'if (isRunSocketError(error)) throw error;\n        report(error);\n        return undefined as Result;',
    killers: [[brokenLogTest, 'loses and doubles nothing']],
  },
  {
    name: 'append-once',
    rule: 'What a store refused and wrote all the same is not written twice.',
    file: 'src/server/log-writer.ts',
    find: 'if (isAsked) {',
    replace: 'if (isAsked && !isAsked) {',
    killers: [[brokenLogTest, 'loses and doubles nothing']],
  },
  {
    name: 'end-behind-events',
    rule: 'The end of a log is written behind its events.',
    file: producer,
    find: 'await writer.flush();\n      return status;\n    } catch (error) {\n      if (!isRun',
    replace: 'return status;\n    } catch (error) {\n      if (!isRun',
    killers: [[serverTest, 'is accepted before its first event, told from its start, and ended']],
  },
  {
    name: 'end-behind-replay',
    rule: '`run.end` is sent behind the last event.',
    file: 'src/server/follower.ts',
    find: "if (head.status === 'running' || next < head.next) return false;",
    replace: "if (head.status === 'running') return false;",
    killers: [[brokenLogTest, 'whose readers stop early has its end told behind the last event']],
  },
  {
    name: 'live-behind-replay',
    rule: 'A follower is told the log from where it stands, and live events behind that.',
    file: memory,
    find: 'let next = (after ?? -1) + 1;\n      const stop',
    replace: 'let next = entry.events.length;\n      const stop',
    killers: [
      [
        serverTest,
        'goes on without a socket, and is resumed behind the last event that was applied',
      ],
    ],
  },
  {
    name: 'idempotent-start',
    rule: 'A run is started once, however often it is asked for.',
    file: memory,
    find: 'if (known) return { epoch: known.epoch, created: false };',
    replace: 'if (known) return { epoch: known.epoch, created: true };',
    killers: [
      [
        brokenLogTest,
        'starts a run once that two connections ask for before either knows of the other',
      ],
    ],
  },
  {
    name: 'tombstones',
    rule: 'The id of a run that is gone is remembered, and never run again.',
    file: memory,
    find: 'change(entry);\n    tombstones.add(runId);',
    replace: 'change(entry);',
    killers: [[contractTest, 'keeps a finished run for 30 minutes, its id for a day more']],
  },
  {
    name: 'retention',
    rule: 'A finished log goes after its time.',
    file: memory,
    find: 'finished.add(runId);',
    replace: '',
    killers: [[contractTest, 'keeps a finished run for 30 minutes, its id for a day more']],
  },
  {
    name: 'epoch-of-the-writer',
    rule: 'A log takes events of its own epoch alone.',
    file: memory,
    find: "if (entry?.epoch !== epoch || entry.status !== 'running') throw lost(runId);",
    replace: "if (entry?.status !== 'running') throw lost(runId);",
    killers: [
      [contractTest, 'takes no events for another epoch, for a run that has ended, or for none'],
    ],
  },
  {
    name: 'epoch-of-the-reader',
    rule: 'Two executions are never spliced.',
    file: 'src/server/follower.ts',
    find: "if ('unknown' in head || head.epoch !== epoch) {",
    replace: "if ('unknown' in head) {",
    killers: [[brokenLogTest, 'is not read on when the old one ends without a word']],
  },
  {
    name: 'lease-renewed',
    rule: 'A run stays its process’s as long as that gives signs of life.',
    file: 'src/server/starts.ts',
    find: 'for (const [runId, producer] of producers) renewOne(runId, producer, ttl);',
    replace: 'void ttl;',
    killers: [[brokenLogTest, 'keeps its lease as long as its agent is at work']],
  },
  {
    name: 'lease-lost',
    rule: 'A process that lost its lease writes nothing more.',
    file: 'src/server/starts.ts',
    find: '(isOurs) => isOurs || producer.drop(),',
    replace: '() => {},',
    killers: [[brokenLogTest, 'stops here, and writes nothing more']],
  },
  {
    name: 'cancel-before-start',
    rule: 'A cancel holds for a run that is not known yet.',
    file: memory,
    find: 'cancelled.add(runId);',
    replace: '',
    killers: [[serverTest, 'holds for a run that is started later, and its agent is never asked']],
  },
  {
    name: 'cancel-overtakes-start',
    rule: 'A cancel holds for a run that is being started.',
    file: 'src/server/starts.ts',
    find: 'if (mark) mark.cancelled = true;',
    replace: '',
    killers: [[brokenLogTest, 'cancels a run whose cancel overtakes the answer to its start']],
  },
  {
    name: 'cancel-grace',
    rule: 'A cancelled agent that does not listen is left after a second.',
    file: producer,
    find: 'stopTimer = environment.setTimer(finish, cancelGrace);',
    replace: '',
    killers: [
      [
        'test/server/producer.test.ts',
        'that does not listen is left after a second, and heard no more',
      ],
    ],
  },
  {
    name: 'open-items-closed',
    rule: 'What is open is closed before a run finishes.',
    file: producer,
    find: 'for (const end of open.close()) write(end);',
    replace: '',
    killers: [
      ['test/server/producer.test.ts', 'that says the end itself leaves nothing open either'],
    ],
  },
  {
    name: 'finished-added',
    rule: 'A producer that returns without a terminal event gets `RUN_FINISHED`.',
    file: producer,
    find: "const last = terminal ? undefined : { type: 'RUN_FINISHED', threadId, runId };",
    replace: 'const last = undefined;',
    killers: [['test/server/producer.test.ts', 'that yields nothing gives an empty run']],
  },
  {
    name: 'error-added',
    rule: 'A producer that throws gets `RUN_ERROR`.',
    file: producer,
    find: "return close('error', terminal === 'error' ? undefined : last, false);",
    replace: "return close('error', undefined, false);",
    killers: [['test/server/producer.test.ts', 'that throws gives RUN_ERROR with what it threw']],
  },
  {
    name: 'cancelled-before-it-began',
    rule: 'The agent of a run that was cancelled before is never asked.',
    file: 'src/server/producer.ts',
    find: 'if (isCancelled) return await finish();',
    replace: '',
    killers: [
      [
        'test/server/run-server.test.ts',
        'holds for a run that is started later, and its agent is never asked',
      ],
    ],
  },
  {
    name: 'several-terminals',
    rule: 'An agent may begin again behind a terminal event.',
    file: 'src/server/producer.ts',
    find: 'isStarted = true;\n      terminal = undefined;',
    replace: 'isStarted = true;',
    killers: [['test/server/producer.test.ts', 'may finish and begin several times in one run']],
  },
  {
    name: 'one-terminal',
    rule: 'A terminal event that the agent said itself is not added again.',
    file: 'src/server/producer.ts',
    find: "const last = terminal ? undefined : { type: 'RUN_FINISHED', threadId, runId };",
    replace: "const last = { type: 'RUN_FINISHED', threadId, runId };",
    killers: [
      ['test/server/producer.test.ts', 'may say the start and the end itself, with or without ids'],
    ],
  },
  {
    name: 'silent-agent',
    rule: 'A silent run is told to have started after a second.',
    file: 'src/server/producer.ts',
    find: 'if (!isOver && !isStarted) start();',
    replace: '',
    killers: [['test/server/producer.test.ts', 'is told to have started after a second, and once']],
  },
  {
    name: 'jump-of-the-log',
    rule: 'A hole in what a log gives is told as `run.truncated`.',
    file: 'src/server/follower.ts',
    find: 'if (first > next) sink.truncated(first);',
    replace: '',
    killers: [
      [
        'test/server/broken-log.test.ts',
        'that was shortened tells who asks from before its start, and who reads into the hole',
      ],
    ],
  },
  {
    name: 'known-events-of-a-log',
    rule: 'What a log gives twice is sent once.',
    file: 'src/server/follower.ts',
    find: 'first < next ? batch.filter(({ offset }) => offset >= next) : batch',
    replace: 'batch',
    killers: [
      [
        'test/server/broken-log.test.ts',
        'that gives more than it was asked for is told from where a follower stands',
      ],
    ],
  },
  {
    name: 'unreadable-log',
    rule: 'A follower whose log cannot be read is sent away.',
    file: 'src/server/follower.ts',
    find: 'if (++failures >= attempts) return sink.failed(error);',
    replace: '++failures;',
    killers: [
      ['test/server/broken-log.test.ts', 'that cannot be read any more sends the follower away'],
    ],
  },
  {
    name: 'outage-of-the-store',
    rule: 'A run is given up when its store is away for more than a minute.',
    file: 'src/server/log-writer.ts',
    find: 'if (waited > longestOutage) {',
    replace: 'if (waited === Infinity) {',
    killers: [
      [
        'test/server/broken-log.test.ts',
        'is written to for a minute, and then the run is left to its lease',
      ],
    ],
  },
  {
    name: 'others-get-their-turn',
    rule: 'A generator that never waits lets others work.',
    file: 'src/server/log-writer.ts',
    find: '.then(() => pause(0));',
    replace: ';',
    killers: [['test/server/producer.test.ts', 'that never waits lets everybody else work']],
  },
  {
    name: 'evicted',
    rule: 'The oldest finished runs go where the log is full.',
    file: 'src/server/memory-run-log.ts',
    find: 'while (bytes + size > maxBytes && finished.takeOldest()) {}',
    replace: '',
    killers: [
      ['test/server/memory-run-log.test.ts', 'lets the oldest finished runs go where it is full'],
    ],
  },
  {
    name: 'limits-of-starts',
    rule: 'Starts are counted before anything is waited for.',
    file: 'src/server/starts.ts',
    find: 'if (size >= limits.maxRuns) return',
    replace: 'if (size > limits.maxRuns + 1e9) return',
    killers: [
      [
        'test/server/access.test.ts',
        'answer a start beyond them by an error, and count only runs at work',
      ],
    ],
  },
];
