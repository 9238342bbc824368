// Runs a server of ours that a suite measures, and tells its ports over the control channel.

import { Triton, type TritonConfig } from 'tstriton';

import { type Controlled, serveControl } from '../control-channel.js';

/** The module's first argument, the value of `serverThread`. */
export function serverThreadFlag(): boolean {
  const flag = process.argv[2];
  if (flag !== 'true' && flag !== 'false')
    throw new Error(`expected 'true' or 'false' for serverThread, got '${flag}'`);
  return flag === 'true';
}

/** A server on free ports. */
export function measuredServer(serverThread: boolean, config: TritonConfig = {}): Triton {
  return new Triton({ httpPort: 0, grpcPort: 0, metricsPort: 0, serverThread, logInfo: false, ...config });
}

export async function serveMeasured(triton: Triton, load?: Controlled['load']): Promise<void> {
  await triton.run();
  serveControl({
    ports: { httpPort: triton.httpPort!, grpcPort: triton.grpcPort! },
    ...(load === undefined ? {} : { load }),
    stop: () => triton.stop(),
  });
}
