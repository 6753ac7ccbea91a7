// The other process of the soak, as soak.mjs calls it.
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

/** Start soak-server.mjs; `call` asks it for something, `stop` ends it. */
export async function startPeer({ plain }) {
  const peer = fork(fileURLToPath(new URL('soak-server.mjs', import.meta.url)), {
    env: { ...process.env, PLAIN: plain ? '1' : '' },
  });
  const answers = new Map();
  let lastCall = 0;
  peer.on('message', ({ id, value }) => {
    answers.get(id)?.(value);
    answers.delete(id);
  });
  const call = (name, ...values) =>
    new Promise((resolve) => {
      answers.set(++lastCall, resolve);
      peer.send({ id: lastCall, name, values });
    });
  return {
    call,
    port: await call('getPort'),
    async stop() {
      peer.disconnect();
      await once(peer, 'exit');
    },
  };
}
