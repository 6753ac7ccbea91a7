import type { AgUiEvent } from '../../src/ag-ui/events.ts';
import { type GeneratedRuns, generateRuns } from './ag-ui-runs.ts';
import { createRandom } from './random.ts';

type Loose = { readonly type: string } & Readonly<Record<string, unknown>>;

/** Names that a server may choose, and that a careless client stumbles over. */
const oddIds = ['', '__proto__', 'constructor', 'message', 'tool', 'state', 'x~2', 'a/b'];

/**
 * {@link generateRuns}, with what it leaves out: answered calls and finished thoughts that are opened
 * again, failures in the middle, text and thoughts under one id, and odd or empty ids and names.
 */
export function generateBridgeRuns(
  seed: number,
  options: Parameters<typeof generateRuns>[1] = {},
): GeneratedRuns {
  const random = createRandom(seed ^ 0x5bd1e995);
  const chance = (p: number): boolean => random() < p;
  const shared = chance(0.3);
  const { messages, state, events } = generateRuns(seed, {
    ...options,
    ...(shared && { snapshots: false }),
  });
  const opened = new Set<unknown>();
  const failing = chance(0.2) ? Math.floor(random() * events.length) : -1;
  let skipping = false;
  const list: Loose[] = [];
  (events as readonly Loose[]).forEach((event, index) => {
    const { type, subagentRunId, messageId, toolCallId } = event;
    if (type === 'RUN_STARTED') skipping = false;
    if (skipping) return;
    if (index === failing && !/^RUN_/.test(type)) {
      list.push({ type: 'RUN_ERROR', message: chance(0.5) ? '' : 'in the middle' });
      skipping = true;
      return;
    }
    list.push(event);
    const tag = subagentRunId === undefined ? {} : { subagentRunId };
    const again = (kind: string, rest: object): void => {
      list.push({ type: kind, ...rest, ...tag });
    };
    if (type === 'TOOL_CALL_START') opened.add(toolCallId);
    else if (type === 'TOOL_CALL_END') opened.delete(toolCallId);
    else if (type === 'TOOL_CALL_RESULT' && !opened.has(toolCallId) && chance(0.3)) {
      again('TOOL_CALL_START', { toolCallId, toolCallName: 'again' });
      again('TOOL_CALL_ARGS', { toolCallId, delta: '{}' });
      if (chance(0.5)) {
        again('TOOL_CALL_RESULT', {
          messageId: `${messageId}-early`,
          toolCallId,
          content: 'early',
        });
      }
      again('TOOL_CALL_ARGS', { toolCallId, delta: ' ' });
      again('TOOL_CALL_END', { toolCallId });
      again('TOOL_CALL_RESULT', { messageId: `${messageId}-again`, toolCallId, content: 'again' });
    } else if (type === 'REASONING_MESSAGE_END' && chance(0.3)) {
      again('REASONING_MESSAGE_START', { messageId, role: 'reasoning' });
      again('REASONING_MESSAGE_CONTENT', { messageId, delta: 'once more' });
      again('REASONING_MESSAGE_END', { messageId });
    }
  });

  // One of each kind gets another name, everywhere.
  let json = JSON.stringify(list);
  const taken = new Set<string>();
  const idsOf = (pattern: RegExp): string[] => [
    ...new Set([...json.matchAll(pattern)].map(([, id]) => id as string)),
  ];
  const rename = (id: string | undefined, name: string): void => {
    if (id !== undefined && !json.includes(`"${name}"`))
      json = json.replaceAll(`"${id}"`, `"${name}"`);
  };
  const oddId = (): string => {
    const free = oddIds.filter((id) => !taken.has(id));
    const id = free[Math.floor(random() * free.length)] ?? 'odd';
    taken.add(id);
    return id;
  };
  const texts = idsOf(/"TEXT_MESSAGE_START","messageId":"(m\d+)"/g);
  const thoughts = idsOf(/"REASONING_MESSAGE_START","messageId":"(r\d+)"/g);
  if (shared) json = json.replaceAll(`"${thoughts[0]}"`, `"${texts[0] ?? 'shared'}"`);
  if (chance(0.4)) rename(texts[1], oddId());
  if (chance(0.3)) rename(idsOf(/"toolCallId":"(c\d+)"/g)[0], oddId());
  if (chance(0.3)) rename(idsOf(/"subagentRunId":"(sub\d+)"/g)[0], oddId());
  if (chance(0.3)) rename(idsOf(/"ACTIVITY_SNAPSHOT","messageId":"(act\d+)"/g)[0], oddId());
  if (chance(0.3)) json = json.replaceAll('"helper"', '""').replaceAll('"think"', '""');
  if (chance(0.1)) json = json.replaceAll('"plan"', '""');
  return { messages, state, events: JSON.parse(json) as AgUiEvent[] };
}
