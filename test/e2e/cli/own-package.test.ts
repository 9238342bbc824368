// A container has the package in one folder and the models in another; so have global installs and npx. The models import the
// package all the same: the one that serves them.
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { packedPackage, type PackedPackage } from '../../support/packed-package.js';
import { emptyFolder } from '../../support/temporary-files.js';

const MODEL = `import { batch, defineModel } from 'tstriton';
export const model = defineModel({
  modelName: 'Double',
  inputs: { x: { dtype: 'float32', shape: [-1] } },
  outputs: { y: { dtype: 'float32', shape: [-1] } },
});
export default batch(({ x }) => ({ y: x.map((value) => 2 * value) }));
`;
const IN_REPOSITORY = `import { batch } from 'tstriton';
import { TritonError } from 'tstriton/client';
export default {
  inputs: { x: { dtype: 'float32', shape: [-1] } },
  outputs: { y: { dtype: 'float32', shape: [-1] } },
  inferFunc: batch(({ x }) => ({ y: TritonError === undefined ? x : x.map((value) => 3 * value) })),
};
`;
const SERVER = `import { batch, Triton } from 'tstriton';
const triton = new Triton({ httpPort: 0, grpcPort: 0, metricsPort: 0 });
await triton.serve();
`;
const STRIPS_TYPES = Boolean((process.features as { readonly typescript?: unknown }).typescript);
const PORTS = ['--http-port', '0', '--grpc-port', '0', '--metrics-port', '0', '--json'];

let installed: PackedPackage;
/** No folder above it has node_modules. */
const elsewhere = emptyFolder('tstriton-elsewhere-');
const write = (name: string, content: string) => {
  const path = join(elsewhere, name);
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, content);
  return path;
};
beforeAll(async () => void (installed = await packedPackage()));
afterAll(() => installed[Symbol.dispose]());

async function answerOf(args: readonly string[], x: number): Promise<unknown> {
  await using server = installed.start(['serve', ...PORTS, ...args]);
  const { http, models } = await server.served();
  expect(models).toEqual([{ name: 'Double', version: 1, ready: true }]);
  const body = JSON.stringify({ inputs: [{ name: 'x', datatype: 'FP32', shape: [1, 1], data: [x] }] });
  const response = await fetch(`${http}/v2/models/Double/infer`, { method: 'POST', body });
  return ((await response.json()) as { outputs: { data: unknown }[] }).outputs[0]!.data;
}

describe('a model in a folder without node_modules', () => {
  it('imports the package that serves it, from a model repository', async () => {
    write('models/Double/1/model.mjs', IN_REPOSITORY);
    expect(await answerOf(['--model-repository', join(elsewhere, 'models')], 5)).toEqual([15]);
  });

  // A Node that strips types itself takes a .cts file for CommonJS, in which there is no import.
  it.each(['module.mjs', 'typed/module.mts', ...(STRIPS_TYPES ? [] : ['common/module.cts'])])(
    'imports it as a module: %s',
    async (name) => {
      expect(await answerOf([write(name, MODEL)], 7)).toEqual([14]);
    },
  );

  it('requires it in CommonJS', async () => {
    const text = MODEL.replace(/import (.*) from 'tstriton'/, "const $1 = require('tstriton')")
      .replace('export const model', 'const model')
      .replace(/export default (.*);/, 'module.exports = { ...model, inferFunc: $1 };');
    expect(await answerOf([write('common/module.cjs', text)], 6)).toEqual([12]);
  });

  it('imports it in the threads of its instances', async () => {
    expect(await answerOf([write('threads.mjs', MODEL), '--instances', '2'], 8)).toEqual([16]);
  });

  it('imports it anew with --watch', async () => {
    expect(await answerOf([write('watched.mjs', MODEL), '--watch'], 9)).toEqual([18]);
  });
});

describe('a file that tstriton serve cannot serve', () => {
  it.each([SERVER, SERVER.replace('await triton.serve', 'triton.serve'), SERVER.replace('serve()', 'run()')])(
    'because it starts a server itself is refused, with the way out',
    async (text) => {
      const file = write('server.mjs', text);
      const { code, stderr } = await installed.run(['serve', ...PORTS, file]);
      expect({ code, stderr }).toEqual({
        code: 2,
        stderr: expect.stringMatching(
          /^tstriton: \S*server\.mjs starts a server itself: run it with node or tsx, or export what it gives to triton\.bind for tstriton serve\n$/,
        ),
      });
    },
  );

  it('because its package.json does not say that it is an ES module is refused, with the way out', async () => {
    write('untyped/package.json', '{"name":"untyped","type":"commonjs"}');
    const file = write('untyped/model.js', MODEL);
    const { code, stderr } = await installed.run(['serve', ...PORTS, file]);
    expect({ code, last: stderr.trimEnd().split('\n').at(-1) }).toEqual({
      code: 2,
      last: `tstriton: ${file} is an ES module, but no package.json says so: set "type": "module" in ${join(elsewhere, 'untyped/package.json')}, or name the file ${file.replace('.js', '.mjs')}`,
    });
  });
});
