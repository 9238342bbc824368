// Runs a user's callable on one batch and checks what it returns. Lives in whatever thread the callable
// belongs to; used directly by InlineInstance and behind a channel by ChannelHost.

import { logTextOf, reworded, TritonError, TritonUnrecoverableError } from '../errors.js';
import { batchFailure } from '../model/batch-failure.js';
import { disownPromises, isPromiseLike } from '../model/awaitable.js';
import { callerOf, functionOf } from '../model/callable-function.js';
import type { Callable, InferenceRequest } from '../model/callable.js';
import type { CompleteModelConfig } from '../model/complete-model-config.js';
import { marksOf } from '../model/decorated.js';
import { type HostedRequest, inputsInOrder, isInferenceRequest } from '../model/inference-request.js';
import { InferenceResponse } from '../model/inference-response.js';
import { isolatingFailures } from '../model/isolated-failures.js';
import type { Logger } from '../model/logger.js';
import { withLostObject } from '../model/lost-object.js';
import type { ModelCaller } from '../model/model-calls.js';
import type { Parameters } from '../model/parameters.js';
import { resolveOutputs } from '../model/resolve-outputs.js';
import type { RowFailure } from '../model/row-failures.js';
import type { BatchTraces } from '../model/traces.js';
import type { BatchSpans } from './batch-spans.js';
import { HostContext } from './host-context.js';
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
import { MetricsRecorder } from './metrics-recorder.js';
import type { RequestTracing } from './request-tracing.js';
import { runSteps } from './run-steps.js';

/** A batch that the callable is working on. */
export interface HostExecution {
  /** The client of request `index` is gone. */
  cancel(index: number): void;
  /** All are gone. */
  cancelAll(): void;
}

/** What some batches have. */
export interface HostBatch {
  /** Of decoupled models: where the answers go as they come. */
  readonly stream?: HostStream | undefined;
  /** The models on whose behalf the batch runs. */
  readonly callers?: readonly string[] | undefined;
  /** Where any of the requests is traced. */
  readonly traces?: BatchTraces | undefined;
}

/** What a callable's host is given by whoever hosts it. */
export interface HostServices {
  readonly logger: Logger;
  /** Told, after the answers, that no further inference is possible. */
  readonly onUnrecoverable?: ((error: TritonError) => void) | undefined;
  /** Makes the spans of traced requests; undefined where nothing is traced. */
  readonly tracing?: RequestTracing | undefined;
}

export class CallableHost {
  readonly #config: CompleteModelConfig;
  readonly #callable: Callable;
  readonly #infer: ReturnType<typeof isolatingFailures>;
  readonly #services: HostServices;
  /** Whether the callable gets the rows of all requests as one. */
  readonly joinsRows: boolean;
  /** What the callable records; whoever sends its results takes it along. */
  readonly metrics = new MetricsRecorder();
  /** Makes the callable's calls of other models. */
  caller: ModelCaller = (call) =>
    Promise.reject(new TritonError('UNAVAILABLE', `model '${call.modelName}' cannot be called from here`));

  constructor(config: CompleteModelConfig, callable: Callable, services: HostServices) {
    this.#config = config;
    this.#services = services;
    this.#callable = callable;
    this.joinsRows = marksOf(functionOf(callable)).some(({ decorator }) => decorator === 'batch');
    const infer = callerOf(callable);
    this.#infer = config.isolateFailures === true ? isolatingFailures(infer, functionOf(callable)) : infer;
  }

