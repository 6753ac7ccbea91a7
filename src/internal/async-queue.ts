/** A queue that one consumer reads with `for await`. */
export interface AsyncQueue<Value> extends AsyncIterableIterator<Value> {
  push(value: Value): void;
  /** Ends the iteration after what is queued; with an error, by throwing it. */
  end(error?: unknown): void;
}

/** Make a queue; `onReturn` runs when the consumer leaves before its end. */
export function createAsyncQueue<Value>(onReturn: () => void): AsyncQueue<Value> {
  let values: Value[] = [];
  let ended = false;
  let failure: unknown;
  let wake = () => {};

  async function* read(): AsyncGenerator<Value, undefined> {
    for (;;) {
      const batch = values;
      values = [];
      yield* batch;
      if (values.length) continue;
      if (ended) {
        if (failure === undefined) return;
        throw failure;
      }
      await new Promise<void>((resolve) => {
        wake = resolve;
      });
    }
  }
  const reader = read();
  const end = (error?: unknown) => {
    if (ended) return;
    ended = true;
    failure = error;
    wake();
  };
  return {
    push(value) {
      if (ended) return;
      values.push(value);
      wake();
    },
    end,
    next: () => reader.next(),
    // A consumer may leave while it waits: the generator alone would end with the next value.
    return() {
      values = [];
      if (!ended) {
        end();
        onReturn();
      }
      return reader.return(undefined);
    },
    [Symbol.asyncIterator]() {
      return this;
    },
  };
}
