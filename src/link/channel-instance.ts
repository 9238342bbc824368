// The server's end of a channel: an instance whose callable runs elsewhere. It hands on the answers of streams within the
// streams' share of the event loop. Without that limit they would keep the loop: Node takes messages from a port as long
// as there are any, and acknowledgements bring new ones.

import type {
  AheadExecution,
  Execution,
  ExecutionDone,
  ExecutionRequest,
  ModelInstance,
  ResponseStream,
} from '../core/instance/model-instance.js';
import { TritonError } from '../errors.js';
import { loopShare } from '../pacing/loop-share.js';
import type { CompleteModelConfig } from '../model/complete-model-config.js';
import type { ModelCaller } from '../model/model-calls.js';
import type { MetricsUpdate } from '../observability/metrics.js';
import type { SequenceEndReason } from '../model/sequence-batching.js';
import { instanceLoss } from '../observability/traces.js';
import { encodeBatch } from './batch-frame.js';
import { ChannelCallee } from './channel-calls.js';
import { type ClaimWords, claimWords, offer, take } from './claims.js';
import {
  ACKNOWLEDGE,
  CALL,
  CALL_TAKEN,
  CANCEL,
  CANCEL_CALL,
  CLAIMS,
  END_SEQUENCE,
  EXECUTE,
  type InstanceChannel,
  type RequestExtras,
  RESPONSES,
  RESPONSES_FAILED,
  type ResponsesMessage,
  RESULTS,
  type ResultsMessage,
  type SentExecution,
  type SentResults,
} from './messages.js';
import { decodeResults, OutputsReader, sameError } from './result-codec.js';
import { alignTo8 } from './result-frame.js';
import { receiveError } from './sent-error.js';

interface Running {
  readonly id: number;
  readonly count: number;
  readonly done: ExecutionDone;
  readonly dispatchedAt: number;
  readonly stream: ResponseStream | undefined;
  readonly isAhead: boolean;
  /** Messages of streams that wait for a later turn, in order. */
  readonly backlog: (ResponsesMessage | Finished)[];
}

interface Finished {
  readonly results: SentResults;
  readonly metrics: MetricsUpdate | undefined;
}

interface Sending {
  readonly done: ExecutionDone;
  readonly stream: ResponseStream | undefined;
  /** The claim of a batch that may be taken back; undefined for any other batch. */
  readonly claim: number | undefined;
}

/** After this number the claims begin anew. */
const LARGEST_CLAIM = 2 ** 30;

export class ChannelInstance implements ModelInstance {
  readonly inOtherThread = true;
  readonly #config: CompleteModelConfig;
  readonly #channel: InstanceChannel;
  // By the id of the execution. Not a Map: V8 keeps the old tables of a Map that changes all the time, and their contents.
  readonly #running: (Running | undefined)[] = [];
  /** Ids that may be used again. */
  readonly #freeIds: number[] = [];
  #closed = false;
  /** Batches that wait to be sent together. */
  #unsent: SentExecution[] = [];
  #claims: ClaimWords | undefined;
  #lastClaim = 0;
  /** When the callable ended its last batch, on the channel's clock. */
  #endedAt = 0;
  readonly executeAhead: ModelInstance['executeAhead'];
  /** Called when the other side is gone, before its requests under way fail. */
  onClosed: (() => void) | undefined;
  /** Makes the callable's calls of other models. */
  caller: ModelCaller | undefined;
  readonly #callee: ChannelCallee;

  /** Ends the callable's thread for this reason; undefined where the callable has no thread of its own. */
  readonly end: ((reason: string) => void) | undefined;

