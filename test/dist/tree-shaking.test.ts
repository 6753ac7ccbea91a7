import { build } from 'esbuild';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Consumer, createConsumer } from './consumer.ts';

let consumer: Consumer;

beforeAll(async () => {
  consumer = await createConsumer();
});
afterAll(() => consumer?.remove());

interface Bundle {
  readonly code: string;
  /** The packages that code was taken from. */
  readonly packages: readonly string[];
}

async function bundle(code: string): Promise<Bundle> {
  const { outputFiles, metafile } = await build({
    stdin: { contents: code, resolveDir: consumer.dir },
    bundle: true,
    minify: true,
    format: 'esm',
    platform: 'browser',
    external: ['react'],
    // The links of a test project are not followed, so that paths tell the package.
    preserveSymlinks: true,
    metafile: true,
    write: false,
    logLevel: 'silent',
  });
  const [output] = Object.values(metafile.outputs);
  const packages = Object.entries(output?.inputs ?? {})
    .filter(([, { bytesInOutput }]) => bytesInOutput > 0)
    .map(([path]) => /node_modules\/([^/]+)/.exec(path)?.[1] ?? '')
    .filter(Boolean);
  return { code: outputFiles[0]?.text ?? '', packages: [...new Set(packages)].sort() };
}

describe('a bundle', () => {
  it('of nothing but an import is empty', async () => {
    for (const entry of ['', '/ag-ui', '/agent-provider', '/ag-kit', '/react'].map(
      (end) => `runsocket${end}`,
    )) {
      expect(await bundle(`import '${entry}';`), entry).toEqual({ code: '', packages: [] });
    }
  });

  it('of RunSocketError has no partysocket and little else', async () => {
    const { code, packages } = await bundle(
      `import { RunSocketError } from 'runsocket'; console.log(RunSocketError);`,
    );
    expect(packages).toEqual(['runsocket']);
    expect(code.length).toBeLessThan(400);
  });

  it('of applyPatch has no partysocket and no agent', async () => {
    const { code, packages } = await bundle(
      `import { applyPatch } from 'runsocket/ag-ui'; console.log(applyPatch);`,
    );
    expect(packages).toEqual(['runsocket']);
    expect(code).not.toContain('RUN_STARTED');
  });

  it('of the store of AgentEvents has no run, no socket and no AG-UI', async () => {
    const { code, packages } = await bundle(
      `import { createAgentStore } from 'runsocket/agent-provider'; console.log(createAgentStore);`,
    );
    expect(packages).toEqual(['runsocket']);
    expect(code).not.toMatch(/run\.accepted|RUN_STARTED/);
    expect(code).toContain('duplicate_entity');
  });

  it('of applyAgUiEvent has no run and no socket', async () => {
    const { code, packages } = await bundle(
      `import { applyAgUiEvent } from 'runsocket/ag-ui'; console.log(applyAgUiEvent);`,
    );
    expect(packages).toEqual(['runsocket']);
    expect(code).not.toContain('run.accepted');
  });

  it('of createAgUiAgent has no partysocket: the client brings it', async () => {
    const { packages } = await bundle(
      `import { createAgUiAgent } from 'runsocket/ag-ui'; console.log(createAgUiAgent);`,
    );
    expect(packages).toEqual(['runsocket']);
  });

  it('of createWebSocketClient has partysocket and no runs', async () => {
    const { code, packages } = await bundle(
      `import { createWebSocketClient } from 'runsocket'; console.log(createWebSocketClient);`,
    );
    expect(packages).toEqual(['partysocket', 'runsocket']);
    expect(code).not.toContain('run.accepted');
  });

  it('of useAgUiAgent has the hook alone', async () => {
    const { code, packages } = await bundle(
      `import { useAgUiAgent } from 'runsocket/react'; console.log(useAgUiAgent);`,
    );
    expect(packages).toEqual(['runsocket']);
    expect(code).not.toContain('RUN_STARTED');
  });
});
