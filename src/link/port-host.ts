// The callable's side of a message port: takes batches from the server's thread and posts the results back.

import type { MessagePort } from 'node:worker_threads';

import { TritonError, type ErrorCode } from '../errors.js';
import type { Callable, Logger } from '../model/callable.js';
import type { CompleteModelConfig } from '../model/complete-model-config.js';
import { decodeBatch } from './batch-frame.js';
import { CallableHost, type HostExecution, type HostResult } from './callable-host.js';
import { EXECUTE, RESULTS, sharedNow, type CancelMessage, type ExecuteMessage, type ResultsMessage } from './messages.js';
import { ResultFrame } from './result-frame.js';

export class PortHost {
  readonly #port: MessagePort;
  readonly #config: CompleteModelConfig;
  readonly #host: CallableHost;
  readonly #executions = new Map<number, HostExecution>();

  /** Takes ownership of the port. */
  constructor(port: MessagePort, config: CompleteModelConfig, callable: Callable, logger: Logger) {
    this.#port = port;
    this.#config = config;
    this.#host = new CallableHost(config, callable, logger);
    port.on('message', (message: ExecuteMessage | CancelMessage) => {
      if (message[0] === EXECUTE) this.#execute(message);
      else this.#executions.get(message[1])?.cancel(message[2]);
    });
  }

  close(): void {
    this.#port.close();
  }

  #execute([, id, buffers, extras]: ExecuteMessage): void {
    const requests = decodeBatch(buffers, extras, this.#config);
    const startedAt = sharedNow();
    let done = false;
    const execution = this.#host.execute(requests, (results, inferMs) => {
      done = true;
      this.#executions.delete(id);
      const message = encodeResults(id, results, { requestedOutputs: extras?.requestedOutputs, config: this.#config, startedAt, inferMs });
      this.#port.postMessage(message, [message[2]]);
    });
    if (!done) this.#executions.set(id, execution);
  }
}

interface ResultsContext {
  readonly requestedOutputs: readonly (readonly string[])[] | undefined;
  readonly config: CompleteModelConfig;
  readonly startedAt: number;
  readonly inferMs: number;
}

const ALL: readonly string[] = [];

// The header: per request the number of outputs (-1: an error), and per output: index, rank, dimensions…, offset, length.
function encodeResults(id: number, results: readonly HostResult[], context: ResultsContext): ResultsMessage {
  const frame = new ResultFrame();
  const header: number[] = [];
  let errors: (readonly [ErrorCode, string])[] | undefined;
  for (let index = 0; index < results.length; index++) {
    const result = results[index]!;
    if (TritonError.is(result)) {
      (errors ??= []).push([result.code, result.message]);
      header.push(-1);
      continue;
    }
    const places = frame.add(result, context.config, context.requestedOutputs?.[index] ?? ALL);
    header.push(places.length);
    for (const { output, shape, offset, byteLength } of places) {
      header.push(output, shape.length);
      for (const dim of shape) header.push(dim);
      header.push(offset, byteLength);
    }
  }
  // The first number tells the header's length, so that the reader finds the data.
  header.unshift(header.length + 1);
  return [RESULTS, id, frame.write(header).buffer as ArrayBuffer, errors, context.startedAt, context.inferMs];
}
