// What becomes of a model's requests: fixes it, counts it, and delivers it, in the order of the requests where that
// is promised. The first outcome of a request counts; later ones are dropped.

import { TritonError } from '../../errors.js';
import type { CompleteModelConfig } from '../../model/complete-model-config.js';
import type { InferTensor } from '../../model/exchange.js';
import type { Parameters } from '../../model/parameters.js';
import type { ExecutionResult, ExecutionTimes, ResponseStream } from '../instance/model-instance.js';
import type { ErrorMask } from '../error-mask.js';
import type { Answer, PendingRequest } from '../pending-request.js';
import { executionError } from '../refusals.js';
import type { FailureReason, InferenceStatistics } from '../statistics.js';
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

  constructor(
    config: CompleteModelConfig,
    {
      statistics,
      log,
      mask,
    }: {
      readonly statistics: InferenceStatistics;
      readonly log: SchedulerLog;
      /** Undefined: clients are told what callables failed with. */
      readonly mask?: ErrorMask | undefined;
    },
  ) {
    this.#config = config;
    this.#statistics = statistics;
    this.#log = log;
    this.#mask = mask;
    this.#modelVersion = String(config.version);
    // The answers of decoupled models are streams of their own, each in its own order.
    this.#order = config.dynamicBatching?.preserveOrdering && !config.decoupled ? new AnswerOrder() : undefined;
  }

  /** The request's answer, where answers keep their order, comes after those of the requests before it. */
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

  /** Gives the requests of a batch their results. */
  finish({ batch, rows }: ExecutedBatch, results: readonly ExecutionResult[], times: ExecutionTimes): void {
    const now = performance.now();
    this.#recordExecutions({ batch, rows }, times);
    for (let i = 0; i < batch.length; i++) {
      const request = batch[i]!;
      const result = results[i];
      if (result === undefined) {
        const message = `this is a bug in TSTriton: an instance answered ${results.length} of ${batch.length} requests`;
        this.fail(request, new TritonError('INTERNAL', message), 'BACKEND');
      } else if (result.kind === 'error') {
        this.fail(request, result.error, 'BACKEND');
      } else if (request.decide()) {
        this.#statistics.recordSuccess(request.rows, now - request.startedAt, waitOf(request), times);
        request.executed(times);
        if (this.#config.decoupled) request.complete();
        else {
          // Others may have the answer of a request that is watched.
          const memory = request.watcher === undefined ? result.memory : undefined;
          this.#succeed(request, this.#answerOf(result.outputs, result.parameters, memory));
        }
      }
    }
  }

  /** Each run of the callable counts, also those of single requests after a batch that failed. */
  #recordExecutions({ batch, rows }: ExecutedBatch, times: ExecutionTimes): void {
    const { computeInfer, computeAlone } = times;
    if (computeAlone === undefined) return this.#statistics.recordExecution(rows, times);
    const alone = computeAlone.reduce<number>((sum, took = 0) => sum + took, 0);
    this.#statistics.recordExecution(rows, { ...times, computeInfer: computeInfer - alone });
    computeAlone.forEach((took, index) => {
      if (took !== undefined) this.#statistics.recordExecution(batch[index]!.rows, { ...NO_TIMES, computeInfer: took });
    });
  }

  /** Hands the answers of a decoupled execution on as they come, each to whoever has its place in the batch by then. */
  streamTo(run: { readonly batch: readonly PendingRequest[] }): ResponseStream {
    return {
      respond: (index, outputs, parameters) => {
        const request = run.batch[index];
        if (request === undefined || request.decided) return;
        try {
          return this.#respond(request, this.#answerOf(outputs, parameters));
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
        const times = { ...NO_TIMES, computeInfer: now - request.dispatchedAt };
        this.#statistics.recordSuccess(request.rows, now - request.startedAt, waitOf(request), times);
        this.#statistics.responses.recordEnd(request.responses, 'emptyResponse', now - sinceResponse(request));
        request.executed(times);
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
    if (this.#config.decoupled && request.isDispatched) {
      const end = reason === 'CANCELED' ? 'cancel' : 'fail';
      this.#statistics.responses.recordEnd(request.responses, end, now - sinceResponse(request));
    }
    this.#deliverFailure(request, error, reason === 'BACKEND' ? this.#told(request, error) : error);
  }

  /** Callables that call a model are no strangers: what they fail with because of it is masked in its turn. */
  #told(request: PendingRequest, error: TritonError): TritonError {
    const model = this.#config.name;
    const isMasked = this.#mask !== undefined && request.callers === undefined;
    const told = isMasked ? this.#mask!(error, { id: request.id, model }) : error;
    return executionError(told, model);
  }

  /** The client of an accepted request is gone. */
  cancel(request: PendingRequest): void {
    if (this.#log.level >= 1) this.#log.cancelled(request);
    this.fail(request, new TritonError('CANCELLED', ''), 'CANCELED');
  }

  /** Turns away a request that never was accepted: it appears in no statistic of the protocol's. */
  refuse(request: PendingRequest, error: TritonError): void {
    if (!request.decide()) return;
    this.#statistics.recordRefusal(error.code);
    if (this.#log.level >= 1) this.#log.refused(request, error);
    this.#deliverFailure(request, error);
  }

  #succeed(request: PendingRequest, answer: Answer): void {
    if (this.#order === undefined) request.succeed(answer);
    else this.#order.answer(request, () => request.succeed(answer));
    request.watcher?.answered(answer);
  }

  /** `told` is what the client gets. */
  #deliverFailure(request: PendingRequest, error: TritonError, told = error): void {
    if (this.#order === undefined) request.fail(told);
    else this.#order.answer(request, () => request.fail(told));
    request.watcher?.failed(error);
  }

  #respond(request: PendingRequest, answer: Answer): void | Promise<void> {
    const now = performance.now();
    const infer = now - sinceResponse(request);
    const index = request.responses++;
    if (index === 0) this.#statistics.recordFirstResponse(now - request.startedAt);
    const slow = request.respond(answer);
    request.respondedAt = performance.now();
    this.#statistics.responses.recordResponse(index, infer, request.respondedAt - now);
    return slow;
  }

  #answerOf(outputs: readonly InferTensor[], parameters: Parameters | undefined, memory?: ArrayBuffer): Answer {
    return { modelName: this.#config.name, modelVersion: this.#modelVersion, parameters, outputs, memory };
  }
}

// A request that took an execution over may have come after it began.
function waitOf({ startedAt, dispatchedAt }: PendingRequest): number {
  return Math.max(0, dispatchedAt - startedAt);
}

/** When a decoupled request had its last response, or began to be computed. */
function sinceResponse({ responses, respondedAt, dispatchedAt }: PendingRequest): number {
  return responses === 0 ? dispatchedAt : respondedAt;
}
