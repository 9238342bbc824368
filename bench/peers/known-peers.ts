// The other servers: how each is started on add-sub, some on identity too, and where it answers which wire.

import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { ADD_SUB, ADD_SUB_CACHED } from '../add-sub-wire.js';
import { MODEL as IDENTITY } from '../identity-wire.js';
import { environmentOf, tritonPaths } from './install-peers.js';
import type { Environment, EnvironmentName } from './install-peers.js';
import { freePorts, PeerProcess } from './peer-process.js';
import type { PeerCommand } from './peer-process.js';

/** `proxy`: tritonserver as the engine of ours. */
export type PeerProcessName = EnvironmentName | 'pytriton' | 'proxy';

export interface RunningPeer {
  readonly process: PeerProcess;
  readonly httpPort: number;
  readonly grpcPort: number | undefined;
  stop(): Promise<void>;
}

// Compiled, this module is build/bench/peers/known-peers.js.
const MODELS = fileURLToPath(new URL('../../../bench/peers/models', import.meta.url));

const ENGINE_SERVER = fileURLToPath(new URL('../servers/engine-server.js', import.meta.url));

const tritonConfig = (name: string, [one, other]: readonly string[], isCached: boolean): string => `name: "${name}"
backend: "python"
max_batch_size: 64
input [ { name: "a" data_type: TYPE_FP32 dims: [ 16 ] }, { name: "b" data_type: TYPE_FP32 dims: [ 16 ] } ]
output [ { name: "${one}" data_type: TYPE_FP32 dims: [ 16 ] }, { name: "${other}" data_type: TYPE_FP32 dims: [ 16 ] } ]
instance_group [ { kind: KIND_CPU count: 1 } ]
dynamic_batching {}
${isCached ? 'response_cache { enable: true }\n' : ''}`;

type Ports = readonly [http: number, grpc: number, metrics: number];

/** What starts it; files of its own go to `scratch`. */
const COMMANDS: Readonly<
  Record<PeerProcessName, (environment: Environment, ports: Ports, scratch: string) => PeerCommand>
> = {
  pytriton: ({ bin }, ports) => ({
    program: join(bin, 'python'),
    parameters: [join(MODELS, 'pytriton_server.py'), ...ports.map(String)],
    environment: { PATH: `${bin}:${process.env['PATH'] ?? ''}` },
    readyUrl: `http://127.0.0.1:${ports[0]}/v2/models/${ADD_SUB}/ready`,
  }),
  triton: (environment, [http, grpc, metrics], scratch) => {
    const { server, libraries, backends, caches } = tritonPaths(environment);
    for (const name of [ADD_SUB, ADD_SUB_CACHED, IDENTITY]) {
      const [file, outputs] = name === IDENTITY ? ['identity.py', ['c', 'd']] : ['model.py', ['add', 'sub']];
      mkdirSync(join(scratch, name, '1'), { recursive: true });
      cpSync(join(MODELS, 'triton', file), join(scratch, name, '1', 'model.py'));
      writeFileSync(join(scratch, name, 'config.pbtxt'), tritonConfig(name, outputs, name === ADD_SUB_CACHED));
    }
    const options = {
      'model-repository': scratch,
      'backend-directory': backends,
      'cache-directory': caches,
      'cache-config': 'local,size=1048576',
      'http-address': '127.0.0.1',
      'grpc-address': '127.0.0.1',
      'http-port': http,
      'grpc-port': grpc,
      'metrics-port': metrics,
    };
    return {
      program: server,
      parameters: Object.entries(options).map(([name, value]) => `--${name}=${value}`),
      environment: { LD_LIBRARY_PATH: libraries, PATH: `${environment.bin}:${process.env['PATH'] ?? ''}` },
      readyUrl: `http://127.0.0.1:${http}/v2/health/ready`,
    };
  },
  proxy: (environment, ports) => ({
    program: process.execPath,
    parameters: [ENGINE_SERVER, tritonPaths(environment).wheelServer, ...ports.map(String)],
    readyUrl: `http://127.0.0.1:${ports[0]}/v2/health/ready`,
  }),
  mlserver: ({ bin }, [http, grpc, metrics], scratch) => {
    const listening = { host: '127.0.0.1', http_port: http, grpc_port: grpc, metrics_port: metrics };
    cpSync(join(MODELS, 'mlserver'), scratch, { recursive: true });
    const settings = {
      ...listening,
      parallel_workers: 0,
      debug: false,
      logging_settings: null,
      use_structured_logging: false,
    };
    writeFileSync(join(scratch, 'settings.json'), JSON.stringify(settings));
    const model = { name: ADD_SUB, implementation: 'add_sub.AddSub' };
    writeFileSync(join(scratch, 'model-settings.json'), JSON.stringify(model));
    return {
      program: join(bin, 'mlserver'),
      parameters: ['start', scratch],
      environment: { PYTHONPATH: scratch },
      folder: scratch,
      readyUrl: `http://127.0.0.1:${http}/v2/models/${ADD_SUB}/ready`,
    };
  },
  kserve: ({ bin }, [http], scratch) => ({
    program: join(bin, 'python'),
    parameters: [join(MODELS, 'kserve_server.py'), String(http)],
    folder: scratch,
    readyUrl: `http://127.0.0.1:${http}/v2/models/${ADD_SUB}/ready`,
  }),
  litserve: ({ bin }, [http], scratch) => ({
    program: join(bin, 'python'),
    parameters: [join(MODELS, 'litserve_server.py'), String(http)],
    folder: scratch,
    readyUrl: `http://127.0.0.1:${http}/health`,
  }),
  fastapi: ({ bin }, [http], scratch) => ({
    program: join(bin, 'python'),
    parameters: [join(MODELS, 'fastapi_server.py'), String(http)],
    folder: scratch,
    readyUrl: `http://127.0.0.1:${http}/health`,
  }),
};

const OF_TRITON: readonly PeerProcessName[] = ['pytriton', 'triton', 'proxy'];

/** Throws why there is none. */
export async function startPeer(name: PeerProcessName, cpus: string | undefined): Promise<RunningPeer> {
  const environment = await environmentOf(name === 'pytriton' || name === 'proxy' ? 'triton' : name);
  const [http, grpc, metrics] = (await freePorts(3)) as unknown as Ports;
  const scratch = mkdtempSync(join(tmpdir(), `bench-${name}-`));
  const clean = (): void => rmSync(scratch, { recursive: true, force: true });
  try {
    const peer = await PeerProcess.start(COMMANDS[name](environment, [http, grpc, metrics], scratch), cpus);
    const stop = async (): Promise<void> => {
      await peer.stop();
      clean();
    };
    return { process: peer, httpPort: http, grpcPort: OF_TRITON.includes(name) ? grpc : undefined, stop };
  } catch (error) {
    clean();
    throw error;
  }
}
