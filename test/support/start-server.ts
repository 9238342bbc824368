// A running server on free ports for end-to-end tests: `await using server = await startServer(bind)`.
import { devNull } from 'node:os';
import { onTestFinished, TestRunner } from 'vitest';

import { RemoteTriton, Triton, type Dtype, type TritonConfig } from 'tstriton';

export interface RunningServer extends AsyncDisposable {
  readonly triton: Triton;
  readonly http: string;
  readonly grpc: string;
  readonly metrics: string;
}

/** Ports that are free, and a log that does not clutter the tests' output. */
export const FREE_PORTS = { httpPort: 0, grpcPort: 0, metricsPort: 0, logFile: devNull } as const;

/**
 * Where callables run: in this thread beside a server that has one of its own (`thread`), or in the thread of both (`inline`), or
 * linked to the server as if they were in another process (`remote`). `test/placements` runs suites in each.
 */
const PLACEMENT = process.env['TEST_PLACEMENT'] ?? 'thread';
const REMOTE_TOKEN = 'of the tests';

/** Binds models by `bind`, then runs. */
export async function startServer(bind: (triton: Triton) => void, config: TritonConfig = {}): Promise<RunningServer> {
  if (PLACEMENT === 'remote') return startLinked(bind, config);
  const { logFile, ...ports } = FREE_PORTS;
  const log = config.logger === undefined ? { logFile } : {};
  const triton = new Triton({ ...ports, ...log, ...(PLACEMENT === 'inline' && { serverThread: false }), ...config });
  bind(triton);
  await triton.run();
  return {
    triton,
    http: `http://127.0.0.1:${triton.httpPort}`,
    grpc: `grpc://127.0.0.1:${triton.grpcPort}`,
    metrics: `http://127.0.0.1:${triton.metricsPort}/metrics`,
    [Symbol.asyncDispose]: () => triton.stop(),
  };
}

/** The same with all models behind a link, each of whose bytes crosses a socket. */
async function startLinked(bind: (triton: Triton) => void, config: TritonConfig): Promise<RunningServer> {
  const { logFile, ...ports } = FREE_PORTS;
  const log = config.logger === undefined ? { logFile } : {};
  const triton = new Triton({ ...ports, ...log, ...config, remoteAccessToken: REMOTE_TOKEN });
  await triton.run();
  const quiet = () => undefined;
  const logger = config.logger ?? { debug: quiet, info: quiet, warn: quiet, error: quiet };
  const address = `127.0.0.1:${triton.grpcPort}`;
  const remote = new RemoteTriton(address, { accessToken: REMOTE_TOKEN, logger, exitTimeoutSecs: 1 });
  try {
    bind(remote as unknown as Triton);
    await remote.connect();
  } catch (error) {
    await triton.stop();
    throw error;
  }
  // Some tests stop the server alone.
  if (TestRunner.getCurrentTest() !== undefined) onTestFinished(() => remote.stop());
  return {
    triton,
    http: `http://127.0.0.1:${triton.httpPort}`,
    grpc: `grpc://${address}`,
    metrics: `http://127.0.0.1:${triton.metricsPort}/metrics`,
    [Symbol.asyncDispose]: async () => {
      await triton.stop();
      await remote.stop();
    },
  };
}

/** One model per dtype, of its name, that answers with what it is given. */
export function bindEchoes(triton: Triton, dtypes: readonly Dtype[]): void {
  for (const dtype of dtypes) {
    triton.bind({
      modelName: dtype,
      inferFunc: (requests) => requests,
      inputs: { x: { dtype, shape: [-1] } },
      outputs: { y: { dtype, shape: [-1] } },
      config: { maxBatchSize: 8 },
    });
  }
}

/** A promise and its ends, for callables that wait until a test lets them go. */
export function gate<T = void>() {
  let open!: (value: T) => void;
  const opened = new Promise<T>((resolve) => (open = resolve));
  return { open, opened };
}

interface JsonTensor {
  readonly name: string;
  readonly datatype: string;
  readonly shape: readonly number[];
  readonly data: readonly unknown[];
}

/** Sends an inference request in JSON. */
export async function inferJson(
  http: string,
  model: string,
  inputs: readonly JsonTensor[],
  more: Readonly<Record<string, unknown>> = {},
  signal?: AbortSignal,
) {
  const response = await fetch(`${http}/v2/models/${model}/infer`, {
    method: 'POST',
    body: JSON.stringify({ inputs, ...more }),
    ...(signal && { signal }),
  });
  const body = (await response.json()) as {
    readonly outputs: readonly JsonTensor[];
    readonly error?: string;
    readonly id?: string;
  };
  return { status: response.status, ...body };
}

/** How many requests wait, by the text of the metrics; of a server with one model. */
export function pendingRequests(metrics: string): number {
  return Number(/nv_inference_pending_request_count\{.*\} (\d+)/.exec(metrics)?.[1]);
}

/** The status of the question whether the server is ready. */
export async function readinessOf(http: string): Promise<number> {
  const response = await fetch(`${http}/v2/health/ready`);
  await response.body?.cancel();
  return response.status;
}
