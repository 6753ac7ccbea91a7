import { execFile, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { cp, mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const execute = promisify(execFile);

/** The repository. */
export const root: string = fileURLToPath(new URL('../..', import.meta.url));

/** The entries of the package, as they are imported. */
export const entries = ['runsocket', 'runsocket/ag-ui', 'runsocket/react'] as const;

/** The two module systems that the package is built for. */
export const formats = ['mjs', 'cjs'] as const;

/** How a child process ended. */
export interface Output {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** A project that has installed the package: what would be published, and nothing else of it. */
export interface Consumer {
  readonly dir: string;
  write(name: string, text: string): Promise<string>;
  /** Runs a module of the project; rejects where it fails or does not end by itself. */
  run(name: string, text: string, options?: readonly string[]): Promise<string>;
  /** Runs Node in the project, however it ends. */
  node(...args: readonly string[]): Promise<Output>;
  remove(): Promise<void>;
}

/** Whatever takes longer than this hangs. */
const timeout = 45_000;

/** The files that `npm publish` would take, in order. */
export async function listPackedFiles(): Promise<string[]> {
  if (!existsSync(join(root, 'dist/index.js'))) {
    throw new Error('There is no dist/: run `npm run build` first.');
  }
  const { stdout } = await execute('npm', ['pack', '--dry-run', '--json', '--ignore-scripts'], {
    cwd: root,
    shell: process.platform === 'win32',
  });
  const packed = JSON.parse(stdout) as
    | { readonly files: readonly { readonly path: string }[] }[]
    | Record<string, { readonly files: readonly { readonly path: string }[] }>;
  const [first] = Object.values(packed);
  return (first?.files ?? []).map(({ path }) => path).sort();
}

/** Make a project with the package, its dependencies and what tests of it need. */
export async function createConsumer(): Promise<Consumer> {
  const files = await listPackedFiles();
  const dir = await mkdtemp(join(tmpdir(), 'runsocket-consumer-'));
  for (const file of files) {
    const target = join(dir, 'node_modules/runsocket', file);
    await mkdir(dirname(target), { recursive: true });
    await cp(join(root, file), target);
  }
  const dependencies = [
    'partysocket',
    'fast-json-patch',
    'ws',
    'react',
    'react-dom',
    'redis',
    'zod',
  ];
  for (const name of [...dependencies, '@types']) {
    await symlink(join(root, 'node_modules', name), join(dir, 'node_modules', name), 'junction');
  }
  await writeFile(join(dir, 'package.json'), '{ "name": "consumer", "private": true }');

  const node = (...args: readonly string[]) =>
    new Promise<Output>((resolve, reject) => {
      const child = spawn(process.execPath, args, { cwd: dir, timeout, killSignal: 'SIGKILL' });
      let stdout = '';
      let stderr = '';
      child.stdout.on('data', (data) => {
        stdout += data;
      });
      child.stderr.on('data', (data) => {
        stderr += data;
      });
      child.once('error', reject);
      child.once('close', (code) => resolve({ code, stdout, stderr }));
    });

  const write = async (name: string, text: string) => {
    const file = join(dir, name);
    await writeFile(file, text);
    return file;
  };

  return {
    dir,
    write,
    node,
    async run(name, text, options = []) {
      await write(name, text);
      const { code, stdout, stderr } = await node(...options, name);
      if (code !== 0) throw new Error(`${name} ended with ${code}:\n${stdout}${stderr}`);
      return stdout;
    },
    remove: () => rm(dir, { recursive: true, force: true }),
  };
}

/** The text of a module that takes `names` from an entry, and then does `body`; `body` may await. */
export function moduleText(
  format: (typeof formats)[number],
  imports: Readonly<Record<string, string>>,
  body: string,
): string {
  const lines = Object.entries(imports).map(([from, names]) =>
    format === 'mjs' ? `import ${names} from '${from}';` : `const ${names} = require('${from}');`,
  );
  const text = format === 'mjs' ? body : `(async () => {\n${body}\n})();`;
  return `${lines.join('\n')}\n${text}\n`;
}
