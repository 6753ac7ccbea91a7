import { serverEnvironment } from '../../internal/environment.ts';
import { RunSocketError } from '../../internal/errors.ts';
import type { Check, Kit } from './check.ts';
import { cancelChecks } from './checks-cancel.ts';
import { controlChecks, lastChecks } from './checks-controls.ts';
import { inputChecks } from './checks-input.ts';
import { resumeChecks } from './checks-resume.ts';
import { runChecks } from './checks-runs.ts';
import { createProbe, type Message, type Probe } from './probe.ts';
import type {
  ConformanceOptions,
  ConformanceReport,
  ConformanceResult,
  ConformanceSocket,
} from './types.ts';

const all: readonly Check[] = [
  ...runChecks,
  ...resumeChecks,
  ...cancelChecks,
  ...controlChecks,
  ...inputChecks,
  ...lastChecks,
];

/**
 * Check a server, in any language, against PROTOCOL.md.
 *
 * The server has to run the scripted agent that `conformanceAgent` describes. Every check uses
 * connections and run ids of its own, so a server that is in use can be checked as well. It takes
 * about 25 s, most of it for one rule with a time in it. Rejects with `invalid-argument` for an unknown
 * name in `only`; what a server does wrong is in the report.
 *
 * @example
 * ```ts
 * const { passed, results } = await runConformance({
 *   open: () => new WebSocket('ws://127.0.0.1:8787'),
 *   profile: 'plain',
 * });
 * for (const { name, rule, status, detail } of results) console.log(status, name, detail ?? rule);
 * ```
 */
export async function runConformance(options: ConformanceOptions): Promise<ConformanceReport> {
  const { profile, only } = options;
  for (const name of only ?? []) {
    if (!all.some((check) => check.name === name)) {
      throw new RunSocketError('invalid-argument', `There is no check '${name}'.`);
    }
  }
  const chosen = all.filter(
    (check) => (check.profile ?? profile) === profile && (!only || only.includes(check.name)),
  );
  const prefix = serverEnvironment.randomId().slice(0, 8);
  const caps = chosen.some(({ cap }) => cap) ? await readCaps(options) : undefined;
  const results = new Map<Check, ConformanceResult>();

  const run = async (check: Check) => {
    const { name, rule } = check;
    const missing = findMissing(check, options, caps);
    const detail = missing ?? (await perform(check, options, `${prefix}-${name}`));
    const status = missing ? 'skipped' : detail === undefined ? 'passed' : 'failed';
    const result = { name, rule, status, ...(detail !== undefined && { detail }) } as const;
    results.set(check, result);
    options.onCheck?.(result);
  };

  const long = chosen.filter(({ isLong }) => isLong).map(run);
  for (const check of chosen) if (!check.isLong && !lastChecks.includes(check)) await run(check);
  await Promise.all(long);
  for (const check of chosen) if (lastChecks.includes(check)) await run(check);

  const list = chosen.flatMap((check) => results.get(check) ?? []);
  return { profile, passed: list.every(({ status }) => status !== 'failed'), results: list };
}

function findMissing(
  { needs, cap }: Check,
  options: ConformanceOptions,
  caps: readonly unknown[] | undefined,
): string | undefined {
  if (needs && options[needs] === undefined) return `Needs the option \`${needs}\`.`;
  if (cap && caps && !caps.includes(cap)) return `The server does not name \`${cap}\`.`;
  return undefined;
}

/** What the server can do; `undefined` where it does not say so, which is then found. */
async function readCaps(options: ConformanceOptions): Promise<readonly unknown[] | undefined> {
  const kit = createKit(options, '');
  try {
    const { caps } = kit.hello(await kit.open());
    return Array.isArray(caps) ? caps : undefined;
  } catch {
    return undefined;
  } finally {
    kit.close();
  }
}

/** What is wrong; `undefined`: nothing. */
async function perform(
  check: Check,
  options: ConformanceOptions,
  prefix: string,
): Promise<string | undefined> {
  const kit = createKit(options, prefix);
  try {
    await check.run(kit);
    return undefined;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  } finally {
    kit.close();
  }
}

function createKit(options: ConformanceOptions, prefix: string): Kit & { close(): void } {
  const { profile, timeout = 5_000 } = options;
  const v1 = profile === 'v1';
  const probes: Probe[] = [];
  const connect = async (open: ConformanceOptions['open']) => {
    const socket: ConformanceSocket = await open();
    const probe = await createProbe(socket, serverEnvironment, timeout, v1);
    probes.push(probe);
    if (v1) await probe.until('`hello`', ({ type }) => type === 'hello');
    return probe;
  };
  const kit: Kit & { close(): void } = {
    options,
    v1,
    id: (name = 'run') => `${prefix}-${name}`,
    open: () => connect(options.open),
    openStranger: () => connect(options.openStranger ?? options.open),
    hello: (probe): Message => probe.controls('hello')[0] ?? {},
    pause: (ms) => new Promise((resolve) => serverEnvironment.setTimer(resolve, ms)),
    close() {
      for (const probe of probes) {
        // So that no run of an agent that waits is left behind.
        for (const runId of new Set(probe.messages.map((one) => one.runId))) {
          if (typeof runId === 'string' && runId.includes(prefix) && probe.closed === undefined) {
            probe.cancel(runId);
          }
        }
        probe.close();
      }
    },
  };
  return kit;
}
