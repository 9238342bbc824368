// Node before 20.6 has no hooks for imports, on which --watch and the import of this package from anywhere stand. A Node from
// which they are taken away stands for it.
import { expect, it } from 'vitest';

import { packedPackage } from '../../support/packed-package.js';
import { temporaryFolder } from '../../support/temporary-files.js';

const WITHOUT_HOOKS = `import module from 'node:module';
delete module.register;
delete module.registerHooks;
module.syncBuiltinESMExports();`;
const env = { NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(WITHOUT_HOOKS)}` };
const MODEL = `import { batch, defineModel } from 'tstriton';
export const model = defineModel({
  modelName: 'Double',
  inputs: { x: { dtype: 'float32', shape: [-1] } },
  outputs: { y: { dtype: 'float32', shape: [-1] } },
});
export default batch(({ x }) => ({ y: x.map((value) => 2 * value) }));
`;
const PORTS = ['--http-port', '0', '--grpc-port', '0', '--metrics-port', '0'];

it('tstriton serve --watch says which Node it needs', async () => {
  using installed = await packedPackage();
  const file = installed.write('model.mjs', MODEL);
  const { code, stderr } = await installed.run(['serve', file, '--watch', ...PORTS], { env });
  expect([code, stderr]).toEqual([2, `tstriton: --watch needs Node 20.6 or newer, got ${process.versions.node}\n`]);
});

it('a model that no node_modules gives this package is told that it needs its own', async () => {
  using installed = await packedPackage();
  const write = temporaryFolder();
  const { code, stderr } = await installed.run(['serve', write('model.mjs', MODEL), ...PORTS], { env });
  expect(code).toBe(1);
  expect(stderr).toContain(`Cannot find package 'tstriton' imported from`);
  expect(stderr).toContain(
    `install tstriton beside it, or use Node 20.6 or newer, which imports the copy that serves it; got ${process.versions.node}`,
  );
});
