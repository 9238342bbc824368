// A gRPC call without a wire: its messages go to a served method, and come back, in this thread. It costs no more than its
// messages, and the method serves it like any other call.

import { assert } from '../errors.js';
import { callHead, type CallHead, type CallListener, type GrpcCall } from '../frontend/grpc/grpc-call.js';
import { StreamCall } from '../frontend/grpc/stream-call.js';
import { UnaryCall } from '../frontend/grpc/unary-call.js';
import { isStreaming, type ServedMethod } from '../frontend/grpc/grpc-service.js';
import { MessageFrameReader } from '../protocol/grpc/message-frame.js';
import type { GrpcStatus } from '../protocol/grpc/grpc-status.js';

/** How a call ended. */
export interface CallEnd {
  readonly status: GrpcStatus | 0;
  readonly message: string;
}

/** Gets the answers and the end of a call. */
export interface CallReader {
  message(bytes: Buffer): void;
  ended(end: CallEnd): void;
}

export interface AskedCall {
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  /** One message as a frame. */
  readonly frame: readonly Uint8Array[];
}

/** Answers that wait for their reader, until the method is to wait too. */
const SLOW_AFTER = 16;

export class InProcessCall implements GrpcCall {
  readonly head: CallHead;
  readonly #reader: CallReader;
  readonly #frames = new MessageFrameReader(Infinity, undefined, false);
  #listener: CallListener | undefined;
  #waiting = 0;
  #slow = false;
  #ended = false;

  constructor({ path, headers }: AskedCall, reader: CallReader) {
    const header = (name: string) => (Object.hasOwn(headers, name) ? headers[name] : undefined);
    this.head = callHead({ path, header, rawHeaders: Object.entries(headers).flat() });
    this.#reader = reader;
  }

  /** Hands the request to the method. */
  begin({ method, maxMessageSize = Infinity }: ServedMethod, frame: readonly Uint8Array[]): void {
    this.#listener = isStreaming(method)
      ? new StreamCall(this, method, { maxMessageSize, onEnd: () => undefined })
      : new UnaryCall(this, method, maxMessageSize);
    // The method keeps the bytes, and the client may change its tensors afterwards.
    this.#listener.onData(Buffer.concat(frame));
    if (!this.#ended) this.#listener.onEnd();
  }

  /** Client and server are one process. */
  hold(): boolean {
    return true;
  }

  respond(frame: readonly Uint8Array[]): void {
    this.write(frame);
    this.end();
  }

  write(frames: readonly Uint8Array[]): boolean {
    if (this.#ended) return true;
    // A copy: what the model answered may be shared with others.
    this.#frames.add(Buffer.concat(frames));
    for (let next = this.#frames.next(); next !== undefined; next = this.#frames.next()) {
      this.#waiting++;
      this.#reader.message(next.bytes);
    }
    this.#slow = this.#waiting >= SLOW_AFTER;
    return !this.#slow;
  }

  /** A message was taken. */
  taken(): void {
    this.#waiting--;
    if (!this.#slow || this.#waiting > SLOW_AFTER / 2) return;
    this.#slow = false;
    if (!this.#ended) this.#listener?.onDrain?.();
  }

  end(): void {
    this.#end({ status: 0, message: '' });
  }

  fail(status: GrpcStatus, message: string): void {
    this.#end({ status, message });
  }

  reset(): void {
    this.#ended = true;
  }

  /** Nobody waits for it any more. */
  cancel(): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#listener?.onClose();
  }

  // A request is one message, which has come.
  pause(): void {}
  resume(): void {}

  receiveInto(): void {
    assert(false, 'a request in this process comes whole');
  }

  #end(end: CallEnd): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#reader.ended(end);
  }
}
