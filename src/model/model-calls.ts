// Calls from one bound model to another, inside the server: what a callable sees of the others.

import type { Tensor } from '../tensor/tensor.js';
import type { InferTensor } from './exchange.js';
import type { Parameters } from './parameters.js';

export interface ModelCallOptions {
  readonly parameters?: Parameters;
  /** Default: the latest that is ready. */
  readonly modelVersion?: number;
  /** Names of the outputs to compute. Default: all. */
  readonly outputs?: readonly string[];
  /** Default: the signal of the batch that calls. */
  readonly signal?: AbortSignal;
}

/** Another model of this server. */
export interface CallableModel {
  /**
   * Runs a request through the model's own batcher, cache and statistics. Tensors have the batch axis where the
   * model batches; BYTES outputs come as `bytes`. Rejects with the model's own refusal or failure, CANCELLED when
   * the signal aborts, INVALID_ARG when the models call each other in a circle.
   */
  infer(
    inputs: Readonly<Record<string, Tensor>>,
    options?: ModelCallOptions,
  ): Promise<Readonly<Record<string, Tensor>>>;
}

/** The other models of this server, by name. */
export type CallableModels = Readonly<Record<string, CallableModel>>;

/** A call as it leaves the callable. */
export interface ModelCall {
  readonly modelName: string;
  readonly modelVersion: string;
  readonly parameters: Parameters | undefined;
  readonly inputs: readonly InferTensor[];
  readonly outputs: readonly string[];
  /** The models on whose behalf the call is made, outermost first: none of them can be called. */
  readonly callers: readonly string[];
}

/** Makes calls, wherever the engine is. Rejects with a TritonError. */
export type ModelCaller = (call: ModelCall, signal: AbortSignal) => Promise<readonly InferTensor[]>;
