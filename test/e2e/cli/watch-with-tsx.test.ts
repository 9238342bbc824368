// tsx is all that a project has for TypeScript: versions of Node that strip no types load through it what --watch loads anew. tsx
// and the command's own hook both work on the URLs of imports, and imported files once stayed as they were at first.
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';

import { packedPackage } from '../../support/packed-package.js';

const MODEL = `import { batch, defineModel } from 'tstriton';
import { factor } from './lib/factor.js';
export const double = defineModel({
  modelName: 'Scale',
  inputs: { x: { dtype: 'float32', shape: [-1] } },
  outputs: { y: { dtype: 'float32', shape: [-1] } },
});
export default batch(({ x }) => ({ y: x.map((value: number) => factor() * value) }));
`;

/** Such a Node loads the files itself, and looks for no .ts file behind a .js name. */
const STRIPS_TYPES = Boolean((process.features as { readonly typescript?: unknown }).typescript);

it.skipIf(STRIPS_TYPES)(
  'tstriton serve --watch serves what imported files have become where tsx alone loads TypeScript',
  async () => {
    using installed = await packedPackage();
    rmSync(join(installed.folder, 'node_modules/jiti'));
    const writeDeepest = (value: number) =>
      installed.write('lib/deepest.ts', `export const deepest: number = ${value};\n`);
    const writeFactor = (times: number) =>
      installed.write(
        'lib/factor.ts',
        `import { deepest } from './deepest.js';\nexport const factor = (): number => ${times} * deepest;\n`,
      );
    writeDeepest(2);
    writeFactor(1);
    const file = installed.write('model.ts', MODEL);
    await using server = installed.start([
      'serve',
      file,
      '--watch',
      '--json',
      '--http-port',
      '0',
      '--grpc-port',
      '0',
      '--metrics-port',
      '0',
    ]);
    const { http } = await server.served();
    await server.until(/watching/);
    const answer = async (x: number) => {
      const body = JSON.stringify({ inputs: [{ name: 'x', datatype: 'FP32', shape: [1, 1], data: [x] }] });
      const response = await fetch(`${http}/v2/models/Scale/infer`, { method: 'POST', body });
      return ((await response.json()) as { outputs: { data: unknown }[] }).outputs[0]!.data;
    };
    expect(await answer(1)).toEqual([2]);
    writeDeepest(3);
    await server.until(/(reloaded.*\n[^]*){1}/);
    expect(await answer(2)).toEqual([6]);
    writeFactor(10);
    await server.until(/(reloaded.*\n[^]*){2}/);
    expect(await answer(3)).toEqual([90]);
  },
);

// What tsx and Node themselves say of it names no way out: the syntax, or a missing file whose name ends in `?tsx`.
it.each([[[]], [['--watch']]])(
  'tstriton serve says that type: module is missing where tsx alone loads TypeScript: flags %j',
  async (flags) => {
    using installed = await packedPackage();
    rmSync(join(installed.folder, 'node_modules/jiti'));
    const manifest = installed.write('untyped/package.json', '{"name":"untyped"}');
    installed.write('untyped/lib/factor.ts', 'export const factor = (): number => 2;\n');
    const file = installed.write('untyped/model.ts', MODEL);
    const { code, stderr } = await installed.run(['serve', file, ...flags]);
    const said = stderr.split('\n').filter((line) => line.startsWith('tstriton:')); // Node warns of the missing type too.
    expect({ code, said }).toEqual({
      code: 2,
      said: [
        `tstriton: ${file} is an ES module, but no package.json says so: set "type": "module" in ${manifest}, or name the file ${file.replace('.ts', '.mts')}`,
      ],
    });
  },
);
