// The server's end of a channel: an instance whose callable runs elsewhere. What comes of a stream of answers is handed on
// within the streams' share of the event loop: Node takes messages from a port as long as there are any, and
// acknowledgements bring new ones.

import type {
  Execution,
  ExecutionDone,
  ExecutionRequest,
  ModelInstance,
  ResponseStream,
} from '../core/instance/model-instance.js';
import { loopShare } from '../host/loop-share.js';
import type { CompleteModelConfig } from '../model/complete-model-config.js';
import type { ModelCaller } from '../model/model-calls.js';
import { instanceLoss } from '../model/traces.js';
import { encodeBatch } from './batch-frame.js';
import { ChannelCallee } from './channel-calls.js';
import {
  ACKNOWLEDGE,
  CALL,
  CALL_TAKEN,
  CANCEL,
  CANCEL_CALL,
  EXECUTE,
  type InstanceChannel,
  RESPONSES,
  RESPONSES_FAILED,
  type ResponsesMessage,
  RESULTS,
  type ResultsMessage,
} from './messages.js';
import { decodeResults, OutputsReader, sameError } from './result-codec.js';
import { alignTo8 } from './result-frame.js';
import { receiveError } from './sent-error.js';

interface Running {
  readonly count: number;
  readonly done: ExecutionDone;
  readonly dispatchedAt: number;
  readonly stream: ResponseStream | undefined;
  /** Messages that wait for a later turn, in order; of streams. */
  readonly backlog: (ResponsesMessage | ResultsMessage)[];
}

export class ChannelInstance implements ModelInstance {
  readonly inOtherThread = true;
  readonly #config: CompleteModelConfig;
  readonly #channel: InstanceChannel;
  readonly #running = new Map<number, Running>();
  #lastId = 0;
  #closed = false;
  /** Called when the other side is gone, before the requests that it was working on fail. */
  onClosed: (() => void) | undefined;
  /** Makes the calls of other models that the callable asks for. */
  caller: ModelCaller | undefined;
  readonly #callee: ChannelCallee;

  /** Ends the callable's thread, where it has one of its own, for this reason. */
  readonly end: ((reason: string) => void) | undefined;

  /** Takes ownership of the channel. `end`, where the callable has a thread of its own: ends it. */
  constructor(config: CompleteModelConfig, channel: InstanceChannel, end?: (reason: string) => void) {
    this.#config = config;
    this.#channel = channel;
    this.end =
      end &&
      ((reason) => {
        end(reason);
        this.close();
      });
    this.#callee = new ChannelCallee(channel);
    channel.onMessage((message) => {
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
    });
    channel.onClose(() => {
      this.#closed = true;
      this.onClosed?.();
      this.#callee.cancelAll();
      this.#failAll();
    });
  }

  execute(batch: readonly ExecutionRequest[], done: ExecutionDone, stream?: ResponseStream): Execution {
    const dispatchedAt = this.#channel.now();
    const id = ++this.#lastId;
    const { buffers, extras } = encodeBatch(batch, this.#config);
    const running: Running = { count: batch.length, done, dispatchedAt, stream, backlog: [] };
    if (this.#closed) {
      this.#fail(running);
      return NOTHING_TO_CANCEL;
    }
    this.#channel.post([EXECUTE, id, buffers, extras], buffers);
    this.#running.set(id, running);
    return {
      cancel: (index) => {
        if (this.#running.has(id)) this.#channel.post([CANCEL, id, index]);
      },
    };
  }

  /** Ends what runs with UNAVAILABLE, and the port. */
  close(): void {
    this.#closed = true;
    this.#channel.close();
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
    const reader = new OutputsReader(layout, { buffer, start: 0, config: this.#config });
    let answers = 0;
    let failures = 0;
    const taken = new Map<number, { count: number; bytes: number }>();
    while (!reader.isAtEnd) {
      const index = reader.next();
      const outputCount = reader.next();
      if (outputCount < 0) {
        stream.end(index, outputCount === RESPONSES_FAILED ? receiveError(errors![failures++]!) : undefined);
        continue;
      }
      const outputs = reader.outputs(outputCount);
      // As the sender counts: each tensor takes up whole words.
      const bytes = outputs.reduce((sum, output) => sum + alignTo8(output.bytes.byteLength), 0);
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
      this.#channel.post([ACKNOWLEDGE, id, index, count, bytes]);
    }
  }

  #finish(
    [, id, frame, errors, startedAt, inferMs, parameters, metrics, aloneMs]: ResultsMessage,
    running: Running,
  ): void {
    this.#running.delete(id);
    const { count, done, dispatchedAt } = running;
    const times = {
      computeInput: Math.max(0, startedAt - dispatchedAt),
      computeInfer: inferMs,
      computeOutput: Math.max(0, this.#channel.now() - startedAt - inferMs),
      computeAlone: aloneMs,
    };
    const results =
      frame === undefined
        ? sameError(count, receiveError(errors![0]!))
        : decodeResults({ frame, errors }, parameters, count, this.#config);
    done(results, times, metrics);
  }

  #failAll(): void {
    const all = [...this.#running.values()];
    // What has come before the end is not lost.
    for (const running of all) for (const message of running.backlog.splice(0)) this.#take(message, running);
    const unfinished = [...this.#running.values()];
    this.#running.clear();
    for (const running of unfinished) this.#fail(running);
  }

  /** The callable is gone. */
  #fail({ count, done, dispatchedAt }: Running): void {
    const error = instanceLoss(`an instance of model '${this.#config.name}' ended while it was working on the request`);
    const computeInfer = Math.max(0, this.#channel.now() - dispatchedAt);
    done(sameError(count, error), { computeInput: 0, computeInfer, computeOutput: 0 });
  }
}

const NOTHING_TO_CANCEL: Execution = { cancel: () => undefined };
