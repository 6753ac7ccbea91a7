import type { Mutant } from './mutant.ts';

const live = 'src/runs/live-run.ts';
const run = 'src/runs/run.ts';
const runs = 'src/runs/runs.ts';
const iterationTest = 'test/runs/iteration.test.ts';
const lyingTest = 'test/runs/lying-servers.test.ts';

/** The rules by which runs are let go of and taken up again. */
export const runFollowingMutants: readonly Mutant[] = [
  {
    name: 'loop-joins',
    rule: 'Iterating a run that was let go of follows it again.',
    file: live,
    find: 'context.join(live);',
    replace: '',
    killers: [[iterationTest, 'is iterated after the last loop was left']],
  },
  {
    name: 'left-alone-joins',
    rule: 'A run that was let go of alone is followed again, though its others are not gone.',
    file: runs,
    find: 'if (!live.listening) live.attach();',
    replace: 'void live;',
    killers: [[iterationTest, 'is iterated after the last loop was left']],
  },
  {
    name: 'disposed-joins',
    rule: 'What `dispose()` let go of is followed again, though another run was started since.',
    file: runs,
    find: 'leave ??= session.join(member);\n      if (!isAway) return;',
    replace: 'if (leave) return;\n      leave = session.join(member);',
    killers: [
      [
        'test/runs/followers.test.ts',
        'who joins a run after dispose() is not kept from it by another one that was started since',
      ],
    ],
  },
  {
    name: 'aborted-start',
    rule: 'A start whose signal was aborted is not sent.',
    file: runs,
    find: 'if (aborted) live.run.cancel();',
    replace: '',
    killers: [
      [
        iterationTest,
        'sends nothing for a signal that was aborted before the start, on an open connection either',
      ],
    ],
  },
  {
    name: 'newest-of-all',
    rule: 'A stopped run that is taken up late does not become the newest.',
    file: runs,
    find: 'if (!(Number(runs.get(newest)?.since) > live.since)) newest',
    replace: 'newest',
    killers: [
      [
        'test/ag-ui/agent-records.test.ts',
        'gives the run that was started last the events that name none, also beside one that was stopped',
      ],
    ],
  },
  {
    name: 'resent-once',
    rule: 'A start is sent again once on a connection.',
    file: run,
    find: "if (resent) return wait('patience', rules.startTimeout, true);",
    replace: '',
    killers: [
      [lyingTest, 'a start by never having heard of it gets one more, and is given up after 60 s'],
    ],
  },
  {
    name: 'resent-on-each-connection',
    rule: 'A start may be sent again on each connection.',
    file: run,
    find: 'connected = true;\n      resent = false;',
    replace: 'connected = true;',
    killers: [['test/regression/slow-line.test.ts', 'arrives where it is a start']],
  },
];
