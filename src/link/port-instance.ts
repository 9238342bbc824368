// The server's side of a message port: an instance whose callable runs in another thread. What comes of a stream of answers
// is handed on within the streams' share of the event loop: Node takes messages from a port as long as there are any, and
// acknowledgements bring new ones.

import type { MessagePort } from 'node:worker_threads';

import type {
  Execution,
  ExecutionDone,
  ExecutionRequest,
  ExecutionResult,
  ModelInstance,
  ResponseStream,
} from '../core/instance/model-instance.js';
import type { TritonError } from '../errors.js';
import type { CompleteModelConfig } from '../model/complete-model-config.js';
import { instanceLoss } from '../model/instance-loss.js';
import type { InferTensor } from '../model/exchange.js';
import type { ModelCaller } from '../model/model-calls.js';
import { alignTo8 } from './align.js';
import { encodeBatch } from './batch-frame.js';
import { PortCallee } from './port-calls.js';
import { loopShare } from './loop-share.js';
import {
  ACKNOWLEDGE,
  CALL,
  CALL_TAKEN,
  CANCEL,
  CANCEL_CALL,
  EXECUTE,
  RESPONSES,
  RESULTS,
  sharedNow,
  type AcknowledgeMessage,
  type CallMessage,
  type CallTakenMessage,
  type CancelCallMessage,
  type CancelMessage,
  type ExecuteMessage,
  type ResponsesMessage,
  type ResultsMessage,
} from './messages.js';
import { receiveError, type SentError } from './sent-error.js';

interface Running {
  readonly count: number;
  readonly done: ExecutionDone;
  readonly dispatchedAt: number;
  readonly stream: ResponseStream | undefined;
  /** Messages that wait for a later turn, in order; of streams. */
  readonly backlog: (ResponsesMessage | ResultsMessage)[];
}

export class PortInstance implements ModelInstance {
  readonly inOtherThread = true;
  readonly #config: CompleteModelConfig;
  readonly #port: MessagePort;
  readonly #running = new Map<number, Running>();
  #lastId = 0;
  #closed = false;
  /** Told when the other side is gone, before the requests that it was working on fail. */
  onClosed: (() => void) | undefined;
  /** Makes the calls of other models that the callable asks for. */
  caller: ModelCaller | undefined;
  readonly #callee: PortCallee;

  /** Ends the callable's thread, where it has one of its own, for this reason. */
  readonly end: ((reason: string) => void) | undefined;

  /** Takes ownership of the port. `end`, where the callable has a thread of its own: ends it. */
  constructor(config: CompleteModelConfig, port: MessagePort, end?: (reason: string) => void) {
    this.#config = config;
    this.#port = port;
    this.end =
      end &&
      ((reason) => {
        end(reason);
        this.close();
      });
    this.#callee = new PortCallee(port);
    port.on(
      'message',
      (message: ResultsMessage | ResponsesMessage | CallMessage | CallTakenMessage | CancelCallMessage) => {
        switch (message[0]) {
          case RESULTS:
          case RESPONSES:
            return this.#receive(message);
          case CALL:
            return void this.#callee.perform(message, this.caller);
          case CALL_TAKEN:
            return this.#callee.taken(message);
          case CANCEL_CALL:
            return this.#callee.cancel(message);
        }
      },
    );
    port.on('close', () => {
      this.#closed = true;
      this.onClosed?.();
      this.#callee.cancelAll();
      this.#failAll();
    });
  }

  execute(batch: readonly ExecutionRequest[], done: ExecutionDone, stream?: ResponseStream): Execution {
    const dispatchedAt = sharedNow();
    const id = ++this.#lastId;
    const { buffers, extras } = encodeBatch(batch, this.#config);
    const running: Running = { count: batch.length, done, dispatchedAt, stream, backlog: [] };
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

  #receive(message: ResponsesMessage | ResultsMessage): void {
    const running = this.#running.get(message[1]);
    if (running === undefined) return;
    const { backlog, stream } = running;
    if (stream === undefined) return this.#take(message, running);
    backlog.push(message);
    if (backlog.length === 1) this.#work(running);
  }

  /** Takes what has come of a stream, as far as its turn goes. */
  #work(running: Running): void {
    const { backlog } = running;
    while (backlog.length > 0) {
      if (loopShare.isUsedUp()) return loopShare.next(() => this.#work(running));
      this.#take(backlog.shift()!, running);
    }
  }

  #take(message: ResponsesMessage | ResultsMessage, running: Running): void {
    if (message[0] === RESPONSES) this.#respond(message, running);
    else this.#finish(message, running);
  }

