// The client as it is built for browsers: one file that needs nothing of Node's, and stays small in the bundles of others.
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { createContext, runInContext } from 'node:vm';
import { gzipSync } from 'node:zlib';

import { build as esbuild } from 'esbuild';
import { build as vite } from 'vite';
import { describe, expect, it } from 'vitest';

import { stream, type Triton } from 'tstriton';

import { importsOf } from '../support/import-graph.js';
import { startServer } from '../support/start-server.js';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const BUILT = fileURLToPath(new URL('../../dist/client/browser.js', import.meta.url));
/** Everything that the entry has, used. */
const ALL = "import * as client from 'tstriton/client'; globalThis.client = client;";
const MODEL_CLIENT = "import { ModelClient } from 'tstriton/client'; globalThis.ModelClient = ModelClient;";
const LIMIT_KB = 42;
/** What a bundle finds in a browser, beside the language: nothing of Node's. */
const GLOBALS_OF_THE_WEB = [
  'AbortController', 'AbortSignal', 'Response', 'TextDecoder', 'TextEncoder', 'URL', 'atob', 'btoa', 'clearTimeout', 'fetch',
  'performance', 'setTimeout',
] as const; // prettier-ignore
/** Asks a model, in the bundle's own realm. */
const ASKING = `(async () => {
  const { ModelClient, ServerClient } = globalThis.client;
  const client = new ModelClient(url, 'Double');
  const server = new ServerClient(url);
  const { y } = await client.inferSample({ x: [1, 2], s: ['é'] });
  const streamed = [];
  for await (const { i } of new ModelClient(url, 'Count').streamSample({ n: [3] })) streamed.push(i.data[0]);
  const { maxBatchSize } = await server.modelConfig('Double');
  await Promise.all([client.close(), server.close()]);
  return JSON.stringify({ y: y.toNested(), streamed, maxBatchSize });
})()`;

function bindModels(triton: Triton): void {
  triton.bind({
    modelName: 'Double',
    inputs: { x: { dtype: 'float32', shape: [-1] }, s: { dtype: 'string', shape: [1] } },
    outputs: { y: { dtype: 'float32', shape: [-1] } },
    inferFunc: (requests) => requests.map(({ inputs }) => ({ y: inputs.x })),
  });
  triton.bind({
    modelName: 'Count',
    inputs: { n: { dtype: 'int32', shape: [1] } },
    outputs: { i: { dtype: 'int32', shape: [1] } },
    config: { decoupled: true },
    inferFunc: stream(function* ({ n }) {
      for (let i = 0; i < n.data[0]!; i++) yield { i: [[i]] };
    }),
  });
}

async function bundleWithEsbuild(contents: string): Promise<string> {
  const { outputFiles } = await esbuild({
    stdin: { contents, resolveDir: ROOT, loader: 'js' },
    bundle: true,
    minify: true,
    write: false,
    format: 'esm',
    platform: 'browser',
    logLevel: 'silent',
  });
  return outputFiles[0]!.text;
}

async function bundleWithVite(contents: string): Promise<string> {
  const entry = 'virtual:entry';
  const result = await vite({
    root: ROOT,
    configFile: false,
    logLevel: 'silent',
    plugins: [{ name: entry, resolveId: (id) => (id === entry ? `${ROOT}/entry.js` : null), load: (id) => (id === `${ROOT}/entry.js` ? contents : null) }],
    build: { write: false, minify: true, rolldownOptions: { input: entry, onwarn: (warning) => { throw new Error(warning.message); } } },
  }); // prettier-ignore
  const [output] = [result].flat();
  if (output === undefined || !('output' in output)) throw new Error('vite gave no output');
  return output.output.map((file) => (file.type === 'chunk' ? file.code : '')).join('');
}

function kilobytes(code: string): number {
  return gzipSync(code, { level: 9 }).byteLength / 1000;
}

