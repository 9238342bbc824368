// The requests of one sequence, in order. Over gRPC they go over one stream, so that a load balancer cannot part them, and requests
// behind the first do not wait for the answers before them. Otherwise each waits for the answer before it.
// START goes with each request until one has been answered: only then is it certain that the server keeps the sequence.

import { checkMembers } from '../checks/check.js';
import { TritonError } from '../errors.js';
import type { ModelSignature } from '../protocol/model-signature.js';
import type { RequestSequence } from '../model/request-sequence.js';
import type { TensorSpecs } from '../model/tensor-spec.js';
import { Ring } from '../ring.js';
import { AnsweredStream } from './answered-stream.js';
import type { Call } from './call.js';
import type { BegunCall, ClientCalls } from './client-calls.js';
import type { CallOptions } from './client-options.js';
import { checkSequence, type InferOptions, type SequenceOptions } from './infer-options.js';
import {
  SEND_MEMBERS,
  STREAM_MEMBERS,
  type InferStream,
  type SendOptions,
  type StreamOptions,
} from './infer-stream.js';
import { zeroInputs } from './tensors/zero-inputs.js';
import type { ClientInputs, ClientOutputs } from './tensors/input-values.js';

/** Options of a sequence; they hold for all its requests. */
export interface InferSequenceOptions<Output extends string = string, Classified extends string = string> extends Pick<
  InferOptions<Output, Classified>,
  'timeoutMs' | 'headers' | 'signal' | 'retry' | 'outputs' | 'classes'
> {
  /** Default: a random integer. */
  readonly id?: SequenceOptions['id'];
}

/** Options of one request of a sequence. */
export type SequencedInferOptions = Omit<SendOptions, 'sequence'>;

/** The client, and how it limits calls and repeats attempts. */
export interface InferSequenceSource {
  readonly client: {
    inferSample(inputs: never, options: InferOptions<never>): Promise<unknown>;
    stream(options: StreamOptions<never>): InferStream<never, unknown>;
  };
  readonly calls: ClientCalls;
  /** Whether requests can go over one stream. */
  readonly isStreamed: boolean;
  called(limits: CallOptions): BegunCall;
  model(call: Call): Promise<ModelSignature>;
}

interface Queued {
  /** Undefined for a request that only ends the sequence. */
  readonly inputs: unknown;
  readonly options: SequencedInferOptions;
  readonly end: boolean;
  readonly resolve: (outputs: never) => void;
  readonly reject: (error: TritonError) => void;
}

const MEMBERS = ['id', 'retry', ...STREAM_MEMBERS];
const REQUEST_MEMBERS = SEND_MEMBERS.filter((name) => name !== 'sequence');

/** What servers say of a request, without START, of a sequence that they do not keep: Triton's text, and ours. */
const NOT_KEPT =
  /must specify the START flag on the first request of the sequence$|was lost when the instance that kept it (ended|stalled)/;

/**
 * A sequence of requests to a model that keeps state. Its requests are executed in the order of the calls.
 *
 * @example
 * await using sequence = client.sequence();
 * for await (const piece of microphone) console.log(await sequence.infer({ piece }));
 */
export class InferSequence<Inputs = ClientInputs<TensorSpecs>, Outputs = ClientOutputs<TensorSpecs>> {
  /** The id of the sequence. */
  readonly id: RequestSequence['id'];
  readonly #source: InferSequenceSource;
  readonly #options: Omit<InferSequenceOptions, 'id'>;
  readonly #queue = new Ring<Queued>();
  #stream: AnsweredStream | undefined;
  /** Requests that were sent and have no outcome. */
  #underWay = 0;
  /** The latest request that was sent. */
  #latest: Queued | undefined;
  /** The request that is to be sent again: the others wait. */
  #held: Queued | undefined;
  /** Inputs that were sent; undefined before any were. */
  #sent: unknown;
  #started = false;
  #ending: Promise<unknown> | undefined;
  #ended = false;
  #lost: TritonError | undefined;

  /** Made by a client only. Throws INVALID_ARG. */
  constructor(source: InferSequenceSource, options: InferSequenceOptions) {
    checkMembers(options, MEMBERS, 'options of a sequence');
    const { id = randomId(), ...others } = options;
    this.id = checkSequence({ id }, undefined).id;
    this.#source = source;
    this.#options = others;
  }

  /** Whether it takes no more requests: it has ended, or the server does not keep it any more. */
  get isOver(): boolean {
    return this.#ended || this.#lost !== undefined;
  }

  /**
   * Infers one sample in the sequence. Calls may overlap: their requests are executed in the order of the calls. A request that fails
   * does not end the sequence, and does not hold up those behind it. Inputs, outputs and errors are as in `inferSample`.
   *
   * Rejects with UNAVAILABLE when the server does not keep the sequence any more: it was idle for too long, or the server or the
   * instance ended. Then {@link isOver} is true, and a new sequence must begin.
   */
  infer(inputs: Inputs, options: SequencedInferOptions = {}): Promise<Outputs> {
    return this.#add(inputs, options, false);
  }

