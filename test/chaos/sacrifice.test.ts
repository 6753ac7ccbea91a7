import { describe, expect, it } from 'vitest';
import { judgeChange } from './sacrifice.ts';

const write = (...runs: object[]) => JSON.stringify({ v: 1, runs });
const other = { runId: 'b', sentAt: 1 };
const messages = ['1', '2', '3', '4'].map((id) => ({ id, content: 'x'.repeat(50) }));
const base = { messages, status: 'running' };
const record = { runId: 'a', sentAt: 2, base, checkpoint: { offset: 3, thread: 'y'.repeat(200) } };
const { checkpoint, ...plain } = record;
const { base: _, ...bare } = plain;
const withLast = (count: number) => ({
  ...plain,
  base: { ...base, messages: messages.slice(-count), historyLost: true },
});
const whole = write(other, record);

/** The judgement on a change that ended with `written`, where there was room for `room`. */
const judge = (written: string | undefined, room: string, last = whole) =>
  judgeChange({ refused: [whole, last], written, quota: room.length });

describe('of a record for which there is no room', () => {
  it('the checkpoint goes first, then older messages, the base, the record', () => {
    const forms = [
      ['checkpoint', write(other, plain)],
      ['messages', write(other, withLast(2))],
      ['messages', write(other, withLast(1))],
      ['base', write(other, bare)],
      ['record', write(other)],
    ] as const;
    for (const [loss, text] of forms) expect(judge(text, text)).toEqual({ loss });
    expect(judge(undefined, '', write(other))).toEqual({ loss: 'all' });
  });

  it('nothing goes for which there was room', () => {
    expect(judge(write(other, withLast(1)), write(other, plain)).wrong).toContain('messages');
    expect(judge(write(other, bare), write(other, withLast(1))).wrong).toContain('base');
    expect(judge(write(other), write(other, bare)).wrong).toContain('record');
    expect(judge(undefined, write(other), write(other)).wrong).toContain('room');
  });

  it('the newest messages stay, and it is said that others are gone', () => {
    const oldest = {
      ...plain,
      base: { ...base, messages: messages.slice(0, 2), historyLost: true },
    };
    expect(judge(write(other, oldest), write(other, withLast(2))).wrong).toContain('newest');
    const silent = { ...plain, base: { ...base, messages: messages.slice(2) } };
    expect(judge(write(other, silent), write(other, withLast(2))).wrong).toContain('newest');
  });

  it('nothing but its own goes', () => {
    expect(judge(write(bare), write(bare)).wrong).toContain('2 records');
    expect(judge(write({ ...plain, sentAt: 3 }, other), whole).wrong).toContain('something else');
    expect(judge(undefined, '', write(other, bare)).wrong).toContain('in the way');
  });
});
