// A page that comes back to a run of 100,000 events: `node bench/replay.mjs`. How often are the
// listeners told, and for how long is the thread of the page busy? The server is another process.
// Environment: EVENTS (100000).
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { performance } from 'node:perf_hooks';
import { WebSocket, WebSocketServer } from 'ws';
import { importSources } from './bundle.mjs';

const total = Number(process.env.EVENTS ?? 100_000);

if (process.argv[2] === 'server') {
  const { createServer } = await importSources('src/server/run-server.ts');
  const server = createServer({
    plain: process.env.PLAIN === '1',
    async *run() {
      yield { type: 'TEXT_MESSAGE_START', messageId: 'm' };
      for (let n = 0; n < total; n++) {
        yield { type: 'TEXT_MESSAGE_CONTENT', messageId: 'm', delta: `${n} ` };
      }
    },
  });
  await server.start({ threadId: 't', runId: 'a', messages: [] }, { runId: 'a' });
  while (server.getSnapshot().running) await new Promise((resolve) => setTimeout(resolve, 20));
  const wss = new WebSocketServer({ port: 0, host: '127.0.0.1' });
  await once(wss, 'listening');
  wss.on('connection', (socket) => server.accept(socket));
  process.send(wss.address().port);
  process.on('disconnect', () => process.exit());
} else {
  const { createClient, createAgUiAgent, defaultEnvironment } = await importSources(
    'src/client/websocket-client.ts',
    'src/ag-ui/agent.ts',
    'src/internal/environment.ts',
  );
  for (const plain of [false, true]) {
    const peer = fork(process.argv[1], ['server'], {
      env: { ...process.env, PLAIN: plain ? '1' : '' },
    });
    const [port] = await once(peer, 'message');
    // The time inside the message listeners of the socket is what the client takes for itself.
    let busy = 0;
    let longest = 0;
    let frames = 0;
    function Timed(url, protocols, options) {
      const socket = new WebSocket(url, protocols, options);
      const add = socket.addEventListener.bind(socket);
      socket.addEventListener = (type, listener) =>
        add(type, (event) => {
          const start = performance.now();
          listener(event);
          const took = performance.now() - start;
          if (type !== 'message') return;
          frames++;
          busy += took;
          longest = Math.max(longest, took);
        });
      return socket;
    }
    Timed.prototype = WebSocket.prototype;
    const client = createClient(
      `ws://127.0.0.1:${port}`,
      { WebSocket: Timed },
      { environment: defaultEnvironment },
    );
    const agent = createAgUiAgent(client, { storage: null });
    let told = 0;
    let events = 0;
    let paints = 0;
    agent.on('event', () => events++);
    const start = performance.now();
    const done = new Promise((resolve) => {
      agent.subscribe(() => {
        told++;
        if (agent.getSnapshot().status === 'finished') resolve();
      });
    });
    const timer = setInterval(() => paints++, 16);
    agent.follow('a');
    await done;
    const took = performance.now() - start;
    clearInterval(timer);
    const text = agent.getSnapshot().messages[0]?.content ?? '';
    if (!text.endsWith(`${total - 1} `)) throw new Error('The text is not whole.');
    console.log(
      `${plain ? 'plain' : 'v1   '} ${events} events in ${frames} frames, ${took.toFixed(0)} ms: ${told} notifications (${Math.ceil(took / 16)} frames of 16 ms), busy ${busy.toFixed(0)} ms in all, ${longest.toFixed(1)} ms at most at a time, ${paints} timers of 16 ms ran meanwhile`,
    );
    agent.dispose();
    client.close();
    peer.disconnect();
  }
}