  /** Hands answers on, and acknowledges them as fast as their readers take them. */
  #respond([, id, buffer, layout, errors, parameters, metrics]: ResponsesMessage, { stream }: Running): void {
    if (stream === undefined) return;
    if (metrics !== undefined) stream.recordMetrics(metrics);
    let at = 0;
    let answers = 0;
    let failures = 0;
    const taken = new Map<number, { count: number; bytes: number }>();
    while (at < layout.length) {
      const index = layout[at++]!;
      const outputCount = layout[at++]!;
      if (outputCount < 0) {
        stream.end(index, outputCount === -2 ? receiveError(errors![failures++]!) : undefined);
        continue;
      }
      const outputs: InferTensor[] = [];
      let bytes = 0;
      for (let i = 0; i < outputCount; i++) {
        const { name, datatype } = this.#config.outputs[layout[at++]!]!;
        const rank = layout[at++]!;
        const shape = layout.slice(at, at + rank);
        at += rank;
        const offset = layout[at++]!;
        const byteLength = layout[at++]!;
        outputs.push({ name, datatype, shape, bytes: new Uint8Array(buffer, offset, byteLength) });
        // As the sender counts: each tensor takes up whole words.
        bytes += alignTo8(byteLength);
      }
      const slow = stream.respond(index, outputs, parameters?.[answers++]);
      if (slow === undefined) {
        const sum = taken.get(index) ?? { count: 0, bytes: 0 };
        taken.set(index, { count: sum.count + 1, bytes: sum.bytes + bytes });
      } else {
        // A reader that is gone takes nothing, but must not keep the callable waiting either.
        const acknowledge = () => this.#acknowledge(id, index, 1, bytes);
        slow.then(acknowledge, acknowledge);
      }
    }
    for (const [index, { count, bytes }] of taken) this.#acknowledge(id, index, count, bytes);
  }

  #acknowledge(id: number, index: number, count: number, bytes: number): void {
    if (this.#running.has(id) && !this.#closed) {
      this.#port.postMessage([ACKNOWLEDGE, id, index, count, bytes] satisfies AcknowledgeMessage);
    }
  }

  #finish([, id, frame, errors, startedAt, inferMs, parameters, metrics]: ResultsMessage, running: Running): void {
    this.#running.delete(id);
    const { count, done, dispatchedAt } = running;
    const times = {
      computeInput: Math.max(0, startedAt - dispatchedAt),
      computeInfer: inferMs,
      computeOutput: Math.max(0, sharedNow() - startedAt - inferMs),
    };
    done(withParameters(decodeResults(frame, errors, count, this.#config), parameters), times, metrics);
  }

  #failAll(): void {
    const all = [...this.#running.values()];
    // What has come before the end is not lost.
    for (const running of all) for (const message of running.backlog.splice(0)) this.#take(message, running);
    const unfinished = [...this.#running.values()];
    this.#running.clear();
    for (const running of unfinished) fail(running, this.#gone());
  }

  #gone(): TritonError {
    const message = `an instance of model '${this.#config.name}' ended while it was working on the request`;
    return instanceLoss(message);
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

function withParameters(results: ExecutionResult[], parameters: ResultsMessage[6]): ExecutionResult[] {
  if (parameters === undefined) return results;
  return results.map((result, index) =>
    result.kind === 'outputs' ? { ...result, parameters: parameters[index] } : result,
  );
}

function sameError(count: number, error: TritonError): ExecutionResult[] {
  return Array.from({ length: count }, () => ({ kind: 'error', error }) as const);
}

function decodeResults(
  frame: ArrayBuffer | undefined,
  errors: readonly SentError[] | undefined,
  count: number,
  config: CompleteModelConfig,
): ExecutionResult[] {
  if (frame === undefined) return sameError(count, receiveError(errors![0]!));
  const headerLength = new Float64Array(frame, 0, 1)[0]!;
  const header = new Float64Array(frame, 0, headerLength);
  const results: ExecutionResult[] = [];
  let at = 1;
  let nextError = 0;
  for (let r = 0; r < count; r++) {
    const outputCount = header[at++]!;
    if (outputCount < 0) {
      results.push({ kind: 'error', error: receiveError(errors![nextError++]!) });
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
    results.push({ kind: 'outputs', outputs, parameters: undefined });
  }
  return results;
}
