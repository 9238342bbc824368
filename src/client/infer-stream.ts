// Requests to a model and their answers on one gRPC stream. The server reads the requests in order. Ordinary models also answer them
// in that order. A failed request does not end the stream.

import { checkMembers } from '../checks/check.js';
import { TritonError } from '../errors.js';
import type { InferTensor } from '../model/exchange.js';
import { onlyEnds } from '../protocol/grpc/decode-stream-message.js';
import type { ModelSignature } from '../protocol/model-signature.js';
import type { Call } from './call.js';
import { noAnswerError } from './connection-error.js';
import { FreeIds } from './free-ids.js';
import type { InferOptions } from './infer-options.js';
import type { InferKind } from './tensors/encode-inputs.js';
import type { ClientInputs, ClientOutputs } from './tensors/input-values.js';
import type { TensorSpecs } from '../model/tensor-spec.js';
import type { Tensor } from '../tensor/tensor.js';
import type { RequestStream, StreamedResponse } from './transport.js';
import type { ClassifiedRequest } from '../protocol/classified-request.js';

/** Options of a stream of requests. */
export type StreamOptions<Output extends string = string, Classified extends string = string> = Pick<
  InferOptions<Output, Classified>,
  'timeoutMs' | 'headers' | 'signal' | 'outputs' | 'classes'
>;

/** Options of one request on a stream. */
export type SendOptions = Pick<
  InferOptions,
  'requestId' | 'parameters' | 'sequence' | 'priority' | 'serverTimeoutMicroseconds'
>;

export const STREAM_MEMBERS = ['timeoutMs', 'headers', 'signal', 'outputs', 'classes'];
export const SEND_MEMBERS = ['requestId', 'parameters', 'sequence', 'priority', 'serverTimeoutMicroseconds'];

/** The answer to one of the requests: outputs, an error, or neither if the server only says that the answers have ended. */
export type StreamAnswer<Outputs> =
  | { readonly requestId: string; readonly outputs: Outputs; readonly error: undefined; readonly final: boolean }
  | { readonly requestId: string; readonly outputs: undefined; readonly error: TritonError; readonly final: true }
  | { readonly requestId: string; readonly outputs: undefined; readonly error: undefined; readonly final: true };

/** How the client makes requests, and opens the stream. */
export interface InferStreamSource {
  /** Throws when the client is closed. */
  begin(): Call;
  open(call: Call): Promise<{ readonly stream: RequestStream; readonly model: ModelSignature }>;
  /** Throws INVALID_ARG. */
  request(inputs: unknown, kind: InferKind, options: InferOptions, model: ModelSignature): ClassifiedRequest;
  /** Turns the outputs of a response into tensors. */
  decode(outputs: readonly InferTensor[], kind: InferKind, model: ModelSignature): Record<string, Tensor>;
  /** Called with the error of each request that fails. */
  failed(error: TritonError): void;
  ended(call: Call): void;
}

/**
 * Several requests on one gRPC stream, and the answers as they come.
 *
 * @example
 * await using stream = client.stream();
 * for (const x of samples) await stream.send({ x });
 * stream.end();
 * for await (const { requestId, outputs, error } of stream) console.log(requestId, outputs ?? error);
 */
export class InferStream<
  Inputs = ClientInputs<TensorSpecs>,
  Outputs = ClientOutputs<TensorSpecs>,
