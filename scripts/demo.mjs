import { buildLibrary, buildPages, pages } from './examples.mjs';

const { PORT = '8787', HOST = '127.0.0.1', PACE = '1' } = process.env;

process.stdout.write('Building the library and the pages …\n');
buildLibrary();
buildPages();
// It imports the library, which is there only now.
const { startExample } = await import('../examples/server/start.mjs');
const server = await startExample({ port: Number(PORT), host: HOST, pace: Number(PACE), pages });
const who = server.hasModel ? 'the model behind OPENAI_BASE_URL' : 'a scripted agent';
console.log(`runsocket demo with ${who}: http://${HOST}:${server.port}/ (Ctrl+C ends it)`);
for (const path of Object.keys(pages).filter((path) => path !== '/')) {
  console.log(`Another page: http://${HOST}:${server.port}${path}`);
}
console.log(`A client of your own connects to ${server.url}`);

for (const signal of ['SIGINT', 'SIGTERM']) {
  process.once(signal, async () => {
    await server.close({ grace: 0 });
    process.exit(0);
  });
}
