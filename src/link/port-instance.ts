// The server's side of a message port: an instance whose callable runs in another thread.

import type { MessagePort } from 'node:worker_threads';

import type {
  Execution,
  ExecutionDone,
  ExecutionRequest,
  ExecutionResult,
  ModelInstance,
} from '../core/instance/model-instance.js';
import { TritonError } from '../errors.js';
import type { CompleteModelConfig } from '../model/complete-model-config.js';
import type { InferTensor } from '../model/exchange.js';
import { encodeBatch } from './batch-frame.js';
import {
  CANCEL,
  EXECUTE,
  sharedNow,
  type CancelMessage,
  type ExecuteMessage,
  type ResultsMessage,
  type SentError,
} from './messages.js';

interface Running {
  readonly count: number;
  readonly done: ExecutionDone;
  readonly dispatchedAt: number;
}

export class PortInstance implements ModelInstance {
  readonly #config: CompleteModelConfig;
  readonly #port: MessagePort;
  readonly #running = new Map<number, Running>();
  #nextId = 0;
  #closed = false;

  /** Takes ownership of the port. */
  constructor(config: CompleteModelConfig, port: MessagePort) {
    this.#config = config;
    this.#port = port;
    port.on('message', (message: ResultsMessage) => this.#finish(message));
    port.on('close', () => {
      this.#closed = true;
      this.#failAll();
    });
  }

  execute(batch: readonly ExecutionRequest[], done: ExecutionDone): Execution {
    const dispatchedAt = sharedNow();
    const id = this.#nextId++;
    const { buffers, extras } = encodeBatch(batch, this.#config);
    const running: Running = { count: batch.length, done, dispatchedAt };
    // A message to a closed port is lost without a word.
    if (this.#closed) {
      fail(running, this.#gone());
      return NOTHING_TO_CANCEL;
    }
    this.#port.postMessage([EXECUTE, id, buffers, extras] satisfies ExecuteMessage, buffers);
    this.#running.set(id, running);
    return {
      cancel: (index) => {
        if (this.#running.has(id)) this.#port.postMessage([CANCEL, id, index] satisfies CancelMessage);
      },
    };
  }

  /** Ends what runs with UNAVAILABLE, and the port. */
  close(): void {
    this.#closed = true;
    this.#port.close();
  }

  #finish([, id, frame, errors, startedAt, inferMs]: ResultsMessage): void {
    const running = this.#running.get(id);
    if (running === undefined) return;
    this.#running.delete(id);
    const { count, done, dispatchedAt } = running;
    done(decodeResults(frame, errors, count, this.#config), {
      computeInput: Math.max(0, startedAt - dispatchedAt),
      computeInfer: inferMs,
      computeOutput: Math.max(0, sharedNow() - startedAt - inferMs),
    });
  }

  #failAll(): void {
    const all = [...this.#running.values()];
    this.#running.clear();
    for (const running of all) fail(running, this.#gone());
  }

  #gone(): TritonError {
    const message = `an instance of model '${this.#config.name}' ended while it was working on the request`;
    return new TritonError('UNAVAILABLE', message);
  }
}

const NOTHING_TO_CANCEL: Execution = { cancel: () => undefined };

function fail({ count, done, dispatchedAt }: Running, error: TritonError): void {
  done(sameError(count, error), {
    computeInput: 0,
    computeInfer: Math.max(0, sharedNow() - dispatchedAt),
    computeOutput: 0,
  });
}

function sameError(count: number, error: TritonError): ExecutionResult[] {
  return Array.from({ length: count }, () => ({ kind: 'error', error }) as const);
}

function received([code, message]: SentError): TritonError {
  return new TritonError(code, message);
}

function decodeResults(
  frame: ArrayBuffer | undefined,
  errors: readonly SentError[] | undefined,
  count: number,
  config: CompleteModelConfig,
): ExecutionResult[] {
  if (frame === undefined) return sameError(count, received(errors![0]!));
  const headerLength = new Float64Array(frame, 0, 1)[0]!;
  const header = new Float64Array(frame, 0, headerLength);
  const results: ExecutionResult[] = [];
  let at = 1;
  let nextError = 0;
  for (let r = 0; r < count; r++) {
    const outputCount = header[at++]!;
    if (outputCount < 0) {
      results.push({ kind: 'error', error: received(errors![nextError++]!) });
      continue;
    }
    const outputs: InferTensor[] = [];
    for (let i = 0; i < outputCount; i++) {
      const { name, datatype } = config.outputs[header[at++]!]!;
      const shape: number[] = [];
      for (let rank = header[at++]!; rank > 0; rank--) shape.push(header[at++]!);
      const offset = headerLength * 8 + header[at++]!;
      outputs.push({ name, datatype, shape, bytes: new Uint8Array(frame, offset, header[at++]!) });
    }
    results.push({ kind: 'outputs', outputs });
  }
  return results;
}
