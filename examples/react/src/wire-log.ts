import type { InspectRecord } from 'runsocket';

/** A line of the panel "On the wire". */
export interface WireLine {
  readonly id: number;
  readonly direction: 'in' | 'out' | 'note';
  readonly text: string;
  /** The events that the line sums up. */
  readonly events?: { readonly runId: unknown; readonly from: number; readonly to: number };
}

const limit = 7;
const listeners = new Set<() => void>();
let lines: readonly WireLine[] = [];
let shown: readonly WireLine[] = lines;
let isScheduled = false;
let lastId = 0;
let isLost = false;

/** Notes what goes over the connection, events summed up in one line. */
export function recordFrame(record: InspectRecord): void {
  if (record.type === 'state') {
    const { status } = record.state;
    if (status === 'open') add('note', 'connected');
    // Every attempt that fails leads to `waiting` again.
    if (status === 'waiting' && !isLost) add('note', 'connection lost');
    if (status === 'open' || status === 'waiting') isLost = status === 'waiting';
  } else if (record.type === 'frame') {
    for (const message of readMessages(record.data)) {
      if (record.direction === 'out') {
        const after = message.type === 'resume' ? ` after ${message.after ?? 'the start'}` : '';
        add('out', `${message.type}${after}`);
      } else if (message.event && typeof message.offset === 'number') {
        addEvent(message.runId, message.offset);
      }
    }
  }
}

export function subscribeToWire(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

export function getWireLines(): readonly WireLine[] {
  return shown;
}

export function clearWire(): void {
  lines = [];
  notify();
}

// A server may send several messages as one frame.
function readMessages(data: unknown): Record<string, unknown>[] {
  try {
    return [typeof data === 'string' ? JSON.parse(data) : data].flat().map(Object);
  } catch {
    return [];
  }
}

function addEvent(runId: unknown, offset: number): void {
  const last = lines.at(-1);
  const { events } = last ?? {};
  // Another run, or an earlier event once more, begins a line of its own.
  if (last && events && events.runId === runId && events.to < offset) {
    const { from } = events;
    const text = `events ${from} – ${offset}`;
    lines = [...lines.slice(0, -1), { ...last, text, events: { runId, from, to: offset } }];
    notify();
  } else {
    add('in', `event ${offset}`, { runId, from: offset, to: offset });
  }
}

function add(direction: WireLine['direction'], text: string, events?: WireLine['events']): void {
  lines = [...lines, { id: ++lastId, direction, text, ...(events && { events }) }].slice(-limit);
  notify();
}

// Hundreds of events may come in one frame of the screen; the panel is drawn once for all.
function notify(): void {
  if (isScheduled) return;
  isScheduled = true;
  requestAnimationFrame(() => {
    isScheduled = false;
    shown = lines;
    for (const listener of listeners) listener();
  });
}
