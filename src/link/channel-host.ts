// The callable's end of a channel: takes batches from the server and posts their results back.
// Every batch is answered, whatever goes wrong with it.

import { TritonError } from '../errors.js';
import type { CompleteModelConfig } from '../model/complete-model-config.js';
import { decodeBatch, requestCount } from './batch-frame.js';
import { CallableHost, type HostServices } from '../host/callable-host.js';
import type { HostExecution } from '../host/host-execution.js';
import type { HostTimes } from '../host/host-results.js';
import type { CallableTurns, HostedCallable } from '../host/callable-turns.js';
import { startPaced } from '../pacing/paced-workers.js';
import {
  ACKNOWLEDGE,
  CALL_RESPONSE,
  CALLED,
  CANCEL,
  CLAIMS,
  END_SEQUENCE,
  EXECUTE,
  RESULTS,
  type CancelMessage,
  type ExecuteMessage,
  type HostChannel,
  type SentExecution,
  type SentResults,
} from './messages.js';
import { ChannelCaller } from './channel-calls.js';
import { type ClaimWords, take } from './claims.js';
import { ChannelResponseStream } from './channel-response-stream.js';
import { type EncodedResults, encodeResults, encodeResultsPaced } from './result-codec.js';
import { haveManyElements } from './result-frame.js';
import { sendError } from './sent-error.js';

/** How many milliseconds results may wait for the results of the next batch of a message. */
const LONGEST_WAIT_MS = 0.25;

export class ChannelHost {
  readonly #channel: HostChannel;
  readonly #config: CompleteModelConfig;
  readonly #host: CallableHost;
  readonly #turns: CallableTurns;
  readonly #services: HostServices;
  readonly #executions = new Map<number, Running>();
  readonly #calls: ChannelCaller;
  #claims: ClaimWords | undefined;
  /** Whether a message of batches is being worked on. Its results go together. */
  #isReceiving = false;
  #unsent: SentResults[] = [];
  /** When the first unsent result came, on the channel's clock. */
  #unsentSince = 0;
  /** Whether the server is gone, so that there is nobody to answer. */
  #closed = false;

  /** Takes ownership of the channel. Other hosts may use the callable too, in turn. */
  constructor(
    channel: HostChannel,
    config: CompleteModelConfig,
    { callable, turns, state }: HostedCallable,
    services: HostServices,
  ) {
    this.#channel = channel;
    this.#config = config;
    this.#calls = new ChannelCaller(channel);
    this.#services = services;
    this.#host = new CallableHost(config, callable, { ...services, state });
    this.#host.caller = this.#calls.call;
    this.#turns = turns;
    channel.onMessage((message) => {
      switch (message[0]) {
        case EXECUTE:
          return this.#execute(message);
        case CLAIMS:
          this.#claims = message[1];
          return;
        case CANCEL:
          return this.#cancel(message);
        case END_SEQUENCE:
          return this.#host.endSequence(message[1], message[2]);
        case ACKNOWLEDGE:
          return this.#executions.get(message[1])?.stream?.acknowledge(message[2], message[3], message[4]);
        case CALL_RESPONSE:
          return this.#calls.responded(message);
        case CALLED:
          return this.#calls.answered(message);
      }
    });
    channel.onClose(() => this.#cancelAll());
  }

  /** Closes the channel and cancels all executions. Their outcomes are dropped. */
  close(): void {
    this.#channel.close();
  }

  /** Runs batches one after the other, and answers many of them in one message. */
  #execute([, executions]: ExecuteMessage): void {
    this.#isReceiving = true;
    for (const execution of executions) this.#begin(execution);
    this.#isReceiving = false;
    this.#flush();
  }

