// NVIDIA's tritonserver out of a Python environment in which nvidia-pytriton is installed, with models on its Python
// backend, each made of model.py and a configuration.
import { spawn, type ChildProcess } from 'node:child_process';
import { chmodSync, copyFileSync, cpSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { vi } from 'vitest';

import { freePort } from '../support/ports.js';

const MODEL = fileURLToPath(new URL('./model.py', import.meta.url));
const INSTANCE = 'instance_group [ { count: 1 kind: KIND_CPU } ]';

export interface LiveTriton extends AsyncDisposable {
  readonly port: number;
  readonly grpcPort: number;
}

/** Texts of configurations without their instances, by the models' names. */
export type ModelConfigs = Readonly<Record<string, string>>;

/** A tritonserver that is ready to be asked. */
export async function startTriton(models: ModelConfigs, options: readonly string[] = []): Promise<LiveTriton> {
  const environment = process.env['TRITON_ENVIRONMENT'];
  if (environment === undefined) throw new Error('TRITON_ENVIRONMENT names no Python environment with nvidia-pytriton');
  const python = readdirSync(join(environment, 'lib')).find((name) => name.startsWith('python3.'))!;
  const packages = join(environment, 'lib', python, 'site-packages');
  const installed = join(packages, 'pytriton', 'tritonserver');
  const folder = mkdtempSync(join(tmpdir(), 'live-triton-'));
  const repository = repositoryOf(models, folder);
  const backends = join(folder, 'backends');
  cpSync(join(installed, 'backends'), backends, { recursive: true });
  const stub = join(backends, 'python', 'triton_python_backend_stub');
  const stubs = join(installed, 'python_backend_stubs', python.slice('python'.length));
  copyFileSync(join(stubs, 'triton_python_backend_stub'), stub);
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
    [...Object.entries(flags).map(([flag, value]) => `--${flag}=${value}`), ...options],
    {
      stdio: 'ignore',
      env: {
        ...process.env,
        PATH: `${join(environment, 'bin')}${delimiter}${process.env['PATH']}`,
        LD_LIBRARY_PATH: join(packages, 'nvidia_pytriton.libs'),
      },
    },
  );
  const triton: LiveTriton = {
    port,
    grpcPort,
    async [Symbol.asyncDispose]() {
      await ended(server);
      rmSync(folder, { recursive: true, force: true });
    },
  };
  const ready = async () => {
    if (server.exitCode !== null) throw new Error(`tritonserver ended with exit code ${server.exitCode}`);
    return (await fetch(`http://127.0.0.1:${port}/v2/health/ready`).catch(() => undefined))?.ok === true;
  };
  try {
    await vi.waitUntil(ready, { timeout: 100_000, interval: 200 });
    return triton;
  } catch (error) {
    await triton[Symbol.asyncDispose]();
    throw error;
  }
}

function repositoryOf(models: ModelConfigs, folder: string): string {
  const repository = join(folder, 'models');
  for (const [name, config] of Object.entries(models)) {
    mkdirSync(join(repository, name, '1'), { recursive: true });
    writeFileSync(join(repository, name, 'config.pbtxt'), `name: "${name}" backend: "python" ${config} ${INSTANCE}`);
    copyFileSync(MODEL, join(repository, name, '1', 'model.py'));
  }
  return repository;
}

export async function ended(server: ChildProcess): Promise<void> {
  if (server.exitCode !== null || server.signalCode !== null) return;
  const exited = new Promise((resolve) => server.once('exit', resolve));
  server.kill('SIGINT');
  await exited;
}
