// The responses to one request over HTTP: server-sent events, read from the socket only as somebody takes them, so that the
// server waits for whoever is slow.

import type { IncomingMessage } from 'node:http';

import { TritonError } from '../errors.js';
import type { ModelInferResponse } from '../model/exchange.js';
import { decodeGenerateEvent } from '../protocol/http/decode-generate-event.js';
import { EventReader } from '../protocol/http/event-reader.js';
import type { ModelSignature } from '../protocol/model-signature.js';
import type { Call } from './call.js';
import { tooLargeError } from './connection-error.js';
import { httpError } from './http-error.js';
import { CLOSED_EARLY, toError } from './node-http-wire.js';
import type { ResponseStream } from './transport.js';

export interface HttpStreamRequest {
  readonly model: ModelSignature;
  /** Of the batch; undefined where tensors have no batch axis. */
  readonly rows: number | undefined;
  /** Names of the outputs that are wanted; empty for all. generate_stream sends all. */
  readonly outputs: readonly string[];
  /** Of one event. */
  readonly maxResponseBytes: number;
  /** For messages. */
  readonly address: string;
}

/** The answer of a model that gives one. */
export class OneResponse implements ResponseStream {
  #response: Promise<ModelInferResponse> | undefined;

  constructor(response: Promise<ModelInferResponse>) {
    this.#response = response;
    // Told to whoever asks for it.
    response.catch(() => {});
  }

  async next(): Promise<ModelInferResponse | undefined> {
    const response = this.#response;
    this.#response = undefined;
    return response;
  }

  cancel(): void {
    this.#response = undefined;
  }
}

const EVENT_STREAM = 'text/event-stream';

export class HttpResponses implements ResponseStream {
  readonly #opening: Promise<IncomingMessage>;
  readonly #request: HttpStreamRequest;
  readonly #call: Call;
  readonly #events = new EventReader();
  readonly #waiting: Buffer[] = [];
  #chunks: AsyncIterator<Buffer, unknown> | undefined;
  #response: IncomingMessage | undefined;
  #ended = false;

  constructor(opening: Promise<IncomingMessage>, request: HttpStreamRequest, call: Call) {
    this.#opening = opening;
    this.#request = request;
    this.#call = call;
    call.onAbort(() => this.cancel());
    opening.then(
      (response) => {
        this.#response = response;
        if (this.#ended) response.destroy();
      },
      // Told to whoever asks for a response.
      () => {},
    );
  }

  async next(): Promise<ModelInferResponse | undefined> {
    this.#chunks ??= await this.#begin();
    while (this.#waiting.length === 0) {
      const chunk = await this.#nextChunk(this.#chunks);
      if (chunk === undefined) return undefined;
      this.#waiting.push(...this.#events.push(chunk));
      if (this.#events.heldBytes > this.#request.maxResponseBytes) throw this.#tooLarge();
    }
    const { model, rows, outputs } = this.#request;
    const response = decodeGenerateEvent(this.#waiting.shift()!, model, rows);
    if (outputs.length === 0) return response;
    return { ...response, outputs: response.outputs.filter(({ name }) => outputs.includes(name)) };
  }

  cancel(): void {
    this.#ended = true;
    // An answer that is complete leaves its connection to others.
    if (this.#response?.readableEnded !== true) this.#response?.destroy();
  }

  /** The parts of the answer, if it is a stream; throws the error that it is otherwise. */
  async #begin(): Promise<AsyncIterator<Buffer, unknown>> {
    const response = await this.#opening;
    this.#call.throwIfAborted();
    const chunks = response[Symbol.asyncIterator]() as AsyncIterator<Buffer, unknown>;
    const isStream = response.headers['content-type']?.startsWith(EVENT_STREAM) === true;
    if (response.statusCode === 200 && isStream) return chunks;
    const { address } = this.#request;
    const parts: Buffer[] = [];
    let length = 0;
    for (;;) {
      const chunk = await this.#nextChunk(chunks);
      if (chunk === undefined) break;
      parts.push(chunk);
      length += chunk.length;
      if (length > this.#request.maxResponseBytes) throw this.#tooLarge();
    }
    const body = Buffer.concat(parts);
    if (response.statusCode === 200) {
      const type = response.headers['content-type'] ?? 'none';
      throw new TritonError('UNSUPPORTED', `${address} answered with content type ${type}, expected ${EVENT_STREAM}`);
    }
    // What fails before the first response is told as an event too.
    const text = isStream ? (new EventReader().push(body)[0] ?? body) : body;
    throw httpError({ status: response.statusCode!, headers: response.headers, body: text }, address);
  }

  #tooLarge(): TritonError {
    return tooLargeError(this.#request.maxResponseBytes, this.#request.address);
  }

  /** Undefined at the end of the answer. */
  async #nextChunk(chunks: AsyncIterator<Buffer, unknown>): Promise<Buffer | undefined> {
    try {
      const { done, value } = await this.#call.race(chunks.next());
      if (done !== true) return value as Buffer;
    } catch (error) {
      this.#call.throwIfAborted();
      throw toError(error, this.#request.address);
    }
    this.#call.throwIfAborted();
    if (this.#response?.complete !== true || this.#events.isInside)
      throw toError(new Error(CLOSED_EARLY), this.#request.address);
    return undefined;
  }
}