  /**
   * `done` is called before this returns when the callable is synchronous. A decoupled model answers through
   * `stream`, whose requests have all ended when `done` is called.
   */
  execute(requests: readonly HostedRequest[], done: HostDone, batch: HostBatch = {}): HostExecution {
    const { stream, callers = [], traces } = batch;
    const { logger, tracing } = this.#services;
    // Not called on this object: a function of the user's gets no `this` of ours.
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
      // What comes after it is not the callable's, and runs outside of its span.
      const call = () => infer(context.requests, context, ranAlone);
      result = spans === undefined ? call() : spans.inside(call);
      // Promise.resolve, because a thenable of the user's may call back twice, or throw.
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
    // Errors that were results: what there is to say of them has been said.
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
      respond: (index, outputs, parameters) => {
        spans?.responded(index);
        return stream.respond(index, outputs, parameters);
      },
      end: (index, thrown) => {
        const error = thrown && withLostObject(thrown, this.#callable);
        spans?.ended(index, error);
        this.#notice(error);
        if (error !== undefined && !told.has(error)) this.#logFailure(error, [requests[index]!]);
        stream.end(index, error);
      },
    };
    // The answers have gone; nothing is left to say in the results.
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
    const error = withLostObject(TritonError.from(thrown), this.#callable);
    this.#notice(thrown);
    this.#logFailure(error, requests);
    const told = batchFailure(error, requests.length);
    return requests.map((request) => (request.failure === undefined ? told : this.#rowError(request, request.failure)));
  }

  /** What a request fails with because of one of its rows. */
  #rowError(request: HostedRequest, { row, error: thrown }: RowFailure): TritonError {
    const error = TritonError.from(thrown);
    this.#notice(thrown);
    if (error !== thrown) this.#logFailure(error, [request]);
    return request.rows === 1 ? error : reworded(error, `row ${row}: ${error.message}`);
  }

  /** The client gets the message; the stack is for whoever runs the server. */
  #logFailure(error: TritonError, requests: readonly HostedRequest[]): void {
    const line = `the callable failed: ${logTextOf(error)}`;
    // With nobody left to answer to, an error is how most callables follow their signal: no failure of theirs.
    if (requests.every(({ aborted }) => aborted)) this.#services.logger.verbose(1, line);
    else this.#services.logger.error(line);
  }

  #resolve(result: unknown, requests: readonly HostedRequest[]): Resolved {
    try {
      const list = expectResults(result, requests.length, this.#config.name);
      let parameters: (Parameters | undefined)[] | undefined;
      const results = requests.map((request, index) => {
        const { outcome, parameters: own } = this.#resolveOne(list[index], request);
        if (own !== undefined) (parameters ??= requests.map(() => undefined))[index] = own;
        return outcome;
      });
      return { results, parameters };
    } catch (error) {
      return { results: this.#failAll(error, requests), parameters: undefined };
    }
  }

  #resolveOne(result: unknown, request: HostedRequest): ResolvedResult {
    if (request.failure !== undefined) {
      disownPromises(result);
      return { outcome: this.#rowError(request, request.failure), parameters: undefined };
    }
    try {
      if (result instanceof Rejected) return this.#failOne(result.reason, request);
      if (TritonError.is(result)) {
        this.#notice(result);
        return { outcome: withLostObject(TritonError.from(result), this.#callable), parameters: undefined };
      }
      const parameters = InferenceResponse.is(result)
        ? checkParameters(result.parameters, this.#config.name)
        : undefined;
      const given = InferenceResponse.is(result) ? result.outputs : result;
      const outputs = isInferenceRequest(given) ? this.#asOutputs(given) : given;
      const { requestedOutputs, rows } = request;
      const failRow = (row: number, error: Error) => request.failRow(row, error);
      const outcome = resolveOutputs(outputs, this.#config, rows, { requestedOutputs, failRow });
      return {
        outcome: request.failure === undefined ? outcome : this.#rowError(request, request.failure),
        parameters,
      };
    } catch (thrown) {
      disownPromises(result);
      const error = TritonError.from(thrown);
      // What is wrong with a result says so; what somebody threw has a stack.
      if (error !== thrown) return this.#failOne(thrown, request);
      this.#services.logger.error(error.message);
      return { outcome: error, parameters: undefined };
    }
  }

  #failOne(thrown: unknown, request: HostedRequest): ResolvedResult {
    return { outcome: this.#failAll(thrown, [request])[0]!, parameters: undefined };
  }

  /** A request that is returned stands for its inputs, matched to the outputs by position. */
  #asOutputs(request: InferenceRequest): unknown[] {
    const { inputs, outputs, name } = this.#config;
    if (inputs.length !== outputs.length) {
      throw new TritonError(
        'INTERNAL',
        `model '${name}' returned a request for its result, but has ${inputs.length} inputs and ${outputs.length} outputs`,
      );
    }
    return inputsInOrder(request, inputs);
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

function checkParameters(parameters: Parameters | undefined, model: string): Parameters | undefined {
  for (const [name, value] of Object.entries(parameters ?? {})) {
    if (!['string', 'boolean', 'number', 'bigint'].includes(typeof value)) {
      const message = `model '${model}' gave a response parameter '${name}' that is a ${typeof value}, expected a string, boolean or number`;
      throw new TritonError('INTERNAL', message);
    }
  }
  return parameters;
}
