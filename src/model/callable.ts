// What users write: the types of inference callables and of what they get and return.

import type { TritonError } from '../errors.js';
import type { Awaitable } from './awaitable.js';
import type { CompleteModelConfig } from './complete-model-config.js';
import type { InferenceResponse } from './inference-response.js';
import type { InstanceGroup } from './instance-group.js';
import type { Logger } from './logger.js';
import type { Metrics } from './metrics.js';
import type { CallableModels, TypedModel } from './model-calls.js';
import type { ModelConfig } from './model-config.js';
import type { Parameters } from './parameters.js';
import type { RequestGroups } from './request-groups.js';
import type { RequestSequence } from './request-sequence.js';
import type { RequestStreams } from './request-streams.js';
import type { SetupContext } from './setup-context.js';
import type { Span } from './span.js';
import type { Steps } from './steps.js';
import type { Inputs, OutputList, OutputRecord, TensorSpecs } from './tensor-spec.js';

/** One request, as a callable sees it. */
export interface InferenceRequest<I extends TensorSpecs = TensorSpecs> {
  /** The tensors by input name, in declaration order; optional ones that were not sent are absent. */
  readonly inputs: Inputs<I>;
  readonly parameters: Parameters;
  /** The id that the client gave, or ''. */
  readonly id: string;
  /** The sequence that the client says the request belongs to; undefined when it says nothing of one. */
  readonly sequence?: RequestSequence | undefined;
  /** Aborts when the client is gone: it hung up, cancelled, or its deadline passed. */
  readonly signal: AbortSignal;
  /** OpenTelemetry's span of the request, from its arrival to its answer; undefined when it is not traced. */
  readonly span?: Span | undefined;
}

/** What a callable knows beside its requests: PyTriton's `@triton_context`, and more. */
export interface InferenceContext<I extends TensorSpecs = TensorSpecs> {
  readonly modelName: string;
  readonly modelVersion: number;
  readonly modelConfig: CompleteModelConfig;
  /** The requests of this batch, for parameters and ids under `batch` and `sample`. */
  readonly requests: readonly InferenceRequest<I>[];
  /** Aborts when the clients of all requests of the batch are gone. */
  readonly signal: AbortSignal;
  /**
   * OpenTelemetry's span of the callable's work on this batch, which is the active one meanwhile; undefined when no
   * request of the batch is traced. Of one traced request it is a descendant of that request's span; of several it is
   * the root of a trace of its own, with links to theirs.
   */
  readonly span?: Span | undefined;
  readonly logger: Logger;
  /** Records metrics that were declared with `counter`, `gauge` or `histogram`. */
  readonly metrics: Metrics;
  /**
   * The other models of this server.
   *
   * @example
   * const { embedding } = await context.models.Embed!.infer({ text });
   */
  readonly models: CallableModels;
  /**
   * Another model of this server by its declaration, with its types.
   *
   * @example
   * const { embedding } = await context.modelOf(embed).infer({ text });
   */
  readonly modelOf: <CI extends TensorSpecs, CO extends TensorSpecs>(spec: ModelSpec<CI, CO>) => TypedModel<CI, CO>;
}

/** What a callable returns for one request: outputs by name, or in declaration order. */
export type OutputsLike<O extends TensorSpecs> = OutputRecord<O> | OutputList<O>;

/** The raw form: a list of requests in, as many results out, in the same order. */
export type InferFunc<
  I extends TensorSpecs = TensorSpecs,
  O extends TensorSpecs = TensorSpecs,
  Decoupled extends boolean = false,
> = (requests: readonly InferenceRequest<I>[], context: InferenceContext<I>) => Results<I, O, Decoupled>;

/**
 * What a raw callable gives for its list of requests: a list of results, or of promises of them, each of which may
 * fail by itself; for decoupled models steps, each a list with a place per request, undefined where a request has no
 * response in this step.
 */
export type Results<I extends TensorSpecs, O extends TensorSpecs, Decoupled extends boolean> = Decoupled extends true
  ? Steps<readonly (Result<I, O> | undefined)[]> | RequestStreams | RequestGroups
  : Awaitable<readonly Awaitable<Result<I, O>>[]>;

