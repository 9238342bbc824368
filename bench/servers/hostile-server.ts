// The server of the hostile suites. Usage: hostile-server.js [true|false [default|large [tls]]]. With `true` it has a thread of its
// own. Without, it runs in the main thread, where its event loop can be watched. The callables have threads of their own in both. With
// `tls`, `TLS_FOLDER` has its certificate. A load order has it tell how long the main thread's loop was held at most and how much
// memory the process had at most since the last order.

import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

import { batch, instanceGroup, transcriptionModel, Triton } from 'tstriton';
import type { Dtype } from 'tstriton';

import { serveControl } from '../control-channel.js';
import { EventLoopStall } from '../event-loop-stall.js';
import { EARS, HOSTILE_MODELS } from '../hostile-requests.js';
import { serveFetch } from './serve-fetch.js';

export interface HostileReport {
  /** Milliseconds. */
  readonly stall: number;
  /** Bytes. */
  readonly peak: number;
}

/** Between two responses of a stream. */
const PAUSE_MS = 200;
/** The same on every machine, unless the memory of the process is what is measured. */
const budget = process.argv[3] === 'default' ? {} : { maxInflightBytes: 2 ** 30 };
const [cert, key] = ['cert.pem', 'key.pem'].map((name) => join(process.env['TLS_FOLDER'] ?? '', name)) as [
  string,
  string,
];
const tls =
  process.argv[4] === 'tls'
    ? {
        httpUseSsl: true,
        httpServerCert: cert,
        httpServerKey: key,
        grpcUseSsl: true,
        grpcServerCert: cert,
        grpcServerKey: key,
      }
    : {};
const triton = new Triton({
  httpPort: 0,
  grpcPort: 0,
  metricsPort: 0,
  serverThread: process.argv[2] === 'true',
  logInfo: false,
  // Attackers may use what only trusted clients should.
  allowClientShm: true,
  restrictedEndpoints: [],
  ...budget,
  ...tls,
});
for (const [modelName, { dtype, shape, batching }] of Object.entries(HOSTILE_MODELS)) {
  triton.bind({
    modelName,
    inputs: { x: { dtype: dtype as Dtype, shape } },
    outputs: { y: { dtype: dtype as Dtype, shape } },
    config: batching ? { maxBatchSize: 8 } : { batching: false },
    inferFunc: instanceGroup(new URL('./hostile-instance.js', import.meta.url), { count: 1 }),
  });
}
triton.bind({
  modelName: 'large',
  inputs: { x: { dtype: 'int32', shape: [1] } },
  outputs: { y: { dtype: 'uint8', shape: [-1] } },
  config: { batching: false },
  inferFunc: (requests) => requests.map(({ inputs: { x } }) => ({ y: new Uint8Array(x.data[0]!) })),
});
triton.bind({
  modelName: 'endless',
  inputs: { x: { dtype: 'int32', shape: [1] } },
  outputs: { y: { dtype: 'int32', shape: [1] } },
  config: { batching: false, decoupled: true },
  async *inferFunc(requests, { signal }) {
    for (let i = 0; !signal.aborted; i++) {
      yield requests.map(() => ({ y: Int32Array.of(i) }));
      await sleep(PAUSE_MS);
    }
  },
});
const floats = {
  inputs: { x: { dtype: 'float32', shape: [-1] } },
  outputs: { y: { dtype: 'float32', shape: [-1] } },
} as const;
const same = batch(({ x }) => ({ y: x }));
triton.bind({ modelName: 'own', ...floats, config: { batching: false }, inferFunc: (requests) => requests });
triton.bind({ modelName: 'plain', route: 'POST /plain', ...floats, config: { batching: false }, inferFunc: (requests) => requests.map(({ inputs: { x } }) => ({ y: x })) }); // prettier-ignore
triton.bind({
  modelName: 'joined',
  ...floats,
  config: { maxBatchSize: 4, batcher: { preferredBatchSize: [4], maxQueueDelayMicroseconds: 5_000_000 } },
  inferFunc: same,
});
triton.bind({
  modelName: 'file',
  route: 'POST /file',
  inputs: { file: { dtype: 'bytes', shape: [1] } },
  outputs: { length: { dtype: 'int32', shape: [1] } },
  config: { batching: false },
  inferFunc: (requests) => requests.map(({ inputs: { file } }) => ({ length: [file.data[0]!.length] })),
});
triton.bind(transcriptionModel({ modelName: EARS, transcribe: ({ audio }) => String(audio.length) }));
// A server with handlers runs in the main thread.
const handlers =
  process.argv[2] === 'true' ? undefined : [createServer(triton.handler()), serveFetch(triton.fetchHandler())];
await triton.run();
for (const handler of handlers ?? []) await once(handler.listen(0, '127.0.0.1'), 'listening');
const [mounted, fetched] = (handlers ?? []).map((handler) => (handler.address() as AddressInfo).port);
const stall = new EventLoopStall();

function report(): HostileReport {
  const peak = Number(/VmHWM:\s+(\d+)/.exec(readFileSync('/proc/self/status', 'utf8'))?.[1] ?? 0) * 1024;
  // From now on.
  writeFileSync('/proc/self/clear_refs', '5');
  return { stall: stall.take(), peak };
}

serveControl({
  ports: {
    http: triton.httpPort!,
    grpc: triton.grpcPort!,
    ...(mounted !== undefined && fetched !== undefined && { mounted, fetch: fetched }),
  },
  load: () => Promise.resolve(report()),
  async stop() {
    stall.stop();
    for (const handler of handlers ?? []) handler.close();
    await triton.stop();
  },
});
