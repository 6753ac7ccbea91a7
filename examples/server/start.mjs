// @ts-check
import { openLog } from './logs.mjs';
import { createOpenAiAgent } from './openai-agent.mjs';
import { createPages } from './pages.mjs';
import { createScriptedAgent } from './scripted-agent.mjs';
import { createExampleServer } from './server.mjs';

/** How long the page's "Drop connection" keeps everybody out, in ms: long enough to watch the countdown. */
const outage = 6000;

/**
 * The example server as the demo runs it: with the pages, and with a plug that the page may pull.
 *
 * @param {object} [options]
 * @param {number} [options.port] The port to try first; a free one where it is taken.
 * @param {string} [options.host]
 * @param {number} [options.pace]
 * @param {import('./requests.mjs').Agent} [options.agent] An agent of your own.
 * @param {import('runsocket/server').RunLog} [options.log] Default what `REDIS_URL` says, or memory.
 * @param {Record<string, string>} [options.pages] Folders by path.
 * @param {Record<string, string | undefined>} [options.env] Default `process.env`.
 */
export async function startExample(options = {}) {
  const { port = 0, host, pace, pages = {}, env = process.env } = options;
  const { OPENAI_BASE_URL: baseUrl, OPENAI_API_KEY: apiKey, OPENAI_MODEL: model } = env;
  const hasModel = Boolean(baseUrl && apiKey);
  const agent =
    options.agent ??
    (baseUrl && apiKey
      ? createOpenAiAgent({ baseUrl, apiKey, model })
      : createScriptedAgent({ pace }));
  const servePages = createPages(pages);
  const log = options.log ?? (await openLog(env.REDIS_URL));

  /** @param {number} onPort */
  const listen = (onPort) =>
    createExampleServer({
      port: onPort,
      host,
      agent,
      log,
      plain: env.PLAIN === '1',
      origins: env.ORIGINS?.split(','),
      handle(request, response) {
        if (request.method === 'POST' && request.url === '/agent/drop') {
          server.dropConnections({ refuseFor: outage });
          response.writeHead(204).end();
        } else {
          servePages(request, response);
        }
      },
    });

  const server = await listen(port).catch((error) => {
    if (error.code !== 'EADDRINUSE' && error.code !== 'EACCES') throw error;
    return listen(0);
  });
  return { ...server, hasModel };
}
