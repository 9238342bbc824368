// What the containers run is run: the commands of the Dockerfile, of Kubernetes, of the chart and of KServe serve a model repository that lies
// where they look for it, with the variables that the containers have.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';

import { packedPackage, type PackedPackage } from '../support/packed-package.js';
import { inferJson } from '../support/start-server.js';
import { emptyFolder } from '../support/temporary-files.js';

const root = fileURLToPath(new URL('../..', import.meta.url));
const read = (path: string) => readFileSync(`${root}/deploy/${path}`, 'utf8');

interface Container {
  readonly args: readonly string[];
  readonly env: readonly { readonly name: string; readonly value: string }[];
}

const deployment = parse(read('kubernetes/base/deployment.yaml')) as {
  readonly spec: { readonly template: { readonly spec: { readonly containers: readonly [Container] } } };
};
const runtime = parse(read('kserve/serving-runtime.yaml')) as {
  readonly spec: { readonly containers: readonly [Container] };
};
const [base] = deployment.spec.template.spec.containers;
const [kserve] = runtime.spec.containers;
const { command } = parse(read('helm/tstriton/values.yaml')) as { readonly command: readonly string[] };
const [, cmd] = /^CMD (\[.*\])$/m.exec(read('Dockerfile'))!;
const COMMANDS: readonly (readonly [string, readonly string[], Container['env'], string])[] = [
  ['the image', JSON.parse(cmd!) as readonly string[], [], '/models'],
  ['the Deployment', base.args, base.env, '/models'],
  ['the chart', command, [], '/models'],
  ['the runtime of KServe', kserve.args, kserve.env, '/mnt/models'],
];

/** It lies where no folder above has node_modules, as what is mounted into a container does. */
const MODEL = `import { batch } from 'tstriton';
export default {
  inputs: { x: { dtype: 'float32', shape: [1] } },
  outputs: { y: { dtype: 'float32', shape: [1] } },
  inferFunc: batch(({ x }) => ({ y: x.map((value) => value + 1) })),
};
`;

describe('the command of', () => {
  let installed: PackedPackage;
  const mounted = emptyFolder('tstriton-models-');
  beforeAll(async () => {
    installed = await packedPackage();
    mkdirSync(`${mounted}/add/1`, { recursive: true });
    writeFileSync(`${mounted}/add/1/model.mjs`, MODEL);
  });
  afterAll(() => installed[Symbol.dispose]());

  it.each(COMMANDS)('%s serves the model repository', async (_, args, variables, models) => {
    const [program, ...rest] = args.map((arg) => arg.replace(models, mounted));
    expect([program, args.filter((arg) => arg.includes(models)).length]).toEqual(['tstriton', 1]);
    const given = Object.fromEntries(variables.map(({ name, value }) => [name, value]));
    // Flags count before variables: the ports of this machine may be taken.
    const ours = ['--http-port=0', '--grpc-port=0', '--metrics-port=0', '--shutdown-delay-secs=0', '--json'];
    await using server = installed.start([...rest, ...ours], { env: given });
    const { http, models: served } = await server.served();
    expect(served).toEqual([{ name: 'add', version: 1, ready: true }]);
    const answer = await inferJson(http, 'add', [{ name: 'x', datatype: 'FP32', shape: [1, 1], data: [1] }]);
    expect(answer.outputs?.[0]?.data).toEqual([2]);
    server.signal('SIGTERM');
    expect((await server.ended).code).toBe(0);
  });
});
