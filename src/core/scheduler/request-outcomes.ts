// Fixes, counts and delivers the outcomes of a model's requests, in the order of the requests where that is promised.
// The first outcome of a request counts; later ones are dropped.

import { TritonError } from '../../errors.js';
import type { CompleteModelConfig } from '../../model/complete-model-config.js';
import type { InferTensor } from '../../model/exchange.js';
import type { Parameters } from '../../model/parameters.js';
import type { ExecutionResult, ExecutionTimes, ResponseStream } from '../instance/model-instance.js';
import type { ErrorMask } from '../error-mask.js';
import type { Answer, PendingRequest } from './pending-request.js';
import { executionError } from '../refusals.js';
import type { FailureReason, InferenceStatistics } from './statistics.js';
import { AnswerOrder } from './answer-order.js';
import type { SchedulerLog } from './scheduler-log.js';

export const NO_TIMES: ExecutionTimes = { computeInput: 0, computeInfer: 0, computeOutput: 0 };

/** A batch that was executed. */
export interface ExecutedBatch {
  readonly batch: readonly PendingRequest[];
  readonly rows: number;
}

export class RequestOutcomes {
  readonly #config: CompleteModelConfig;
  readonly #statistics: InferenceStatistics;
  readonly #log: SchedulerLog;
  readonly #mask: ErrorMask | undefined;
  readonly #order: AnswerOrder | undefined;
  readonly #modelVersion: string;
  /** Whether requests may be executed again. */
  readonly isIterative: boolean;

  constructor(
    config: CompleteModelConfig,
    {
      statistics,
      log,
      mask,
    }: {
      readonly statistics: InferenceStatistics;
      readonly log: SchedulerLog;
      /** Undefined: clients get the messages of failed callables. */
      readonly mask?: ErrorMask | undefined;
    },
  ) {
    this.#config = config;
    this.#statistics = statistics;
    this.#log = log;
    this.#mask = mask;
    this.#modelVersion = String(config.version);
    this.isIterative = config.sequenceBatching?.iterative === true;
    // The answers of decoupled models are streams of their own, each in its own order.
    this.#order = config.dynamicBatching?.preserveOrdering && !config.decoupled ? new AnswerOrder() : undefined;
  }

  /** Where answers keep their order, the request's answer comes after all earlier answers. */
  takeTurn(request: PendingRequest): void {
    this.#order?.takeTurn(request);
  }

  /** Answers a request without an execution of its own. False when its outcome is fixed already. */
  answer(request: PendingRequest, answer: Answer): boolean {
    if (!request.decide()) return false;
    const total = performance.now() - request.startedAt;
    // Waiting for an execution that answers several counts as waiting.
    this.#statistics.recordCacheHit(total, Math.max(0, total - request.lookupMs), request.lookupMs);
    if (this.#log.level >= 2) this.#log.answeredFromCache(request);
    this.takeTurn(request);
    this.#succeed(request, answer);
    return true;
  }

  /** Has those requests of a batch wait that are to be executed again. They may begin before the others have their results. */
  putBack(batch: readonly PendingRequest[], results: readonly ExecutionResult[], times: ExecutionTimes): void {
    const now = performance.now();
    for (let i = 0; i < batch.length; i++) {
      const request = batch[i]!;
      if (results[i]?.kind !== 'again' || request.decided) continue;
      this.#statistics.recordStep(request.rows, now - request.startedAt, waitOf(request), times);
      request.wait(now);
    }
  }

  /** Gives the requests of a batch their results. */
  finish({ batch, rows }: ExecutedBatch, results: readonly ExecutionResult[], times: ExecutionTimes): void {
    const now = performance.now();
    if (times.computeAlone === undefined) this.#statistics.recordExecution(rows, times);
    else this.#recordEach(batch, rows, times);
    for (let i = 0; i < batch.length; i++) {
      const request = batch[i]!;
      const result = results[i];
      if (result === undefined) {
        const message = `this is a bug in TSTriton: an instance answered ${results.length} of ${batch.length} requests`;
        this.fail(request, new TritonError('INTERNAL', message), 'BACKEND');
      } else if (result.kind === 'error') {
        this.fail(request, result.error, 'BACKEND');
      } else if (result.kind === 'outputs' && request.decide()) {
        this.#statistics.recordSuccess(request.rows, now - request.startedAt, waitOf(request), times);
        request.follower?.executed(request.dispatchedAt, times);
        if (this.#config.decoupled) request.complete();
        else {
          // Others may have the answer of a request that is watched.
          const memory = request.watcher === undefined ? result.memory : undefined;
          this.#succeed(request, this.#answerOf(result.outputs, result.parameters, memory));
        }
      }
    }
  }

  /** Counts each run of the callable, also the runs of single requests after a batch that failed. */
  #recordEach(batch: readonly PendingRequest[], rows: number, times: ExecutionTimes): void {
    const { computeInfer, computeAlone = [] } = times;
    const alone = computeAlone.reduce<number>((sum, took = 0) => sum + took, 0);
    this.#statistics.recordExecution(rows, { ...times, computeInfer: computeInfer - alone });
    computeAlone.forEach((took, index) => {
      if (took !== undefined) this.#statistics.recordExecution(batch[index]!.rows, { ...NO_TIMES, computeInfer: took });
    });
  }

  /** Hands the answers of a decoupled execution on as they come, each to the request that has its place in the batch by then. */
  streamTo(run: { readonly batch: readonly PendingRequest[] }): ResponseStream {
    return {
      respond: (index, outputs, more) => {
        const request = run.batch[index];
        if (request === undefined || request.decided) return;
        try {
          return this.#respond(request, this.#answerOf(outputs, more?.parameters), more?.final === true);
        } catch (error) {
          // A sink that cannot take an answer loses its request, not the others of the batch.
          request.abandon();
          return this.fail(request, TritonError.from(error), 'OTHER');
        }
      },
      end: (index, error) => {
        const request = run.batch[index];
        if (request === undefined) return;
        if (error !== undefined) return this.fail(request, error, 'BACKEND');
        if (!request.decide()) return;
        const now = performance.now();
        this.#recordStream(request, now);
        this.#statistics.responses.recordEnd(request.responses, 'emptyResponse', now - sinceResponse(request));
        request.complete();
      },
      recordMetrics: (update) => this.#statistics.custom.apply(update),
    };
  }

  /** The failure of an accepted request; nothing when its outcome is fixed already. */
  fail(request: PendingRequest, error: TritonError, reason: FailureReason): void {
    if (!request.decide()) return;
    const now = performance.now();
    this.#statistics.recordFailure(reason, now - request.startedAt);
    if (this.#config.decoupled && (request.isDispatched || request.responses > 0)) {
      const end = reason === 'CANCELED' ? 'cancel' : 'fail';
      this.#statistics.responses.recordEnd(request.responses, end, now - sinceResponse(request));
    }
    const told = reason === 'BACKEND' ? this.#told(request, error) : error;
    this.#deliverFailure(request, error, { told, isLeft: reason === 'CANCELED' });
  }

  /** A callable that calls a model gets the real error. When it fails because of that error, its own failure is masked in turn. */
  #told(request: PendingRequest, error: TritonError): TritonError {
    const model = this.#config.name;
    const isMasked = this.#mask !== undefined && request.callers === undefined;
    const told = isMasked ? this.#mask!(error, { id: request.id, model }) : error;
    return executionError(told, model);
  }

