import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import react from '@vitejs/plugin-react';
import { createServer } from 'vite';
import { expect } from 'vitest';
import { textOf } from '../examples/example-server.ts';
import { askAndPause, inChromium, it, until, untilLogged } from './browser.ts';
import { expectWhole, listen, untilShown } from './chaos-page.ts';

const root = fileURLToPath(new URL('../../', import.meta.url));
const question = 'What happens while I write this page?';

/** A development server with a copy of the page, in which a test may edit. */
async function develop() {
  const folder = mkdtempSync(join(tmpdir(), 'hot-page-'));
  cpSync(join(root, 'test/e2e/pages/hot'), folder, { recursive: true });
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'));
  const vite = await createServer({
    root: folder,
    configFile: false,
    cacheDir: join(folder, 'cache'),
    logLevel: 'error',
    plugins: [react()],
    optimizeDeps: {
      noDiscovery: true,
      include: ['react', 'react-dom/client', 'react/jsx-dev-runtime', 'partysocket/ws'],
    },
    server: {
      host: '127.0.0.1',
      // Changes are told by hand: a watcher may tell one twice, or late.
      watch: null,
      fs: { allow: [folder, root] },
    },
  });
  await vite.listen();
  return {
    url: vite.resolvedUrls?.local[0],
    edit(name: string, from: string, to: string) {
      const file = join(folder, name);
      const text = readFileSync(file, 'utf8');
      expect(text).toContain(from);
      writeFileSync(file, text.replace(from, to));
      vite.watcher.emit('change', file);
    },
    async close() {
      await vite.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

inChromium('a page under development, in StrictMode, with 21 hooks on one agent', () => {
  it('keeps one connection and asks once for its run, whatever is reloaded and edited', async ({
    stage,
  }) => {
    const site = await develop();
    try {
      const context = await stage.openContext();
      const page = stage.watch(await context.newPage());
      const heard = listen(page);
      const agentSockets = () => heard.sockets.filter((url) => url.endsWith('/agent')).length;
      /** Everything is shown, over one connection that is the latest of so many. */
      const expectConnection = async (count: number) => {
        const resumes = Array<string>(count - 1).fill('resume');
        await until(() => heard.sent.length >= count && stage.server.connections() === 1);
        await untilShown(stage, page, runId);
        expect(heard.sent).toEqual(['run', ...resumes]);
        expect(agentSockets()).toBe(count);
        expect(await page.locator('.user').textContent()).toBe(question);
      };
      await page.goto(`${site.url}?server=${encodeURIComponent(stage.server.url)}`);
      const runId = await askAndPause(stage, page, question);
      await expectConnection(1);

      await page.reload();
      await expectConnection(2);

      site.edit('app.jsx', "'app 1'", "'app 2'");
      await page.getByText('agent 1, app 2').waitFor();
      stage.resume('TEXT_MESSAGE_CONTENT', 60);
      await untilLogged(stage.server, runId, 'TEXT_MESSAGE_CONTENT', 60);
      await expectConnection(2);

      for (const edition of [2, 3]) {
        site.edit('agent.js', `'agent ${edition - 1}'`, `'agent ${edition}'`);
        await page.getByText(`agent ${edition}, app 2`).waitFor();
        await expectConnection(edition + 1);
      }

      stage.resume();
      await expectWhole(stage, page, runId);
      for (const text of await page.locator('.assistant').allTextContents()) {
        expect(text).toBe(textOf(stage.server.log(runId)));
      }
      expect(stage.server.connections()).toBe(1);
      expect(heard.sent).toEqual(['run', 'resume', 'resume', 'resume']);
    } finally {
      await site.close();
    }
  });
});
