import type { WebSocketLike } from '../../src/client/types.ts';
import type { Names } from './numbering.ts';
import type { Host, Timeline } from './timeline.ts';

/** How the server's end of a connection is told what happens; as `RunServer.connect()` gives it. */
export interface ServerEnd {
  receive(data: string): void;
  closed(): void;
}

/** The server as the link sees it; undefined where there is none. */
export interface ServerPort {
  readonly host: Host;
  connect(send: (data: string) => void, close: (code: number, reason: string) => void): ServerEnd;
}

/** Looks at a frame on its way; gives what goes on in its place. */
export type Tamper = (frame: string, line: Line) => readonly (string | ArrayBuffer)[] | undefined;

/** One connection, from its attempt to its end. */
export interface Line {
  readonly url: string;
  readonly page: Host;
  /** Both ends are there and can hear each other. */
  readonly isSound: boolean;
  readonly isOpen: boolean;
  /** The client holds on to it: neither ended nor closed from its side. */
  readonly isAttached: boolean;
  readonly openedAt: number | undefined;
  /** Ends it on both sides; what is on its way is lost, unless `drains`. */
  cut(code?: number, drains?: boolean): void;
  /** The server closes it. */
  serverClose(code: number, reason: string): void;
  /** What is sent in a direction gets lost from here on, and nobody is told. */
  mute(up: boolean, down: boolean): void;
  /** Brings a frame to the client behind what is on its way. */
  push(frame: string | ArrayBuffer): void;
  /** Brings a frame to the server at once. */
  deliver(frame: string): void;
  /** Cuts after so many more frames have arrived. */
  cutAfter(direction: 'up' | 'down', frames: number): void;
}

/** All connections between pages and one server. */
export interface Link {
  readonly lines: readonly Line[];
  /** What becomes of attempts. */
  mode: 'up' | 'refuse' | 'hang' | 'flap';
  /** Ends this many attempts in the middle of their handshake. */
  breakHandshakes: number;
  latency: number;
  /** How the server names the places of its logs; undefined where they are 0, 1, 2 … */
  names: Names | undefined;
  port: ServerPort | undefined;
  /** Frames of a socket that its client has given up still arrive, and poison with them. */
  late: ((line: Line) => readonly string[]) | undefined;
  readonly down: Set<Tamper>;
  /** As `down`, for what clients send; `undefined` lets it through. */
  readonly up: Set<Tamper>;
  /** Refuses an address with 4401 as soon as the connection is open. */
  refusesUrl(url: string): boolean;
  socketsOf(page: Host): new (url: string) => WebSocketLike;
  /** The open line of a page, the newest of all without one. */
  current(page?: Host): Line | undefined;
  onDial(listener: (page: Host, line: Line) => void): void;
  onSend(listener: (line: Line, data: string) => void): void;
  /** The page is gone: its lines end without a word. */
  drop(page: Host): void;
}

type Listener = (event: never) => void;

