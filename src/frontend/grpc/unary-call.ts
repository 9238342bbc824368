// One unary call: its single request message, its deadline, its answer. The method gets the message once it is complete and
// nothing follows it. It does not wait for the half-close, which some clients send separately.

import { TritonError } from '../../errors.js';
import type { InflightRequest } from '../../core/response-sink.js';
import { GRPC_STATUS, STATUS_OF_CODE, type GrpcStatus } from '../../protocol/grpc/grpc-status.js';
import {
  chooseCompression,
  compressFrame,
  inflateMessage,
  type CompressionLevel,
  type MessageEncoding,
} from '../../protocol/grpc/message-compression.js';
import { copyWholeMessage, MessageFrameReader, type ReceivedMessage } from '../../protocol/grpc/message-frame.js';
import { largeMemory } from '../../sockets/large-memory.js';
import { CallDeadline } from './call-deadline.js';
import { type CallHead, type CallListener, type GrpcCall, NO_ROOM } from './grpc-call.js';
import { requestMemory } from './request-memory.js';

/** Takes the answer of a unary call. Only the first answer counts. */
export interface UnaryAnswer {
  /** Answers with the response message, as one whole frame. `memory`: see ModelInferResponse. */
  succeed(frame: readonly Uint8Array[], memory?: ArrayBuffer): void;
  fail(error: TritonError): void;
}

export interface UnaryMethod {
  /** True when the answer may come later. Only then does the call's deadline count. */
  readonly waits: boolean;
  /** Largest request message in bytes, if that is less than the server takes. */
  readonly maxMessageSize?: number;
  /** How its answers are compressed for clients that accept that. Default: not at all. */
  readonly compression?: CompressionLevel;
  /** Serves one request. An error that it throws is the answer. Returns the work to cancel when nobody waits any more. */
  serve(message: Buffer, answer: UnaryAnswer, head: CallHead): InflightRequest | undefined;
}

export class UnaryCall implements CallListener, UnaryAnswer {
  readonly #call: GrpcCall;
  readonly #method: UnaryMethod;
  readonly #maxMessageSize: number;
  #frames: MessageFrameReader | undefined;
  /** A complete message, with more bytes behind it. */
  #message: ReceivedMessage | undefined;
  #serving = false;
  #ended = false;
  #inflight: InflightRequest | undefined;
  #deadline: CallDeadline | undefined;

  constructor(call: GrpcCall, method: UnaryMethod, maxMessageSize: number) {
    this.#call = call;
    this.#method = method;
    this.#maxMessageSize = maxMessageSize;
    const { timeout } = call.head;
    if (timeout === undefined) return;
    this.#deadline = new CallDeadline(timeout, this);
    const { malformed } = this.#deadline;
    if (malformed !== undefined) this.#abort(GRPC_STATUS.INTERNAL, malformed);
  }

  onData(chunk: Buffer): void {
    if (this.#ended) return;
    if (this.#serving) return this.#refuseFurther();
    if (this.#frames === undefined) {
      // The message is copied, because tensors are views of it and the chunk will be overwritten.
      const message = copyWholeMessage(chunk, this.#maxMessageSize);
      if (message !== undefined) return this.#call.hold(message.length) ? this.#serve(message) : this.#refuse();
    }
    const frames = (this.#frames ??= this.#startFrames());
    frames.add(Buffer.from(chunk));
    this.#read(frames);
  }

  onFilled(): void {
    if (this.#frames === undefined) return;
    this.#frames.filled();
    this.#read(this.#frames);
  }

  #read(frames: MessageFrameReader): void {
    for (let message = frames.next(); message !== undefined; message = frames.next()) {
      if (this.#message !== undefined) return this.#refuseFurther();
      this.#message = message;
    }
    const message = this.#message?.bytes.length ?? 0;
    if (!this.#call.hold(message + frames.heldBytes, message + frames.wholeBytes)) return this.#refuse();
    const target = frames.target();
    if (target !== undefined) return this.#call.receiveInto(target);
    if (frames.failure !== undefined) return this.#abort(frames.failure.status, frames.failure.message);
    if (this.#message !== undefined && frames.idle) this.#take(this.#message);
  }

  onNoRoom(): void {
    if (!this.#ended) this.#refuse();
  }

  onEnd(): void {
    if (!this.#ended && !this.#serving) this.#abort(GRPC_STATUS.INTERNAL, 'Unable to parse request');
  }

  #refuseFurther(): void {
    const { path } = this.#call.head;
    this.#abort(GRPC_STATUS.INTERNAL, `expected one request message in a call of ${path}, got more`);
  }

  onClose(): void {
    if (this.#ended) return;
    this.#end();
    this.#inflight?.cancel();
  }

  succeed(frame: readonly Uint8Array[], memory?: ArrayBuffer): void {
    if (this.#ended) return;
    this.#end();
    const { compression: level = 'none' } = this.#method;
    const compression =
      level === 'none' ? undefined : chooseCompression(level, this.#call.head.header('grpc-accept-encoding'));
    if (compression === undefined) {
      if (memory !== undefined) largeMemory.lend(memory, frame);
      return this.#call.respond(frame);
    }
    compressFrame(frame, compression, (compressed) => {
      this.#call.respond(compressed, { 'grpc-encoding': compression.encoding });
    });
  }

  fail(error: TritonError): void {
    if (this.#ended) return;
    this.#end();
    this.#call.fail(STATUS_OF_CODE[error.code], error.message);
  }

  /** The deadline has passed. */
  expire(): void {
    if (!this.#ended) this.#expire();
  }

  #startFrames(): MessageFrameReader {
    return new MessageFrameReader(this.#maxMessageSize, this.#call.head.header('grpc-encoding'), true, requestMemory);
  }

  #take({ bytes, compressed }: ReceivedMessage): void {
    if (!compressed) return this.#serve(bytes);
    this.#serving = true;
    const encoding = this.#call.head.header('grpc-encoding') as MessageEncoding;
    const limits = { maxSize: this.#maxMessageSize, hold: (held: number) => !this.#ended && this.#call.hold(held) };
    inflateMessage(bytes, encoding, limits, (message) => {
      if (this.#ended) return;
      if (Buffer.isBuffer(message)) this.#serve(message);
      else this.#abort(message.status, message.message);
    });
  }

  #serve(message: Buffer): void {
    this.#serving = true;
    this.#message = undefined;
    if (this.#method.waits && this.#deadline?.passed === true) return this.#expire();
    try {
      this.#inflight = this.#method.serve(message, this, this.#call.head);
    } catch (error) {
      this.fail(TritonError.from(error));
    }
  }

  // Ends the call before it cancels the request. Otherwise the core's word about the cancellation would be the answer.
  #abort(status: GrpcStatus, message: string): void {
    this.#end();
    this.#call.fail(status, message);
    this.#inflight?.cancel();
  }

  #refuse(): void {
    this.#abort(GRPC_STATUS.RESOURCE_EXHAUSTED, NO_ROOM);
  }

  #end(): void {
    this.#ended = true;
    this.#frames = undefined;
    this.#message = undefined;
    this.#deadline?.clear();
  }

  #expire(): void {
    this.#abort(GRPC_STATUS.DEADLINE_EXCEEDED, 'Deadline Exceeded');
  }
}
