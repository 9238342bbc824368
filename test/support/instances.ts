// Both kinds of instances around a callable, and a way to run a batch on them.
import { MessageChannel } from 'node:worker_threads';

import type {
  Execution,
  ExecutionRequest,
  ExecutionResult,
  ExecutionTimes,
  ModelInstance,
} from '../../src/core/instance/model-instance.js';
import { hostedCallable } from '../../src/host/callable-turns.js';
import { InlineInstance } from '../../src/link/inline-instance.js';
import { PortChannel } from '../../src/link/channel.js';
import { ChannelHost } from '../../src/link/channel-host.js';
import { ChannelInstance } from '../../src/link/channel-instance.js';
import type { TritonError } from '../../src/errors.js';
import type { Callable, InferenceContext, InferenceRequest, ModelSpec } from '../../src/model/callable.js';
import type { CompleteModelConfig } from '../../src/model/complete-model-config.js';
import { completeModelConfig } from '../../src/model/complete-model.js';
import type { InferTensor } from '../../src/model/exchange.js';
import { dtypeOf } from '../../src/tensor/dtype.js';
import { decodeRaw } from '../../src/tensor/raw.js';

/** Whatever a callable does: the tests are about what happens when it keeps to no types. */
export type AnyCallable = (requests: readonly InferenceRequest[], context: InferenceContext) => unknown;

export interface HostedInstance {
  readonly instance: ModelInstance;
  readonly config: CompleteModelConfig;
  /** What was logged as an error. */
  readonly errors: readonly string[];
  /** Lines for operators that are no errors. */
  readonly infos: readonly string[];
  /** Told that no further inference is possible. */
  onUnrecoverable: ((error: TritonError) => void) | undefined;
  close(): void;
}

type Spec = Pick<ModelSpec, 'inputs' | 'outputs' | 'config' | 'strict'>;

/** In this thread, or behind the two ends of a message channel. */
export type InstanceKind = 'inline' | 'port';

export function hostCallable(
  kind: InstanceKind,
  spec: Spec,
  given: AnyCallable | { infer: AnyCallable },
): HostedInstance {
  const config = completeModelConfig({ modelName: 'm', ...spec }, 1);
  const callable = given as Callable;
  const errors: string[] = [];
  const infos: string[] = [];
  const logger = {
    error: (message: string) => void errors.push(message),
    warn: () => undefined,
    info: (message: string) => void infos.push(message),
    verbose: () => undefined,
  };
  const services = { logger, onUnrecoverable: (error: TritonError) => hosted.onUnrecoverable?.(error) };
  const owned = hostedCallable(callable, config.concurrency);
  const withClose = (instance: ModelInstance, close: () => void): HostedInstance => ({
    instance,
    config,
    errors,
    infos,
    onUnrecoverable: undefined,
    close,
  });
  let hosted: HostedInstance;
  if (kind === 'inline') {
    return (hosted = withClose(new InlineInstance(config, owned, services), () => undefined));
  }
  const { port1, port2 } = new MessageChannel();
  const instance = new ChannelInstance(config, new PortChannel(port1));
  const host = new ChannelHost(new PortChannel(port2), config, owned, services);
  return (hosted = withClose(instance, () => {
    instance.close();
    host.close();
  }));
}

/** A request of a batch, its inputs in declaration order. */
export function executionRequest(
  inputs: readonly (InferTensor | undefined)[],
  given: Partial<ExecutionRequest> = {},
): ExecutionRequest {
  const rows = inputs.find((input) => input !== undefined)?.shape[0] ?? 1;
  return { id: '', parameters: undefined, inputs, rows, memory: undefined, requestedOutputs: [], ...given };
}

export interface Ran {
  readonly results: readonly ExecutionResult[];
  readonly times: ExecutionTimes;
}

/** A batch that was started; `done` counts how often it ended. */
export class Run {
  readonly ended: Promise<Ran>;
  readonly execution: Execution;
  done = 0;

  constructor(instance: ModelInstance, batch: readonly ExecutionRequest[]) {
    let resolve!: (ran: Ran) => void;
    this.ended = new Promise((settle) => (resolve = settle));
    this.execution = instance.execute(batch, (results, times) => {
      this.done++;
      resolve({ results, times });
    });
  }
}

/** What became of each request: its outputs as `name dtype [shape] values`, or `CODE message`. */
export async function outcomes(instance: ModelInstance, batch: readonly ExecutionRequest[]): Promise<string[]> {
  const { results } = await new Run(instance, batch).ended;
  return results.map(describeResult);
}

export function describeResult(result: ExecutionResult): string {
  if (result.kind === 'again') return 'again';
  if (result.kind === 'error') return `${result.error.code} ${result.error.message}`;
  return result.outputs.map(describeTensor).join('; ');
}

function describeTensor({ name, datatype, shape, bytes }: InferTensor): string {
  const data = decodeRaw(dtypeOf(datatype), bytes) as ArrayLike<unknown>;
  const values = Array.from(data, (value) =>
    value instanceof Uint8Array ? Buffer.from(value).toString() : String(value),
  );
  return `${name} ${datatype} [${shape.join(',')}] ${values.join(' ')}`.trimEnd();
}