/** Make a link on a timeline; `trace` is told what arrives. */
export function createLink(timeline: Timeline, trace: (text: () => string) => void): Link {
  const lines: Line[] = [];
  let dialled = (_page: Host, _line: Line) => {};
  let sent = (_line: Line, _data: string) => {};
  const down = new Set<Tamper>();
  const up = new Set<Tamper>();

  const tamper = (set: Set<Tamper>, frame: string, line: Line) => {
    let frames: (string | ArrayBuffer)[] = [frame];
    for (const one of set) {
      frames = frames.flatMap((data) =>
        typeof data === 'string' ? (one(data, line) ?? [data]) : data,
      );
    }
    return frames;
  };

  // Brings tasks to a machine in their order; those of one moment come together.
  function createPipe(host: () => Host) {
    let queue: { readonly due: number; readonly task: () => void }[] = [];
    let last = 0;
    let isPlanned = false;
    const plan = () => {
      const next = queue[0];
      if (!next || isPlanned) return;
      isPlanned = true;
      host().deliver(pump, next.due - timeline.now());
    };
    const pump = () => {
      isPlanned = false;
      const now = timeline.now();
      while (queue[0] && queue[0].due <= now) queue.shift()?.task();
      plan();
    };
    return {
      add(task: () => void, latency: number) {
        last = Math.max(last, timeline.now() + latency);
        queue.push({ due: last, task });
        plan();
      },
      clear() {
        queue = [];
      },
    };
  }

  function open(url: string, page: Host): { line: Line; socket: WebSocketLike } {
    const id = lines.length + 1;
    const listeners: { readonly type: string; readonly listener: Listener }[] = [];
    let state: 0 | 1 | 2 | 3 = 0;
    let isBroken = false;
    let isDetached = false;
    let muted = { up: false, down: false };
    let server: ServerEnd | undefined;
    let openedAt: number | undefined;
    let left = { up: Infinity, down: Infinity };
    let port = link.port;
    const toPage = createPipe(() => page);
    const toServer = createPipe(() => (port as ServerPort).host);
    const delay = () => link.latency;

    const fire = (type: string, event: object = {}) => {
      for (const one of [...listeners]) if (one.type === type) one.listener(event as never);
    };
    const endPage = (code: number, error = false) => {
      if (state === 3) return;
      const wasDetached = isDetached;
      state = 3;
      trace(() => `#${id} ends at the client: ${code}${wasDetached ? ' (given up)' : ''}`);
      if (error) fire('error', { message: 'broken' });
      fire('close', { code, reason: '', wasClean: code !== 1006 });
    };
    const endServer = () => {
      const end = server;
      server = undefined;
      end?.closed();
    };
    const count = (direction: 'up' | 'down') => {
      left[direction]--;
      if (left[direction] <= 0) line.cut();
    };

    const toClient = (made: string | ArrayBuffer) => {
      if (isBroken || muted.down) return;
      const data = link.names && typeof made === 'string' ? link.names.down(made) : made;
      toPage.add(() => {
        if (state !== 1 && !(isDetached && link.late)) return;
        trace(() => `#${id} <- ${typeof data === 'string' ? data.slice(0, 150) : 'bytes'}`);
        fire('message', { data });
        count('down');
      }, delay());
    };

    const line: Line = {
      url,
      page,
      get isSound() {
        return state === 1 && !isBroken && !muted.up && !muted.down && server !== undefined;
      },
      get isOpen() {
        return state === 1;
      },
      get isAttached() {
        return page.isAlive && state < 2;
      },
      get openedAt() {
        return openedAt;
      },
      cut(code = 1006, drains = false) {
        if (isBroken || state === 3) return;
        isBroken = true;
        trace(() => `#${id} is cut: ${code}`);
        left = { up: Infinity, down: Infinity };
        if (!drains) toPage.clear();
        toServer.clear();
        toPage.add(() => endPage(code, code === 1006 && !drains), 0);
        if (port) toServer.add(endServer, 0);
      },
      serverClose(code, reason) {
        trace(() => `#${id} is closed by the server: ${code} ${reason}`);
        server = undefined;
        if (isBroken || muted.down) return;
        toPage.add(() => {
          isBroken = true;
          endPage(code);
        }, delay());
      },
      mute(isUp, isDown) {
        muted = { up: muted.up || isUp, down: muted.down || isDown };
        if (isDown) toPage.clear();
        if (isUp) toServer.clear();
      },
      push: toClient,
      deliver(frame) {
        if (!isBroken) server?.receive(frame);
      },
      cutAfter(direction, frames) {
        left[direction] = frames;
      },
    };

    const accept = () => {
      const { port: now } = link;
      if (isBroken || state !== 0 || link.mode === 'hang') return;
      if (link.breakHandshakes > 0) {
        link.breakHandshakes--;
        return line.cut();
      }
      if (!now?.host.isAlive || link.mode === 'refuse') return line.cut();
      port = now;
      toPage.add(() => {
        if (state !== 0) return;
        state = 1;
        openedAt = timeline.now();
        trace(() => `#${id} is open: ${url}`);
        fire('open');
      }, delay());
      if (link.refusesUrl(url)) return toPage.add(() => endPage(4401), delay());
      server = now.connect(
        (data) => {
          if (!down.size) toClient(data);
          else for (const frame of tamper(down, data, line)) toClient(frame);
        },
        (code, reason) => line.serverClose(code, reason),
      );
      if (link.mode === 'flap') line.cut(1006, true);
    };

    const socket: WebSocketLike = {
      get readyState() {
        return state;
      },
      binaryType: 'blob',
      send(data) {
        trace(() => `#${id} -> ${String(data).slice(0, 150)}`);
        const text = link.names?.up(String(data)) ?? String(data);
        sent(line, text);
        if (isBroken || muted.up || state !== 1) return;
        toServer.add(() => {
          if (!server || muted.up) return;
          const frames = up.size ? tamper(up, text, line) : [text];
          for (const frame of frames) server?.receive(frame as string);
          count('up');
        }, delay());
      },
      close(code) {
        if (state > 1) return;
        trace(() => `#${id} is given up by the client`);
        const wasOpen = state === 1;
        if (wasOpen && !isBroken) for (const frame of link.late?.(line) ?? []) toClient(frame);
        isDetached = true;
        state = 2;
        if (isBroken) return;
        if (wasOpen && !muted.up && port) toServer.add(endServer, delay());
        toPage.add(() => {
          isBroken = true;
          endPage(code ?? 1005);
        }, 2 * delay());
      },
      addEventListener(type, listener) {
        listeners.push({ type, listener });
      },
    };
    // A dead page's timers do not run, so the handshake is the world's.
    timeline.at(timeline.now() + delay(), accept);
    return { line, socket };
  }

  const link: Link = {
    lines,
    mode: 'up',
    breakHandshakes: 0,
    latency: 5,
    names: undefined,
    port: undefined,
    late: undefined,
    down,
    up,
    refusesUrl: () => false,
    socketsOf: (page) =>
      function socket(url: string): WebSocketLike {
        const { line, socket: made } = open(url, page);
        lines.push(line);
        trace(() => `#${lines.length} is dialled: ${url}`);
        dialled(page, line);
        return made;
      } as never,
    current(page) {
      for (let index = lines.length - 1; index >= 0; index--) {
        const line = lines[index] as Line;
        if (line.isOpen && line.isAttached && (!page || line.page === page)) return line;
      }
      return undefined;
    },
    onDial(listener) {
      dialled = listener;
    },
    onSend(listener) {
      sent = listener;
    },
    drop(page) {
      for (const line of lines) if (line.page === page) line.cut();
    },
  };
  return link;
}