  #begin([id, buffers, extras, claim]: SentExecution): void {
    const startedAt = this.#channel.now();
    const requestedOutputs = extras?.requestedOutputs;
    const stream = this.#config.decoupled
      ? new ChannelResponseStream({
          channel: this.#channel,
          id,
          count: requestCount(buffers),
          config: this.#config,
          requestedOutputs,
          metrics: this.#host.metrics,
        })
      : undefined;
    const running: Running = { execution: NOTHING_TO_CANCEL, stream };
    let done = false;
    /** Returns false when the server is gone, so that there is nobody to answer. */
    const ends = () => {
      done = true;
      // Another batch may have the id by now, when this one was taken back.
      if (this.#executions.get(id) === running) this.#executions.delete(id);
      return !this.#closed;
    };
    running.execution = this.#turns.begin(decodeBatch({ buffers, extras }, this.#config, this.#host.joinsRows), {
      execute: (requests) => {
        if (claim !== undefined && (this.#closed || !take(this.#claims!, claim))) {
          ends();
          this.#turns.end();
          return NOTHING_TO_CANCEL;
        }
        const inferringAt = this.#channel.now();
        return this.#host.execute(
          requests,
          (results, { inferMs, aloneMs }, parameters) => {
            const outcome = { id, startedAt: inferringAt, inferMs, aloneMs, parameters };
            const answer = (encode: () => EncodedResults) => {
              if (ends()) {
                stream?.flush();
                this.#answer(encode, outcome);
              }
              // The outputs have been copied, so the callable may change its own now.
              this.#turns.end();
            };
            if (haveManyElements(results)) {
              startPaced(encodeResultsPaced(results, requestedOutputs, this.#config), {
                done: (encoded) => answer(() => encoded),
                failed: (error) => answer(() => rethrow(error)),
              });
            } else {
              answer(() => encodeResults(results, requestedOutputs, this.#config));
            }
          },
          { stream, callers: extras?.callers, traces: extras?.traces },
        );
      },
      failed: (error) => {
        if (ends()) this.#answerFailure(id, error, startedAt);
      },
    });
    if (!done) this.#executions.set(id, running);
  }

  #cancel([, id, index]: CancelMessage): void {
    const running = this.#executions.get(id);
    running?.execution.cancel(index);
    running?.stream?.cancel(index);
  }

  #answer(encode: () => EncodedResults, { id, startedAt, inferMs, aloneMs, parameters }: Outcome): void {
    try {
      const { frame, errors } = encode();
      const results = [id, frame, errors, startedAt, inferMs] as const;
      const hasMore = parameters !== undefined || aloneMs !== undefined;
      this.#send(hasMore ? [...results, parameters, aloneMs] : results);
    } catch (error) {
      this.#answerFailure(id, error, startedAt);
    }
  }

  #answerFailure(id: number, thrown: unknown, startedAt: number): void {
    const error = TritonError.from(thrown);
    this.#services.logger.error(error.message);
    this.#send([id, undefined, [sendError(error)], startedAt, 0]);
  }

  /** Sends results together with the results of batches from the same message, or of batches that end in the same turn. */
  #send(results: SentResults): void {
    const now = this.#channel.now();
    if (this.#unsent.length === 0) {
      this.#unsentSince = now;
      // Runs after the promises that are fulfilled in this turn.
      if (!this.#isReceiving) process.nextTick(() => this.#flush());
    }
    this.#unsent.push(results);
    if (this.#isReceiving && now - this.#unsentSince >= LONGEST_WAIT_MS) this.#flush();
  }

  /** Sends all results at once: the thread exits. */
  flushAll(): void {
    this.#flush();
    this.#channel.flush?.();
  }

  /** Sends the results that wait for others. */
  #flush(): void {
    const all = this.#unsent;
    if (all.length === 0) return;
    this.#unsent = [];
    const metrics = this.#host.metrics.take();
    try {
      this.#channel.post(metrics === undefined ? [RESULTS, all] : [RESULTS, all, metrics], memoryOf(all));
    } catch (error) {
      for (const results of all) this.#postAlone(results, error);
    }
  }

  /** Posts the results of one batch alone: results that cannot be sent must not keep back the others. */
  #postAlone(results: SentResults, reason: unknown): void {
    try {
      this.#channel.post([RESULTS, [results]], memoryOf([results]));
    } catch {
      const [id, , , startedAt] = results;
      const error = TritonError.from(reason);
      this.#services.logger.error(error.message);
      this.#channel.post([RESULTS, [[id, undefined, [sendError(error)], startedAt, 0]]]);
    }
  }

  /** The server is gone: cancels all executions. */
  #cancelAll(): void {
    this.#closed = true;
    for (const { execution, stream } of this.#executions.values()) {
      execution.cancelAll();
      stream?.cancelAll();
    }
    this.#executions.clear();
    this.#host.endSequences();
    this.#calls.failAll(new TritonError('UNAVAILABLE', 'the server has ended'));
  }
}

interface Running {
  execution: HostExecution;
  readonly stream: ChannelResponseStream | undefined;
}

interface Outcome {
  /** The execution's id. */
  readonly id: number;
  readonly startedAt: number;
  readonly inferMs: number;
  readonly aloneMs: HostTimes['aloneMs'];
  readonly parameters: SentResults[5];
}

const NOTHING_TO_CANCEL: HostExecution = { cancel: () => undefined, cancelAll: () => undefined };

function memoryOf(all: readonly SentResults[]): readonly ArrayBuffer[] {
  return all.flatMap(([, frame]) => frame ?? []);
}

function rethrow(error: unknown): never {
  throw error;
}
