// A process that is up, and on order imports the package and makes a server of one model, once.
// Usage: start-server.js <true|false>, the value of `serverThread`.

import { serveControl } from '../control-channel.js';

const flag = process.argv[2];
if (flag !== 'true' && flag !== 'false') throw new Error(`expected 'true' or 'false' for serverThread, got '${flag}'`);

/** In milliseconds; `cpu` of all threads of the process, without the import. */
export interface StartReport {
  readonly imported: number;
  readonly milliseconds: number;
  readonly cpu: number;
}

async function start(): Promise<StartReport> {
  const asked = performance.now();
  const { Triton } = await import('tstriton');
  const imported = performance.now() - asked;
  const cpuBefore = process.cpuUsage();
  const begin = performance.now();
  const triton = new Triton({
    httpPort: 0,
    grpcPort: 0,
    metricsPort: 0,
    serverThread: flag === 'true',
    logInfo: false,
  });
  triton.bind({
    modelName: 'Identity',
    inferFunc: (requests) => requests,
    inputs: { x: { dtype: 'float32', shape: [-1] } },
    outputs: { y: { dtype: 'float32', shape: [-1] } },
    config: { maxBatchSize: 64 },
  });
  await triton.run();
  const milliseconds = performance.now() - begin;
  const { user, system } = process.cpuUsage(cpuBefore);
  const { status } = await fetch(`http://127.0.0.1:${triton.httpPort!}/v2/models/Identity/ready`);
  await triton.stop();
  if (status !== 200) throw new Error(`the model answered ${status} to ready after run()`);
  return { imported, milliseconds, cpu: (user + system) / 1000 };
}

serveControl({ ports: {}, load: start, stop: () => Promise.resolve() });