  /** The client of an accepted request is gone. */
  cancel(request: PendingRequest): void {
    if (this.#log.level >= 1) this.#log.cancelled(request);
    if (!request.decided) this.#order?.leave(request);
    this.fail(request, new TritonError('CANCELLED', ''), 'CANCELED');
  }

  /** Turns away a request that was never accepted. The protocol's statistics leave it out. */
  refuse(request: PendingRequest, error: TritonError): void {
    if (!request.decide()) return;
    this.#statistics.recordRefusal(error.code);
    if (this.#log.level >= 1) this.#log.refused(request, error);
    this.#deliverFailure(request, error, { refused: true });
  }

  #succeed(request: PendingRequest, answer: Answer): void {
    if (this.#order === undefined) request.succeed(answer);
    else request.withdrawal = this.#order.answer(request, () => request.succeed(answer));
    request.watcher?.answered(answer);
  }

  /** `told` is what the client gets. */
  #deliverFailure(
    request: PendingRequest,
    error: TritonError,
    { told = error, refused = false, isLeft = false }: FailureDetails,
  ): void {
    if (this.#order === undefined) request.fail(told, refused);
    else request.withdrawal = this.#order.answer(request, () => request.fail(told, refused));
    request.watcher?.failed(error, isLeft);
  }

  /** Counts a request that has had all its answers. */
  #recordStream(request: PendingRequest, now: number): void {
    const times = { computeInput: 0, computeInfer: now - request.dispatchedAt, computeOutput: 0 };
    this.#statistics.recordSuccess(request.rows, now - request.startedAt, waitOf(request), times);
    request.follower?.executed(request.dispatchedAt, times);
  }

  #respond(request: PendingRequest, answer: Answer, final: boolean): void | Promise<void> {
    const now = performance.now();
    const infer = now - sinceResponse(request);
    const index = request.responses++;
    if (index === 0) this.#statistics.recordFirstResponse(now - request.startedAt);
    if (final && request.decide()) {
      this.#recordStream(request, now);
      request.succeed(answer);
      this.#statistics.responses.recordResponse(index, infer, performance.now() - now);
      return undefined;
    }
    const slow = request.respond(answer);
    request.respondedAt = performance.now();
    this.#statistics.responses.recordResponse(index, infer, request.respondedAt - now);
    return slow === undefined || !this.isIterative ? slow : this.#awaitReader(request, slow);
  }

  /**
   * A slow reader holds its own next execution up. The others of its batch wait for it only when it is given several answers in one
   * execution.
   */
  #awaitReader(request: PendingRequest, slow: Promise<void>): void | Promise<void> {
    const isFirst = request.slow === undefined;
    const caughtUp = () => {
      if (request.slow === settled) request.slow = undefined;
    };
    const settled = slow.then(caughtUp, caughtUp);
    request.slow = settled;
    return isFirst ? undefined : slow;
  }

  #answerOf(outputs: readonly InferTensor[], parameters: Parameters | undefined, memory?: ArrayBuffer): Answer {
    return { modelName: this.#config.name, modelVersion: this.#modelVersion, parameters, outputs, memory };
  }
}

interface FailureDetails {
  readonly told?: TritonError;
  readonly refused?: boolean;
  readonly isLeft?: boolean;
}

// A request that took an execution over may have come after it began.
function waitOf({ waitsSince, dispatchedAt }: PendingRequest): number {
  return Math.max(0, dispatchedAt - waitsSince);
}

/** When a decoupled request had its last response, or its execution began. */
function sinceResponse({ responses, respondedAt, dispatchedAt }: PendingRequest): number {
  return responses === 0 ? dispatchedAt : Math.max(respondedAt, dispatchedAt);
}
