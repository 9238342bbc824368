// A program that a bundler has put into one file together with this package, as for a serverless platform.
import { fileURLToPath } from 'node:url';

import { build, type Format } from 'esbuild';
import { describe, expect, it } from 'vitest';

import { temporaryFolder } from './support/temporary-files.js';
import { watchedProcess } from './support/watched-process.js';

const ROOT = fileURLToPath(new URL('..', import.meta.url));

const program = (options: object) => `
  import { batch, instanceGroup, Triton } from 'tstriton';
  import { ModelClient } from 'tstriton/client';
  const triton = new Triton({ ...${JSON.stringify(options)}, httpAddress: '127.0.0.1', httpPort: 0, allowGrpc: false, allowMetrics: false });
  const x = { dtype: 'float32', shape: [1] };
  const double = batch(({ x }) => ({ y: x.map((value) => 2 * value) }));
  triton.bind({ modelName: 'Double', inputs: { x }, outputs: { y: x }, inferFunc: double });
  async function ask() {
    await triton.ready();
    const client = new ModelClient('http://127.0.0.1:' + triton.httpPort, 'Double');
    const { y } = await client.inferSample({ x: 21 });
    console.log('answer', y.data[0]);
    await client.close();
    const inferFunc = instanceGroup(new URL('file:///model.js'));
    triton.bind({ modelName: 'Apart', inputs: { x }, outputs: { y: x }, inferFunc });
    await triton.ready('Apart').catch((error) => console.log(error.message));
    await triton.stop();
  }
  Promise.all([triton.serve(), ask()]).catch((error) => console.log(error.message));`;

async function run(format: Format, options: object) {
  const file = temporaryFolder()(format === 'cjs' ? 'server.cjs' : 'server.mjs');
  const stdin = { contents: program(options), resolveDir: ROOT };
  await build({ stdin, bundle: true, platform: 'node', format, outfile: file, logLevel: 'silent' });
  const server = watchedProcess([file]);
  return { code: await server.ended, output: server.output };
}

describe.each(['cjs', 'esm'] as const)('a bundle of the format %s', (format) => {
  it('serves in its own thread, and says why it has no others', async () => {
    const { code, output } = await run(format, { serverThread: false });
    expect(output).toContain('answer 42');
    expect(output).toContain('the entry of instance threads was not found, as happens in a bundle');
    expect(code).toBe(0);
  });

  it('says how the server gets its thread', async () => {
    const { code, output } = await run(format, {});
    expect(output).toContain('keep tstriton out of the bundle, or set serverThread: false');
    expect(code).toBe(0);
  });
});
