// Runs a user's callable on one batch and checks its results. It lives in the callable's thread. InlineInstance uses it
// directly, and ChannelHost behind a channel.

import { failureOfCallable, logTextOf, reworded, TritonError, TritonUnrecoverableError } from '../errors.js';
import { batchFailure } from '../model/batch-failure.js';
import { disownPromises, isPromiseLike } from '../model/awaitable.js';
import { callerOf, functionOf } from '../model/callable-function.js';
import type { Callable, InferenceRequest } from '../model/callable.js';
import type { CompleteModelConfig } from '../model/complete-model-config.js';
import { marksOf } from '../model/decorated.js';
import { type HostedRequest, inputsInOrder, isInferenceRequest } from '../model/inference-request.js';
import { InferenceResponse } from '../model/inference-response.js';
import { isolatingFailures } from '../model/isolated-failures.js';
import { logFailure } from '../model/log-failure.js';
import type { Logger } from '../observability/logger.js';
import { withLostObject } from '../model/lost-object.js';
import type { ModelCaller } from '../model/model-calls.js';
import { isParameter } from '../model/is-parameter.js';
import type { Parameters } from '../model/parameters.js';
import { resolveOutputs } from '../model/resolve-outputs.js';
import type { SequenceEndReason } from '../model/sequence-batching.js';
import type { SequenceStateSource } from '../model/sequence-state-source.js';
import type { RowFailure } from '../model/row-failures.js';
import type { BatchSpans } from './batch-spans.js';
import { executeSequences } from './execute-sequences.js';
import { HostContext } from './host-context.js';
import type { HostBatch, HostExecution } from './host-execution.js';
import {
  awaitEach,
  expectResults,
  hasPromise,
  type HostDone,
  type HostResult,
  type HostStream,
  Rejected,
  type ResolvedResult,
} from './host-results.js';
import { HostedSequences } from './hosted-sequences.js';
import { MetricsRecorder } from './metrics-recorder.js';
import type { RequestTracing } from './request-tracing.js';
import { runSteps } from './run-steps.js';

/** Services that a callable's host gets from InlineInstance or ChannelHost. */
export interface HostServices {
  readonly logger: Logger;
  /** Called after the answers, when no further inference is possible. */
  readonly onUnrecoverable?: ((error: TritonError) => void) | undefined;
  /** Makes the spans of traced requests; undefined where nothing is traced. */
  readonly tracing?: RequestTracing | undefined;
  /** Makes an object for each sequence. */
  readonly state?: SequenceStateSource | undefined;
}

export class CallableHost {
  /** The model's config as the callable sees it. */
  readonly #config: CompleteModelConfig;
  /** The model's config as clients see it. */
  readonly #served: CompleteModelConfig;
  /** Set where the model batches by sequences. */
  readonly #sequences: HostedSequences | undefined;
  readonly #callable: Callable;
  readonly #infer: ReturnType<typeof isolatingFailures>;
  readonly #services: HostServices;
  /**
   * Calls `done` before it returns when the callable is synchronous. A decoupled model answers through `stream`; all its
   * requests have ended when `done` is called.
   */
  readonly execute: (requests: readonly HostedRequest[], done: HostDone, batch?: HostBatch) => HostExecution;
  /** Whether the callable gets the rows of all requests as one. */
  readonly joinsRows: boolean;
  /** The callable's own metrics. The sender of its results takes them along. */
  readonly metrics = new MetricsRecorder();
  /** Makes the callable's calls of other models. */
  caller: ModelCaller = ({ modelName }, sink) => {
    sink.failed(new TritonError('UNAVAILABLE', `model '${modelName}' cannot be called from here`));
    return () => undefined;
  };

  constructor(config: CompleteModelConfig, callable: Callable, services: HostServices) {
    this.#served = config;
    this.#sequences = config.sequenceBatching && new HostedSequences(config, services.state, services.logger);
    this.#config = this.#sequences?.config ?? config;
    const execute = this.#execute.bind(this);
    const sequences = this.#sequences;
    this.execute =
      sequences === undefined
        ? execute
        : (requests, done, batch = {}) => executeSequences(sequences, requests, { done, batch, execute });
    this.#services = services;
    this.#callable = callable;
    this.joinsRows = marksOf(functionOf(callable)).some(({ decorator }) => decorator === 'batch');
    const infer = callerOf(callable);
    this.#infer = config.isolateFailures === true ? isolatingFailures(infer, functionOf(callable)) : infer;
  }

  /** See `endSequence` of ModelInstance. */
  endSequence(serial: number, reason: SequenceEndReason): void {
    this.#sequences?.end(serial, reason);
  }

  /** Ends all sequences, because nobody asks for them any more. */
  endSequences(): void {
    this.#sequences?.endAll();
  }

