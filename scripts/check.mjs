// Everything that has to hold before a change lands: `npm test`.
// Each check and each test counts once in the line of totals at the end.
import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const reports = mkdtempSync(join(tmpdir(), 'runsocket-check-'));
const totals = { passed: 0, failed: 0, skipped: 0 };
// What passed at the second try only: a browser test may, and is told.
const second = [];

function run(title, ...command) {
  console.log(`\n▶ ${title}`);
  const started = Date.now();
  const [tool, ...args] = command[0] === 'npm' ? command : ['npx', '--no-install', ...command];
  const { status } = spawnSync(tool, args, {
    stdio: 'inherit',
    shell: process.platform === 'win32',
  });
  console.log(
    `${status === 0 ? '✓' : '✗'} ${title} (${((Date.now() - started) / 1000).toFixed(1)} s)`,
  );
  return status === 0;
}

function check(title, ...command) {
  totals[run(title, ...command) ? 'passed' : 'failed'] += 1;
}

function test(title, ...args) {
  const report = join(reports, `${title.replaceAll(/\W+/g, '-')}.json`);
  const passed = run(
    title,
    'vitest',
    'run',
    ...args,
    '--reporter=default',
    '--reporter=json',
    `--outputFile.json=${report}`,
  );
  if (!existsSync(report)) {
    totals.failed += 1;
    return;
  }
  const { numPassedTests, numFailedTests, numPendingTests, numTodoTests, testResults } = JSON.parse(
    readFileSync(report, 'utf8'),
  );
  totals.passed += numPassedTests;
  totals.failed += numFailedTests;
  totals.skipped += numPendingTests + (numTodoTests ?? 0);
  for (const { status, fullName, failureMessages } of testResults.flatMap(
    (file) => file.assertionResults,
  )) {
    if (status === 'passed' && failureMessages?.length)
      second.push(`${fullName}: ${failureMessages[0].split('\n')[0]}`);
  }
  // A file that does not load, or a stray rejection, fails no test of its own.
  if (!passed && numFailedTests === 0) totals.failed += 1;
}

check('lint and layers', 'biome', 'check', '--error-on-warnings');
check('types', 'tsc', '--noEmit');
test('unit tests');
check('build', 'tsup');
check('package: publint', 'publint', '--strict');
check('package: types for every resolver', 'attw', '--pack', '.', '--profile', 'node16');
check('sizes', 'size-limit');
check('examples build', 'npm', 'run', 'build', '--workspaces', '--if-present');
check('examples types', 'npm', 'run', 'typecheck', '--workspaces', '--if-present');
test('built package and browser', '--config', 'vitest.dist.config.ts');

rmSync(reports, { recursive: true, force: true });
for (const line of second) console.log(`second try: ${line}`);
const { passed, failed, skipped } = totals;
console.log(`\n${passed} passed, ${failed} failed, ${skipped} skipped`);
process.exitCode = failed ? 1 : 0;
