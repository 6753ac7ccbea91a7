import { serverEnvironment } from '../../internal/environment.ts';
import { isRecord } from '../../internal/json-values.ts';
import type { AgentOutput } from '../types.ts';

/**
 * The agent that a server runs while it is checked. Write it again in the language of your server.
 *
 * The text of the last message is its script: one word and a number N, such as `say 5`. Every script
 * but `nothing` begins with a `TEXT_MESSAGE_START` whose `messageId` is new in each execution, and says
 * `TEXT_MESSAGE_CONTENT` with the deltas `1 `, `2 ` … up to N.
 *
 * | script | what it does |
 * | --- | --- |
 * | `say N` | says N, ends the message, returns |
 * | `slow N` | the same, with 20 ms before each delta |
 * | `open N` | says N, leaves the message open, returns |
 * | `fail N` | says N, throws |
 * | `hold N` | says N, waits until it is cancelled, returns |
 * | `deaf N` | says N, then goes on every 20 ms for 60 s, whatever happens |
 * | `again N` | says N, ends the message, `RUN_FINISHED`, `RUN_STARTED`, then as `say N` |
 * | `nothing` | returns at once |
 */
export async function* conformanceAgent(run: {
  readonly input: unknown;
  readonly signal: AbortSignal;
}): AsyncGenerator<AgentOutput, void> {
  const { signal } = run;
  const { setTimer, randomId } = serverEnvironment;
  const pause = (ms: number) => new Promise<void>((resolve) => setTimer(resolve, ms));
  const [script = '', text = '0'] = readScript(run.input).split(' ');
  const count = Number(text);
  if (script === 'nothing') return;

  const messageId = randomId();
  yield { type: 'TEXT_MESSAGE_START', messageId, role: 'assistant' };
  for (let n = 1; n <= count; n++) {
    if (script === 'slow') await pause(20);
    if (script === 'slow' && signal.aborted) return;
    yield { type: 'TEXT_MESSAGE_CONTENT', messageId, delta: `${n} ` };
  }
  if (script === 'open') return;
  if (script === 'fail') throw new Error('The script says so.');
  if (script === 'hold') {
    return new Promise((resolve) => {
      if (signal.aborted) resolve();
      signal.addEventListener('abort', () => resolve());
    });
  }
  for (let n = 0; script === 'deaf' && n < 3_000; n++) {
    await pause(20);
    yield { type: 'TEXT_MESSAGE_CONTENT', messageId, delta: 'more ' };
  }
  yield { type: 'TEXT_MESSAGE_END', messageId };
  if (script !== 'again') return;
  yield { type: 'RUN_FINISHED' };
  yield { type: 'RUN_STARTED' };
  const second = randomId();
  yield { type: 'TEXT_MESSAGE_START', messageId: second, role: 'assistant' };
  for (let n = 1; n <= count; n++) {
    yield { type: 'TEXT_MESSAGE_CONTENT', messageId: second, delta: `${n} ` };
  }
  yield { type: 'TEXT_MESSAGE_END', messageId: second };
}

function readScript(input: unknown): string {
  const messages = isRecord(input) && Array.isArray(input.messages) ? input.messages : [];
  const last: unknown = messages.at(-1);
  return isRecord(last) ? String(last.content) : '';
}
