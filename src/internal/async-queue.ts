/** A queue that one consumer reads with `for await`. */
export interface AsyncQueue<Value> extends AsyncIterableIterator<Value> {
  push(value: Value): void;
  /** Ends the iteration after what is queued; with an error, by throwing it. */
  end(error?: unknown): void;
}

/** Make a queue; `onReturn` runs when the consumer leaves before its end. */
export function createAsyncQueue<Value>(onReturn: () => void): AsyncQueue<Value> {
  let values: Value[] = [];
  let head = 0;
  let ended: { readonly error?: unknown } | undefined;
  let waiting: { resolve(result: IteratorResult<Value>): void; reject(error: unknown): void }[] =
    [];

  const finish = (): Promise<IteratorResult<Value>> => {
    const error = ended?.error;
    if (error !== undefined) {
      ended = {};
      return Promise.reject(error);
    }
    return Promise.resolve({ done: true, value: undefined });
  };

  return {
    push(value) {
      if (ended) return;
      const waiter = waiting.shift();
      if (waiter) waiter.resolve({ done: false, value });
      else values.push(value);
    },
    end(error) {
      if (ended) return;
      ended = { error };
      const waiters = waiting;
      waiting = [];
      for (const waiter of waiters) finish().then(waiter.resolve, waiter.reject);
    },
    next() {
      if (head < values.length) {
        const value = values[head++] as Value;
        if (head === values.length) {
          values = [];
          head = 0;
        } else if (head > 1024 && head * 2 > values.length) {
          values = values.slice(head);
          head = 0;
        }
        return Promise.resolve({ done: false, value });
      }
      if (ended) return finish();
      return new Promise((resolve, reject) => waiting.push({ resolve, reject }));
    },
    return() {
      values = [];
      head = 0;
      if (!ended) {
        this.end();
        onReturn();
      }
      return Promise.resolve({ done: true, value: undefined });
    },
    [Symbol.asyncIterator]() {
      return this;
    },
  };
}
