// The server's side of a message port: an instance whose callable runs in another thread.

import type { MessagePort } from 'node:worker_threads';

import type { Execution, ExecutionDone, ExecutionRequest, ExecutionResult, ModelInstance } from '../core/instance/model-instance.js';
import { TritonError } from '../errors.js';
import type { CompleteModelConfig } from '../model/complete-model-config.js';
import type { InferTensor } from '../model/exchange.js';
import { encodeBatch } from './batch-frame.js';
import { CANCEL, EXECUTE, sharedNow, type CancelMessage, type ExecuteMessage, type ResultsMessage } from './messages.js';

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

  /** Takes ownership of the port. */
  constructor(config: CompleteModelConfig, port: MessagePort) {
    this.#config = config;
    this.#port = port;
    port.on('message', (message: ResultsMessage) => this.#finish(message));
    port.on('close', () => this.#failAll());
  }

  execute(batch: readonly ExecutionRequest[], done: ExecutionDone): Execution {
    const dispatchedAt = sharedNow();
    const id = this.#nextId++;
    const { buffers, extras } = encodeBatch(batch, this.#config);
    this.#running.set(id, { count: batch.length, done, dispatchedAt });
    this.#port.postMessage([EXECUTE, id, buffers, extras] satisfies ExecuteMessage, buffers);
    return { cancel: (index) => this.#port.postMessage([CANCEL, id, index] satisfies CancelMessage) };
  }

  close(): void {
    this.#port.close();
  }

  #finish([, id, frame, errors, startedAt, inferMs]: ResultsMessage): void {
    const running = this.#running.get(id);
    if (running === undefined) return;
    this.#running.delete(id);
    const results = decodeResults(frame, errors, running.count, this.#config);
    running.done(results, {
      computeInput: Math.max(0, startedAt - running.dispatchedAt),
      computeInfer: inferMs,
      computeOutput: Math.max(0, sharedNow() - startedAt - inferMs),
    });
  }

  #failAll(): void {
    const error = new TritonError('UNAVAILABLE', `an instance of model '${this.#config.name}' ended while it was working on the request`);
    for (const [id, { count, done, dispatchedAt }] of [...this.#running]) {
      this.#running.delete(id);
      done(
        Array.from({ length: count }, () => ({ kind: 'error', error }) as const),
        { computeInput: 0, computeInfer: Math.max(0, sharedNow() - dispatchedAt), computeOutput: 0 },
      );
    }
  }
}

function decodeResults(frame: ArrayBuffer, errors: ResultsMessage[3], count: number, config: CompleteModelConfig): ExecutionResult[] {
  const header = new Float64Array(frame, 0, Math.floor(frame.byteLength / 8));
  const dataStart = header[0]! * 8;
  const results: ExecutionResult[] = [];
  let at = 1;
  let nextError = 0;
  for (let r = 0; r < count; r++) {
    const outputCount = header[at++]!;
    if (outputCount < 0) {
      const [code, message] = errors![nextError++]!;
      results.push({ kind: 'error', error: new TritonError(code, message) });
      continue;
    }
    const outputs: InferTensor[] = [];
    for (let i = 0; i < outputCount; i++) {
      const { name, datatype } = config.outputs[header[at++]!]!;
      const shape: number[] = [];
      for (let rank = header[at++]!; rank > 0; rank--) shape.push(header[at++]!);
      const offset = dataStart + header[at++]!;
      outputs.push({ name, datatype, shape, bytes: new Uint8Array(frame, offset, header[at++]!) });
    }
    results.push({ kind: 'outputs', outputs });
  }
  return results;
}
