import { useSyncExternalStore } from 'react';
import { getWireLines, subscribeToWire } from './wire-log.ts';

const arrows = { in: '←', out: '→', note: '·' };
const words = { in: 'received', out: 'sent', note: '' };

/** What the page and the server said to each other, for those who want to see how it works. */
export function WirePanel() {
  const lines = useSyncExternalStore(subscribeToWire, getWireLines);
  return (
    <section className="panel" aria-labelledby="wire-title">
      <h2 id="wire-title">On the wire</h2>
      {lines.length > 0 ? (
        <ul className="wire">
          {lines.map(({ id, direction, text }) => (
            <li key={id} data-direction={direction}>
              <span aria-hidden="true">{arrows[direction]}</span>
              <span className="hidden">{words[direction]} </span>
              {text}
            </li>
          ))}
        </ul>
      ) : (
        <p className="empty">Nothing yet.</p>
      )}
    </section>
  );
}
