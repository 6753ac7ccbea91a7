import { isRecord, textOf } from '../internal/json-values.ts';
import type { WireEvent } from './thread-edits.ts';
import { createChunkExpander } from './validate-chunks.ts';
import { createRunRules, type Report } from './validate-run.ts';

/** A place where a list of events breaks AG-UI's rules of order. */
export interface AgUiIssue {
  /** The index of the event in the list. */
  readonly index: number;
  /** The event's type; empty where it has none. */
  readonly type: string;
  readonly message: string;
}

/** Checks one event after the other, across the runs of a stream. */
function createStream(report: Report): (event: WireEvent) => void {
  let status: 'new' | 'running' | 'finished' | 'error' | 'broken' = 'new';
  let run = createRunRules(report);
  return (event) => {
    const { type } = event;
    if (type === 'RUN_STARTED') {
      if (status === 'running') report('A run is under way already.');
      if (status === 'finished' || status === 'error') run = createRunRules(report);
      status = 'running';
      run.takeMessages((event.input as { messages?: unknown } | undefined)?.messages, false);
    } else if (type === 'RUN_ERROR') {
      if (status === 'error') report('The run has failed already.');
      status = 'error';
    } else if (status === 'error' || status === 'finished') {
      report(
        `The run has ${status === 'error' ? 'failed' : 'finished'}: only a new one may follow.`,
      );
      return;
    } else if (status === 'new') {
      report('The first event must be RUN_STARTED.');
      status = 'broken';
    }
    if (event.subagentRunId === null) report(`The event has 'subagentRunId: null'.`);
    if (type === 'RUN_FINISHED') {
      const outcome = event.outcome as { readonly interrupts?: unknown } | undefined;
      for (const interrupt of Array.isArray(outcome?.interrupts) ? outcome.interrupts : []) {
        if (interrupt?.subagentRunId === null) report(`An interrupt has 'subagentRunId: null'.`);
      }
      run.finish();
      status = 'finished';
    } else run.check(event);
  };
}

/**
 * Check a list of events against AG-UI's rules of order, for tests of servers and fixtures.
 *
 * Returns every place where a rule is broken, in order; none is a legal stream. It is not for live
 * events: a stream that is resumed in the middle breaks the rules, and {@link applyAgUiEvent} takes
 * it as it is. A stream that stops without a terminal event is legal.
 */
export function validateAgUiEvents(events: readonly unknown[]): AgUiIssue[] {
  const issues: AgUiIssue[] = [];
  let index = 0;
  let type = '';
  const report: Report = (message) => {
    issues.push({ index, type, message });
  };
  const expand = createChunkExpander(report);
  const check = createStream(report);
  for (const event of events) {
    type = (isRecord(event) && textOf(event.type)) || '';
    if (type) expand(event as WireEvent).forEach(check);
    else report('This is no event: it has no type.');
    index++;
  }
  return issues;
}
