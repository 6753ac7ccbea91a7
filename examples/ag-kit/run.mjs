// @ts-check
import { startAgKit } from './server.mjs';

/**
 * Starts the example as the environment says, tells what to try, and ends it with Ctrl+C.
 *
 * @param {Record<string, string>} pages Folders by path.
 */
export async function runAgKit(pages) {
  const { PORT = '8787', HOST = '127.0.0.1', PACE = '1', AG_KIT_URL } = process.env;
  const server = await startAgKit({
    port: Number(PORT),
    host: HOST,
    pace: Number(PACE),
    pages,
    ...(AG_KIT_URL && { url: AG_KIT_URL }),
  });

  const example = JSON.stringify({
    conversationId: 'one',
    messages: [{ role: 'user', content: 'A train to Basel?' }],
  });
  console.log(`The AG-Kit server: ${server.agentUrl}`);
  console.log(`  curl -N -H 'content-type: application/json' -d '${example}' ${server.agentUrl}`);
  console.log(`The run server in front of it: ${server.url}`);
  console.log(`  node examples/ag-kit/chat.mjs ${server.url}`);
  for (const path of Object.keys(pages)) {
    console.log(`A page: http://${HOST}:${server.port}${path}`);
  }
  console.log('Ask for a train to Basel, to book one, or what is near you. (Ctrl+C ends all)');

  for (const signal of ['SIGINT', 'SIGTERM']) {
    process.once(signal, async () => {
      await server.close();
      process.exit(0);
    });
  }
}
