import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import ts from 'typescript';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Consumer, createConsumer, formats, root } from './consumer.ts';
import { publicNames } from './public-names.ts';

const names = Object.keys(publicNames) as (keyof typeof publicNames)[];
const declarations = names.flatMap((name) =>
  ['d.ts', 'd.cts'].map((end) => [name, join(root, 'dist', `${name}.${end}`)] as const),
);

let consumer: Consumer;

beforeAll(async () => {
  consumer = await createConsumer();
});
afterAll(() => consumer?.remove());

describe.each(formats)('what %s modules get', (format) => {
  it.each(names)('from %s is on the written list', async (name) => {
    const entry = name === 'index' ? 'runsocket' : `runsocket/${name}`;
    const load = format === 'mjs' ? `await import('${entry}')` : `require('${entry}')`;
    const text = `console.log(JSON.stringify(Object.keys(${load}).sort()));`;
    const found = JSON.parse(
      await consumer.run(`names-${name.replace('/', '-')}.${format}`, text),
    ) as string[];
    // Some versions of Node add these to a CommonJS module.
    const own = found.filter((one) => one !== 'default' && one !== 'module.exports');
    expect(own).toEqual(publicNames[name].values);
  });
});

describe('the declarations', () => {
  let program: ts.Program;

  beforeAll(() => {
    program = ts.createProgram(
      declarations.map(([, path]) => path),
      { module: ts.ModuleKind.NodeNext, noEmit: true, types: ['node'], skipLibCheck: true },
    );
  });

  it.each(declarations)('of %s name what is on the written list', (name, path) => {
    const checker = program.getTypeChecker();
    const file = program.getSourceFile(path);
    const symbol = file && checker.getSymbolAtLocation(file);
    const found = symbol ? checker.getExportsOfModule(symbol).map((one) => one.name) : [];
    expect(found.sort()).toEqual([...publicNames[name].values, ...publicNames[name].types].sort());
  });

  it('say `any` nowhere but for the listeners of foreign sockets, and where AG-Kit does', () => {
    const found: string[] = [];
    for (const file of program.getSourceFiles()) {
      if (!file.fileName.includes('/dist/') || file.fileName.includes('node_modules')) continue;
      const visit = (node: ts.Node): void => {
        if (node.kind === ts.SyntaxKind.AnyKeyword) {
          let around = node.parent;
          while (!ts.isTypeElement(around) && !ts.isStatement(around)) around = around.parent;
          found.push(around.getText(file));
        }
        node.forEachChild(visit);
      };
      visit(file);
    }
    expect([...new Set(found)]).toEqual([
      'addEventListener(type: string, listener: (event: any) => void): void;',
      'parameters: any;',
      "addEventListener(type: 'open' | 'message' | 'close' | 'error', listener: (event: any) => void): unknown;",
    ]);
  });

  it.each(declarations)('of %s need no DOM lib and export nothing by default', (_, path) => {
    const text = readFileSync(path, 'utf8');
    expect(text).not.toMatch(/reference lib=|reference types=|export default/);
  });
});
