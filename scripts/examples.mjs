import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));

/** The folders of the built example pages, by the path they are served under. */
export const pages = {
  '/agent-provider/': join(root, 'examples/agent-provider/dist'),
  '/vanilla/': join(root, 'examples/vanilla/dist'),
  '/': join(root, 'examples/react/dist'),
};

/** Build the library, where its sources are newer than what was built. */
export function buildLibrary() {
  const built = join(root, 'dist/react.d.cts');
  if (existsSync(built) && statSync(built).mtimeMs > newest(join(root, 'src'))) return;
  npm('run', 'build');
}

/** Build the pages of the examples. */
export function buildPages() {
  npm('run', 'build', '--workspaces', '--if-present');
}

function npm(...args) {
  const { status, stdout, stderr } = spawnSync('npm', args, {
    cwd: root,
    encoding: 'utf8',
    shell: process.platform === 'win32',
  });
  if (status !== 0) throw new Error(`npm ${args.join(' ')} failed\n${stdout}\n${stderr}`);
}

function newest(folder) {
  const times = readdirSync(folder, { recursive: true }).map(
    (name) => statSync(join(folder, name)).mtimeMs,
  );
  return Math.max(...times);
}
