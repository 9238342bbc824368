// MLServer and KServe's Python server out of an environment in which they are installed, each with add-sub.
import { spawn } from 'node:child_process';
import { cpSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { vi } from 'vitest';

import { freePort } from '../support/ports.js';
import { ended } from './start-triton.js';

const MODELS = fileURLToPath(new URL('../../bench/peers/models', import.meta.url));
export const ADD_SUB = 'AddSub';

export interface PythonServer extends AsyncDisposable {
  readonly http: string;
  readonly grpc: string | undefined;
}

/** The environment that the variable names, as `MLSERVER_ENVIRONMENT` does. */
export async function startMlserver(environment: string): Promise<PythonServer> {
  const folder = mkdtempSync(join(tmpdir(), 'live-mlserver-'));
  const [http, grpc, metrics] = [await freePort(), await freePort(), await freePort()];
  cpSync(join(MODELS, 'mlserver'), folder, { recursive: true });
  const ports = { host: '127.0.0.1', http_port: http, grpc_port: grpc, metrics_port: metrics };
  writeFileSync(join(folder, 'settings.json'), JSON.stringify({ ...ports, parallel_workers: 0 }));
  const tensor = (name: string) => ({ name, datatype: 'FP32', shape: [-1, 3] });
  const model = {
    name: ADD_SUB,
    implementation: 'add_sub.AddSub',
    inputs: [tensor('a'), tensor('b')],
    outputs: [tensor('add'), tensor('sub')],
  };
  writeFileSync(join(folder, 'model-settings.json'), JSON.stringify(model));
  return startPythonServer(join(environment, 'bin', 'mlserver'), ['start', folder], { folder, http, grpc });
}

/** HTTP alone, and a model without a description of its tensors. */
export async function startKserve(environment: string): Promise<PythonServer> {
  const folder = mkdtempSync(join(tmpdir(), 'live-kserve-'));
  const http = await freePort();
  const program = [join(MODELS, 'kserve_server.py'), String(http)];
  return startPythonServer(join(environment, 'bin', 'python'), program, { folder, http, grpc: undefined });
}

interface Place {
  readonly folder: string;
  readonly http: number;
  readonly grpc: number | undefined;
}

async function startPythonServer(
  program: string,
  parameters: readonly string[],
  { folder, http, grpc }: Place,
): Promise<PythonServer> {
  const env = { ...process.env, PYTHONPATH: folder };
  const child = spawn(program, parameters, { stdio: 'ignore', cwd: folder, env });
  const server: PythonServer = {
    http: `http://127.0.0.1:${http}`,
    grpc: grpc === undefined ? undefined : `grpc://127.0.0.1:${grpc}`,
    async [Symbol.asyncDispose]() {
      await ended(child);
      rmSync(folder, { recursive: true, force: true });
    },
  };
  const ready = async () => {
    if (child.exitCode !== null) throw new Error(`${program} ended with exit code ${child.exitCode}`);
    const answer = await fetch(`${server.http}/v2/models/${ADD_SUB}/ready`).catch(() => undefined);
    await answer?.arrayBuffer();
    return answer?.ok === true;
  };
  try {
    await vi.waitUntil(ready, { timeout: 100_000, interval: 200 });
    return server;
  } catch (error) {
    await server[Symbol.asyncDispose]();
    throw error;
  }
}
