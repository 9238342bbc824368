// One unary call: its single request message, its deadline, its answer. A message is handed to the method as soon as it
// is complete and nothing follows it, which is before the half-close of clients that send that separately.

import { TritonError } from '../../errors.js';
import type { InflightRequest } from '../../core/response-sink.js';
import { GRPC_STATUS, STATUS_OF_CODE, type GrpcStatus } from '../../protocol/grpc/grpc-status.js';
import { parseGrpcTimeout } from '../../protocol/grpc/grpc-timeout.js';
import { MessageFrameReader, wholeMessage } from '../../protocol/grpc/message-frame.js';
import type { CallListener, GrpcCall } from './grpc-transport.js';

/** Takes the answer of a unary call: the first of either counts. */
export interface UnaryAnswer {
  /** The response message, as one whole frame. */
  succeed(frame: readonly Uint8Array[]): void;
  fail(error: TritonError): void;
}

export interface UnaryMethod {
  /** True when the answer may come later: then the call's deadline counts. */
  readonly waits: boolean;
  /** Serves one request; what it throws is the answer. Gives back what to cancel when nobody waits any more. */
  serve(message: Buffer, answer: UnaryAnswer): InflightRequest | undefined;
}

/** The longest delay of a timer; a deadline beyond it, 24 days, is none. */
const MAX_TIMER_MILLISECONDS = 2 ** 31 - 1;

export class UnaryCall implements CallListener, UnaryAnswer {
  readonly #call: GrpcCall;
  readonly #method: UnaryMethod;
  readonly #maxMessageSize: number;
  #frames: MessageFrameReader | undefined;
  /** Complete, but more bytes came with it. */
  #message: Buffer | undefined;
  #serving = false;
  #ended = false;
  #inflight: InflightRequest | undefined;
  #deadline = Infinity;
  #timer: NodeJS.Timeout | undefined;

  constructor(call: GrpcCall, method: UnaryMethod, maxMessageSize: number) {
    this.#call = call;
    this.#method = method;
    this.#maxMessageSize = maxMessageSize;
    const timeout = call.header('grpc-timeout');
    if (timeout !== undefined) this.#startDeadline(timeout);
  }

  onData(chunk: Buffer): void {
    if (this.#ended) return;
    if (this.#frames === undefined && !this.#serving) {
      const message = wholeMessage(chunk, this.#maxMessageSize);
      if (message !== undefined) return this.#serve(message);
    }
    this.#frames ??= new MessageFrameReader(this.#maxMessageSize, this.#call.header('grpc-encoding'));
    const messages = this.#frames.push(chunk);
    const { failure, idle } = this.#frames;
    if (failure !== undefined) {
      // The only status that depends on what the server can read, which the client is then told.
      const headers = failure.status === GRPC_STATUS.UNIMPLEMENTED ? { 'grpc-accept-encoding': 'identity' } : undefined;
      return this.#abort(failure.status, failure.message, headers);
    }
    const earlier = this.#serving || this.#message !== undefined ? 1 : 0;
    if (earlier + messages.length > 1) {
      return this.#abort(
        GRPC_STATUS.INTERNAL,
        `expected one request message in a call of ${this.#call.path}, got more`,
      );
    }
    this.#message ??= messages[0];
    if (this.#message !== undefined && !this.#serving && idle) this.#serve(this.#message);
  }

  onHalfClose(): void {
    if (this.#ended || (this.#serving && (this.#frames === undefined || this.#frames.idle))) return;
    this.#abort(GRPC_STATUS.INTERNAL, 'Unable to parse request');
  }

  onCancel(): void {
    if (this.#ended) return;
    this.#end();
    this.#inflight?.cancel();
  }

  succeed(frame: readonly Uint8Array[]): void {
    if (this.#ended) return;
    this.#end();
    this.#call.respond(frame);
  }

  fail(error: TritonError): void {
    if (this.#ended) return;
    this.#end();
    this.#call.fail(STATUS_OF_CODE[error.code], error.message);
  }

  #serve(message: Buffer): void {
    this.#serving = true;
    this.#message = undefined;
    if (this.#method.waits && this.#deadline !== Infinity && performance.now() >= this.#deadline) return this.#expire();
    try {
      this.#inflight = this.#method.serve(message, this);
    } catch (error) {
      this.fail(TritonError.from(error));
    }
  }

  // Ends before it cancels, so that the answer is not what the core says about the cancellation.
  #abort(status: GrpcStatus, message: string, headers?: Readonly<Record<string, string>>): void {
    this.#end();
    this.#call.fail(status, message, headers);
    this.#inflight?.cancel();
  }

  #end(): void {
    this.#ended = true;
    this.#frames = undefined;
    this.#message = undefined;
    if (this.#timer !== undefined) clearTimeout(this.#timer);
  }

  #startDeadline(timeout: string): void {
    const milliseconds = parseGrpcTimeout(timeout);
    if (milliseconds === undefined) {
      this.#abort(
        GRPC_STATUS.INTERNAL,
        `malformed grpc-timeout '${timeout}', expected digits and one of H, M, S, m, u, n`,
      );
      return;
    }
    this.#deadline = performance.now() + milliseconds;
    if (milliseconds <= MAX_TIMER_MILLISECONDS) this.#timer = setTimeout(expire, Math.ceil(milliseconds), this);
  }

  /** The deadline has passed. */
  expire(): void {
    if (!this.#ended) this.#expire();
  }

  #expire(): void {
    this.#abort(GRPC_STATUS.DEADLINE_EXCEEDED, 'Deadline Exceeded');
  }
}

function expire(call: UnaryCall): void {
  call.expire();
}