> implements AsyncIterableIterator<StreamAnswer<Outputs>> {
  readonly #source: InferStreamSource;
  /** The requests without a last answer, by id, in order. */
  readonly #open = new Map<string, InferKind>();
  #opening: ReturnType<InferStreamSource['open']> | undefined;
  #call: Call | undefined;
  readonly #ids = new FreeIds();
  /** Whether the server says of its answers which is the last. */
  #saysFinal = false;
  /** Sends that were asked for and have not settled. */
  #sending = 0;
  #reading = false;
  #isTimed = false;
  /** Whether the call has its turn and its stream. */
  #isOpen = false;
  #requestsEnded = false;
  #ended = false;
  /** Why a send ended the stream, until the reader has heard of it. */
  #untold: TritonError | undefined;
  #lastSend: Promise<unknown> = Promise.resolve();
  #lastRead: Promise<unknown> = Promise.resolve();

  /** Made by a client only. */
  constructor(source: InferStreamSource) {
    this.#source = source;
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  /**
   * Sends one sample. Settles with the request's id when there is room for more. Without `requestId` requests are numbered from 1.
   * The memory of the tensors must not change until the answer has come. Rejects with INVALID_ARG for inputs that do not fit.
   */
  send(inputs: Inputs, options: SendOptions = {}): Promise<string> {
    return this.#send(inputs, 'sample', options);
  }

  /** The same for a batch. */
  sendBatch(inputs: Inputs, options: SendOptions = {}): Promise<string> {
    return this.#send(inputs, 'batch', options);
  }

  /** Ends the requests: the loop over the answers ends after the last one. */
  end(): void {
    if (this.#requestsEnded) return;
    this.#requestsEnded = true;
    void this.#lastSend.then(async () => {
      if (!this.#ended && this.#opening !== undefined) (await this.#opening).stream.end();
    }, ignore);
  }

  /** The next answer; done after the last. Rejects if the stream breaks off, or if `timeoutMs` pass without an answer to a request. */
  next(): Promise<IteratorResult<StreamAnswer<Outputs>, undefined>> {
    const result = this.#lastRead.then(() => this.#advance());
    this.#lastRead = result.catch(ignore);
    return result as Promise<IteratorResult<StreamAnswer<Outputs>, undefined>>;
  }

  /** Cancels the requests that have no answer yet. */
  async return(): Promise<IteratorResult<never, undefined>> {
    this.#untold = undefined;
    this.#finish(new TritonError('CANCELLED', 'the stream was left'));
    return { done: true, value: undefined };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.return();
  }

  #send(inputs: unknown, kind: InferKind, options: SendOptions): Promise<string> {
    if (this.#requestsEnded) return Promise.reject(hasEnded());
    this.#sending++;
    const sent = this.#lastSend.then(() => this.#sendNow(inputs, kind, options));
    this.#lastSend = sent.catch(ignore);
    return sent;
  }

  async #sendNow(inputs: unknown, kind: InferKind, options: SendOptions): Promise<string> {
    try {
      checkMembers(options, SEND_MEMBERS, 'options of a request');
      if (this.#ended) throw hasEnded();
      return await this.#sendRequest(inputs, kind, options);
    } finally {
      this.#sending--;
      this.#watch();
    }
  }

  async #sendRequest(inputs: unknown, kind: InferKind, options: SendOptions): Promise<string> {
    let isOver = false;
    try {
      const { stream, model } = await this.#opened();
      this.#isOpen = true;
      ({ isOver } = stream);
      if (isOver) throw new TritonError('UNAVAILABLE', 'the server has ended the stream');
      const id = options.requestId ?? this.#ids.next(this.#open);
      const request = this.#source.request(inputs, kind, { ...options, requestId: id }, model);
      if (id === '' || this.#open.has(id)) {
        const got = id === '' ? 'is empty' : `'${id}' is that of a request without its last answer`;
        throw new TritonError('INVALID_ARG', `requestId ${got}: expected another one for each request of a stream`);
      }
      this.#open.set(id, kind);
      this.#watch();
      await this.#call!.race(stream.send(request));
      return id;
    } catch (error) {
      const failure = TritonError.from(error);
      this.#source.failed(failure);
      // A mistake in the request itself does not end the stream. One that the server has ended has answers to be read.
      const isMistake = this.#isOpen && failure.code === 'INVALID_ARG';
      if (!isMistake && !isOver && !this.#ended) {
        this.#untold = failure;
        this.#finish(failure);
      }
      throw failure;
    }
  }

  #opened(): ReturnType<InferStreamSource['open']> {
    if (this.#opening !== undefined) return this.#opening;
    // Its time runs from now on.
    this.#call = this.#source.begin();
    this.#isTimed = true;
    this.#opening = this.#source.open(this.#call);
    return this.#opening;
  }

  async #advance(): Promise<IteratorResult<StreamAnswer<Record<string, Tensor>>, undefined>> {
    const nothing = { done: true, value: undefined } as const;
    this.#tell();
    if (this.#ended || (this.#requestsEnded && this.#opening === undefined && this.#sending === 0)) return nothing;
    this.#reading = true;
    try {
      const { stream, model } = await this.#opened();
      this.#isOpen = true;
      this.#watch();
      const streamed = await stream.next();
      this.#restart();
      if (streamed !== undefined) return { done: false, value: this.#answer(streamed, model) };
      // Other servers than Triton do not say which answer of a decoupled model is the last.
      const [unanswered] = model.decoupled && !this.#saysFinal ? [] : this.#open.keys();
      if (unanswered !== undefined) {
        throw new TritonError(
          'UNAVAILABLE',
          `the server ended the stream without ${model.decoupled ? 'the last' : 'an'} answer to request '${unanswered}'`,
        );
      }
      this.#finish(undefined);
    } catch (error) {
      if (!this.#ended) {
        const failure = TritonError.from(error);
        this.#finish(failure);
        throw failure;
      }
      this.#tell();
    } finally {
      this.#reading = false;
      this.#watch();
    }
    return nothing;
  }

  #tell(): void {
    const untold = this.#untold;
    this.#untold = undefined;
    if (untold !== undefined) throw untold;
  }

  #answer({ response, error, final }: StreamedResponse, model: ModelSignature): StreamAnswer<Record<string, Tensor>> {
    const requestId = response.id === '' ? (this.#open.keys().next().value ?? '') : response.id;
    const kind = this.#open.get(requestId) ?? 'sample';
    this.#saysFinal ||= final !== undefined;
    const isLast = final ?? (error !== undefined || !model.decoupled);
    if (isLast || error !== undefined) this.#open.delete(requestId);
    if (error !== undefined) {
      this.#source.failed(error);
      return { requestId, outputs: undefined, error, final: true };
    }
    if (onlyEnds({ response, final }, model.decoupled))
      return { requestId, outputs: undefined, error: model.decoupled ? undefined : noAnswerError(), final: true };
    const outputs = this.#source.decode(response.outputs, kind, model);
    return { requestId, outputs, error: undefined, final: isLast };
  }

  /** The time limit runs while somebody waits for the server: for an answer to a request, or for room. */
  #watch(): void {
    if (!this.#isOpen) return;
    const waits = !this.#ended && (this.#sending > 0 || (this.#reading && this.#open.size > 0));
    if (waits === this.#isTimed) return;
    this.#isTimed = waits;
    if (waits) this.#call?.restart();
    else this.#call?.pause();
  }

  #restart(): void {
    if (this.#isTimed) this.#call?.restart();
  }

  #finish(error: TritonError | undefined): void {
    if (this.#ended) return;
    this.#ended = true;
    const call = this.#call;
    if (call === undefined) return;
    void this.#opening?.then(({ stream }) => stream.cancel(), ignore);
    if (error !== undefined) call.abort(error);
    call.end();
    this.#source.ended(call);
  }
}

function hasEnded(): TritonError {
  return new TritonError('UNAVAILABLE', 'the stream has ended');
}

function ignore(): void {}
