// Runs a user's callable on one batch and checks what it returns. Lives in whatever thread the callable
// belongs to; used directly by InlineInstance and behind a message port by PortHost.

import { TritonError } from '../errors.js';
import type { Callable, InferenceContext, Logger } from '../model/callable.js';
import type { CompleteModelConfig } from '../model/complete-model-config.js';
import { inputsInOrder, isInferenceRequest, type HostedRequest } from '../model/inference-request.js';
import { isPromiseLike } from '../model/is-promise-like.js';
import { resolveOutputs, type ResolvedOutputs } from '../model/resolve-outputs.js';
import { HostContext } from './host-context.js';

/** What became of one request: its outputs, or why it failed. */
export type HostResult = ResolvedOutputs | TritonError;

/** Told once, and must not throw; `inferMs` is what the callable itself took. */
export type HostDone = (results: readonly HostResult[], inferMs: number) => void;

/** A batch that the callable is working on. */
export interface HostExecution {
  /** The client of request `index` is gone. */
  cancel(index: number): void;
  /** All are gone. */
  cancelAll(): void;
}

export class CallableHost {
  readonly #config: CompleteModelConfig;
  readonly #infer: (requests: readonly HostedRequest[], context: InferenceContext) => unknown;
  readonly #logger: Logger;

  constructor(config: CompleteModelConfig, callable: Callable, logger: Logger) {
    this.#config = config;
    this.#logger = logger;
    this.#infer = (
      typeof callable === 'function' ? callable : (requests: never, context: never) => callable.infer(requests, context)
    ) as (requests: readonly HostedRequest[], context: InferenceContext) => unknown;
  }

  /** `done` is called before this returns when the callable is synchronous. */
  execute(requests: readonly HostedRequest[], done: HostDone): HostExecution {
    const context = new HostContext(this.#config, requests, this.#logger);
    const startedAt = performance.now();
    const settle = (result: unknown) => {
      const inferMs = performance.now() - startedAt;
      done(this.#resolve(result, requests), inferMs);
    };
    const fail = (error: unknown) => {
      const inferMs = performance.now() - startedAt;
      done(this.#failAll(error, requests), inferMs);
    };
    let result: unknown;
    let pending: Promise<unknown> | undefined;
    try {
      result = this.#infer(requests, context);
      // Promise.resolve, because a thenable of the user's may call back twice, or throw.
      if (isPromiseLike(result)) pending = Promise.resolve(result);
    } catch (error) {
      fail(error);
      return NOTHING_TO_CANCEL;
    }
    if (pending === undefined) {
      settle(result);
      return NOTHING_TO_CANCEL;
    }
    void pending.then(settle, fail);
    return {
      cancel: (index) => {
        requests[index]?.abort();
        context.abortWhenAllGone();
      },
      cancelAll: () => {
        for (const request of requests) request.abort();
        context.abortWhenAllGone();
      },
    };
  }

  #failAll(thrown: unknown, requests: readonly HostedRequest[]): HostResult[] {
    const error = TritonError.from(thrown);
    // The client gets the message; the stack is for whoever runs the server.
    const stack = thrown instanceof Error ? thrown.stack : undefined;
    this.#logger.error(`model '${this.#config.name}' failed: ${stack ?? error.message}`);
    return requests.map(() => error);
  }

  #resolve(result: unknown, requests: readonly HostedRequest[]): HostResult[] {
    const { name } = this.#config;
    if (!Array.isArray(result)) {
      const got = result === null || typeof result !== 'object' ? String(result) : 'an object';
      return this.#failAll(
        new TritonError('INTERNAL', `model '${name}' must return a list with one result per request, got ${got}`),
        requests,
      );
    }
    if (result.length !== requests.length) {
      return this.#failAll(
        new TritonError(
          'INTERNAL',
          `model '${name}' returned ${result.length} results for ${requests.length} requests, expected one result per request`,
        ),
        requests,
      );
    }
    return requests.map((request, index) => this.#resolveOne(result, index, request));
  }

  #resolveOne(results: readonly unknown[], index: number, request: HostedRequest): HostResult {
    try {
      const result = results[index];
      return resolveOutputs(isInferenceRequest(result) ? this.#asOutputs(result) : result, this.#config, request.rows);
    } catch (error) {
      this.#logger.error(TritonError.from(error).message);
      return TritonError.from(error);
    }
  }

  /** A request that is returned stands for its inputs, matched to the outputs by position. */
  #asOutputs(request: HostedRequest | Parameters<typeof inputsInOrder>[0]): unknown[] {
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
