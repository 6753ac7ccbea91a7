import type { AgUiThread } from '../../src/ag-ui/thread.ts';
import type { Page, View } from './page.ts';
import { type Execution, findWithHoles, lookOf } from './truth.ts';
import { thrown, type World } from './world.ts';

const day = 24 * 60 * 60 * 1000;

/** Which execution a thread shows, and how many of its events. */
function find(view: View, runId: string, look: string): View['seen'] {
  const { executions } = view.page.world.truth.run(runId);
  for (let index = executions.length - 1; index >= 0; index--) {
    const execution = executions[index] as Execution;
    const events = execution.looks.get(look);
    if (events !== undefined) return { execution, events };
  }
  return undefined;
}

/** Whether events may be missing without a word: a plain server cannot say where its log begins. */
function mayHideHoles({ setting }: World): boolean {
  return setting.server !== 'v1';
}

/** Assertion 1 and what can be said at once of 2 and 4: called at every notification. */
export function checkView(view: View): void {
  const { page, agent } = view;
  const { world } = page;
  const thread = agent.getSnapshot();
  const { runId, status, error } = thread;
  // One that was disposed of shows what it showed last.
  if (runId === undefined || view.isAway) return;
  const look = lookOf(thread, runId);
  const { frozen } = view;
  if (frozen?.runId === runId) {
    if (look !== frozen.look)
      world.fail('cancel', `${runId} changed after it was aborted: ${look}`);
    if (status !== 'aborted') world.fail('cancel', `${runId} is ${status} after it was aborted`);
    return;
  }
  checkMessages(view, thread);
  const seen = find(view, runId, look) ?? findHoles(view, runId, look, thread.stale);
  if (!seen && look) {
    const last = world.truth.last(runId);
    world.fail('prefix', `${runId} shows no part of its log (${last?.events.length}): ${look}`);
    return;
  }
  const before = view.seen;
  if (
    seen &&
    before?.execution === seen.execution &&
    seen.events < before.events &&
    !world.setting.overlap
  ) {
    world.fail('prefix', `${runId} goes back from ${before.events} to ${seen.events}`);
  }
  view.seen = seen;
  if (status === 'finished') {
    if (seen) checkFinished(view, seen);
    else world.fail('once', `${runId} is finished and was never executed`);
  } else if (status === 'error') checkCode(view, runId, error?.code);
  else if (status === 'aborted' && !world.aborted.has(runId) && world.setting.policy === 'keep') {
    world.fail('end', `${runId} is aborted, and nobody has aborted it`);
  }
}

function findHoles(view: View, runId: string, look: string, isStale: boolean): View['seen'] {
  const { world } = view.page;
  const hasHoles = [...world.truth.runs.values()].some(({ executions }) =>
    executions.some(({ missing }) => missing.size),
  );
  if (!hasHoles) return undefined;
  for (const execution of world.truth.run(runId).executions) {
    const events = findWithHoles(look, execution);
    if (events === undefined) continue;
    if (!isStale && !mayHideHoles(world)) world.fail('prefix', `${runId} hides a hole`);
    return { execution, events };
  }
  return undefined;
}

// What the user said stays, whatever the run does.
function checkMessages(view: View, thread: AgUiThread<unknown>): void {
  if (thread.historyLost) return;
  const asked = thread.messages.filter(({ role }) => role === 'user');
  if (new Set(asked.map(({ id }) => id)).size < asked.length) {
    view.page.world.fail('prefix', `${thread.runId} repeats what the user said`);
  }
  if (view.name === 'one' && asked.at(-1)?.content !== `ask ${thread.runId}`) {
    view.page.world.fail('prefix', `${thread.runId} has lost what the user said`);
  }
}

function checkFinished(view: View, { execution, events }: NonNullable<View['seen']>): void {
  const { world } = view.page;
  const { tag } = execution;
  if (execution.events.at(-1)?.type !== 'RUN_FINISHED') {
    world.fail('end', `${tag} is shown as finished and is ${execution.status}`);
  } else if (events < execution.events.length && !execution.missing.size) {
    world.fail('end', `${tag} is finished after ${events} of ${execution.events.length}`);
  }
}

