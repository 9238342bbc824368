// The callable's side of a message port: takes batches from the server's thread and posts the results back.
// Every batch is answered, whatever goes wrong with it.

import type { MessagePort } from 'node:worker_threads';

import { TritonError } from '../errors.js';
import type { Logger } from '../model/logger.js';
import type { CompleteModelConfig } from '../model/complete-model-config.js';
import type { HostedRequest } from '../model/inference-request.js';
import { decodeBatch } from './batch-frame.js';
import { CallableHost, type HostExecution } from './callable-host.js';
import type { CallableTurns, HostedCallable } from './callable-turns.js';
import type { HostResult } from './host-results.js';
import {
  ACKNOWLEDGE,
  CALL_RESPONSE,
  CALLED,
  CANCEL,
  EXECUTE,
  RESULTS,
  sharedNow,
  type AcknowledgeMessage,
  type CalledMessage,
  type CallResponseMessage,
  type CancelMessage,
  type ExecuteMessage,
  type RequestExtras,
  type ResultsMessage,
} from './messages.js';
import { PortCaller } from './port-calls.js';
import { PortResponseStream } from './port-response-stream.js';
import type { RequestTracing } from './request-tracing.js';
import { ResultFrame } from './result-frame.js';
import { sendError, type SentError } from './sent-error.js';

export class PortHost {
  readonly #port: MessagePort;
  readonly #config: CompleteModelConfig;
  readonly #host: CallableHost;
  readonly #turns: CallableTurns;
  readonly #logger: Logger;
  readonly #executions = new Map<number, Running>();
  readonly #calls: PortCaller;
  /** Whether nobody is there any more to answer to. */
  #closed = false;

  /** Takes ownership of the port. Others may ask the callable too, in turn. */
  constructor(port: MessagePort, config: CompleteModelConfig, { callable, turns }: HostedCallable, logger: Logger) {
    this.#port = port;
    this.#config = config;
    this.#host = new CallableHost(config, callable, logger);
    this.#turns = turns;
    this.#logger = logger;
    this.#calls = new PortCaller(port);
    this.#host.caller = this.#calls.call;
    port.on(
      'message',
      (message: ExecuteMessage | CancelMessage | AcknowledgeMessage | CalledMessage | CallResponseMessage) => {
        switch (message[0]) {
          case EXECUTE:
            return this.#execute(message);
          case CANCEL:
            return this.#cancel(message);
          case ACKNOWLEDGE:
            return this.#executions.get(message[1])?.stream?.acknowledge(message[2], message[3], message[4]);
          case CALL_RESPONSE:
            return this.#calls.responded(message);
          case CALLED:
            return this.#calls.answered(message);
        }
      },
    );
    port.on('close', () => this.#cancelAll());
  }

  /** Told, after the answers, that no further inference is possible. */
  set onUnrecoverable(listener: (error: TritonError) => void) {
    this.#host.onUnrecoverable = listener;
  }

  /** Makes the spans of traced requests. */
  set tracing(tracing: RequestTracing | undefined) {
    this.#host.tracing = tracing;
  }

  /** Its executions are cancelled, and what becomes of them is told nobody. */
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
    const requestedOutputs = extras?.requestedOutputs;
    const stream = this.#config.decoupled
      ? new PortResponseStream({
          port: this.#port,
          id,
          count: requests.length,
          config: this.#config,
          requestedOutputs,
          metrics: this.#host.metrics,
        })
      : undefined;
    const execution = this.#turns.begin((ended) =>
      this.#host.execute(
        requests,
        (results, inferMs, parameters) => {
          done = true;
          ended();
          if (this.#closed) return;
          this.#executions.delete(id);
          stream?.flush();
          this.#postResults(id, { results, requestedOutputs, startedAt: inferringAt, inferMs, parameters });
        },
        { stream, callers: extras?.callers, traces: extras?.traces },
      ),
    );
    if (!done) this.#executions.set(id, { execution, stream });
  }

  #cancel([, id, index]: CancelMessage): void {
    const running = this.#executions.get(id);
    running?.execution.cancel(index);
    running?.stream?.cancel(index);
  }

  #postResults(id: number, { results, requestedOutputs, startedAt, inferMs, parameters }: Outcome): void {
    try {
      const { frame, errors } = encodeResults(results, requestedOutputs, this.#config);
      const message: ResultsMessage = [RESULTS, id, frame, errors, startedAt, inferMs, parameters];
      const metrics = this.#host.metrics.take();
      this.#port.postMessage(metrics === undefined ? message : [...message, metrics], [frame]);
    } catch (error) {
      this.#postFailure(id, error, startedAt);
    }
  }

  #postFailure(id: number, thrown: unknown, startedAt: number): void {
    const error = TritonError.from(thrown);
    this.#logger.error(error.message);
    this.#port.postMessage([RESULTS, id, undefined, [sendError(error)], startedAt, 0] satisfies ResultsMessage);
  }

  /** Nobody is there any more to answer to. */
  #cancelAll(): void {
    this.#closed = true;
    for (const { execution, stream } of this.#executions.values()) {
      execution.cancelAll();
      stream?.cancelAll();
    }
    this.#executions.clear();
    this.#calls.failAll(new TritonError('UNAVAILABLE', 'the server has ended'));
  }
}

interface Running {
  readonly execution: HostExecution;
  readonly stream: PortResponseStream | undefined;
}

interface Outcome {
  readonly results: readonly HostResult[];
  readonly requestedOutputs: RequestExtras['requestedOutputs'];
  readonly startedAt: number;
  readonly inferMs: number;
  readonly parameters: ResultsMessage[6];
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
      (errors ??= []).push(sendError(places));
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
