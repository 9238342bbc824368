// The callable's side of a message port: takes batches from the server's thread and posts the results back.
// Every batch is answered, whatever goes wrong with it.

import type { MessagePort } from 'node:worker_threads';

import { ERROR_CODES, TritonError } from '../errors.js';
import type { Callable, Logger } from '../model/callable.js';
import type { CompleteModelConfig } from '../model/complete-model-config.js';
import type { HostedRequest } from '../model/inference-request.js';
import { decodeBatch } from './batch-frame.js';
import { CallableHost, type HostExecution, type HostResult } from './callable-host.js';
import {
  EXECUTE,
  RESULTS,
  sharedNow,
  type CancelMessage,
  type ExecuteMessage,
  type RequestExtras,
  type ResultsMessage,
  type SentError,
} from './messages.js';
import { ResultFrame } from './result-frame.js';

export class PortHost {
  readonly #port: MessagePort;
  readonly #config: CompleteModelConfig;
  readonly #host: CallableHost;
  readonly #logger: Logger;
  readonly #executions = new Map<number, HostExecution>();

  /** Takes ownership of the port. */
  constructor(port: MessagePort, config: CompleteModelConfig, callable: Callable, logger: Logger) {
    this.#port = port;
    this.#config = config;
    this.#host = new CallableHost(config, callable, logger);
    this.#logger = logger;
    port.on('message', (message: ExecuteMessage | CancelMessage) => {
      if (message[0] === EXECUTE) this.#execute(message);
      else this.#executions.get(message[1])?.cancel(message[2]);
    });
    port.on('close', () => this.#cancelAll());
  }

  close(): void {
    this.#port.close();
  }

  #execute([, id, buffers, extras]: ExecuteMessage): void {
    const startedAt = sharedNow();
    let requests: HostedRequest[];
    try {
      requests = decodeBatch(buffers, extras, this.#config);
    } catch (error) {
      return this.#postFailure(id, error, startedAt);
    }
    const inferringAt = sharedNow();
    let done = false;
    const execution = this.#host.execute(requests, (results, inferMs) => {
      done = true;
      this.#executions.delete(id);
      this.#postResults(id, results, extras, inferringAt, inferMs);
    });
    if (!done) this.#executions.set(id, execution);
  }

  #postResults(
    id: number,
    results: readonly HostResult[],
    extras: RequestExtras | undefined,
    startedAt: number,
    inferMs: number,
  ): void {
    try {
      const { frame, errors } = encodeResults(results, extras?.requestedOutputs, this.#config);
      this.#port.postMessage([RESULTS, id, frame, errors, startedAt, inferMs] satisfies ResultsMessage, [frame]);
    } catch (error) {
      this.#postFailure(id, error, startedAt);
    }
  }

  #postFailure(id: number, thrown: unknown, startedAt: number): void {
    const error = TritonError.from(thrown);
    this.#logger.error(`model '${this.#config.name}': ${error.message}`);
    this.#port.postMessage([RESULTS, id, undefined, [sent(error)], startedAt, 0] satisfies ResultsMessage);
  }

  /** Nobody is there any more to answer to. */
  #cancelAll(): void {
    for (const execution of this.#executions.values()) execution.cancelAll();
    this.#executions.clear();
  }
}

const ALL: readonly string[] = [];

interface EncodedResults {
  readonly frame: ArrayBuffer;
  readonly errors: readonly SentError[] | undefined;
}

// The frame's header: its length, and per request the number of outputs (-1: an error), and per output: index,
// rank, dimensions…, offset, length.
function encodeResults(
  results: readonly HostResult[],
  requestedOutputs: RequestExtras['requestedOutputs'],
  config: CompleteModelConfig,
): EncodedResults {
  const frame = new ResultFrame(config);
  const header: number[] = [0];
  let errors: SentError[] | undefined;
  for (let index = 0; index < results.length; index++) {
    const places = frame.add(results[index]!, requestedOutputs?.[index] ?? ALL);
    if (TritonError.is(places)) {
      (errors ??= []).push(sent(places));
      header.push(-1);
      continue;
    }
    header.push(places.length);
    for (let i = 0; i < places.length; i++) {
      const { output, shape, offset, byteLength } = places[i]!;
      header.push(output, shape.length);
      for (let axis = 0; axis < shape.length; axis++) header.push(shape[axis]!);
      header.push(offset, byteLength);
    }
  }
  header[0] = header.length;
  return { frame: frame.write(header).buffer as ArrayBuffer, errors };
}

// A TritonError of a callable may be of another copy of the package, or made by hand.
function sent({ code, message }: TritonError): SentError {
  return [ERROR_CODES.includes(code) ? code : 'INTERNAL', String(message)];
}
