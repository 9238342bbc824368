// Declares the types of the callables that users write, with their arguments and results.

import type { Awaitable } from './awaitable.js';
import type { CompleteModelConfig } from './complete-model-config.js';
import type { InferenceResponse } from './inference-response.js';
import type { Logger } from '../observability/logger.js';
import type { Metrics } from '../observability/metrics.js';
import type { CallableModels, TypedModel } from './model-calls.js';
import type { ModelConfig } from './model-config.js';
import type { OpenAiEndpoint } from './openai.js';
import type { Parameters } from './parameters.js';
import type { RequestSequence } from './request-sequence.js';
import type { Span } from '../observability/span.js';
import type { RequestGroups, RequestStreams, Steps } from './steps.js';
import type { Urgency } from './urgency.js';
import type { Inputs, OutputList, OutputRecord, TensorSpecs, Unchecked } from './tensor-spec.js';

/** One request with its tensors, whatever their types: what {@link InferenceRequest} is for a model's. */
export interface RequestWith<T> extends Urgency {
  /**
   * The tensors by input name, in declaration order; optional ones that were not sent are absent. For inputs that are
   * declared as a list they are an array too.
   */
  readonly inputs: T;
  /** What the client sent beside the tensors, and headers that match a forward pattern. */
  readonly parameters: Parameters;
  /** The id that the client gave, or ''. */
  readonly id: string;
  /** The sequence that the client named for the request; undefined when it named none. */
  readonly sequence?: RequestSequence | undefined;
  /** Names of the outputs that the client gets, in declaration order: all, unless it asked for some. Others may be left out. */
  readonly requestedOutputs: readonly string[];
  /** Aborts when the client is gone: it hung up, cancelled, or its deadline passed. */
  readonly signal: AbortSignal;
  /** OpenTelemetry's span of the request, from its arrival to its answer; undefined when it is not traced. */
  readonly span?: Span | undefined;
}

/** One request, as a callable sees it. Without a type argument it fits any model. */
export type InferenceRequest<I extends TensorSpecs = TensorSpecs> = RequestWith<Inputs<I>>;

