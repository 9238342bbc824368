// examples/model-repository, served as its README says: by the command, from the folder.
import { cpSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { expect, it } from 'vitest';

import { writeColour } from '../../examples/model-repository/make-onnx.js';
import { packedPackage } from '../support/packed-package.js';

const EXAMPLE = fileURLToPath(new URL('../../examples/model-repository', import.meta.url));
const README = readFileSync(join(EXAMPLE, 'README.md'), 'utf8');

it('serves a module and an ONNX file, which answer as the README says', async () => {
  using installed = await packedPackage();
  cpSync(join(EXAMPLE, 'models'), join(installed.folder, 'models'), { recursive: true });
  writeColour(join(installed.folder, 'models'));
  const ports = ['--http-port=0', '--grpc-port=0', '--metrics-port=0'];
  await using server = installed.start(['serve', '--model-repository', 'models', '--json', ...ports]);
  const { http, models } = await server.served();
  expect(models.map(({ name, ready }) => [name, ready])).toEqual([
    ['add', true],
    ['colour', true],
  ]);

  const sum = await installed.run(['infer', http, 'add', '-i', 'a=[1, 2]', '-i', 'b=[10, 20]']);
  expect(sum.stdout).toBe('{"sum":[11,22]}\n');
  expect(README).toContain(sum.stdout.trim());
  const [, body] = /models\/colour\/infer -d '([^']*)'/.exec(README)!;
  const answer = await fetch(`${http}/v2/models/colour/infer`, { method: 'POST', body: body! });
  const { outputs } = (await answer.json()) as { readonly outputs: readonly { readonly data: readonly string[] }[] };
  expect(outputs[0]!.data).toEqual([expect.stringMatching(/^0\.99\d*:0:red$/)]);
});
