// @ts-check
import { startExample } from './start.mjs';

const { PORT = '8787', HOST = '127.0.0.1', PACE = '1' } = process.env;
const server = await startExample({ port: Number(PORT), host: HOST, pace: Number(PACE) });
console.log(`${server.hasModel ? 'A model' : 'A scripted agent'} listens on ${server.url}`);
if (Number(PORT) !== 0 && server.port !== Number(PORT)) {
  console.log(`Port ${PORT} is taken. The page finds this one by PORT=${server.port} npm run dev.`);
}
