import type { Mutant } from './mutant.ts';

const live = 'src/runs/live-run.ts';
const run = 'src/runs/run.ts';
const session = 'src/runs/session.ts';
const messagesTest = 'test/runs/messages.test.ts';
const timeoutsTest = 'test/runs/timeouts.test.ts';
const v1Test = 'test/runs/v1.test.ts';
const reloadTest = 'test/ag-ui/agent-reload.test.ts';

/** The rules by which runs start, wait and stop. */
export const runLifeMutants: readonly Mutant[] = [
  {
    name: 'cancel-repeated',
    rule: 'A cancel is repeated after each reconnect until the run is over.',
    file: session,
    find: 'for (const run of runs) run.repeatCancel();',
    replace: '',
    killers: [
      [messagesTest, 'is repeated after each reconnect, behind resume, until the run is over'],
    ],
  },
  {
    name: 'cancel-not-implied',
    rule: 'A disconnect never cancels.',
    file: run,
    find: "if (start.policy === 'cancel' && phase === 'sent'",
    replace: "if (phase === 'sent'",
    killers: [[messagesTest, 'is never implied by a drop, a dispose or the end of the client']],
  },
  {
    name: 'cancel-of-unsent',
    rule: 'Stopping a run whose start never left sends nothing.',
    file: run,
    find: "if (phase === 'unsent') return finish('cancelled');",
    replace: '',
    killers: [[messagesTest, 'sends nothing for a run that is cancelled before its message left']],
  },
  {
    name: 'cancelled-ends-cancelled',
    rule: 'After a cancel every end but success counts as cancelled.',
    file: run,
    find: "const cancelled = cancelling && how !== 'finished';",
    replace: 'const cancelled = false;',
    killers: [[v1Test, 'after a cancel leaves every end but success as cancelled']],
  },
  {
    name: 'resume-not-run',
    rule: 'A start that left but was not answered is resumed, not run again.',
    file: run,
    find: 'if (!confirmed && rules.restart && startable && !cancelling) {',
    replace: 'if (!confirmed && startable && !cancelling) {',
    killers: [[messagesTest, 'asks for a start that nothing was heard of from its start']],
  },
  {
    name: 'start-timeout',
    rule: 'A start that nobody answers for is given up after 60 s.',
    file: run,
    find: "else if (!idle) wait('patience', confirmed ? rules.orphanTimeout : rules.startTimeout, true);",
    replace: "else if (!idle && confirmed) wait('patience', rules.orphanTimeout, true);",
    killers: [[timeoutsTest, 'ends a start that no reconnect brought an answer for']],
  },
  {
    name: 'start-timeout-not-by-idle-swap',
    rule: 'The client’s own idle swap does not start the clock of a start.',
    file: run,
    find: "else if (!idle) wait('patience'",
    replace: "else wait('patience'",
    killers: [
      [
        timeoutsTest,
        'does not count on the connection that the start was sent on, nor after an idle swap',
      ],
    ],
  },
  {
    name: 'orphan-timeout',
    rule: 'A remembered run that nothing is heard of is given up after 60 s.',
    file: run,
    find: "else if (!idle) wait('patience', confirmed ? rules.orphanTimeout : rules.startTimeout, true);",
    replace: "else if (!idle && !confirmed) wait('patience', rules.startTimeout, true);",
    killers: [
      [timeoutsTest, 'ends a followed run that nothing comes of after 60 s of open connection'],
    ],
  },
  {
    name: 'heard-is-no-orphan',
    rule: 'A run that was heard from is never orphaned.',
    file: run,
    find: "wait('patience', cancelling ? rules.orphanTimeout : undefined);",
    replace: "if (cancelling) wait('patience', rules.orphanTimeout);",
    killers: [[timeoutsTest, 'does not end a run that was heard from']],
  },
  {
    name: 'cancelled-orphan',
    rule: 'A cancelled run that a plain server never ends is over after 60 s.',
    file: run,
    find: "wait('patience', rules.orphanTimeout);\n    },\n    rewind() {",
    replace: '},\n    rewind() {',
    killers: [
      [
        timeoutsTest,
        'a cancelled run of which nothing comes any more is over 60 s after its cancel',
      ],
    ],
  },
  {
    name: 'open-time-counts',
    rule: 'Patience is counted in time with an open connection.',
    file: live,
    find: 'waits.pause();\n      step(() => machine.close',
    replace: 'step(() => machine.close',
    killers: [[timeoutsTest, 'counts open connections alone']],
  },
  {
    name: 'late-event-revives',
    rule: 'A late event takes back that a start was given up.',
    file: run,
    find: "(end && !suspended && !/^(start-un|run-unr)/.test(error?.code ?? ''))",
    replace: '(end && !suspended)',
    killers: [
      [timeoutsTest, 'is taken back by a late event: the run streams, is remembered, and ends'],
    ],
  },
  {
    name: 'never-runs-again',
    rule: '`run.unknown` `never` sends a start again that was never confirmed.',
    file: run,
    find: 'if (never && startable && (!confirmed || rules.restart)) {',
    replace: 'if (never && startable && confirmed && rules.restart) {',
    killers: [[v1Test, 'never: sends a start that was not confirmed again']],
  },
  {
    name: 'never-is-lost',
    rule: 'A confirmed run that the server does not know is lost, and not run again.',
    file: run,
    find: 'if (never && startable && (!confirmed || rules.restart)) {',
    replace: 'if (never && startable) {',
    killers: [[v1Test, 'never: is run-lost for a run that was confirmed']],
  },
  {
    name: 'policy-cancel-on-drop',
    rule: 'With the policy `cancel` a drop stops the run.',
    file: run,
    find: "if (start.policy === 'cancel' && phase === 'sent'",
    replace: "if (start.policy === 'cancel' && phase === 'unsent'",
    killers: [
      [
        reloadTest,
        'aborts the thread as soon as the connection drops, and stops the run on reconnect',
      ],
    ],
  },
  {
    name: 'swap-is-no-drop',
    rule: 'A socket that this side replaces is no drop.',
    file: run,
    find: '&& !cancelling && !swapped) {',
    replace: '&& !cancelling) {',
    killers: [
      [
        'test/runs/followers.test.ts',
        'a socket that this side replaces is no drop: policy cancel goes on',
      ],
    ],
  },
  {
    name: 'policy-cancel-on-reload',
    rule: 'With the policy `cancel` the next page stops the run.',
    file: 'src/runs/runs.ts',
    find: "cancelWhenOwned: policy === 'cancel',",
    replace: 'cancelWhenOwned: false,',
    killers: [
      [reloadTest, 'after a crash makes the next page send resume and cancel, and shows aborted'],
    ],
  },
  {
    name: 'pagehide-cancels-nothing',
    rule: 'Leaving the page cancels nothing.',
    file: live,
    find: "unlock();\n      if (type === 'show' && held) hold();",
    replace:
      "unlock();\n      if (type === 'hide') step(machine.cancel);\n      if (type === 'show' && held) hold();",
    killers: [[reloadTest, 'sends no cancel at pagehide, and closes the socket']],
  },
  {
    name: 'slept-wait',
    rule: 'A wait that slept with its page gets a second chance.',
    file: 'src/runs/waits.ts',
    find: 'if (!wait.slept && now()',
    replace: 'if (wait.slept && now()',
    killers: [
      [
        'test/runs/feed.test.ts',
        'is not given up because the page slept while its answer was on the way',
      ],
    ],
  },
  {
    name: 'silence-of-known-events',
    rule: 'What is known already does not hold off the `silenceTimeout`.',
    file: run,
    find: 'watchSilence(isKnown);',
    replace: 'watchSilence();',
    killers: [
      [timeoutsTest, 'is not held off by a known event that an overlapping resume brings again'],
    ],
  },
  {
    name: 'unknown-after-cancel',
    rule: '`run.unknown` is the end of a run that was cancelled.',
    file: 'src/runs/run.ts',
    find: "if (terminal || cancelling) finish(terminal ?? 'cancelled');\n    else if",
    replace: 'if',
    killers: [
      ['test/runs/v1.test.ts', 'never: does not start what was stopped before it was confirmed'],
    ],
  },
  {
    name: 'accepted-confirms',
    rule: '`run.accepted` confirms a start.',
    file: 'src/runs/run.ts',
    find: 'if (end) revive();\n        hear();',
    replace: 'if (end) revive();',
    killers: [['test/runs/v1.test.ts', 'confirms a start before its first event']],
  },
  {
    name: 'restart-starts-again',
    rule: 'With `restart` an unconfirmed start is sent again at once.',
    file: 'src/runs/run.ts',
    find: 'if (!confirmed && rules.restart && startable && !cancelling) {',
    replace: 'if (!confirmed && rules.restart && startable && cancelling) {',
    killers: [
      [
        'test/runs/timeouts.test.ts',
        'sends an unconfirmed start again at once, with the same id and input',
      ],
    ],
  },
  {
    name: 'cancelled-is-not-started',
    rule: 'A run that was stopped is not started again.',
    file: 'src/runs/run.ts',
    find: 'if (!confirmed && rules.restart && startable && !cancelling) {',
    replace: 'if (!confirmed && rules.restart && startable) {',
    killers: [['test/runs/timeouts.test.ts', 'does not start again what was cancelled']],
  },
  {
    name: 'silence-timeout',
    rule: 'With `silenceTimeout` a silent run is lost.',
    file: 'src/runs/run.ts',
    find: "if (name === 'silence') fail('run-lost', 'went silent');\n      else if",
    replace: 'if',
    killers: [['test/runs/timeouts.test.ts', 'ends a run that was heard from with run-lost']],
  },
  {
    name: 'final-close-suspends',
    rule: 'A final close suspends a run, and a new connection takes it up.',
    file: 'src/runs/run.ts',
    find: 'if (suspended) end = error = undefined;',
    replace: '',
    killers: [
      [
        'test/ag-ui/agent-signals.test.ts',
        'is taken back by reconnect(): the run resumes where it was',
      ],
    ],
  },
  {
    name: 'same-id-same-run',
    rule: 'An id that is under way is never started a second time.',
    file: 'src/runs/runs.ts',
    find: 'if (existing) return existing;\n      beforeStart();',
    replace: 'beforeStart();',
    killers: [
      [
        'test/runs/iteration.test.ts',
        'returns the run under way where its id is started or followed again',
      ],
    ],
  },
  {
    name: 'cancel-unheard',
    rule: 'A run that talks on behind its cancel is told again on another connection.',
    file: run,
    find: "else if (name === 'stop') ",
    replace: "else if (name === 'stop') return;\n      else if (!name) ",
    killers: [
      [timeoutsTest, 'that a run talks on behind for 5 s is sent once more, on another connection'],
    ],
  },
];