/** The error codes that what happened to a run so far allows: the closed list of assertion 2. */
export function allowedCodes({ page }: View, runId: string): ReadonlySet<string> {
  const { world } = page;
  const { server, silenceTimeout } = world.setting;
  const { incidents, executions } = world.truth.run(runId);
  const codes = new Set<string>();
  const has = (...names: Parameters<typeof incidents.has>[0][]) =>
    names.some((one) => incidents.has(one));
  // Until the user's "Reconnect" has succeeded.
  if (world.stops.size && page.client.getSnapshot().status !== 'open') codes.add('closed');
  if (world.stops.has('1009')) codes.add('too-large');
  if (server === 'v1') {
    if (has('producer-lost', 'log-lost')) codes.add('run-lost');
    if (has('evicted')) codes.add('run-unknown').add('run-lost');
    return codes;
  }
  if (server === 'plain') {
    if (has('producer-lost', 'evicted')) codes.add('run-lost');
    if (has('log-lost', 'evicted')) codes.add('run-unknown');
    // A copied tab may ask for a run whose start has not arrived yet.
    if (world.counts.has('tab-copied')) codes.add('run-unknown');
  } else if (has('producer-lost', 'log-lost', 'evicted')) {
    codes.add('run-unreachable');
    if (silenceTimeout !== undefined) codes.add('run-lost');
  }
  // A start that a link swallowed, or whose answer is too slow, was never confirmed.
  if (!executions.length || has('log-lost')) codes.add('start-unknown').add('run-unknown');
  if (server === 'bare' && has('producer-lost', 'evicted')) codes.add('start-unknown');
  // It says nothing for longer than anybody waits.
  if (world.setting.script.slowStart) {
    codes.add('start-unknown').add('run-unreachable');
  }
  return codes;
}

function checkCode(view: View, runId: string, code: string | undefined): void {
  const codes = allowedCodes(view, runId);
  if (code === undefined || !codes.has(code)) {
    view.page.world.fail('end', `${runId} ends with ${code}, allowed: ${[...codes].join(' ')}`);
  }
}

/** A page takes up what the one before it left in storage, and nothing else. */
export function checkRestored(view: View, old: View | undefined): void {
  const { page, agent, name } = view;
  const { world, disk, host } = page;
  const { threadId } = world.setting;
  const { runId, status } = agent.getSnapshot();
  // Slow storage may have been read while something was wrong with it.
  if (disk.mode === 'denied' || (disk.isTouched && world.setting.storageDelay !== undefined))
    return;
  const now = host.environment.now();
  const stored = (disk.read(name) ?? []).filter(
    (one) => threadId !== undefined || now - one.sentAt <= day,
  );
  const newest = [...stored].sort((a, b) => b.sentAt - a.sentAt)[0];
  if (newest) {
    const isNew = runId !== newest.runId && view.seen === undefined && status === 'idle';
    if (isNew) world.fail('end', `${newest.runId} is stored and was not taken up`);
    if (stored.length > 1) view.frozen = undefined;
    if (newest.cancel && old?.frozen?.runId === newest.runId) {
      view.frozen = { runId: newest.runId, look: lookOf(agent.getSnapshot(), newest.runId) };
    }
  }
  checkRemembered(view, old, newest !== undefined);
  checkView(view);
}

// A run that was under way is remembered, unless something is wrong with storage.
function checkRemembered(view: View, old: View | undefined, isThere: boolean): void {
  const { world, disk } = view.page;
  if (!old || isThere || disk.isTouched || old.page.disk !== disk) return;
  // A start waits 250 ms for its write, and no longer.
  const { storageDelay = 0 } = world.setting;
  const hasSlept = world.counts.has('leap') || world.counts.has('frozen');
  if (storageDelay > 120 || (storageDelay && hasSlept)) return;
  const { runId, status } = old.agent.getSnapshot();
  if (runId === undefined || status !== 'running' || world.stops.has('day')) return;
  if (world.truth.run(runId).isSent) world.fail('bounded', `${runId} was not remembered`);
}

/** Assertion 5: called for every attempt. */
export function checkDials(page: Page): void {
  const { world, dials, causes, client } = page;
  const now = world.timeline.now();
  dials.push(now);
  const attached = world.link.lines.filter((line) => line.page === page.host && line.isAttached);
  if (attached.length > 1) world.fail('one-socket', `${attached.length} sockets are attached`);
  const { status } = client.getSnapshot();
  if (status !== 'connecting') world.fail('one-socket', `an attempt while ${status}`);
  const since = now - 20_000;
  const made = dials.filter((at) => at > since).length;
  const allowed = 15 + causes.filter((at) => at > since).length;
  if (made > allowed && !world.setting.backoff.max) {
    world.fail('one-socket', `${made} attempts in 20 s, at most ${allowed} were expected`);
  }
}

