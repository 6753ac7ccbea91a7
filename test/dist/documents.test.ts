import { existsSync, readFileSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Consumer, createConsumer, root } from './consumer.ts';
import { publicNames } from './public-names.ts';

const documents = [
  'README.md',
  'PROTOCOL.md',
  'CONTRIBUTING.md',
  'CHANGELOG.md',
  'docs/api.md',
  'docs/recipes.md',
  'docs/agent-provider.md',
  'docs/server.md',
  'docs/ag-kit.md',
  'docs/reliability.md',
];

const read = (name: string) => {
  const path = join(root, name);
  if (!existsSync(path)) throw new Error(`There is no ${name}.`);
  return readFileSync(path, 'utf8');
};

interface Block {
  readonly language: string;
  /** The line of its first line of text, from 1. */
  readonly line: number;
  readonly text: string;
}

/** The fenced blocks of a document. */
function readBlocks(name: string): Block[] {
  const blocks: Block[] = [];
  let open: { language: string; line: number; lines: string[] } | undefined;
  for (const [index, line] of read(name).split('\n').entries()) {
    const fence = /^```(\w*)/.exec(line);
    if (!fence) open?.lines.push(line);
    else if (open) {
      blocks.push({ language: open.language, line: open.line, text: open.lines.join('\n') });
      open = undefined;
    } else open = { language: fence[1] ?? '', line: index + 2, lines: [] };
  }
  return blocks;
}

// What the snippets of a page take for given: names of the reader's own application.
const given = `
import type { ReactNode } from 'react';
import type { WebSocketClient } from 'runsocket';
import type { AgUiAgent } from 'runsocket/ag-ui';

declare global {
  const client: WebSocketClient;
  const agent: AgUiAgent;
  const useState: typeof import('react').useState;
  const useEffect: typeof import('react').useEffect;
  function getToken(): string;
  function refreshToken(): Promise<string>;
  function readFile(path: string): Promise<string>;
  function showSignIn(): void;
  function ask(question: string): Promise<boolean>;
  function Message(props: { readonly message: unknown }): ReactNode;
  interface ImportMeta {
    readonly hot?: { readonly data: { agent?: { dispose(): void } } };
  }
}
`;

// Packages of the reader's application that are not installed here, as far as snippets use them.
const foreign = `
declare module '@react-native-async-storage/async-storage' {
  const AsyncStorage: {
    getItem(key: string, callback?: (error?: Error, result?: string) => void): Promise<string | null>;
    setItem(key: string, value: string, callback?: (error?: Error) => void): Promise<void>;
    removeItem(key: string, callback?: (error?: Error) => void): Promise<void>;
  };
  export default AsyncStorage;
}
declare module 'eventsource-parser/stream' {
  export class EventSourceParserStream extends TransformStream<string, { data: string }> {}
}
declare module 'react-native' {
  export const AppState: {
    addEventListener(type: 'change', listener: (state: string) => void): { remove(): void };
  };
}
`;

const settings = {
  target: 'ES2022',
  lib: ['ES2023', 'DOM', 'DOM.Iterable', 'DOM.AsyncIterable'],
  module: 'ESNext',
  moduleResolution: 'Bundler',
  jsx: 'react-jsx',
  types: ['node'],
  skipLibCheck: true,
  noEmit: true,
};

let consumer: Consumer;

beforeAll(async () => {
  consumer = await createConsumer();
  await consumer.write('given.d.ts', given);
  await consumer.write('foreign.d.ts', foreign);
}, 60_000);
afterAll(() => consumer?.remove());

/** Type-checks files; the answer is what the compiler has to say, by document and line. */
async function check(name: string, files: readonly string[], options: object): Promise<string> {
  const compilerOptions = { ...settings, ...options };
  const project = `tsconfig.${name}.json`;
  await consumer.write(
    project,
    JSON.stringify({ compilerOptions, files: ['given.d.ts', 'foreign.d.ts', ...files] }),
  );
  const tsc = join(root, 'node_modules/typescript/bin/tsc');
  const { stdout, stderr } = await consumer.node(tsc, '-p', project, '--pretty', 'false');
  return `${stdout}${stderr}`;
}

/** The imports that a snippet leaves out: of names of the package that it uses and does not import. */
function importsFor(text: string): string {
  const imports = Object.entries(publicNames).map(([entry, { values, types }]) => {
    const isMissing = (name: string) =>
      new RegExp(`\\b${name}\\b`).test(text) &&
      !new RegExp(`import [^;]*\\b${name}\\b[^;]* from|(interface|type) ${name}\\b`).test(text);
    const names = [
      ...values.filter(isMissing),
      ...types.filter(isMissing).map((name) => `type ${name}`),
    ];
    const from = entry === 'index' ? 'runsocket' : `runsocket/${entry}`;
    return names.length ? `import { ${names.join(', ')} } from '${from}';` : '';
  });
  return imports.join('');
}

/** Writes the blocks of a document as modules, each at the line that it has in the document. */
async function writeBlocks(name: string, languages: readonly string[]): Promise<string[]> {
  const files: string[] = [];
  for (const { language, line, text } of readBlocks(name)) {
    if (!languages.includes(language)) continue;
    const file = `${name}/line-${line}.${language}`;
    await mkdir(dirname(join(consumer.dir, file)), { recursive: true });
    // The mark of a module goes behind the text, which stays on its own lines.
    const head = language.startsWith('ts') ? importsFor(text) : '';
    await consumer.write(file, `${head}${'\n'.repeat(line - 1)}${text}\nexport {};\n`);
    files.push(file);
  }
  return files;
}

describe.each([
  'README.md',
  'docs/api.md',
  'docs/recipes.md',
  'docs/agent-provider.md',
  'docs/server.md',
  'docs/ag-kit.md',
])('the code in %s', (name) => {
  it('compiles against the built package', async () => {
    const project = name.replaceAll(/\W/g, '-');
    const files = await writeBlocks(name, ['ts', 'tsx', 'mts']);
    expect(files.length).toBeGreaterThan(0);
    const strict = { strict: true, exactOptionalPropertyTypes: true };
    expect(await check(project, files, strict)).toBe('');

    const scripts = await writeBlocks(name, ['js', 'jsx', 'mjs']);
    const loose = { allowJs: true, checkJs: true, strict: false };
    expect(scripts.length && (await check(`${project}-js`, scripts, loose))).toBeFalsy();
  });
});

describe.each(documents)('%s', (name) => {
  it('links to files and headings that are there', () => {
    const prose = read(name).replaceAll(/^```[\s\S]*?^```/gm, '');
    const broken: string[] = [];
    for (const [, target = ''] of prose.matchAll(/\]\(([^)\s]+)\)/g)) {
      if (/^[a-z]+:/.test(target)) continue;
      const [path = '', heading] = target.split('#');
      const file = path ? join(dirname(name), path) : name;
      if (!existsSync(join(root, file))) broken.push(target);
      else if (heading !== undefined) {
        const slugs = [...read(file).matchAll(/^#+ (.*)$/gm)].map(([, title = '']) =>
          title
            .toLowerCase()
            .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
            .trim()
            .replaceAll(' ', '-'),
        );
        if (!slugs.includes(heading)) broken.push(target);
      }
    }
    expect(broken).toEqual([]);
  });

  it('has JSON that parses', () => {
    for (const { language, line, text } of readBlocks(name)) {
      if (language !== 'json') continue;
      for (const [index, one] of text.split('\n').entries()) {
        expect(() => JSON.parse(one), `${name}:${line + index}`).not.toThrow();
      }
    }
  });
});
