// Removes one rule after the other in a copy of the sources, and looks whether a test notices:
// npm run mutants [-- --only name,name --jobs 2]. The list stands in test/chaos/mutants.
// --against test/runs: tries these tests instead of those of the list, to find who kills a mutant.
// --table: writes the list into test/chaos/README.md, and runs nothing.
import { spawn, spawnSync } from 'node:child_process';
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { importSources } from '../bench/bundle.mjs';

const { values: options } = parseArgs({
  options: {
    only: { type: 'string' },
    jobs: { type: 'string', default: '1' },
    against: { type: 'string' },
    table: { type: 'boolean', default: false },
    // How long the tests of one mutant may take, in seconds.
    patience: { type: 'string', default: '300' },
  },
});
const root = join(import.meta.dirname, '..');
const readme = join(root, 'test/chaos/README.md');
const { mutants, makeTable, placeTable, countOf } = await importSources(
  'test/chaos/mutants/list.ts',
  'test/chaos/mutants/table.ts',
);

const read = (...path) => readFileSync(join(...path), 'utf8');
const fail = (text) => {
  console.error(text);
  process.exitCode = 1;
};

const placed = placeTable(read(readme), makeTable(mutants));
if (options.table) {
  writeFileSync(readme, placed);
  process.exit();
}
if (placed !== read(readme)) {
  fail('The table in test/chaos/README.md is old: npm run mutants -- --table');
}
const names = options.only?.split(',');
const named = mutants.filter(({ name }) => !names || names.includes(name));
if (names && named.length < names.length) fail('No such mutant.');
for (const { name, file, find } of named) {
  const count = countOf(read(root, file), find);
  if (count !== 1) fail(`${name}: its text occurs ${count} times in ${file}.`);
}
if (process.exitCode) process.exit();

// Tests that are skipped notice nothing.
const isMissing = (program) => spawnSync(program, ['--version']).status !== 0;
const missing = new Set(named.flatMap(({ needs }) => needs ?? []).filter(isMissing));
const chosen = named.filter(({ needs }) => !missing.has(needs));
for (const program of missing) {
  const text = `There is no ${program} in the PATH: ${named.length - chosen.length} mutants are left out.`;
  // As for the tests themselves.
  if (process.env.RUNSOCKET_REQUIRE_REDIS) fail(text);
  else console.log(text);
}
if (process.exitCode || !chosen.length) process.exit();

const folder = mkdtempSync(join(tmpdir(), 'runsocket-mutants-'));
const running = new Set();
process.on('exit', () => {
  for (const { pid } of running) kill(pid);
  rmSync(folder, { recursive: true, force: true });
});
for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => process.exit(1));

function kill(pid) {
  try {
    // Its workers are processes of its group.
    process.kill(-pid, 'SIGKILL');
  } catch {}
}

function makeCopy(job) {
  const copy = join(folder, `${job}`);
  mkdirSync(join(copy, 'node_modules'), { recursive: true });
  for (const part of ['src', 'test', 'package.json', 'tsconfig.json', 'vitest.config.ts']) {
    cpSync(join(root, part), join(copy, part), {
      recursive: true,
      filter: (path) => !path.includes('node_modules'),
    });
  }
  // Each by itself, so that caches are the copy's own.
  for (const entry of readdirSync(join(root, 'node_modules'))) {
    if (entry.startsWith('.')) continue;
    symlinkSync(join(root, 'node_modules', entry), join(copy, 'node_modules', entry));
  }
  return copy;
}

const toPattern = (text) => text.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&');

// What tests say in a copy: those that passed and those that failed; neither where they hang.
async function runTests(copy, killers, bail, patience = Number(options.patience)) {
  const report = join(copy, 'report.json');
  rmSync(report, { force: true });
  const args = [join(root, 'node_modules/vitest/vitest.mjs'), 'run', '--project', 'node'];
  args.push('--typecheck.enabled=false', '--reporter=json', `--outputFile=${report}`);
  if (bail) args.push('--bail=1');
  if (options.against) args.push(...options.against.split(','));
  else {
    args.push(...new Set(killers.map(([file]) => file)));
    args.push('-t', killers.map(([, title]) => toPattern(title)).join('|'));
  }
  const child = spawn(process.execPath, args, { cwd: copy, stdio: 'ignore', detached: true });
  running.add(child);
  const timer = setTimeout(() => kill(child.pid), patience * 1000);
  await new Promise((resolve) => child.on('close', resolve));
  clearTimeout(timer);
  running.delete(child);
  if (!existsSync(report)) return { passed: [], failed: [] };
  const tests = JSON.parse(read(report)).testResults.flatMap(({ name, assertionResults }) =>
    assertionResults.map((test) => ({ ...test, file: name.slice(copy.length + 1) })),
  );
  const withStatus = (status) => tests.filter((test) => test.status === status);
  return { passed: withStatus('passed'), failed: withStatus('failed') };
}

async function tryMutant(copy, { file, find, replace, killers }) {
  const source = read(copy, file);
  writeFileSync(
    join(copy, file),
    source.replace(find, () => replace),
  );
  // One that hangs, or does not even load, is not noticed by any test.
  const { passed, failed } = await runTests(copy, killers, true);
  writeFileSync(join(copy, file), source);
  return { killer: failed[0], ran: passed.length + failed.length > 0 };
}

const copies = Array.from({ length: Math.max(1, Number(options.jobs)) }, (_, job) => makeCopy(job));

if (!options.against) {
  const killers = chosen.flatMap((mutant) => mutant.killers);
  const { passed, failed } = await runTests(copies[0], killers, false, 1_800);
  for (const { file, fullName } of failed) fail(`Fails without any mutant: ${file}: ${fullName}`);
  for (const [file, title] of killers) {
    const isThere = passed.some((test) => test.file === file && test.fullName.includes(title));
    if (!isThere) fail(`No such test: ${file}: ${title}`);
  }
  if (process.exitCode) process.exit();
  console.log(`${passed.length} tests pass without a mutant.`);
}

const started = Date.now();
const queue = [...chosen];
const survivors = [];
await Promise.all(
  copies.map(async (copy) => {
    for (let mutant = queue.shift(); mutant; mutant = queue.shift()) {
      const { killer, ran } = await tryMutant(copy, mutant);
      if (!killer) survivors.push(mutant.name);
      console.log(
        killer
          ? `killed    ${mutant.name}: ${killer.file}: ${killer.fullName}`
          : `SURVIVED  ${mutant.name}: ${ran ? mutant.rule : 'no test ran to its end'}`,
      );
    }
  }),
);
const seconds = ((Date.now() - started) / 1000).toFixed(0);
console.log(`${chosen.length - survivors.length} of ${chosen.length} killed in ${seconds} s.`);
for (const program of missing)
  console.log(`Not tried without a ${program}: ${named.length - chosen.length}.`);
if (survivors.length) fail(`Survivors: ${survivors.join(', ')}`);