/**
 * What a raw callable gives for one request: its outputs, with parameters as an InferenceResponse; the request
 * itself, which stands for its inputs by position; or the error that this request alone fails with.
 */
export type Result<I extends TensorSpecs, O extends TensorSpecs> =
  OutputsLike<O> | InferenceResponse<OutputsLike<O>> | InferenceRequest<I> | TritonError;

/** The form under `batch`, `sample` and `stream`: tensors by name in, outputs back. */
export type TensorFunc<
  I extends TensorSpecs = TensorSpecs,
  O extends TensorSpecs = TensorSpecs,
  Decoupled extends boolean = false,
> = (inputs: Inputs<I>, context: InferenceContext<I>) => TensorResult<O, Decoupled>;

/** What a function of tensors gives: outputs, or a promise of them; for decoupled models steps of outputs. */
export type TensorResult<O extends TensorSpecs, Decoupled extends boolean> = Decoupled extends true
  ? Steps<OutputsLike<O>>
  : Awaitable<OutputsLike<O>>;

/** An object whose method `infer` is called on it. */
export interface ModelObject<
  I extends TensorSpecs = TensorSpecs,
  O extends TensorSpecs = TensorSpecs,
  Decoupled extends boolean = false,
> {
  readonly infer: InferFunc<I, O, Decoupled>;
}

/** One instance of a model: a function, or an object with a method `infer`. */
export type Callable<
  I extends TensorSpecs = TensorSpecs,
  O extends TensorSpecs = TensorSpecs,
  Decoupled extends boolean = false,
> = InferFunc<I, O, Decoupled> | ModelObject<I, O, Decoupled>;

/** A model without its callable: what server and client share. */
export interface ModelSpec<
  I extends TensorSpecs = TensorSpecs,
  O extends TensorSpecs = TensorSpecs,
  Decoupled extends boolean = boolean,
> {
  /** Letters, digits, dots, underscores and dashes. */
  readonly modelName: string;
  /** A positive integer. Default 1. */
  readonly modelVersion?: number;
  readonly inputs: I;
  readonly outputs: O;
  readonly config?: ModelConfig<Decoupled>;
  /** Refuse outputs that do not have exactly the declared names, dtypes and shapes. Default false: see `docs/quick-start.md`. */
  readonly strict?: boolean;
}

/** A model with its callable: what `Triton.bind` takes. A list of callables makes as many instances. */
export type BoundModel<I extends TensorSpecs, O extends TensorSpecs, Decoupled extends boolean> = ModelSpec<
  I,
  O,
  Decoupled
> & {
  readonly inferFunc:
    | Callable<NoInfer<I>, NoInfer<O>, NoInfer<Decoupled>>
    | InstanceGroup
    | readonly (Callable<NoInfer<I>, NoInfer<O>, NoInfer<Decoupled>> | InstanceGroup)[];
  /**
   * Runs before the model is served; when it fails, the load fails. For callables of this thread: a module of an
   * instance group exports its own.
   */
  readonly setup?: (context: SetupContext) => Awaitable<void>;
  /** Runs when the model is served no more. */
  readonly teardown?: () => Awaitable<void>;
};

/**
 * The type of a callable that is written apart from `bind`.
 *
 * @example
 * const double: CallableOf<typeof model> = batch(({ x }) => ({ y: x.map((v) => 2 * v) }));
 */
export type CallableOf<M> = M extends ModelSpec<infer I, infer O, infer Decoupled> ? InferFunc<I, O, Decoupled> : never;

/**
 * Declares a model apart from its callable, so that `bind` and `ModelClient` share one set of types.
 *
 * @example
 * const linear = defineModel({
 *   modelName: 'Linear',
 *   inputs: { data: { dtype: 'float32', shape: [-1] } },
 *   outputs: { result: { dtype: 'float32', shape: [-1] } },
 * });
 * triton.bind({ ...linear, inferFunc });
 */
export function defineModel<
  const I extends TensorSpecs,
  const O extends TensorSpecs,
  const Decoupled extends boolean = false,
>(spec: ModelSpec<I, O, Decoupled>): ModelSpec<I, O, Decoupled> {
  return spec;
}
