// @ts-check
import { startCluster } from './cluster.mjs';

/**
 * Starts the cluster as the environment says, tells what to try, and ends it with Ctrl+C.
 *
 * @param {Record<string, string>} pages Folders by path.
 */
export async function runCluster(pages) {
  const { PORT = '8787', HOST: host = '127.0.0.1' } = process.env;
  const say = console.log;
  const options = { host, pages, say };
  const cluster = await startCluster({ ...options, port: Number(PORT) })
    .catch((error) => {
      if (error.code !== 'EADDRINUSE' && error.code !== 'EACCES') throw error;
      return startCluster(options);
    })
    .catch((error) => {
      console.error(error.message);
      process.exit(1);
    });

  say(`Redis: ${cluster.redis.url}${cluster.redis.isOurs ? ', in memory, started for this' : ''}`);
  say(`A client connects to ${cluster.url}; each new connection goes to the other process.`);
  if (Object.keys(pages).length) say(`The page: http://${host}:${cluster.port}/`);
  say('Try: ask something, and kill -9 one of the processes while it answers. (Ctrl+C ends all)');

  for (const signal of ['SIGINT', 'SIGTERM']) {
    process.once(signal, async () => {
      await cluster.close();
      process.exit(0);
    });
  }
}