/** The context of requests with tensors of any type; {@link InferenceContext} has a model's types. */
export interface ContextWith<T> {
  readonly modelName: string;
  readonly modelVersion: number;
  /** The declaration, with all defaults filled in. */
  readonly modelConfig: CompleteModelConfig;
  /** The requests of this batch, for parameters and ids under `batch` and `sample`. */
  readonly requests: readonly RequestWith<T>[];
  /** The request that each row of the inputs belongs to, under every decorator: `requestOfRow[2]` is that of the third row. */
  readonly requestOfRow: readonly RequestWith<T>[];
  /**
   * The parameters of each row's request.
   *
   * @example
   * batch(({ x }, { rowParameters }) => ({ y: rowParameters.map(({ scale }, row) => scaled(x.row(row), scale)) }))
   */
  readonly rowParameters: readonly Parameters[];
  /**
   * The sequence of each row's request; undefined where the client names none, and for rows that `padBatch` adds. With `state` where
   * the model has `sequenceBatching` and a `state` that is a function.
   *
   * @example
   * batch(({ x }, { sequences }) => ({ total: x.map((value, row) => ((sequences[row]!.state as Total).sum += value)) }))
   */
  readonly sequences: readonly (RequestSequence | undefined)[];
  /** The sequence of the first row: of the only one under `sample`. */
  readonly sequence: RequestSequence | undefined;
  /**
   * Fails the request that a row belongs to, and no other. The callable goes on, and its output for that row is
   * ignored. In a list an `Error` in the row's place does the same.
   *
   * @example
   * batch(({ x, session }, { failRow }) => {
   *   session.data.forEach((id, row) => {
   *     if (!sessions.has(id)) failRow(row, new TritonError('NOT_FOUND', `unknown session '${id}'`));
   *   });
   *   return { y: compute(x) };
   * })
   */
  readonly failRow: (row: number, error: Error) => void;
  /**
   * Asks for another execution of a row's request, when this one has ended: it joins the next batch, with the same inputs and the
   * same sequence. Answers of a decoupled model are sent at each step. Otherwise the output of the last step alone is the answer.
   * Default: row 0, the only one under `sample` and `stream`. For models with `sequenceBatching: { iterative: true }`; throws
   * INTERNAL for any other.
   *
   * @example
   * batch(({ prompt }, { sequences, reschedule }) => {
   *   const token = sequences.map((sequence, row) => next(sequence!.state as Text, prompt.strings()[row]!));
   *   token.forEach((text, row) => text !== END && reschedule(row));
   *   return { token };
   * })
   */
  readonly reschedule: (row?: number) => void;
  /** Names of the outputs that any of the requests gets, and of next states, in declaration order. Others may be left out. */
  readonly requestedOutputs: readonly string[];
  /** Aborts when the clients of all requests of the batch are gone. */
  readonly signal: AbortSignal;
  /**
   * OpenTelemetry's span of the callable's work on this batch, which is the active span meanwhile; undefined when no
   * request of the batch is traced. With one traced request it is a descendant of that request's span. With several it
   * is the root of a trace of its own, with links to their spans.
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
  readonly modelOf: <CI extends TensorSpecs, CO extends TensorSpecs, Strict extends boolean = boolean>(
    spec: ModelSpec<CI, CO, boolean, Strict>,
  ) => TypedModel<CI, CO, Strict>;
}

/** The second argument of every callable: PyTriton's `@triton_context`, and more. */
export type InferenceContext<I extends TensorSpecs = TensorSpecs> = ContextWith<Inputs<I>>;

/** What a callable returns for one request: outputs by name, or in declaration order; anything for an unknown model. */
export type OutputsLike<O extends TensorSpecs> = TensorSpecs extends O
  ? Unchecked
  : OutputsNamed<keyof OutputRecord<O> & string, OutputRecord<O>, OutputList<O>>;

// The names come first, so that compilers' messages about a wrong result begin with them.
type OutputsNamed<Names extends string, Values extends { readonly [Name in Names]: unknown }, List> = Values | List;

/**
 * The raw form: a list of requests in, as many results out, in the same order. Without type arguments it fits any
 * model, and its results are checked at run time. `T` is the type that the function itself gives for its requests'
 * tensors.
 */
export interface InferFunc<
  I extends TensorSpecs = TensorSpecs,
  O extends TensorSpecs = TensorSpecs,
  out Decoupled extends boolean = false,
  T = Inputs<I>,
> {
  (requests: RequestWith<T>[], context: ContextWith<T>): Results<I, O, Decoupled>;
}

/**
 * The result of a raw callable: a list of results, or of promises, each of which may fail by itself. A decoupled
 * model's callable gives steps. Each step is a list with a place per request, undefined where a request has no response
 * in this step. It may also return one such list, for one response each.
 */
export type Results<I extends TensorSpecs, O extends TensorSpecs, Decoupled extends boolean> = unknown extends Decoupled
  ? Unchecked
  : Decoupled extends true
    ? | Steps<readonly (Result<I, O> | undefined)[]>
      | RequestStreams
      | RequestGroups
      | Awaitable<readonly Awaitable<Result<I, O> | undefined>[]>
    : Awaitable<readonly Awaitable<Result<I, O>>[]>;

/**
 * A raw callable's result for one request: its outputs, or an InferenceResponse to say more. It may also be the
 * request itself, which stands for its inputs by position, or the error that fails this request alone.
 */
export type Result<I extends TensorSpecs, O extends TensorSpecs> = TensorSpecs extends O
  ? Unchecked
  : ResultNamed<keyof OutputRecord<O> & string, OutputRecord<O>, OutputList<O>, InferenceRequest<I> | InferenceRequest>;

type ResultNamed<Names extends string, Values extends { readonly [Name in Names]: unknown }, List, Request> =
  Values | List | InferenceResponse<Values | List> | Request | Error;

/** The form under `batch`, `sample` and `stream`: tensors by name in, outputs back. `T` as in {@link InferFunc}. */
export interface TensorFunc<
  I extends TensorSpecs = TensorSpecs,
  O extends TensorSpecs = TensorSpecs,
  out Decoupled extends boolean = false,
  T = Inputs<I>,
> {
  (inputs: T, context: ContextWith<T>): TensorResult<O, Decoupled>;
}

/** The result of a function of tensors: outputs, or a promise of them; in decoupled models also steps of outputs. */
export type TensorResult<O extends TensorSpecs, Decoupled extends boolean> = Decoupled extends true
  ? Steps<OutputsLike<O> | InferenceResponse<OutputsLike<O>>> | Awaitable<OutputsLike<O>>
  : Awaitable<OutputsLike<O>>;

/**
 * A method under `@batch`, `@sample` or `@stream`: it takes requests, but to the compiler it keeps the type that it is
 * written with. (Its two signatures are equal. With only one, the compiler would infer the parameters of an inline
 * function from it.)
 */
export interface DecoratedMethod<I extends TensorSpecs, O extends TensorSpecs, Decoupled extends boolean> {
  (inputs: Inputs<I>, context: InferenceContext<I>): TensorResult<O, Decoupled>;
  <_>(inputs: Inputs<I>, context: InferenceContext<I>): TensorResult<O, Decoupled>;
}

/** An object whose method `infer` is called on it. */
export interface ModelObject<
  I extends TensorSpecs = TensorSpecs,
  O extends TensorSpecs = TensorSpecs,
  Decoupled extends boolean = false,
> {
  readonly infer: InferFunc<I, O, Decoupled> | DecoratedMethod<I, O, Decoupled>;
}

/** A method of an object, by its name: `{ object: classifier, method: 'classify' }`. It is called on the object. */
export interface MethodOf<
  I extends TensorSpecs = TensorSpecs,
  O extends TensorSpecs = TensorSpecs,
  Decoupled extends boolean = false,
  Method extends string = string,
> {
  readonly object: { readonly [Name in Method]?: InferFunc<I, O, Decoupled> | DecoratedMethod<I, O, Decoupled> };
  readonly method: Method;
}

/** One instance of a model: a function, an object with a method `infer`, or an object with the name of its method. */
export type Callable<
  I extends TensorSpecs = TensorSpecs,
  O extends TensorSpecs = TensorSpecs,
  Decoupled extends boolean = false,
  Method extends string = string,
> = InferFunc<I, O, Decoupled> | ModelObject<I, O, Decoupled> | MethodOf<I, O, Decoupled, Method>;

/** A model without its callable, shared by server and client. */
export interface ModelSpec<
  I extends TensorSpecs = TensorSpecs,
  O extends TensorSpecs = TensorSpecs,
  Decoupled extends boolean = boolean,
  Strict extends boolean = boolean,
> {
  /** Letters, digits, dots, underscores and dashes. */
  readonly modelName: string;
  /** A positive integer. Default 1. */
  readonly modelVersion?: number;
  /** By name, or as a list: dtypes, and shapes without the batch axis. */
  readonly inputs: I;
  /** As `inputs`. */
  readonly outputs: O;
  /** Batching, queues, cache, sequences and streams. */
  readonly config?: ModelConfig<Decoupled>;
  /** Refuse outputs that do not have exactly the declared names, dtypes and shapes. Default false: see `docs/quick-start.md`. */
  readonly strict?: Strict;
  /**
   * A path where the model takes plain JSON, form data and files, beside the protocol's own paths: `'POST /predict'`. See
   * `docs/plain-json.md`. Default: none.
   */
  readonly route?: `POST /${string}`;
  /** What the model does, for people who read `/openapi.json`. */
  readonly description?: string;
  /**
   * The endpoint of the OpenAI API that serves the model too. The model then has the tensors of `chatModel`,
   * `completionModel`, `embeddingModel` or `transcriptionModel`: see `docs/openai.md`. Default: none.
   */
  readonly openai?: OpenAiEndpoint;
}

/**
 * The type of a callable written apart from `bind`.
 *
 * @example
 * const double: CallableOf<typeof model> = batch(({ x }) => ({ y: x.map((v) => 2 * v) }));
 */
export type CallableOf<M> =
  M extends ModelSpec<infer I, infer O, infer Decoupled> ? InferFunc<I, O, MayStream<Decoupled>> : never;

/** The `Decoupled` of a model's callables: either value for a decoupled model, false by default. */
export type MayStream<Decoupled extends boolean> = [true] extends [Decoupled] ? boolean : false;

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
  const Strict extends boolean = false,
>(spec: ModelSpec<I, O, Decoupled, Strict>): ModelSpec<I, O, Decoupled, Strict> {
  return spec;
}
