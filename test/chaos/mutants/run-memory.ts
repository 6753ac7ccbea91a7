import type { Mutant } from './mutant.ts';

const live = 'src/runs/live-run.ts';
const run = 'src/runs/run.ts';
const storage = 'src/runs/run-storage.ts';
const timeoutsTest = 'test/runs/timeouts.test.ts';
const reloadTest = 'test/ag-ui/agent-reload.test.ts';
const storageTest = 'test/ag-ui/agent-storage.test.ts';

/** The rules of what is remembered, and of who owns it. */
export const runMemoryMutants: readonly Mutant[] = [
  {
    name: 'unsent-never-persisted',
    rule: 'A run that is still unsent is not remembered.',
    file: live,
    find: 'hold();\n      session.refresh();',
    replace: 'hold();\n      remember();\n      session.refresh();',
    killers: [[reloadTest, 'does not start runs that were never sent']],
  },
  {
    name: 'written-before-sent',
    rule: 'A run is written down before its start leaves.',
    file: live,
    find: 'const written = remember();\n    if (!written) return transmitStart();',
    replace:
      'transmitStart();\n    remember();\n    const written = Promise.resolve();\n    if (held) return;',
    killers: [[timeoutsTest, 'comes first with synchronous storage']],
  },
  {
    name: 'write-waits-250-ms',
    rule: 'A start waits at most 250 ms for its write.',
    file: live,
    find: 'const stop = env.setTimer(go, writeWait);',
    replace: 'const stop = () => {};',
    killers: [[timeoutsTest, 'is not waited for longer than 250 ms']],
  },
  {
    name: 'unsent-is-forgotten',
    rule: 'A start whose connection went while it was written down is forgotten again.',
    file: 'src/runs/live-run.ts',
    find: 'return forget();',
    replace: 'return undefined;',
    killers: [
      ['test/runs/timeouts.test.ts', 'leaves nothing behind where the connection went meanwhile'],
    ],
  },
  {
    name: 'cancel-remembered',
    rule: 'A cancel is remembered over a reload.',
    file: run,
    find: 'world.note({ cancel: true });\n      if (!connected) return;',
    replace: 'if (!connected) return;',
    killers: [
      [reloadTest, 'gets resume and cancel from the next page until it ends, and stays aborted'],
    ],
  },
  {
    name: 'epoch-remembered',
    rule: 'The epoch is remembered over a reload.',
    file: 'src/runs/log-reader.ts',
    find: 'if (old !== epoch) world.note({ epoch });',
    replace: '',
    killers: [
      [
        'test/runs/remembered.test.ts',
        'tells a page that another execution answers than the one an earlier page has read',
      ],
    ],
  },
  {
    name: 'policy-of-the-record',
    rule: 'A run keeps its policy over a reload.',
    file: 'src/runs/runs.ts',
    find: 'const { runId, policy, acked, cancel, epoch, sentAt } = record;',
    replace:
      'const { runId, acked, cancel, epoch, sentAt } = record;\n      const policy = options.policy;',
    killers: [['test/ag-ui/agent-reload.test.ts', "of a run outlives the next page's own default"]],
  },
  {
    name: 'full-storage-gives-up-checkpoint',
    rule: 'Where storage is full the checkpoint goes first.',
    file: storage,
    find: "if (checkpoint) yield [withRecord(plain), 'older messages'];",
    replace: '',
    killers: [
      [storageTest, 'gives up the checkpoint first: the run is replayed on the whole conversation'],
    ],
  },
  {
    name: 'full-storage-gives-up-older-messages',
    rule: 'Then older messages go.',
    file: storage,
    find: 'while (messages.length > 1) {',
    replace: 'while (messages.length > Infinity) {',
    killers: [[storageTest, 'then older messages, and says so']],
  },
  {
    name: 'full-storage-gives-up-base',
    rule: 'Then the whole base goes, and the record stays.',
    file: storage,
    find: "yield [withRecord(bare), 'a run'];",
    replace: '',
    killers: [[storageTest, 'then the base: the run alone is shown']],
  },
  {
    name: 'unknown-version',
    rule: 'What another version remembered is ignored.',
    file: storage,
    find: 'value.v === 1 && ',
    replace: '',
    killers: [[storageTest, 'is ignored where it is ']],
  },
  {
    name: 'record-goes',
    rule: 'The record goes when the run is over.',
    file: run,
    find: 'log.close();\n    world.forget();',
    replace: 'log.close();',
    killers: [[reloadTest, 'after start-unknown or an end has nothing to resume']],
  },
  {
    name: 'input-until-confirmed',
    rule: 'The input is remembered only until the start is confirmed.',
    file: live,
    find: 'change.acked ? { ...change, input: undefined } : change',
    replace: 'change',
    killers: [[reloadTest, 'has what only the start needs until the start is confirmed']],
  },
  {
    name: 'checkpoint-of-another-execution',
    rule: 'A restart forgets the checkpoint.',
    file: live,
    find: 'store.amend(id, { checkpoint: undefined });',
    replace: '',
    killers: [[reloadTest, 'of an execution that is gone is never used again']],
  },
  {
    name: 'losses-reported-once',
    rule: 'Each loss of storage is reported once.',
    file: storage,
    find: 'if (reported.has(what)) return;',
    replace: '',
    killers: [[storageTest, 'reports each loss once, however often it is met']],
  },
  {
    name: 'other-records-kept',
    rule: 'The memory of a name is read, changed and written back.',
    file: storage,
    find: 'change(({ runs, ...rest }) => {',
    replace:
      'change(({ runs: all, ...rest }) => {\n        const runs = all.filter((one) => one.runId === runId);',
    killers: [
      [storageTest, 'is read, changed and written back: two agents of one name keep both records'],
    ],
  },
  {
    name: 'writes-in-turn',
    rule: 'Asynchronous storage is changed by one after the other.',
    file: storage,
    find: 'return tail ? tail.then(task) : task();',
    replace: 'return task();',
    killers: [[storageTest, 'keeps the records of two agents of one name']],
  },
  {
    name: 'storage-that-throws',
    rule: 'Storage that throws costs only the memory.',
    file: 'src/runs/run-storage.ts',
    find: '} catch (error) {\n      failed(error);\n      return use(undefined);\n    }',
    replace: '} finally {\n      void failed;\n    }',
    killers: [
      [
        'test/ag-ui/agent-storage.test.ts',
        'where every access throws, and it is reported once for each kind',
      ],
    ],
  },
  {
    name: 'lock-of-the-copy',
    rule: 'The copy of a tab does not cancel by itself.',
    file: 'src/runs/run-lock.ts',
    find: 'if (!locks) own();',
    replace: 'own();\n  if (!locks) own();',
    killers: [
      [reloadTest, 'keep a duplicated tab from cancelling the run of its original by itself'],
    ],
  },
  {
    name: 'lock-released-at-pagehide',
    rule: 'A page that is left releases its locks, and asks for them when it is shown again.',
    file: live,
    find: 'page(type) {\n      unlock();',
    replace: 'page(type) {',
    killers: [[reloadTest, 'are released at pagehide, and asked for again at pageshow']],
  },
  {
    name: 'lock-released-at-end',
    rule: 'The lock of a run goes with the run.',
    file: 'src/runs/live-run.ts',
    find: 'waits.clear();\n      unlock();\n      letGo();',
    replace: 'waits.clear();\n      letGo();',
    killers: [
      [
        'test/ag-ui/agent-reload.test.ts',
        'are held under runsocket:<runId> while a run is under way',
      ],
    ],
  },
  {
    name: 'locks-denied',
    rule: 'Where locks are denied every page owns its runs.',
    file: 'src/runs/run-lock.ts',
    find: 'if (!owned) own();',
    replace: '',
    killers: [['test/ag-ui/agent-reload.test.ts', 'that are denied make every page the owner']],
  },
  {
    name: 'unread-is-kept',
    rule: 'What could not be read is not written over.',
    file: storage,
    find: "(now ? write(shrink(edit(now), runId)) : lose('what is new', undefined))",
    replace: 'write(shrink(edit(now ?? { runs: [] }), runId))',
    killers: [
      [
        'test/runs/remembered.test.ts',
        'storage that fails to read once loses none of the runs that stand in it',
      ],
      [storageTest, 'that fails to read once loses nothing that stands in it'],
    ],
  },
  {
    name: 'start-keeps-its-time',
    rule: 'A start that is written down late keeps its time.',
    file: live,
    find: 'sentAt: since,',
    replace: 'sentAt: env.now(),',
    killers: [
      [
        'test/ag-ui/agent-records.test.ts',
        'shows the run that was started last, also where one before it comes late',
      ],
    ],
  },
  {
    name: 'storage-of-a-process',
    rule: 'The storage of a process is nobody’s memory.',
    file: 'src/ag-ui/agent-memory.ts',
    find: 'if (!page.document) return undefined;',
    replace: '',
    killers: [
      [
        storageTest,
        'where there is no document: the storage of a process would mix up those whom it serves',
      ],
    ],
  },
  {
    name: 'replaced-is-stopped',
    rule: 'A run that took the place of a remembered one before slow storage answered stops that one.',
    file: 'src/ag-ui/agent.ts',
    find: 'if (!newest) return;\n      take(newest, false);',
    replace: 'if (newest) return;\n      take(newest!, false);',
    killers: [
      [
        storageTest,
        'that answers after run() does not take the thread from it: what streamed is stopped',
      ],
      [storageTest, 'that answers after run() forgets the run that this one took the place of'],
      [storageTest, 'that answers after run() has a run cancelled that was stopped before'],
    ],
  },
];
