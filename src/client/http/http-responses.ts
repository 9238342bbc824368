// The responses to one request over HTTP, as server-sent events. They are read from the socket only as the reader takes them, so the
// server waits for a slow reader.

import { lowerCase } from '../../ascii.js';
import { TritonError } from '../../errors.js';
import type { ModelInferResponse } from '../../model/exchange.js';
import { decodeGenerateEvent } from '../../protocol/http/decode-generate-event.js';
import { EventReader } from '../../protocol/http/event-reader.js';
import type { ModelSignature } from '../../protocol/model-signature.js';
import type { Call } from '../call.js';
import { tooLargeError } from '../connection-error.js';
import { codingOf, httpError } from './http-error.js';
import { CLOSED_EARLY, type HttpWire, type PartedResponse } from './http-wire.js';
import type { ResponseStream } from '../transport.js';

export interface HttpStreamRequest {
  readonly model: ModelSignature;
  /** The rows of the batch; undefined where tensors have no batch axis. */
  readonly rows: number | undefined;
  /** Names of the outputs that the caller wants; empty for all. generate_stream sends all. */
  readonly outputs: readonly string[];
}

/** The answer of a model that gives exactly one. */
export class OneResponse implements ResponseStream {
  #response: Promise<ModelInferResponse> | undefined;

  constructor(response: Promise<ModelInferResponse>) {
    this.#response = response;
    // The reader gets this error when it asks for the response.
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

/** The answer, and the wire that carries it. */
export interface OpeningResponse {
  readonly wire: Pick<HttpWire, 'address' | 'maxResponseBytes' | 'failure'>;
  readonly opening: Promise<PartedResponse>;
}

export class HttpResponses implements ResponseStream {
  readonly #wire: OpeningResponse['wire'];
  readonly #opening: Promise<PartedResponse>;
  readonly #request: HttpStreamRequest;
  readonly #call: Call;
  readonly #events = new EventReader();
  readonly #waiting: Buffer[] = [];
  #parts: AsyncIterator<Uint8Array, unknown> | undefined;
  #response: PartedResponse | undefined;
  #ended = false;

  constructor({ wire, opening }: OpeningResponse, request: HttpStreamRequest, call: Call) {
    this.#wire = wire;
    this.#opening = opening;
    this.#request = request;
    this.#call = call;
    call.onAbort(() => this.cancel());
    opening.then(
      (response) => {
        this.#response = response;
        if (this.#ended) response.cancel();
      },
      // The reader gets this error when it asks for a response.
      () => {},
    );
  }

  async next(): Promise<ModelInferResponse | undefined> {
    this.#parts ??= await this.#begin();
    while (this.#waiting.length === 0) {
      const part = await this.#nextPart(this.#parts);
      if (part === undefined) return undefined;
      this.#waiting.push(...this.#events.push(part));
      if (this.#events.heldBytes > this.#wire.maxResponseBytes) throw this.#tooLarge();
    }
    const { model, rows, outputs } = this.#request;
    const response = decodeGenerateEvent(this.#waiting.shift()!, model, rows);
    if (outputs.length === 0) return response;
    return { ...response, outputs: response.outputs.filter(({ name }) => outputs.includes(name)) };
  }

  cancel(): void {
    this.#ended = true;
    this.#response?.cancel();
  }

  /** Returns the parts of the answer if it is a stream. Otherwise the answer is an error, which is thrown. */
  async #begin(): Promise<AsyncIterator<Uint8Array, unknown>> {
    const response = await this.#opening;
    this.#call.throwIfAborted();
    const parts = response.parts();
    const { status, headers } = response;
    const contentType = headers['content-type'];
    const isStream = contentType !== undefined && lowerCase(contentType).startsWith(EVENT_STREAM);
    const { address, maxResponseBytes } = this.#wire;
    if (status === 200 && codingOf(headers) !== undefined)
      throw httpError({ status, headers, body: Buffer.alloc(0) }, address);
    if (status === 200 && isStream) return parts;
    const all: Buffer[] = [];
    let length = 0;
    for (;;) {
      const part = await this.#nextPart(parts);
      if (part === undefined) break;
      all.push(part);
      length += part.length;
      if (length > maxResponseBytes) throw this.#tooLarge();
    }
    const body = Buffer.concat(all);
    if (status === 200) {
      throw new TritonError(
        'UNSUPPORTED',
        `${address} answered with content type ${contentType ?? 'none'}, expected ${EVENT_STREAM}`,
      );
    }
    // An error before the first response comes as an event too.
    const text = isStream ? (new EventReader().push(body)[0] ?? body) : body;
    throw httpError({ status, headers, body: text }, address);
  }

  #tooLarge(): TritonError {
    return tooLargeError(this.#wire.maxResponseBytes, this.#wire.address);
  }

  /** Undefined at the end of the answer. */
  async #nextPart(parts: AsyncIterator<Uint8Array, unknown>): Promise<Buffer | undefined> {
    try {
      const { done, value } = await this.#call.race(parts.next());
      if (done !== true) {
        const { buffer, byteOffset, byteLength } = value as Uint8Array;
        return Buffer.from(buffer, byteOffset, byteLength);
      }
    } catch (error) {
      this.#call.throwIfAborted();
      throw this.#wire.failure(error);
    }
    this.#call.throwIfAborted();
    if (this.#response?.complete !== true || this.#events.isInside) throw this.#wire.failure(new Error(CLOSED_EARLY));
    return undefined;
  }
}
