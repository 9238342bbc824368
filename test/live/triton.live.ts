// The same questions to a real tritonserver and to ours, live: the recorded requests of the identity models and of
// addsub, judged by the rules of the conformance suite with Triton's answer of this moment in place of the recorded one.
//
//   npm run build && TRITON_ENVIRONMENT=… npx vitest run --config test/live/vitest.config.ts
//
// TRITON_ENVIRONMENT is a Python environment in which nvidia-pytriton 0.7.0 is installed, which brings tritonserver.
import { spawn, type ChildProcess } from 'node:child_process';
import { chmodSync, copyFileSync, cpSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import { devNull, tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { afterAll, beforeAll, expect, it, vi } from 'vitest';

import { Triton } from 'tstriton';

import { readCases, type HttpCase } from '../conformance/cases.js';
import { HTTP_RULES } from '../conformance/http-rules.js';
import { differencesOf, exchange, recordedAnswer, requestBytes, type HttpAnswer } from '../conformance/replay-http.js';
import { Verdict } from '../conformance/rules.js';
import { bindAddSub, bindIdentities, IDENTITIES } from '../conformance/shared-models.js';

const MODEL = fileURLToPath(new URL('./model.py', import.meta.url));

/** numpy has no bfloat16, so that Triton's Python backend has no easy identity of it. */
const MODELS = [...IDENTITIES.filter((name) => name !== 'id_bf16'), 'addsub'];

function configOf(name: string): string {
  const tensor = (of: string, type: string) => `{ name: "${of}" data_type: TYPE_${type} dims: [ -1 ] }`;
  if (name === 'addsub') {
    const list = (names: readonly string[]) => names.map((of) => tensor(of, 'FP32')).join(', ');
    return `name: "addsub" backend: "python" max_batch_size: 16 input [ ${list(['a', 'b'])} ] output [ ${list(['add', 'sub'])} ]`;
  }
  const type = name === 'id_bytes' ? 'STRING' : name.slice('id_'.length).toUpperCase();
  return `name: "${name}" backend: "python" max_batch_size: 8 input [ ${tensor('x', type)} ] output [ ${tensor('y', type)} ]`;
}

const instance = 'instance_group [ { count: 1 kind: KIND_CPU } ]';

function freePort(): Promise<number> {
  return new Promise((resolve) => {
    const server = createServer().listen(0, '127.0.0.1', () => {
      const { port } = server.address() as AddressInfo;
      server.close(() => resolve(port));
    });
  });
}

/** A tritonserver of the environment, ready to be asked. */
async function startTriton(environment: string, folder: string): Promise<{ port: number; process: ChildProcess }> {
  const python = readdirSync(join(environment, 'lib')).find((name) => name.startsWith('python3.'))!;
  const packages = join(environment, 'lib', python, 'site-packages');
  const installed = join(packages, 'pytriton', 'tritonserver');
  const repository = join(folder, 'models');
  for (const name of MODELS) {
    mkdirSync(join(repository, name, '1'), { recursive: true });
    writeFileSync(join(repository, name, 'config.pbtxt'), `${configOf(name)} ${instance}`);
    copyFileSync(MODEL, join(repository, name, '1', 'model.py'));
  }
  const backends = join(folder, 'backends');
  cpSync(join(installed, 'backends'), backends, { recursive: true });
  const stub = join(backends, 'python', 'triton_python_backend_stub');
  copyFileSync(
    join(installed, 'python_backend_stubs', python.slice('python'.length), 'triton_python_backend_stub'),
    stub,
  );
  chmodSync(stub, 0o755);
  const [port, grpcPort, metricsPort] = [await freePort(), await freePort(), await freePort()];
  const flags = {
    'model-repository': repository,
    'backend-directory': backends,
    'cache-directory': join(installed, 'caches'),
    'http-address': '127.0.0.1',
    'grpc-address': '127.0.0.1',
    'http-port': port,
    'grpc-port': grpcPort,
    'metrics-port': metricsPort,
  };
  const server = spawn(
    join(installed, 'bin', 'tritonserver'),
    Object.entries(flags).map(([flag, value]) => `--${flag}=${value}`),
    {
      stdio: 'ignore',
      env: {
        ...process.env,
        PATH: `${join(environment, 'bin')}${delimiter}${process.env['PATH']}`,
        LD_LIBRARY_PATH: join(packages, 'nvidia_pytriton.libs'),
      },
    },
  );
  const ready = async () =>
    (await fetch(`http://127.0.0.1:${port}/v2/health/ready`).catch(() => undefined))?.ok === true;
  await vi.waitUntil(ready, { timeout: 100_000, interval: 200 });
  return { port, process: server };
}

const folder = mkdtempSync(join(tmpdir(), 'live-triton-'));
const ours = new Triton({
  httpPort: 0,
  httpAddress: '127.0.0.1',
  allowGrpc: false,
  allowMetrics: false,
  logFile: devNull,
});
let theirs: Awaited<ReturnType<typeof startTriton>>;

beforeAll(async () => {
  const environment = process.env['TRITON_ENVIRONMENT'];
  if (environment === undefined) throw new Error('TRITON_ENVIRONMENT names no Python environment with nvidia-pytriton');
  bindIdentities(ours);
  bindAddSub(ours);
  await Promise.all([ours.run(), startTriton(environment, folder).then((started) => (theirs = started))]);
});

afterAll(async () => {
  await ours.stop();
  if (theirs !== undefined) {
    const exited = new Promise((resolve) => theirs.process.once('exit', resolve));
    theirs.process.kill('SIGINT');
    await exited;
  }
  rmSync(folder, { recursive: true, force: true });
});

it.each(['infer-json', 'infer-binary'])('both answer the questions of %s alike, under the rules', async (file) => {
  // Without those that end Triton's process or never get an answer.
  const cases = readCases<HttpCase>(`http/${file}.jsonl`).filter(
    (testCase) => MODELS.includes(testCase.model ?? '') && recordedAnswer(testCase).end === 'answered',
  );
  const verdict = new Verdict<HttpCase, HttpAnswer>(HTTP_RULES, differencesOf);
  for (const testCase of cases) {
    const request = requestBytes(testCase);
    const { method } = testCase.request;
    const recorded = await exchange(request, method, theirs.port);
    verdict.add({ testCase, recorded, ours: await exchange(request, method, ours.httpPort!) });
  }
  const { cases: asked, identical, failures } = verdict.replay();
  process.stdout.write(
    `${file}: ${asked} questions, ${identical} answers the same to the byte, ${failures.length} differ without a rule\n`,
  );
  expect(asked).toBeGreaterThan(100);
  expect(failures.join('\n')).toBe('');
});