  /** Takes ownership of the channel. `end` ends the callable's own thread, where it has one. */
  constructor(config: CompleteModelConfig, channel: InstanceChannel, end?: (reason: string) => void) {
    this.#config = config;
    this.#channel = channel;
    this.end =
      end &&
      ((reason) => {
        end(reason);
        this.close();
      });
    this.executeAhead = channel.sharesMemory === true ? (batch, done) => this.#executeAhead(batch, done) : undefined;
    this.#callee = new ChannelCallee(channel);
    channel.onMessage((message) => {
      switch (message[0]) {
        case RESULTS:
          return this.#receiveResults(message);
        case RESPONSES:
          return this.#receive(message);
        case CALL:
          return this.#callee.perform(message, this.caller);
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
    return this.#send(batch, { done, stream, claim: undefined });
  }

  readonly #flush = (): void => this.flush();

  /** Sends the collected batches in one message. */
  flush(): void {
    const executions = this.#unsent;
    if (executions.length === 0) return;
    this.#unsent = [];
    try {
      this.#channel.post([EXECUTE, executions], memoryOf(executions));
    } catch (error) {
      // A batch that cannot be sent must not keep back the others.
      if (executions.length === 1) return this.#cannotSend(executions[0]![0], error);
      for (const execution of executions) {
        this.#unsent.push(execution);
        this.flush();
      }
    }
  }

  #send(batch: readonly ExecutionRequest[], { done, stream, claim }: Sending): AheadExecution {
    const dispatchedAt = this.#channel.now();
    const { buffers, extras } = encodeBatch(batch, this.#config);
    const id = this.#freeIds.pop() ?? this.#running.length;
    const running: Running = {
      id,
      count: batch.length,
      done,
      dispatchedAt,
      stream,
      isAhead: claim !== undefined,
      backlog: [],
    };
    this.#running[id] = running;
    if (this.#closed) {
      this.#release(running);
      this.#fail(running);
      return NOTHING_TO_CANCEL;
    }
    // The batches of one turn go in one message.
    if (this.#unsent.length === 0) queueMicrotask(this.#flush);
    this.#unsent.push(executionMessage(id, buffers, extras, claim));
    return {
      cancel: (index) => {
        if (this.#running[id] !== running) return;
        this.flush();
        this.#channel.post([CANCEL, id, index]);
      },
      takeBack: () => claim !== undefined && take(this.#claims!, claim) && this.#release(running),
    };
  }

  #executeAhead(batch: readonly ExecutionRequest[], done: ExecutionDone): AheadExecution {
    if (this.#claims === undefined) {
      this.#claims = claimWords();
      this.#channel.post([CLAIMS, this.#claims]);
    }
    const claim = (this.#lastClaim % LARGEST_CLAIM) + 1;
    this.#lastClaim = claim;
    offer(this.#claims, claim);
    return this.#send(batch, { done, stream: undefined, claim });
  }

  #cannotSend(id: number, thrown: unknown): void {
    const running = this.#running[id]!;
    this.#release(running);
    running.done(sameError(running.count, TritonError.from(thrown)), NO_TIMES);
  }

  /** Whether either end has closed the channel. */
  get isClosed(): boolean {
    return this.#closed;
  }

  endSequence(serial: number, reason: SequenceEndReason): void {
    if (this.#closed) return;
    // The sequence's batches must go first.
    this.flush();
    this.#channel.post([END_SEQUENCE, serial, reason]);
  }

  /** Closes the channel. Executions under way fail with UNAVAILABLE. */
  close(): void {
    this.#closed = true;
    this.#channel.close();
  }

  #receive(message: ResponsesMessage): void {
    const running = this.#running[message[1]];
    if (running !== undefined) this.#queue(message, running);
  }

  #receiveResults([, all, metrics]: ResultsMessage): void {
    let recorded = metrics;
    for (const results of all) {
      const running = this.#running[results[0]];
      if (running === undefined) continue;
      const finished: Finished = { results, metrics: recorded };
      recorded = undefined;
      if (running.stream === undefined) this.#finish(finished, running);
      else this.#queue(finished, running);
    }
  }

  #queue(news: ResponsesMessage | Finished, running: Running): void {
    running.backlog.push(news);
    if (running.backlog.length === 1) this.#work(running);
  }

  /** Takes a stream's messages from its backlog, as far as its turn goes. */
  #work(running: Running): void {
    const { backlog } = running;
    while (backlog.length > 0) {
      if (loopShare.isUsedUp()) return loopShare.next(() => this.#work(running));
      this.#take(backlog.shift()!, running);
    }
  }

  #take(news: ResponsesMessage | Finished, running: Running): void {
    if ('results' in news) this.#finish(news, running);
    else this.#respond(news, running);
  }

  /** Hands answers on, and acknowledges them when their readers take them. */
  #respond([, , buffer, layout, errors, parameters, metrics]: ResponsesMessage, running: Running): void {
    const { stream } = running;
    if (stream === undefined) return;
    if (metrics !== undefined) stream.recordMetrics(metrics);
    const reader = new OutputsReader(layout, { buffer, start: 0, config: this.#config });
    let answers = 0;
    let failures = 0;
    const taken = new Map<number, { count: number; bytes: number }>();
    while (!reader.isAtEnd) {
      const place = reader.next();
      const final = place < 0;
      const index = final ? ~place : place;
      const outputCount = reader.next();
      if (outputCount < 0) {
        stream.end(index, outputCount === RESPONSES_FAILED ? receiveError(errors![failures++]!) : undefined);
        continue;
      }
      const outputs = reader.outputs(outputCount);
      // Counts as the sender does: each tensor takes up whole words.
      const bytes = outputs.reduce((sum, output) => sum + alignTo8(output.bytes.byteLength), 0);
      const slow = stream.respond(index, outputs, { parameters: parameters?.[answers++], final });
      if (slow === undefined) {
        const sum = taken.get(index) ?? { count: 0, bytes: 0 };
        taken.set(index, { count: sum.count + 1, bytes: sum.bytes + bytes });
      } else {
        // Acknowledges also for a reader that is gone: the callable must not wait for it.
        const acknowledge = () => this.#acknowledge(running, [index, 1, bytes]);
        slow.then(acknowledge, acknowledge);
      }
    }
    for (const [index, { count, bytes }] of taken) this.#acknowledge(running, [index, count, bytes]);
  }

  #acknowledge(running: Running, taken: readonly [index: number, count: number, bytes: number]): void {
    const { id } = running;
    if (this.#running[id] === running && !this.#closed) this.#channel.post([ACKNOWLEDGE, id, ...taken]);
  }

  #finish({ results: sent, metrics }: Finished, running: Running): void {
    const [, frame, errors, startedAt, inferMs, parameters, aloneMs] = sent;
    this.#release(running);
    const { count, done, dispatchedAt, isAhead } = running;
    // A batch that was sent ahead waited for the batches before it.
    const freeAt = isAhead ? Math.max(dispatchedAt, this.#endedAt) : dispatchedAt;
    this.#endedAt = startedAt + inferMs;
    const times = {
      computeInput: Math.max(0, startedAt - freeAt),
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
    const all = this.#running.filter((running) => running !== undefined);
    // Messages that came before the end still count.
    for (const running of all) for (const message of running.backlog.splice(0)) this.#take(message, running);
    for (const running of all) if (this.#release(running)) this.#fail(running);
  }

  /** Frees the id of an execution. Returns false when the execution had ended before. */
  #release(running: Running): boolean {
    const { id } = running;
    if (this.#running[id] !== running) return false;
    this.#running[id] = undefined;
    this.#freeIds.push(id);
    return true;
  }

  /** Fails an execution's requests, because the callable is gone. */
  #fail({ count, done, dispatchedAt }: Running): void {
    const error = instanceLoss(`an instance of model '${this.#config.name}' ended while it was working on the request`);
    const computeInfer = Math.max(0, this.#channel.now() - dispatchedAt);
    done(sameError(count, error), { computeInput: 0, computeInfer, computeOutput: 0 });
  }
}

const NOTHING_TO_CANCEL: AheadExecution = { cancel: () => undefined, takeBack: () => false };
const NO_TIMES = { computeInput: 0, computeInfer: 0, computeOutput: 0 };

/** Leaves out the last members that are undefined, because they cost time too. */
function executionMessage(
  id: number,
  buffers: readonly ArrayBuffer[],
  extras: RequestExtras | undefined,
  claim: number | undefined,
): SentExecution {
  if (claim !== undefined) return [id, buffers, extras, claim];
  return extras === undefined ? [id, buffers] : [id, buffers, extras];
}

function memoryOf(executions: readonly SentExecution[]): readonly ArrayBuffer[] {
  return executions.length === 1 ? executions[0]![1] : executions.flatMap(([, buffers]) => buffers);
}
