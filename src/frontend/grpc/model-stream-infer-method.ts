// ModelStreamInfer: requests to any models on one stream. Ordinary models answer in the order of the requests, decoupled models
// as soon as they have an answer. A failed request is reported by a message on the stream, which stays open.

import { serverStopping } from '../../core/refusals.js';
import { TritonError } from '../../errors.js';
import { type PacedWork } from '../../pacing/paced-work.js';
import { startPaced, type PacedRun } from '../../pacing/paced-workers.js';
import { applicationMetadata } from '../../protocol/grpc/application-metadata.js';
import {
  decodeInferRequest,
  type CompleteInferRequest,
  type RequestReference,
} from '../../protocol/grpc/decode-infer-request.js';
import { encodeStreamError } from '../../protocol/grpc/encode-infer-response.js';
import type { CompressionLevel } from '../../protocol/grpc/message-compression.js';
import { ERROR_CODES_HEADER } from '../../protocol/grpc/stream-error-code.js';
import { completeRequest, type IncomingRequest, type InferOptions } from '../complete-request.js';
import { NO_ROOM } from './grpc-call.js';
import type { AnswerStream, StreamHandler, StreamMethod } from './stream-call.js';
import { StreamedRequest } from './streamed-request.js';

/** Most requests of one stream under way at a time: as many as a connection may have calls. */
const MAX_REQUESTS_UNDER_WAY = 1000;

/** A stream whose open requests have this many bytes takes no more, until some are answered. */
const MANY_BYTES = 64 << 20;
/** The limit is at most this fraction of the largest request. The data that follows in HTTP/2's windows needs room too. */
const PART_OF_LARGEST = 4;

const STOPPED = 'GRPC server is shutting down and has stopped accepting new requests.';

export function modelStreamInferMethod(
  options: InferOptions,
  compression: CompressionLevel,
  largestRequest = Infinity,
): StreamMethod {
  const manyBytes = Math.min(MANY_BYTES, largestRequest / PART_OF_LARGEST);
  return { compression, open: (stream) => new InferStream(stream, options, manyBytes) };
}

/** A request, as far as it has been read. */
interface ReadRequest {
  /** Undefined when the bytes are not a request. */
  reference: RequestReference | undefined;
  /** Also false for a model that is not there. */
  decoupled: boolean;
  /** Whether the request came while the server was stopping. */
  readonly isRefused: boolean;
}

class InferStream implements StreamHandler {
  readonly #stream: AnswerStream;
  readonly #options: InferOptions;
  readonly #manyBytes: number;
  /** Whether the first error of a model ends the stream with its status. */
  readonly #errorsEndStream: boolean;
  readonly #wantsCodes: boolean;
  readonly #open = new Set<StreamedRequest>();
  /** Bytes of the open requests. */
  #bytes = 0;
  /** The first request to an ordinary model whose answers have not been sent; others follow it in order. */
  #first: StreamedRequest | undefined;
  #last: StreamedRequest | undefined;
  /** True until the reader has caught up. */
  #waiting = false;
  /** The reading of a request that takes several turns. */
  #reading: PacedRun | undefined;
  #halfClosed = false;
  #draining = false;
  #ended = false;

  constructor(stream: AnswerStream, options: InferOptions, manyBytes: number) {
    this.#stream = stream;
    this.#options = options;
    this.#manyBytes = manyBytes;
    this.#errorsEndStream = stream.head.header('triton_grpc_error') === 'true';
    this.#wantsCodes = stream.head.header(ERROR_CODES_HEADER) === 'true';
  }

  message(bytes: Buffer): void {
    this.#read(bytes);
    // No more requests while this one is read, or while the client leaves earlier answers untaken.
    if (this.#reading === undefined && this.#stream.room === undefined && !this.#isFull) return;
    this.#stream.hold();
    this.#resume();
  }

  get #isFull(): boolean {
    return this.#open.size >= MAX_REQUESTS_UNDER_WAY || this.#bytes >= this.#manyBytes;
  }

