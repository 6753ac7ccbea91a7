// applyPatch against other JSON Patch libraries: `node bench/patch.mjs`.
// Every round runs each library on each scenario in this one process, briefly and in turn, so that
// a busy machine slows all of them; medians of paired rounds.
// Environment: ROUNDS (9), BUDGET (ms a library, scenario and round; 20).
import { createRequire } from 'node:module';
import v8 from 'node:v8';
import vm from 'node:vm';
import { build } from 'esbuild';

const rounds = Number(process.env.ROUNDS ?? 9);
const budget = Number(process.env.BUDGET ?? 20);

const bundle = await build({
  entryPoints: [new URL('../src/ag-ui/apply-patch.ts', import.meta.url).pathname],
  bundle: true,
  format: 'esm',
  minify: true,
  write: false,
});
const { applyPatch } = await import(
  `data:text/javascript;base64,${Buffer.from(bundle.outputFiles[0].contents).toString('base64')}`
);
const require = createRequire(import.meta.url);
const { default: fjp } = await import('fast-json-patch');
const { immutableJSONPatch } = await import('immutable-json-patch');
const { apply: mutative } = require('mutative');

const libraries = {
  runsocket: applyPatch,
  'immutable-json-patch': immutableJSONPatch,
  mutative: (document, patch) => mutative(document, patch),
  'fast-json-patch': (document, patch) => fjp.applyPatch(document, patch, true, false).newDocument,
  // Not immutable and not checked: how fast it could be at most.
  'mutating floor': (document, patch) => fjp.applyPatch(document, patch, false, true).newDocument,
};

const text = (length) => 'lorem ipsum dolor sit amet '.repeat(length / 27 + 1).slice(0, length);
const clone = (value) => JSON.parse(JSON.stringify(value));
const times = (count, make) => Array.from({ length: count }, (_, i) => make(i));
const items = (count, length) =>
  times(count, (i) => ({ id: `item-${i}`, done: false, text: text(length) }));

function tree(depth) {
  if (depth === 0) return { title: text(40), done: false };
  return times(6, (i) => [`k${i}`, i < 4 ? tree(depth - 1) : text(12)]).reduce(
    (node, [key, value]) => Object.assign(node, { [key]: value }),
    {},
  );
}

const deep = tree(6);
const deepDocument = { plan: { root: deep } };
const listDocument = { draft: '', items: items(10_000, 8) };
const bigDocument = { title: 'big', items: items(10_000, 90) };
const chatDocument = { messages: [{ id: 'm', role: 'assistant', text: '' }] };
const wideDocument = { byId: Object.fromEntries(items(10_000, 8).map((item) => [item.id, item])) };

const append = (i) => [{ op: 'add', path: '/items/-', value: { id: `new-${i}`, done: false } }];
let grown = '';
const grow = () => {
  grown += ' word';
  return [{ op: 'replace', path: '/draft', value: grown }];
};
const replaceItem = (i) => ({ op: 'replace', path: `/items/${i}/text`, value: `text ${i}` });

const mixed = times(1_000, (i) => (i % 2 ? grow() : append(i)));
const scenarios = {
  S1: {
    what: 'one replace 8 levels deep',
    document: deepDocument,
    patches: times(1_000, (i) => [
      { op: 'replace', path: '/plan/root/k0/k1/k2/k3/k0/k1/title', value: `title ${i}` },
    ]),
  },
  S2: { what: 'append and text in turn, 10k items', document: listDocument, patches: mixed },
  S2a: { what: 'append only', document: listDocument, patches: times(1_000, append) },
  S2b: { what: 'text only', document: listDocument, patches: times(1_000, grow) },
  S2c: {
    what: 'text in a small state',
    document: chatDocument,
    patches: times(1_000, (i) => [
      { op: 'replace', path: '/messages/0/text', value: `text ${i} of it` },
    ]),
  },
  S2d: { what: 'S2 as one patch', document: listDocument, patches: [mixed.flat()] },
  S3: {
    what: 'one patch of 1,000 ops',
    document: bigDocument,
    patches: [
      [
        ...times(400, (i) => replaceItem(3_000 + i)),
        ...times(300, (i) => append(i)[0]),
        ...times(200, (i) => replaceItem(i * 49)),
        ...times(50, (i) => [
          { op: 'add', path: `/items/${i * 100}/note`, value: 'note' },
          { op: 'remove', path: `/items/${i * 100}/note` },
        ]).flat(),
      ],
    ],
  },
  S3b: {
    what: 'one patch of 1,000 spread replaces',
    document: listDocument,
    patches: [times(1_000, (i) => replaceItem((i * 7_919) % 10_000))],
  },
  S4: {
    what: 'one replace under 10,000 keys',
    document: wideDocument,
    patches: times(100, (i) => [
      { op: 'replace', path: '/byId/item-5000/text', value: `text ${i}` },
    ]),
  },
  S4b: {
    what: '100 replaces under 10,000 keys',
    document: wideDocument,
    patches: [
      times(100, (i) => ({ op: 'replace', path: `/byId/item-${i * 97}/text`, value: 'new' })),
    ],
  },
};

