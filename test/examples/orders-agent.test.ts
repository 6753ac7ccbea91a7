import { verifyEvents } from '@ag-ui/client';
import { EventSchemas } from '@ag-ui/core/schemas';
import { from, lastValueFrom, type MonoTypeOperatorFunction } from 'rxjs';
import { afterEach, describe, expect, it } from 'vitest';
import { connectTo, type ExampleClient, isEnd } from './example-client.ts';
import {
  createExampleServer,
  type ExampleServer,
  type LoggedEvent,
  textOf,
} from './example-server.ts';

const cleanups: (() => unknown)[] = [];

afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

async function serve(pace = 200): Promise<{ server: ExampleServer; client: ExampleClient }> {
  const server = await createExampleServer({ pace, plain: true });
  cleanups.push(() => server.close());
  const client = await connectTo(server);
  cleanups.push(client.close);
  return { server, client };
}

const ask = (content: string, runId = 'a') => ({
  type: 'run',
  runId,
  input: {
    threadId: 't',
    messages: [{ id: 'm1', role: 'user', content }],
    forwardedProps: { scenario: 'orders' },
  },
});

const answer = (entries: readonly object[], runId: string) => ({
  type: 'run',
  runId,
  input: { threadId: 't', messages: [], resume: entries },
});

const granted = (interruptId: string) => ({
  interruptId,
  status: 'resolved',
  payload: { approved: true },
});

const refused = (interruptId: string) => ({
  interruptId,
  status: 'resolved',
  payload: { approved: false },
});

const endOf = (client: ExampleClient, runId: string) =>
  client.until((frame) => frame.runId === runId && isEnd(frame));

const resultsOf = (log: readonly LoggedEvent[]) =>
  log
    .filter((event) => event.type === 'TOOL_CALL_RESULT')
    .map((event) => [event.toolCallId, JSON.parse(String(event.content))]);

const isFailure = ({ event }: { event: LoggedEvent }) =>
  event.type === 'TOOL_CALL_RESULT' && String(event.content).includes('"error"');

async function expectLegal(log: readonly LoggedEvent[]) {
  for (const event of log) expect(EventSchemas.safeParse(event).error).toBeUndefined();
  // Two versions of rxjs are about, so the types of one do not fit the other.
  const verify = verifyEvents(false) as unknown as MonoTypeOperatorFunction<LoggedEvent>;
  await expect(lastValueFrom(from(log).pipe(verify))).resolves.toMatchObject({
    type: 'RUN_FINISHED',
  });
}

