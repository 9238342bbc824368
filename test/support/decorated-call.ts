// Calls decorated callables as the host does: with requests of a batch and its context.
import { HostContext } from '../../src/host/host-context.js';
import { MetricsRecorder } from '../../src/host/metrics-recorder.js';
import type { InferenceContext, ModelSpec } from '../../src/model/callable.js';
import type { CompleteModelConfig } from '../../src/model/complete-model-config.js';
import { completeModelConfig } from '../../src/model/complete-model.js';
import { HostedRequest } from '../../src/model/inference-request.js';
import { requestedNames } from '../../src/model/requested-outputs.js';
import type { Parameters } from '../../src/model/parameters.js';
import type { Tensor } from '../../src/tensor/tensor.js';

export type Tensors = Readonly<Record<string, Tensor>>;
/** A function of tensors, whatever it does. */
export type AnyTensorFunc = (inputs: Tensors, context: InferenceContext) => unknown;
/** A function of requests, whatever it does. */
export type AnyInferFunc = (requests: readonly HostedRequest[], context: InferenceContext) => unknown;

/** A request with these tensors, their rows in the first dimension. */
export function requestOf(inputs: Tensors, parameters?: Parameters): HostedRequest {
  const rows = Object.values(inputs)[0]?.shape[0] ?? 1;
  return new HostedRequest(inputs, rows, '', parameters);
}

export interface DecoratedCall {
  readonly result: unknown;
  /** What was logged as errors. */
  readonly errors: readonly string[];
}

/** Calls a decorated function, typed or not, as the only instance of a model. */
export function callDecorated(callable: unknown, requests: readonly HostedRequest[], spec: ModelSpec): DecoratedCall {
  return callWith(completeModelConfig(spec, 1), callable, requests);
}

/** The same for a model whose configuration is complete. */
export function callWith(
  modelConfig: CompleteModelConfig,
  callable: unknown,
  requests: readonly HostedRequest[],
): DecoratedCall {
  const errors: string[] = [];
  for (const request of requests) {
    if (request.requestedOutputs.length === 0) request.requestedOutputs = requestedNames([], modelConfig);
  }
  const logger = {
    error: (message: string) => void errors.push(message),
    warn: () => undefined,
    info: () => undefined,
    verbose: () => undefined,
  };
  const caller = () => {
    throw new Error('no models');
  };
  const calling = { caller, callers: [], traceContext: undefined };
  const services = { logger, metrics: new MetricsRecorder(), calling, span: undefined };
  const context = new HostContext(modelConfig, requests, services);
  return { result: (callable as AnyInferFunc)(context.requests as readonly HostedRequest[], context), errors };
}

/** The steps of a synchronous generator. */
export function stepsOf(result: unknown): unknown[] {
  return [...(result as Iterable<unknown>)];
}

/** The steps of any generator. */
export async function allSteps(result: unknown): Promise<unknown[]> {
  const steps: unknown[] = [];
  for await (const step of result as AsyncIterable<unknown>) steps.push(step);
  return steps;
}
