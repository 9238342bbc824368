// The callable's end of a channel: takes batches from the server and posts their results back.
// Every batch is answered, whatever goes wrong with it.

import { TritonError } from '../errors.js';
import type { CompleteModelConfig } from '../model/complete-model-config.js';
import { requestCount } from './batch-frame.js';
import { CallableHost, type HostExecution, type HostServices } from '../host/callable-host.js';
import type { HostTimes } from '../host/host-results.js';
import type { CallableTurns, HostedCallable } from '../host/callable-turns.js';
import { startPaced } from '../model/paced-workers.js';
import {
  ACKNOWLEDGE,
  CALL_RESPONSE,
  CALLED,
  CANCEL,
  EXECUTE,
  RESULTS,
  type CancelMessage,
  type ExecuteMessage,
  type HostChannel,
  type ResultsMessage,
} from './messages.js';
import { ChannelCaller } from './channel-calls.js';
import { ChannelResponseStream } from './channel-response-stream.js';
import { type EncodedResults, encodeResults, encodeResultsPaced } from './result-codec.js';
import { haveManyElements } from './result-frame.js';
import { sendError } from './sent-error.js';
import { unpackBatch, whenUnpacked } from './unpacked-execution.js';

export class ChannelHost {
  readonly #channel: HostChannel;
  readonly #config: CompleteModelConfig;
  readonly #host: CallableHost;
  readonly #turns: CallableTurns;
  readonly #services: HostServices;
  readonly #executions = new Map<number, Running>();
  readonly #calls: ChannelCaller;
  /** Whether nobody is there any more to answer to. */
  #closed = false;

  /** Takes ownership of the channel. Others may ask the callable too, in turn. */
  constructor(
    channel: HostChannel,
    config: CompleteModelConfig,
    { callable, turns }: HostedCallable,
    services: HostServices,
  ) {
    this.#channel = channel;
    this.#config = config;
    this.#calls = new ChannelCaller(channel);
    this.#services = services;
    this.#host = new CallableHost(config, callable, services);
    this.#host.caller = this.#calls.call;
    this.#turns = turns;
    channel.onMessage((message) => {
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
    });
    channel.onClose(() => this.#cancelAll());
  }

  /** Its executions are cancelled, and nobody learns their outcomes. */
  close(): void {
    this.#channel.close();
  }

  #execute([, id, buffers, extras]: ExecuteMessage): void {
    const startedAt = this.#channel.now();
    let done = false;
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
    /** False: nobody is there to answer to. */
    const ends = () => {
      done = true;
      this.#executions.delete(id);
      return !this.#closed;
    };
    const execution = whenUnpacked(unpackBatch({ buffers, extras }, this.#config, this.#host.joinsRows), {
      done: (requests) => {
        const inferringAt = this.#channel.now();
        return this.#turns.begin((ended) =>
          this.#host.execute(
            requests,
            (results, { inferMs, aloneMs }, parameters) => {
              const outcome = { id, startedAt: inferringAt, inferMs, aloneMs, parameters };
              const post = (encode: () => EncodedResults) => {
                ended();
                if (!ends()) return;
                stream?.flush();
                this.#postResults(encode, outcome);
              };
              if (haveManyElements(results)) {
                // The callable has its next batch when it may change what it gave.
                startPaced(encodeResultsPaced(results, requestedOutputs, this.#config), {
                  done: (encoded) => post(() => encoded),
                  failed: (error) => post(() => rethrow(error)),
                });
              } else {
                post(() => encodeResults(results, requestedOutputs, this.#config));
              }
            },
            { stream, callers: extras?.callers, traces: extras?.traces },
          ),
        );
      },
      failed: (error) => {
        if (ends()) this.#postFailure(id, error, startedAt);
      },
    });
    if (!done) this.#executions.set(id, { execution, stream });
  }

  #cancel([, id, index]: CancelMessage): void {
    const running = this.#executions.get(id);
    running?.execution.cancel(index);
    running?.stream?.cancel(index);
  }

  #postResults(encode: () => EncodedResults, { id, startedAt, inferMs, aloneMs, parameters }: Outcome): void {
    try {
      const { frame, errors } = encode();
      const message = [RESULTS, id, frame, errors, startedAt, inferMs, parameters] as const;
      const metrics = this.#host.metrics.take();
      const hasMore = metrics !== undefined || aloneMs !== undefined;
      this.#channel.post(hasMore ? [...message, metrics, aloneMs] : message, [frame]);
    } catch (error) {
      this.#postFailure(id, error, startedAt);
    }
  }

  #postFailure(id: number, thrown: unknown, startedAt: number): void {
    const error = TritonError.from(thrown);
    this.#services.logger.error(error.message);
    this.#channel.post([RESULTS, id, undefined, [sendError(error)], startedAt, 0]);
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
  readonly stream: ChannelResponseStream | undefined;
}

interface Outcome {
  /** Of the execution. */
  readonly id: number;
  readonly startedAt: number;
  readonly inferMs: number;
  readonly aloneMs: HostTimes['aloneMs'];
  readonly parameters: ResultsMessage[6];
}

function rethrow(error: unknown): never {
  throw error;
}