  /** The last request of the sequence, with END. When it fails the sequence is not over, unless the server says so. */
  end(inputs: Inputs, options?: SequencedInferOptions): Promise<Outputs>;
  /**
   * Ends the sequence behind the requests before. END needs a request: this one has zeros and empty strings in the shapes of the last
   * inputs, and the model executes it. Nothing is sent for a sequence without requests, or one that is over.
   */
  end(): Promise<void>;
  end(inputs?: Inputs, options: SequencedInferOptions = {}): Promise<Outputs | void> {
    if (inputs === undefined && (this.#ending !== undefined || this.isOver)) {
      return Promise.resolve(this.#ending).then(() => undefined);
    }
    const ending = this.#add<Outputs | void>(inputs, options, true);
    const settled = ending.finally(() => {
      if (this.#ending === settled) this.#ending = undefined;
    });
    settled.catch(ignore);
    this.#ending = settled;
    return ending;
  }

  /** Ends the sequence. A failure is left to the server, which forgets sequences that are idle. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.#ending?.catch(ignore);
    await this.end().catch(ignore);
    this.#ended = true;
    this.#close();
  }

  #add<T>(inputs: unknown, options: SequencedInferOptions, end: boolean): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      checkMembers(options, REQUEST_MEMBERS, 'options of a request of a sequence');
      if (this.#lost !== undefined) throw this.#lost;
      if (this.#ended || this.#ending !== undefined) {
        throw new TritonError('UNAVAILABLE', `sequence ${this.id} has ended: it takes no more requests`);
      }
      this.#queue.push({ inputs, options, end, resolve, reject });
      this.#sendNext();
    });
  }

  #sendNext(): void {
    while (this.#queue.length > 0 && this.#held === undefined) {
      const mayOverlap = this.#source.isStreamed && this.#started;
      if (this.#underWay > 0 && !mayOverlap) return;
      void this.#run(this.#queue.shift()!);
    }
  }

  async #run(request: Queued): Promise<void> {
    const { inputs, end, resolve, reject } = request;
    this.#underWay++;
    this.#latest = request;
    try {
      const isAnswered = inputs !== undefined || this.#sent !== undefined;
      if (isAnswered) resolve((await this.#send(request)) as never);
      else resolve(undefined as never);
      if (isAnswered) this.#started = true;
      if (inputs !== undefined) this.#sent = inputs;
      if (end) this.#ended = true;
    } catch (error) {
      const failure = TritonError.from(error);
      this.#sent ??= inputs;
      const isKept = !NOT_KEPT.test(failure.message);
      if (!isKept && inputs === undefined) {
        this.#ended = true;
        resolve(undefined as never);
      } else if (!isKept && this.#started) reject(this.#lose(failure));
      else reject(failure);
    } finally {
      this.#underWay--;
      if (this.#held === request) this.#held = undefined;
      if (this.isOver && this.#underWay === 0) this.#close();
      this.#sendNext();
    }
  }

  async #send(request: Queued): Promise<unknown> {
    const { end } = request;
    const isFirst = !this.#started;
    const { timeoutMs, headers, signal, retry, outputs, classes } = this.#options;
    const limits: CallOptions = {
      ...(timeoutMs !== undefined && { timeoutMs }),
      ...(headers !== undefined && { headers }),
      // What the signal has cancelled must end at the server too.
      ...(signal !== undefined && request.inputs !== undefined && { signal }),
      retry: retry === false ? false : { ...retry, idempotent: false },
    };
    const called = this.#source.called(limits);
    const inputs = request.inputs ?? zeroInputs(this.#sent, await this.#model(called));
    // START would begin another sequence where nothing is left of this one.
    const start = isFirst && request.inputs !== undefined;
    const asked = { ...(outputs !== undefined && { outputs }), ...(classes !== undefined && { classes }) };
    const options: SendOptions = { ...request.options, sequence: { id: this.id, start, end } };
    const { client, calls, isStreamed } = this.#source;
    if (!isStreamed) return client.inferSample(inputs as never, { ...options, ...limits, ...asked } as never);
    if (isFirst) await this.#refuseDecoupled(called);
    const { signal: _, retry: __, ...streamLimits } = limits;
    const outcome = await calls.run(called, (call) => {
      // The stream has the time limit.
      call.pause();
      return calls.attempts(call, called, async () => {
        this.#held = undefined;
        const stream = this.#open({ ...streamLimits, ...asked } as StreamOptions<never>);
        try {
          return { answer: await call.race(stream.infer(inputs, options)) };
        } catch (failure) {
          // Only the end of the stream tells the server that nobody waits any more.
          if (call.error !== undefined) stream.cancel();
          // With others behind it, the request cannot be sent again in its order.
          if (this.#latest !== request) return { failure };
          this.#held = request;
          // No stream limits the wait before the next attempt.
          if (call.remainingMs === Infinity) call.restart();
          throw failure;
        }
      });
    });
    if ('answer' in outcome) return outcome.answer;
    throw outcome.failure;
  }

  #open(options: StreamOptions<never>): AnsweredStream {
    if (this.#stream === undefined || this.#stream.isOver) {
      this.#stream = new AnsweredStream(this.#source.client.stream(options));
    }
    return this.#stream;
  }

  #model(called: BegunCall): Promise<ModelSignature> {
    return this.#source.calls.run(called, (call) => this.#source.model(call));
  }

  async #refuseDecoupled(called: BegunCall): Promise<void> {
    const { name, decoupled } = await this.#model(called);
    if (!decoupled) return;
    throw new TritonError(
      'INVALID_ARG',
      `model '${name}' is decoupled: it answers a request any number of times, and a sequence of the client takes one answer; use streamSample with the option sequence`,
    );
  }

  #lose(failure: TritonError): TritonError {
    this.#lost ??= new TritonError(
      'UNAVAILABLE',
      `the server does not keep sequence ${this.id} any more, begin a new one: ${failure.message}`,
      { cause: failure },
    );
    while (this.#queue.length > 0) this.#queue.shift()!.reject(this.#lost);
    return this.#lost;
  }

  #close(): void {
    this.#stream?.end();
    this.#stream = undefined;
  }
}

/** An integer that every kind of id can have. With 100 000 live sequences, two are the same once in a million such crowds. */
function randomId(): number {
  const [high, low] = crypto.getRandomValues(new Uint32Array(2));
  return (high! % 2 ** 21) * 2 ** 32 + low! || 1;
}

function ignore(): void {}