describe('the orders agent', () => {
  it('looks an order up and tells about it', async () => {
    const { server, client } = await serve();
    client.send(ask('What is in order 1044?'));
    await endOf(client, 'a');
    const log = server.log('a');
    await expectLegal(log);
    expect(textOf(log)).toBe(
      'Order 1044 is a set of bowls for Chiara Rossi, at €31.50. The parcel is on its way, expected tomorrow before noon. Nothing was changed.',
    );
    expect(log.filter((event) => event.type === 'TOOL_CALL_START')).toMatchObject([
      { toolCallName: 'find_order' },
    ]);
    expect(log.at(-1)).not.toHaveProperty('outcome');
  });

  it('ends with a question for each thing that needs leave, and goes on with the answers', async () => {
    const { server, client } = await serve();
    client.send(ask('Refund order 1042 and tell the customer.'));
    await endOf(client, 'a');
    const log = server.log('a');
    await expectLegal(log);
    expect(log.at(-1)).toMatchObject({
      type: 'RUN_FINISHED',
      runId: 'a',
      threadId: 't',
      outcome: {
        type: 'interrupt',
        interrupts: [
          { toolCallId: 'a-refund_order', metadata: { amount: '€48.90' } },
          { toolCallId: 'a-write_letter', metadata: { to: 'Ada Baker' } },
        ],
      },
    });
    client.send(answer([granted('a-refund_order-leave'), refused('a-write_letter-leave')], 'b'));
    await endOf(client, 'b');
    const rest = server.log('b');
    await expectLegal(rest);
    expect(resultsOf(rest)).toEqual([
      ['a-refund_order', { done: true, order: '1042', amount: '€48.90' }],
      ['a-write_letter', { error: { message: 'You refused it.', retryable: false } }],
    ]);
    expect(textOf(rest)).toBe('€48.90 went back to Ada Baker. No letter was written to Ada Baker.');
  });

  it('does nothing where the answer is cancelled, odd or missing', async () => {
    const { server, client } = await serve();
    client.send(ask('Refund order 1042'));
    await endOf(client, 'a');
    const interruptId = 'a-refund_order-leave';
    for (const [index, entry] of [
      { interruptId, status: 'cancelled', payload: { approved: true } },
      { interruptId, status: 'resolved' },
      { interruptId, status: 'resolved', payload: { approved: 'yes' } },
      { interruptId, status: 'resolved', payload: null },
    ].entries()) {
      client.send(answer([null, { interruptId: 7 }, entry] as object[], `b${index}`));
      await endOf(client, `b${index}`);
      expect(textOf(server.log(`b${index}`))).toContain('The refund was not made');
    }
  });

  it('drops its questions when something else is asked', async () => {
    const { server, client } = await serve();
    client.send(ask('Refund order 1042'));
    await endOf(client, 'a');
    const resume = [{ interruptId: 'a-refund_order-leave', status: 'cancelled' }];
    const { input, ...rest } = ask('What is in order 1044?', 'b');
    client.send({ ...rest, input: { ...input, resume } });
    await endOf(client, 'b');
    await expectLegal(server.log('b'));
    expect(textOf(server.log('b'))).toMatch(/^Order 1044 is .* Nothing was changed\.$/);
  });

  it('does what was granted before it turns to what is asked', async () => {
    const { server, client } = await serve();
    client.send(ask('Refund order 1042'));
    await endOf(client, 'a');
    const { input, ...rest } = ask('What is in order 1044?', 'b');
    client.send({ ...rest, input: { ...input, resume: [granted('a-refund_order-leave')] } });
    await endOf(client, 'b');
    await expectLegal(server.log('b'));
    expect(textOf(server.log('b'))).toMatch(/^€48\.90 went back to Ada Baker\.Order 1044 is /);
  });

  it('fails a run that answers a question it does not know', async () => {
    const { server, client } = await serve();
    client.send(answer([granted('toString')], 'b'));
    await endOf(client, 'b');
    expect(server.log('b').at(-1)).toEqual({
      type: 'RUN_ERROR',
      message: 'The server no longer knows what it asked you.',
    });
  });

  it('tries a failed tool call again when told to, as often as it fails', async () => {
    const { server, client } = await serve(25);
    client.send(ask('Where is the parcel of order 1043? Fail twice.'));
    const retry = { type: 'app.retry', runId: 'a', toolCallId: 'a-track' };
    client.send(retry);
    for (const count of [1, 2]) {
      await client.until(() => client.frames.filter(isFailure).length === count);
      client.send({ ...retry, toolCallId: 'other' });
      client.send({ ...retry, toolCallId: { toString: 1 } });
      client.send(retry);
    }
    await endOf(client, 'a');
    const log = server.log('a');
    await expectLegal(log);
    const failed = { error: { message: 'The carrier did not answer in time.', retryable: true } };
    const parcel = 'waiting at the depot since Tuesday, the address was not found';
    expect(resultsOf(log).slice(1)).toEqual([
      ['a-track', failed],
      ['a-track', failed],
      ['a-track', { parcel }],
    ]);
    expect(textOf(log)).toContain(`The parcel is ${parcel}.`);
  });

  it('goes on without the tool when nobody asks for a retry', async () => {
    const { server, client } = await serve(2000);
    client.send(ask('Where is the parcel of order 1043?'));
    await endOf(client, 'a');
    await expectLegal(server.log('a'));
    expect(resultsOf(server.log('a'))).toHaveLength(2);
    expect(textOf(server.log('a'))).toContain('I could not find out where it is.');
  });

  it('stops waiting for a retry when it is cancelled', async () => {
    const { server, client } = await serve(25);
    client.send(ask('Where is the parcel of order 1043?'));
    await client.until(isFailure);
    client.send({ type: 'cancel', runId: 'a' });
    await endOf(client, 'a');
    const { length } = server.log('a');
    client.send({ type: 'app.retry', runId: 'a', toolCallId: 'a-track' });
    client.send(ask('What is in order 1044?', 'b'));
    await endOf(client, 'b');
    expect(server.log('a')).toHaveLength(length);
    expect(server.log('a').at(-1)?.outcome).toEqual({ type: 'cancelled' });
  });

  it('pays once, however often it is told to', async () => {
    const { server, client } = await serve();
    client.send(ask('Refund order 1042'));
    await endOf(client, 'a');
    for (const runId of ['b', 'c']) {
      client.send(answer([granted('a-refund_order-leave')], runId));
      await endOf(client, runId);
      expect(textOf(server.log(runId))).toBe('€48.90 went back to Ada Baker.');
    }
  });
});
