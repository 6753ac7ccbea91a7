import type { Mutant } from './mutant.ts';

const feed = 'src/runs/feed.ts';
const live = 'src/runs/live-run.ts';
const log = 'src/runs/log-reader.ts';
const run = 'src/runs/run.ts';
const session = 'src/runs/session.ts';
const feedTest = 'test/runs/feed.test.ts';
const messagesTest = 'test/runs/messages.test.ts';
const timeoutsTest = 'test/runs/timeouts.test.ts';
const v1Test = 'test/runs/v1.test.ts';

/** The rules by which a log is read. */
export const runLogMutants: readonly Mutant[] = [
  {
    name: 'dedupe',
    rule: 'What is at or below the cursor is dropped.',
    file: feed,
    find: 'if (ahead < 0) return false;',
    replace: 'if (ahead < 0) dense = false;',
    killers: [[feedTest, 'at or below the cursor are dropped']],
  },
  {
    name: 'dedupe-strings',
    rule: 'A string offset is taken once.',
    file: feed,
    find: 'if (seen.has(offset)) return false;',
    replace: '',
    killers: [[feedTest, 'may be strings: each is taken once']],
  },
  {
    name: 'strings-of-earlier-pages',
    rule: 'A string offset that an earlier page has taken is not taken again.',
    file: feed,
    find: 'concat(from.seen, cursor)',
    replace: 'concat(cursor)',
    killers: [['test/regression/string-offsets.test.ts', 'are known behind a reload']],
  },
  {
    name: 'hold-back',
    rule: 'What stands behind a gap is held back.',
    file: feed,
    find: 'if (ahead && dense) return hold(offset, events);',
    replace: '',
    killers: [[feedTest, 'holds back what is behind it for 250 ms, then asks again']],
  },
  {
    name: 'hold-back-limit',
    rule: 'At most 256 events are held back.',
    file: feed,
    find: 'held.splice(holdLimit);',
    replace: '',
    killers: [[feedTest, 'holds the first 256 events behind it, and no more']],
  },
  {
    name: 'full-hold-back-asks',
    rule: 'A full hold-back asks at once.',
    file: log,
    find: 'if (feed.held >= holdLimit) askAgain();\n      else wait',
    replace: 'wait',
    killers: [[feedTest, 'asks at once when 256 events wait, and never holds more']],
  },
  {
    name: 'gap-timer',
    rule: 'A gap is asked for again after 250 ms.',
    file: log,
    find: "else wait('hole', holeWait, waiting && !moved);",
    replace: '',
    killers: [[feedTest, 'holds back what is behind it for 250 ms, then asks again']],
  },
  {
    name: 'gap-accepted',
    rule: 'The same gap a second time is accepted.',
    file: log,
    find: 'if (feed.receive(offset, events) && asked && answered && offset === lowest) acceptHole();\n      else if',
    replace: 'feed.receive(offset, events);\n      if',
    killers: [[feedTest, 'is accepted the second time']],
  },
  {
    name: 'gap-makes-sparse',
    rule: 'One accepted gap makes a plain run sparse for good.',
    file: feed,
    find: 'dense = promised;\n      pass',
    replace: 'pass',
    killers: [[feedTest, 'makes the run sparse for good once it is accepted']],
  },
  {
    name: 'gap-on-dead-connection',
    rule: 'A gap that nobody answers for is asked for on another connection before it is given up.',
    file: log,
    find: 'else if (doubted !== cursorOf()) {',
    replace: 'else if (doubted === undefined) {',
    killers: [[feedTest, 'is asked for on another connection where this one brings no answer']],
  },
  {
    name: 'answer-to-the-question',
    rule: 'Only what answers the question for a gap tells that nothing fills it.',
    file: log,
    find: 'answered = epoch === undefined;',
    replace: 'answered = true;',
    killers: [['test/runs/v1.test.ts', 'that was sent before the question does not answer it']],
  },
  {
    name: 'v1-from-zero',
    rule: 'A log of v1 begins at 0.',
    file: feed,
    find: 'if (promised || cursor !== undefined) {',
    replace: 'if (cursor !== undefined) {',
    killers: [[v1Test, 'is read without a hole from the first event on']],
  },
  {
    name: 'epoch',
    rule: 'Another epoch rebuilds the run from its start.',
    file: log,
    find: 'if (old === undefined || old === epoch) return;',
    replace: 'if (old !== null) return;',
    killers: [[v1Test, 'with another epoch rebuilds the run from its start']],
  },
  {
    name: 'overlap',
    rule: 'With `overlap` the first answer must equal the last event applied.',
    file: log,
    find: 'if (offset !== cursor || !equalJson(events, feed.position.last)) {',
    replace: 'if (offset !== cursor) {',
    killers: [
      [feedTest, 'restarts where the event is another one, and reads the log from its start'],
    ],
  },
  {
    name: 'overlap-asks-before',
    rule: 'With `overlap` a resume asks for one event more than it needs.',
    file: log,
    find: 'world.resume(comparing ? previous : offset);',
    replace: 'world.resume(offset);',
    killers: [
      [
        'test/runs/feed.test.ts',
        'asks for one event more than it needs and goes on where that is the same',
      ],
    ],
  },
  {
    name: 'truncated-is-told',
    rule: 'A log without its beginning leaves the thread stale.',
    file: log,
    find: "world.hole(new RunSocketError('log-truncated', text));",
    replace: '',
    killers: [
      [
        'test/ag-ui/agent-signals.test.ts',
        'run-lost, run-unknown, run-forbidden and log-truncated',
      ],
    ],
  },
  {
    name: 'truncated-behind-cursor',
    rule: '`run.truncated` changes nothing for a reader that is past it.',
    file: log,
    find: 'if (Number(cursorOf() ?? -1) >= from - 1) return;',
    replace: '',
    killers: [['test/runs/v1.test.ts', 'changes nothing for a reader that is past it']],
  },
  {
    name: 'frame-offset',
    rule: 'The last defined offset of a frame is the frame’s.',
    file: 'src/runs/runs.ts',
    find: '.pop()?.offset;',
    replace: '.shift()?.offset;',
    killers: [['test/runs/feed.test.ts', 'takes the last defined offset of a frame for the frame']],
  },
  {
    name: 'foreign-offset',
    rule: 'An offset that is none is reported and costs nothing.',
    file: 'src/runs/runs.ts',
    find: 'if (offset === undefined || isOffset(offset)) {',
    replace: 'if (offset !== null) {',
    killers: [['test/runs/feed.test.ts', ' are reported and cost neither the cursor nor the run']],
  },
  {
    name: 'lowest-cursor',
    rule: 'Several followers of one run ask once, from the lowest offset.',
    file: session,
    find: 'if (!other || isBefore(after, other.after))',
    replace: 'if (!other)',
    killers: [[messagesTest, 'takes a follower without a cursor for the lowest']],
  },
  {
    name: 'followers-apart',
    rule: 'Each follower of a run drops what it has.',
    file: 'src/runs/session.ts',
    find: 'if (asks) asks.push(ask);\n      else ask.send(ask.after);',
    replace: 'ask.send(ask.after);',
    killers: [
      [
        'test/runs/messages.test.ts',
        'asks once for a run of several followers, from the lowest offset; each drops what it has',
      ],
    ],
  },
  {
    name: 'second-feed',
    rule: 'Who joins a run that the connection already brings gets the whole run.',
    file: live,
    find: 'if (session.fed.has(id)) return context.reconnect();',
    replace: '',
    killers: [
      [
        'test/runs/followers.test.ts',
        'who joins a run that a connection already brings gets a new connection',
      ],
    ],
  },
  {
    name: 'terminal-before-run-end',
    rule: 'An AG-UI terminal sets the status, `run.end` only where there was none.',
    file: run,
    find: 'finish(terminal ?? (status ===',
    replace: 'finish((status ===',
    killers: [[v1Test, 'does not change what a terminal event said, but for lost']],
  },
  {
    name: 'run-end-is-the-end',
    rule: 'Where the server announced `run.end` a terminal event does not end the run.',
    file: run,
    find: "if (!rules.ends) wait('after', afterWait);",
    replace: "wait('after', afterWait);",
    killers: [[v1Test, 'is waited for: a terminal event does not end the run']],
  },
  {
    name: 'run-end-waits',
    rule: '`run.end` waits for the events before it.',
    file: log,
    find: 'if (!isMissing(control)) return onEnd(control.status);',
    replace: 'if (control) return onEnd(control.status);',
    killers: [[v1Test, 'waits for the events before it']],
  },
  {
    name: 'lost-over-terminal',
    rule: '`run.end` `lost` counts whatever was said before.',
    file: run,
    find: "if (status === 'lost') fail(",
    replace: "if (status === 'lost' && !terminal) fail(",
    killers: [[v1Test, 'does not change what a terminal event said, but for lost']],
  },
  {
    name: 'terminal-ends-plain-run',
    rule: 'A run of a plain server is over 1 s after its last terminal.',
    file: run,
    find: "if (!rules.ends) wait('after', afterWait);",
    replace: '',
    killers: [[timeoutsTest, 'comes 1 s after the last terminal']],
  },
  {
    name: 'started-again',
    rule: 'A `RUN_STARTED` behind a terminal re-opens the run.',
    file: run,
    find: 'terminal = undefined;\n        startedId =',
    replace: 'startedId =',
    killers: [[timeoutsTest, 'is not told by a terminal that the run has begun again behind']],
  },
  {
    name: 'foreign-terminal',
    rule: 'A terminal of another run inside the stream does not end this one.',
    file: 'src/runs/protocol.ts',
    find: 'if (id !== runId && startedId !== undefined && id !== startedId) return undefined;',
    replace: '',
    killers: [
      ['test/ag-ui/agent-run.test.ts', 'with an id that nobody started do not end the run'],
    ],
  },
  {
    name: 'rebuilt-once',
    rule: 'A server that names another epoch each time is asked at leisure.',
    file: 'src/runs/log-reader.ts',
    find: "if (rebuilt) wait('hole', holeWait);\n          else resume();",
    replace: 'resume();',
    killers: [['test/runs/lying-servers.test.ts', ' its events, is asked again at leisure']],
  },
  {
    name: 'reset-drops',
    rule: 'Nothing that was held is given behind a reset.',
    file: 'src/runs/log-reader.ts',
    find: 'feed.drop();\n    feed = createFeed(give);',
    replace: 'feed = createFeed(give);',
    killers: [
      [
        'test/runs/feed.test.ts',
        'is over where a listener has the run read from its start: nothing more of what was held is told',
      ],
    ],
  },
];