  #execute(requests: readonly HostedRequest[], done: HostDone, batch: HostBatch = {}): HostExecution {
    const { stream, callers = [], traces } = batch;
    const { logger, tracing } = this.#services;
    // Taken off this object, so that the user's function does not get it as `this`.
    const infer = this.#infer;
    const spans = traces && tracing?.begin({ config: this.#config, requests, traces, logger });
    const span = spans?.span;
    const calling = { caller: this.caller, callers, traceContext: tracing && (() => tracing.carried(span)) };
    const services = { logger, metrics: this.metrics, calling, span };
    const context = new HostContext(this.#config, requests, services);
    const startedAt = performance.now();
    let aloneMs: (number | undefined)[] | undefined;
    const ranAlone = (index: number, milliseconds: number) => {
      (aloneMs ??= requests.map(() => undefined))[index] = milliseconds;
    };
    const settle = (result: unknown) => {
      const inferMs = performance.now() - startedAt;
      const { results, parameters } = this.#resolve(result, requests);
      spans?.finish(results);
      done(results, { inferMs, aloneMs }, parameters);
    };
    const fail = (error: unknown) => {
      const inferMs = performance.now() - startedAt;
      const results = this.#failAll(error, requests);
      spans?.finish(results);
      done(results, { inferMs, aloneMs });
    };
    if (stream !== undefined) {
      void this.#runStream(requests, context, { stream, done, startedAt, spans });
      return cancellation(requests, context, spans);
    }
    let result: unknown;
    let pending: Promise<unknown> | undefined;
    try {
      // Only the callable runs within its span; later code is not the callable's.
      result =
        spans === undefined
          ? infer(context.requests, context, ranAlone)
          : spans.inside(() => infer(context.requests, context, ranAlone));
      // Promise.resolve, because the user's thenable may call back twice, or throw.
      if (isPromiseLike(result)) pending = Promise.resolve(result).then(awaitEach);
      else if (hasPromise(result)) pending = awaitEach(result);
    } catch (error) {
      fail(error);
      return NOTHING_TO_CANCEL;
    }
    if (pending === undefined) {
      settle(result);
      return NOTHING_TO_CANCEL;
    }
    void pending.then(settle, fail);
    return cancellation(requests, context, spans);
  }

  /** Runs a decoupled model's callable to the end of all its requests. */
  async #runStream(
    requests: readonly HostedRequest[],
    context: HostContext,
    { stream, done, startedAt, spans }: StreamRun,
  ): Promise<void> {
    // Errors of results. They need no further line in the log.
    const told = new Set<TritonError | undefined>();
    const resolve = (result: unknown, index: number) => {
      const resolved = this.#resolveOne(result, requests[index]!);
      if (TritonError.is(resolved.outcome)) told.add(resolved.outcome);
      return resolved;
    };
    const failAll = (thrown: unknown, indices: readonly number[]) => {
      const errors = this.#failAll(
        thrown,
        indices.map((index) => requests[index]!),
      );
      for (const error of errors) told.add(error);
      return errors;
    };
    const noticing: HostStream = {
      respond: (index, outputs, more) => {
        spans?.responded(index);
        if (more?.final === true) spans?.ended(index, undefined);
        return stream.respond(index, outputs, more);
      },
      end: (index, thrown) => {
        const error = thrown && withLostObject(failureOfCallable(thrown), this.#callable);
        spans?.ended(index, error);
        this.#notice(error);
        if (error !== undefined && !told.has(error)) this.#logFailure(error, [requests[index]!]);
        stream.end(index, error);
      },
    };
    // The answers have been sent, so the results are empty.
    let results: readonly HostResult[] = requests.map(() => []);
    try {
      const inside = spans?.inside;
      const infer = this.#infer;
      const call = () => infer(context.requests, context);
      const result: unknown = await (inside === undefined ? call() : inside(call));
      await runSteps(result, { requests, stream: noticing, resolve, failAll, inside, model: this.#config.name });
    } catch (error) {
      results = this.#failAll(error, requests);
    }
    spans?.finish(results);
    done(results, { inferMs: performance.now() - startedAt });
  }

  /** Passes an unrecoverable error on, once the answers of this turn are under way. */
  #notice(thrown: unknown): void {
    if (TritonUnrecoverableError.is(thrown))
      setImmediate(() => this.#services.onUnrecoverable?.(TritonError.from(thrown)));
  }

  #failAll(thrown: unknown, requests: readonly HostedRequest[]): TritonError[] {
    const error = withLostObject(failureOfCallable(thrown), this.#callable);
    this.#notice(thrown);
    this.#logFailure(error, requests);
    const told = batchFailure(error, requests.length);
    return requests.map((request) => (request.failure === undefined ? told : this.#rowError(request, request.failure)));
  }

  /** Makes the error of a request that fails because of one of its rows. */
  #rowError(request: HostedRequest, { row, error: thrown }: RowFailure): TritonError {
    const error = failureOfCallable(thrown);
    this.#notice(thrown);
    if (error !== thrown) this.#logFailure(error, [request]);
    return request.rows === 1 ? error : reworded(error, `row ${row}: ${error.message}`);
  }

  /** Logs a failure for the server's operator. The client gets only the message. */
  #logFailure(error: TritonError, requests: readonly HostedRequest[]): void {
    const { logger } = this.#services;
    // When all clients are gone, most callables throw to follow their signal: that is not a failure.
    if (!requests.every(({ aborted }) => aborted)) logFailure(logger, error, requests.length);
    else logger.verbose(1, `the callable failed: ${logTextOf(error)}`);
  }

  #resolve(result: unknown, requests: readonly HostedRequest[]): Resolved {
    try {
      const list = expectResults(result, requests.length, this.#config.name);
      let parameters: (Parameters | undefined)[] | undefined;
      const results: HostResult[] = [];
      for (let index = 0; index < requests.length; index++) {
        const { outcome, more } = this.#resolveOne(list[index], requests[index]!);
        if (more?.parameters !== undefined) (parameters ??= requests.map(() => undefined))[index] = more.parameters;
        results.push(outcome);
      }
      return { results, parameters };
    } catch (error) {
      return { results: this.#failAll(error, requests), parameters: undefined };
    }
  }

  #resolveOne(result: unknown, request: HostedRequest): ResolvedResult {
    if (request.failure !== undefined) {
      disownPromises(result);
      return { outcome: this.#rowError(request, request.failure), more: undefined };
    }
    // Without a decoupled model's answers nobody gets the outputs of a step that is not the last one.
    if (request.isRescheduled && (result === undefined || result === null)) return { outcome: [], more: undefined };
    try {
      if (result instanceof Rejected) return this.#failOne(result.reason, request);
      if (TritonError.is(result)) {
        this.#notice(result);
        return { outcome: withLostObject(failureOfCallable(result), this.#callable), more: undefined };
      }
      const more = InferenceResponse.is(result) ? result : undefined;
      if (more !== undefined) checkParameters(more.parameters, this.#config.name);
      const given = more === undefined ? result : more.outputs;
      const outputs = isInferenceRequest(given) ? this.#asOutputs(given) : given;
      const { requestedOutputs, rows } = request;
      const failRow = (row: number, error: Error) => request.failRow(row, error);
      const outcome = resolveOutputs(outputs, this.#config, rows, { requestedOutputs, failRow });
      return {
        outcome: request.failure === undefined ? outcome : this.#rowError(request, request.failure),
        more,
      };
    } catch (thrown) {
      disownPromises(result, 3);
      const error = failureOfCallable(thrown);
      // The message of a faulty result says enough. A thrown value needs its stack too.
      if (error !== thrown) return this.#failOne(thrown, request);
      this.#services.logger.error(error.message);
      return { outcome: error, more: undefined };
    }
  }

  #failOne(thrown: unknown, request: HostedRequest): ResolvedResult {
    return { outcome: this.#failAll(thrown, [request])[0]!, more: undefined };
  }

  /** A returned request stands for its inputs, matched to the outputs by position. */
  #asOutputs(request: InferenceRequest): unknown[] {
    const { inputs, outputs, name } = this.#served;
    if (inputs.length !== outputs.length) {
      throw new TritonError(
        'INTERNAL',
        `model '${name}' returned a request for its result, but has ${inputs.length} inputs and ${outputs.length} outputs`,
      );
    }
    const listed = inputsInOrder(request, inputs);
    return this.#config.outputs.map((_, index) => listed[index]);
  }
}

const NOTHING_TO_CANCEL: HostExecution = { cancel: () => undefined, cancelAll: () => undefined };

interface StreamRun {
  readonly stream: HostStream;
  readonly done: HostDone;
  readonly startedAt: number;
  readonly spans: BatchSpans | undefined;
}

interface Resolved {
  readonly results: readonly HostResult[];
  readonly parameters: readonly (Parameters | undefined)[] | undefined;
}

function cancellation(
  requests: readonly HostedRequest[],
  context: HostContext,
  spans: BatchSpans | undefined,
): HostExecution {
  return {
    cancel: (index) => {
      spans?.cancelled(index);
      requests[index]?.abort();
      context.abortWhenAllGone();
    },
    cancelAll: () => {
      for (const [index, request] of requests.entries()) {
        spans?.cancelled(index);
        request.abort();
      }
      context.abortWhenAllGone();
    },
  };
}

function checkParameters(parameters: Parameters | undefined, model: string): void {
  for (const [name, value] of Object.entries(parameters ?? {})) {
    if (isParameter(value)) continue;
    const [got, expected] =
      typeof value === 'bigint'
        ? [value, 'an integer of 64 bits']
        : [`a ${typeof value}`, 'a string, boolean or number'];
    const message = `model '${model}' gave a response parameter '${name}' that is ${got}, expected ${expected}`;
    throw new TritonError('INTERNAL', message);
  }
}