describe('a declaration that a page shares with its server', () => {
  const SHARED = `import { batch, defineModel } from 'tstriton';
    import { ModelClient } from 'tstriton/client';
    export const double = defineModel({
      modelName: 'Double',
      inputs: { x: { dtype: 'float32', shape: [-1] } },
      outputs: { y: { dtype: 'float32', shape: [-1] } },
    });
    export const inferFunc = batch(({ x }) => ({ y: x }));
    globalThis.shared = () => [typeof new ModelClient('http://localhost', double).inferSample, double.modelName, typeof inferFunc];`;
  const SERVER = "import { Triton } from 'tstriton'; globalThis.triton = new Triton();";

  it.each([
    ['esbuild', bundleWithEsbuild],
    ['vite', bundleWithVite],
  ])('is bundled by %s with nothing of the server', async (_, bundle) => {
    const code = await bundle(SHARED);
    expect(importsOf(code)).toEqual([]);
    expect(code).not.toContain('node:');
    const globals = Object.fromEntries(GLOBALS_OF_THE_WEB.map((name) => [name, globalThis[name]]));
    const context = createContext(globals);
    runInContext(code.replace(/export\s*\{[^}]*\};?/, ''), context);
    expect(runInContext('shared().join()', context)).toBe('function,Double,function');
  });

  it.each([
    ['esbuild', bundleWithEsbuild],
    ['vite', bundleWithVite],
  ])('is told by %s from a server, which no page can be', async (_, bundle) => {
    await expect(bundle(SERVER)).rejects.toThrow(
      /"Triton" is not exported by|No matching export in .* for import "Triton"/,
    );
  });

  it('has the names of the entry for Node, but for the server', async () => {
    const [browser, node] = await Promise.all([import('../../dist/browser.js'), import('tstriton')]);
    const missing = Object.keys(node).filter((name) => !Object.hasOwn(browser, name));
    expect(missing).toEqual(['RemoteTriton', 'Triton']);
    expect(Object.keys(browser).filter((name) => !Object.hasOwn(node, name))).toEqual([]);
  });
});

describe('the client built for browsers', () => {
  it('imports nothing', () => {
    const code = readFileSync(BUILT, 'utf8');
    expect(importsOf(code)).toEqual([]);
    expect(code).not.toContain('node:');
  });

  it('is what bundlers for browsers find under the name of the client', () => {
    const { exports } = JSON.parse(readFileSync(`${ROOT}/package.json`, 'utf8')) as {
      readonly exports: Readonly<Record<string, Readonly<Record<string, string>>>>;
    };
    expect(exports['./client']!['browser']).toBe('./dist/client/browser.js');
    expect(exports['./client/browser']!['default']).toBe('./dist/client/browser.js');
    expect(exports['./client/browser']!['types']).toBe(exports['./client']!['types']);
  });

  it('has the same names as the client for Node', async () => {
    const [browser, node] = await Promise.all([import('tstriton/client/browser'), import('tstriton/client')]);
    expect(Object.keys(browser).sort()).toEqual(Object.keys(node).sort());
  });

  it.each([
    ['esbuild', bundleWithEsbuild],
    ['vite', bundleWithVite],
  ])('is bundled by %s without a polyfill, in at most 42 kB gzipped', async (_, bundle) => {
    const [all, modelClient] = await Promise.all([bundle(ALL), bundle(MODEL_CLIENT)]);
    for (const code of [all, modelClient]) {
      expect(code).toContain("certificates are the browser's own");
      expect(importsOf(code)).toEqual([]);
      expect(kilobytes(code)).toBeLessThanOrEqual(LIMIT_KB);
    }
    const globals = Object.fromEntries(GLOBALS_OF_THE_WEB.map((name) => [name, globalThis[name]]));
    await using server = await startServer(bindModels);
    const context = createContext({ ...globals, url: server.http });
    runInContext(all, context);
    const asked = runInContext(ASKING, context) as Promise<string>;
    expect(JSON.parse(await asked)).toEqual({ y: [1, 2], streamed: [0, 1, 2], maxBatchSize: 4 });
    // What is not used is left out.
    expect(kilobytes(modelClient)).toBeLessThan(kilobytes(all) - 3);
  });
});