  #read(bytes: Buffer): void {
    const read: ReadRequest = { reference: undefined, decoupled: false, isRefused: this.#draining };
    let isLate = false;
    // The bytes were counted as they came, so only an inflated message may find no room.
    if (!this.#stream.keep(this.#bytes + bytes.length)) {
      this.#fail(new TritonError('UNAVAILABLE', NO_ROOM));
      return;
    }
    this.#bytes += bytes.length;
    this.#reading = startPaced(this.#complete(bytes, read), {
      done: (incoming) => {
        // To make room for it, its own connection may have had to end.
        if (this.#ended) return incoming.release();
        this.#run(read, incoming, bytes.length);
        if (isLate) this.#hasRead();
      },
      failed: (thrown) => {
        const error = TritonError.from(thrown);
        this.#release(bytes.length);
        if (read.reference !== undefined) this.#refuse(read.reference, read.decoupled, error);
        // The bytes are not a request, so the rest of the stream cannot be trusted.
        else this.#fail(error);
        if (isLate) this.#hasRead();
      },
      unwanted: (incoming) => incoming.release(),
    });
    isLate = true;
  }

  #complete(bytes: Buffer, read: ReadRequest): PacedWork<IncomingRequest<CompleteInferRequest>> {
    const resolve = ({ modelName, modelVersion, id }: RequestReference) => {
      read.reference = { modelName, modelVersion, id };
      const model = this.#options.server.resolve(modelName, modelVersion);
      read.decoupled = model.config.decoupled;
      return model;
    };
    const rules = { ...this.#options, protocol: 'GRPC', texts: applicationMetadata, resolve } as const;
    return completeRequest(decodeInferRequest(bytes), this.#stream.head, rules);
  }

  #hasRead(): void {
    this.#reading = undefined;
    this.#resume();
    this.#endWhenIdle();
  }

  #run(read: ReadRequest, incoming: IncomingRequest<CompleteInferRequest>, bytes: number): void {
    const { reference, decoupled, isRefused } = read;
    if (isRefused) {
      // Otherwise the client would keep the stream from ending.
      incoming.release();
      this.#release(bytes);
      this.#refuse(reference!, decoupled, serverStopping(reference!.id));
      return;
    }
    const request = new StreamedRequest(this, reference!, incoming, bytes);
    this.#begin(request);
    request.started(this.#options.server.infer(incoming.request, request, incoming.load));
  }

  /** Counts off the bytes of a request that has ended. */
  #release(bytes: number): void {
    if (bytes > 0) this.#stream.keep((this.#bytes -= bytes));
  }

  #fail(error: TritonError): void {
    for (const request of this.#open) request.release();
    this.#stream.fail(error);
    this.cancel();
  }

  halfClosed(): void {
    this.#halfClosed = true;
    this.#endWhenIdle();
  }

  drain(): void {
    this.#draining = true;
    this.#endWhenIdle();
  }

  cancel(): void {
    this.#ended = true;
    this.#reading?.cancel();
    this.#reading = undefined;
    const open = [...this.#open];
    this.#open.clear();
    this.#first = this.#last = undefined;
    for (const request of open) request.cancel();
  }

  /** Sends an answer of a decoupled model, or of an ordinary model whose turn it is. */
  send(frame: readonly Uint8Array[], memory?: ArrayBuffer): void | Promise<void> {
    return this.#stream.send(frame, memory);
  }

  get room(): Promise<void> | undefined {
    return this.#stream.room;
  }

  /** Takes the outcome of a request. It is sent at once for decoupled models, else after the outcomes of all requests before it. */
  settled(request: StreamedRequest): void {
    if (request.ordered) while (this.#first?.outcome !== undefined && !this.#ended) this.#deliver(this.#first);
    else this.#deliver(request);
    this.#resume();
    this.#endWhenIdle();
  }

  #begin(request: StreamedRequest): void {
    this.#open.add(request);
    if (!request.ordered) return;
    if (this.#last === undefined) this.#first = request;
    else this.#last.next = request;
    this.#last = request;
  }

  #deliver(request: StreamedRequest): void {
    const { outcome } = request;
    this.#open.delete(request);
    this.#release(request.bytes);
    if (request === this.#first) {
      this.#first = request.next;
      if (this.#first === undefined) this.#last = undefined;
    }
    if (outcome === undefined || this.#ended) return;
    if (outcome.kind === 'failed' && this.#errorsEndStream && !outcome.refused) {
      this.#fail(outcome.error);
      return;
    }
    if (outcome.kind === 'failed') void this.send(request.errorFrame(outcome, this.#wantsCodes));
    else if (outcome.frame !== undefined) void this.send(outcome.frame, outcome.memory);
  }

  /** Answers a request that never reached the core. */
  #refuse(reference: RequestReference, decoupled: boolean, error: TritonError): void {
    if (decoupled || this.#first === undefined) {
      void this.send(encodeStreamError(error, { id: reference.id, model: undefined, wantsCode: this.#wantsCodes }));
      return;
    }
    // The refusal has to wait for its turn.
    const request = new StreamedRequest(this, reference, undefined);
    this.#begin(request);
    request.fail(error);
  }

  /** Takes further requests as soon as there is room for them and for their answers. */
  #resume(): void {
    if (this.#ended || this.#waiting || this.#reading !== undefined) return;
    if (this.#isFull) return;
    const { room } = this.#stream;
    if (room === undefined) return this.#stream.resume();
    this.#waiting = true;
    void room.then(() => {
      this.#waiting = false;
      this.#resume();
    });
  }

  #endWhenIdle(): void {
    if (this.#ended || this.#open.size > 0 || this.#reading !== undefined) return;
    if (!this.#halfClosed && !this.#draining) return;
    this.#ended = true;
    if (this.#halfClosed) this.#stream.finish();
    else this.#stream.fail(new TritonError('UNAVAILABLE', STOPPED));
  }
}
