// Declares the calls from one bound model to another, inside the server, as a callable sees them.

import type { TritonError } from '../errors.js';
import type { Tensor } from '../tensor/tensor.js';
import type { InferTensor } from './exchange.js';
import type { Parameters } from './parameters.js';
import type { InputTuple, NamedInputs, Outputs, OutputsOf, TensorSpec, TensorSpecs } from './tensor-spec.js';
import type { Urgency } from './urgency.js';
import type { TraceContext } from '../observability/traces.js';

export interface ModelCallOptions {
  readonly parameters?: Parameters;
  /** Default: the latest that is ready. */
  readonly modelVersion?: number;
  /** Names of the outputs to compute. Default: all. */
  readonly outputs?: readonly string[];
  /**
   * The level in the model's queue, 1 being the most urgent; 0 for the default level. Default: the most urgent level that a
   * request of the batch names.
   */
  readonly priority?: number;
  /**
   * How long the call may wait in the model's queue, where its policy has `allowTimeoutOverride`; 0 for the model's default.
   * Default: the longest timeout of the requests of the batch, where all have one.
   */
  readonly timeoutMicroseconds?: number;
  /** Cancels the call, as the signal of the batch, or of the request under `stream`, does in any case. */
  readonly signal?: AbortSignal;
}

/** Another model of this server. */
export interface CallableModel {
  /**
   * Runs a request through the model's own batcher, cache and statistics. Tensors have the batch axis where the model
   * batches; BYTES outputs come as `bytes`. Rejects with the model's own refusal or failure, or with CANCELLED when the
   * signal aborts. Rejects with INTERNAL when the call cannot work: the model does not exist, is decoupled, takes other inputs, or the
   * models call each other in a circle.
   */
  infer(
    inputs: Readonly<Record<string, Tensor>>,
    options?: ModelCallOptions,
  ): Promise<Readonly<Record<string, Tensor>>>;
  /**
   * Runs a request of a decoupled model, or of one that answers once, and yields its responses as they come. A slow
   * loop makes the model's generator wait, and leaving the loop cancels the call. Otherwise like {@link infer}.
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

/** Options of a call, whose `outputs` are names of the model's outputs. */
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
export interface ModelCall extends Urgency {
  readonly modelName: string;
  readonly modelVersion: string;
  readonly parameters: Parameters | undefined;
  readonly inputs: readonly InferTensor[];
  readonly outputs: readonly string[];
  /** The models on whose behalf the call is made, outermost first; the call may not name one of them. */
  readonly callers: readonly string[];
  /** The trace that the calling callable is in. */
  readonly traceContext?: TraceContext | undefined;
}

/** Receives the outcome of a call. It is ended exactly once, possibly before the call has returned. */
export interface CallSink {
  /** Takes the responses of a streamed call as they come. The next response waits for a returned promise. */
  readonly onResponse?: ((outputs: readonly InferTensor[]) => void | Promise<void>) | undefined;
  /** Ends it with the outputs, or with none when `onResponse` took them. */
  answered(outputs: readonly InferTensor[]): void;
  failed(error: TritonError): void;
}

/** Makes calls, wherever the engine is. Returns the function that cancels the call, which then soon fails with CANCELLED. */
export type ModelCaller = (call: ModelCall, sink: CallSink) => () => void;