/** Assertions 2, 3 and 4, once all is quiet. */
export function checkEnds(world: World): void {
  for (const page of world.pages) {
    if (!page.host.isAlive || page.isHidden) continue;
    for (const view of page.views) if (!view.isAway) checkEnd(view);
  }
  for (const run of world.truth.runs.values()) {
    const { runId, executions, forgotten } = run;
    if (executions.length > 1 + forgotten) {
      world.fail('once', `${runId} was executed ${executions.length} times`);
    }
  }
}

function checkEnd(view: View): void {
  const { world } = view.page;
  const thread = view.agent.getSnapshot();
  const { runId, status } = thread;
  checkView(view);
  if (runId === undefined) return;
  const { incidents } = world.truth.run(runId);
  // Stopped elsewhere, by a page that is gone and whose wish nobody remembers.
  const isOrphan = world.aborted.has(runId) && world.truth.last(runId)?.isAlive;
  if (status === 'running' && !isOrphan && !mayStay(view, runId, true)) {
    world.fail('end', `${runId} is still running (${view.seen?.events} events seen)`);
  }
  if (
    status === 'error' &&
    !/closed|too-large/.test(thread.error?.code ?? '') &&
    !incidents.size &&
    world.setting.server === 'v1'
  ) {
    world.fail('end', `${runId} failed with ${thread.error?.code} for no reason`);
  }
}

/**
 * A plain server that has lost a run, or what makes it go on, says nothing about it for ever. Nor does
 * one that never got a start which a dead connection swallowed, until that connection breaks.
 */
export function mayStay({ page, seen }: View, runId: string, isSettled: boolean): boolean {
  const { setting, truth } = page.world;
  const { incidents, executions } = truth.run(runId);
  if (isSettled && !executions.length && setting.server !== 'v1') return true;
  return (
    setting.server === 'bare' &&
    (setting.silenceTimeout === undefined || (isSettled && (seen?.events ?? 0) < 2)) &&
    (incidents.has('producer-lost') || incidents.has('log-lost') || incidents.has('evicted'))
  );
}

/** The runs that somebody aborted on a page that is still there, and that go on at the server. */
export function findGoingOn(world: World): readonly string[] {
  const { page, setting } = world;
  const { disk, client, views } = page;
  // What was written down may be gone, late, or too old to be looked at.
  const isForgetful =
    disk.isTouched || world.stops.has('day') || setting.storageDelay !== undefined;
  if (isForgetful || client.getSnapshot().status === 'closed') return [];
  return [...world.owners].flatMap(([runId, { name, disk: own }]) => {
    const isHere = own === disk && views.some((view) => view.name === name && !view.isAway);
    const last = world.truth.last(runId);
    // Of a run that a server did not know any more, and executes again, its client hears nothing.
    const { incidents, executions } = world.truth.run(runId);
    const isUnknown = incidents.has('log-lost') || incidents.has('evicted');
    const isUnheard = isUnknown && executions.length > 1;
    const isGoingOn = isHere && !isUnheard && last?.isAlive && last.status === 'running';
    return isGoingOn ? [runId] : [];
  });
}

/** Assertion 4, once the server could be reached. */
export function checkCancelled(world: World): void {
  for (const runId of findGoingOn(world)) {
    world.fail('cancel', `${runId} was aborted and goes on at the server`);
  }
}

/** Assertion 7, for a page that was left by `dispose()` and `close()`. */
export function checkClean(page: Page): void {
  const { world, host, fake, views } = page;
  if (host.timers) world.fail('clean', `${host.timers} timers are left`);
  if (fake.listeners) world.fail('clean', `${fake.listeners} listeners are left`);
  for (const line of world.link.lines) {
    if (line.page === host && line.isAttached) world.fail('clean', `${line.url} is left`);
  }
  if (page.disk.isTouched) return;
  for (const { name, agent } of views) {
    const { runId, status, error } = agent.getSnapshot();
    for (const one of page.disk.read(name) ?? []) {
      // One that was stopped is remembered until its server has heard of it.
      const isOver = /finished|error/.test(status) && error?.code !== 'closed';
      if (isOver && one.runId === runId) {
        world.fail('clean', `${one.runId} is over (${status}) and still stored`);
      }
    }
  }
}

/** Assertion 8. */
export function checkQuiet(world: World): void {
  for (const { host } of world.pages) {
    for (const report of host.reports) {
      if (report !== thrown) world.fail('quiet', `reported: ${String(report)}`);
    }
  }
}
