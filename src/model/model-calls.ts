// Calls from one bound model to another, inside the server: what a callable sees of the others.

import type { Tensor } from '../tensor/tensor.js';
import type { InferTensor } from './exchange.js';
import type { Parameters } from './parameters.js';
import type { InputTuple, NamedInputs, Outputs, OutputsOf, TensorSpec, TensorSpecs } from './tensor-spec.js';
import type { TraceContext } from './traces.js';

export interface ModelCallOptions {
  readonly parameters?: Parameters;
  /** Default: the latest that is ready. */
  readonly modelVersion?: number;
  /** Names of the outputs to compute. Default: all. */
  readonly outputs?: readonly string[];
  /** Cancels the call, as the signal of the batch, or of the request under `stream`, does in any case. */
  readonly signal?: AbortSignal;
}

/** Another model of this server. */
export interface CallableModel {
  /**
   * Runs a request through the model's own batcher, cache and statistics. Tensors have the batch axis where the
   * model batches; BYTES outputs come as `bytes`. Rejects with the model's own refusal or failure, CANCELLED when
   * the signal aborts, INTERNAL when the call cannot work: the model is not there, is decoupled, or the models call each
   * other in a circle.
   */
  infer(
    inputs: Readonly<Record<string, Tensor>>,
    options?: ModelCallOptions,
  ): Promise<Readonly<Record<string, Tensor>>>;
  /**
   * Runs a request of a decoupled model, or of one that answers once, and yields its responses as they come. A loop
   * that is slow makes the model's generator wait; one that is left cancels the call. Otherwise as {@link infer}.
   *
   * @example
   * for await (const { token } of context.models.Words!.stream({ prompt })) yield { token };
   */
  stream(
    inputs: Readonly<Record<string, Tensor>>,
    options?: ModelCallOptions,
  ): AsyncGenerator<Readonly<Record<string, Tensor>>, void, undefined>;
}

/** The other models of this server, by name. */
export type CallableModels = Readonly<Record<string, CallableModel>>;

/** Options of a call, whose `outputs` are of the model's. */
export interface TypedCallOptions<Name extends string> extends ModelCallOptions {
  readonly outputs?: readonly Name[];
}

/** The tensors that a call of a declared model takes: by input name, or in declaration order. */
export type CallInputs<I extends TensorSpecs> =
  NamedInputs<I> | (I extends readonly TensorSpec[] ? Readonly<InputTuple<I>> : readonly (Tensor | undefined)[]);

/** {@link CallableModel} with the types of a declaration. */
export interface TypedModel<I extends TensorSpecs, O extends TensorSpecs, Strict extends boolean = boolean> {
  /** As `infer` of {@link CallableModel}; INTERNAL too when the model answers with other dtypes than declared. */
  infer<Name extends keyof Outputs<O> & string = keyof Outputs<O> & string>(
    inputs: CallInputs<I>,
    options?: TypedCallOptions<Name>,
  ): Promise<Pick<OutputsOf<O, Strict>, Name>>;
  /** As `stream` of {@link CallableModel}. */
  stream<Name extends keyof Outputs<O> & string = keyof Outputs<O> & string>(
    inputs: CallInputs<I>,
    options?: TypedCallOptions<Name>,
  ): AsyncGenerator<Pick<OutputsOf<O, Strict>, Name>, void, undefined>;
}

/** A call as it leaves the callable. */
export interface ModelCall {
  readonly modelName: string;
  readonly modelVersion: string;
  readonly parameters: Parameters | undefined;
  readonly inputs: readonly InferTensor[];
  readonly outputs: readonly string[];
  /** The models on whose behalf the call is made, outermost first: none of them can be called. */
  readonly callers: readonly string[];
  /** The trace that the calling callable is in. */
  readonly traceContext?: TraceContext | undefined;
}

/** Who waits for a call. */
export interface CallReceiver {
  /** Aborts when nobody waits any more. */
  readonly signal: AbortSignal;
  /** Takes the responses as they come, of a call that has any number of them. A promise: the next should wait. */
  readonly onResponse?: ((outputs: readonly InferTensor[]) => void | Promise<void>) | undefined;
}

/**
 * Makes calls, wherever the engine is. Resolves with the outputs, none of them when `onResponse` took them. Rejects
 * with a TritonError.
 */
export type ModelCaller = (call: ModelCall, receiver: CallReceiver) => Promise<readonly InferTensor[]>;