/** Patches a second, over as many of them as fit into `ms`. */
function run(ms, apply, { document, patches }, mutates) {
  let state = mutates ? clone(document) : document;
  let spent = 0;
  let done = 0;
  let next = 0;
  while (spent < ms) {
    const count = Math.min(done < 64 ? 1 : 64, patches.length - next);
    const start = performance.now();
    for (let i = 0; i < count; i++) state = apply(state, patches[next + i]);
    spent += performance.now() - start;
    done += count;
    next += count;
    if (next < patches.length) continue;
    next = 0;
    state = mutates ? clone(document) : document;
  }
  return (done / spent) * 1_000;
}

function measure(apply, scenario, mutates) {
  // Nobody pays for cold caches. The floor needs little time, and a fresh document each time.
  run(mutates ? 1 : budget / 4, apply, scenario, mutates);
  return run(mutates ? budget / 5 : budget, apply, scenario, mutates);
}

const median = (values) => values.toSorted((a, b) => a - b)[values.length >> 1];
const format = (value) =>
  value >= 1e6
    ? `${(value / 1e6).toFixed(2)} M`
    : value >= 1e4
      ? `${Math.round(value / 1e3)} k`
      : value.toPrecision(3);

const results = {};
for (const name of Object.keys(scenarios)) results[name] = {};
for (let round = -1; round < rounds; round++) {
  for (const [name, scenario] of Object.entries(scenarios)) {
    for (const [library, apply] of Object.entries(libraries)) {
      const rate = measure(apply, scenario, library === 'mutating floor');
      // The first round only warms up.
      if (round < 0) results[name][library] = [];
      else results[name][library].push(rate);
    }
  }
}

const names = Object.keys(libraries);
console.log(`JSON patches a second, median of ${rounds} rounds, Node ${process.version}\n`);
console.log(['    '.padEnd(5), ...names.map((name) => name.padStart(22))].join(''));
for (const [name, scenario] of Object.entries(scenarios)) {
  const cells = names.map((library) => format(median(results[name][library])).padStart(22));
  console.log(`${name.padEnd(5)}${cells.join('')}   ${scenario.what}`);
}

/**
 * How many times as fast as `other`: the median of the paired rounds, or the ratio of the best
 * rounds, which a busy machine disturbs least.
 */
function ratio(scenario, other) {
  const [ours, theirs] = [results[scenario].runsocket, results[scenario][other]];
  const paired = median(ours.map((rate, i) => rate / theirs[i]));
  return Math.max(paired, Math.max(...ours) / Math.max(...theirs));
}

v8.setFlagsFromString('--expose_gc');
const gc = vm.runInNewContext('gc');
function retained() {
  const versions = [clone(listDocument)];
  gc();
  const before = process.memoryUsage().heapUsed;
  for (const patch of scenarios.S2a.patches.slice(0, 100)) {
    versions.push(applyPatch(versions.at(-1), patch));
  }
  gc();
  return (process.memoryUsage().heapUsed - before) / 1e6;
}

function thousandDeltas() {
  const document = { ...listDocument, ...deepDocument };
  const size = JSON.stringify(document).length / 1e6;
  const deltas = mixed.map((patch, i) => (i % 4 ? patch : scenarios.S1.patches[0]));
  const spent = times(9, () => {
    const start = performance.now();
    deltas.reduce((state, delta) => applyPatch(state, delta), document);
    return performance.now() - start;
  });
  return { size, ms: median(spent) };
}

const megabytes = retained();
const deltas = thousandDeltas();
const goals = [
  ['S1: times immutable-json-patch', ratio('S1', 'immutable-json-patch'), 2],
  ['S2: times immutable-json-patch', ratio('S2', 'immutable-json-patch'), 2.5],
  ['S3: times immutable-json-patch', ratio('S3', 'immutable-json-patch'), 10],
  ['S3: times mutative', ratio('S3', 'mutative'), 3],
  ['S3: part of the mutating floor', ratio('S3', 'mutating floor'), 1 / 1.5],
  ['S4: times mutative', ratio('S4', 'mutative'), 1],
  ['MB retained by 100 versions of S2a', megabytes, 8.5, 'most'],
  [`ms for 1,000 deltas on ${deltas.size.toFixed(2)} MB`, deltas.ms, 100, 'most'],
];
console.log('\nTargets');
for (const [what, value, goal, bound = 'least'] of goals) {
  const reached = bound === 'least' ? value >= goal : value <= goal;
  if (!reached) process.exitCode = 1;
  console.log(
    `${reached ? 'reached' : 'MISSED '}  ${what}: ${value.toFixed(2)} (at ${bound} ${goal.toFixed(2)})`,
  );
}
