// @ts-check
import { startExample } from '../server/start.mjs';
import { startEndpoint } from './endpoint.mjs';
import { createAgKitRun } from './recipe.mjs';

/**
 * A run server in front of an AG-Kit endpoint: the one at `url`, or one of our own.
 *
 * @param {object} [options]
 * @param {string} [options.url] Where an AG-Kit server takes `POST`s.
 * @param {number} [options.port] The port to try first; a free one where it is taken.
 * @param {string} [options.host]
 * @param {number} [options.pace] How fast our own agent talks.
 * @param {Record<string, string>} [options.pages] Folders by path.
 */
export async function startAgKit({ url, port, host, pace, pages } = {}) {
  const endpoint = url ? undefined : await startEndpoint({ host, pace });
  const agentUrl = endpoint?.url ?? String(url);
  /** @type {any} */
  const agent = createAgKitRun(agentUrl);
  const server = await startExample({ port, host, pages, agent, env: {} });

  return {
    ...server,
    /** Where the AG-Kit server is. */
    agentUrl,
    /** Our own endpoint, where it is ours. */
    endpoint,
    async close() {
      await server.close({ grace: 0 });
      await endpoint?.close();
    },
  };
}
