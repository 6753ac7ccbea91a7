// What the soak prints: what went wrong, a line for each minute, and the sums.

/** Make the report; `counts` is what happened so far. */
export function createReport() {
  const wrong = [];
  const counts = { finished: 0, aborted: 0, forgotten: 0, faults: 0, attempts: 0, thrown: 0 };
  // Title and width of each column, and what stands in it.
  const columns = [
    ['minute', 6, ({ minute }) => minute],
    ['runs', 6, () => counts.finished + counts.aborted],
    ['faults', 7, () => counts.faults],
    ['attempts', 9, () => counts.attempts],
    ['heap MB', 8, ({ heap }) => heap.toFixed(1)],
    ['handles', 8, ({ handles }) => handles],
    ['timers', 7, ({ timers }) => timers],
    ['server MB', 10, ({ server }) => server.heap.toFixed(1)],
    ['server sockets', 15, ({ server }) => server.sockets],
  ];
  const print = (cellOf) =>
    console.log(columns.map((column) => `${cellOf(column)}`.padStart(column[1])).join(' '));

  return {
    counts,
    get wrong() {
      return wrong.length;
    },
    fail(what) {
      wrong.push(what);
      console.log(`✗ ${what}`);
    },
    head: () => print(([title]) => title),
    minute(minute, sample) {
      print(([, , get]) => get({ ...sample, minute }));
    },
    half({ title, first, second }) {
      console.log(
        `${title}: ${first.toFixed(2)} in the first half, ${second.toFixed(2)} in the second`,
      );
    },
    sums() {
      const { finished, aborted, forgotten, faults, attempts, thrown } = counts;
      console.log(
        `${finished} runs whole, ${aborted} stopped, ${forgotten} forgotten, ${faults} faults, ${attempts} attempts, ${thrown} errors thrown by listeners`,
      );
      console.log(wrong.length ? `${wrong.length} wrong` : 'nothing wrong');
    },
  };
}
