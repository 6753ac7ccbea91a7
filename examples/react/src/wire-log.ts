import type { InspectRecord } from 'runsocket';

/** A line of the panel "On the wire". */
export interface WireLine {
  readonly id: number;
  readonly direction: 'in' | 'out' | 'note';
  readonly text: string;
}

const limit = 7;
const listeners = new Set<() => void>();
let lines: readonly WireLine[] = [];
let shown: readonly WireLine[] = lines;
let isScheduled = false;
let lastId = 0;

/** Notes what goes over the connection, events summed up in one line. */
export function recordFrame(record: InspectRecord): void {
  if (record.type === 'state') {
    if (record.state.status === 'open') add('note', 'connected');
    if (record.state.status === 'waiting') add('note', 'connection lost');
  } else if (record.type === 'frame') {
    const message = readMessage(record.data);
    if (record.direction === 'out') {
      const after = message.type === 'resume' ? ` after ${message.after ?? 'the start'}` : '';
      add('out', `${message.type}${after}`);
    } else if (typeof message.offset === 'number') {
      addEvent(message.offset);
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

function readMessage(data: unknown): Record<string, unknown> {
  try {
    return Object(typeof data === 'string' ? JSON.parse(data) : data);
  } catch {
    return {};
  }
}

function addEvent(offset: number): void {
  const last = lines.at(-1);
  const from = last?.direction === 'in' ? /\d+/.exec(last.text)?.[0] : undefined;
  if (last && from !== undefined) {
    lines = [...lines.slice(0, -1), { ...last, text: `events ${from} – ${offset}` }];
    notify();
  } else {
    add('in', `event ${offset}`);
  }
}

function add(direction: WireLine['direction'], text: string): void {
  lines = [...lines, { id: ++lastId, direction, text }].slice(-limit);
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
