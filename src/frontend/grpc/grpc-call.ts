// A call as methods see it: what arrives of it, and how it ends. Message framing, deadlines and methods are above it; status,
// trailers and headers of gRPC's protocol below (http2-call.ts).

import type { GrpcStatus } from '../../protocol/grpc/grpc-status.js';

/**
 * A call that arrived. It ends once, by `respond`, `end`, `fail` or `reset`; ending it again, or after the client is
 * gone, does nothing.
 */
export interface GrpcCall {
  /** The method, as `/package.Service/Method`. */
  readonly path: string;
  /** A request header by its lower-case name. Of several lines one, joined by commas. */
  header(name: string): string | undefined;
  /** The request headers as they came: names and values in turn. */
  readonly rawHeaders: readonly string[];
  /** Ends the call with status OK and these bytes, one whole frame. Takes ownership of them. */
  respond(frame: readonly Uint8Array[], headers?: ResponseHeaders): void;
  /**
   * Sends bytes of an answer of several messages, whole frames, and takes ownership of them. The first time
   * `headers` are sent before. False: the reader is slow, and `onDrain` will follow.
   */
  write(frames: readonly Uint8Array[], headers?: ResponseHeaders): boolean;
  /** Ends the call with status OK after what was written. */
  end(): void;
  /** Ends the call with this status after what was written. `headers` are sent beside the status. */
  fail(status: GrpcStatus, message: string, headers?: ResponseHeaders): void;
  /** Ends the call without a status, dropping what was written and not sent. */
  reset(): void;
  /** The client has to wait, until {@link resume}, once it has sent as much as HTTP/2's windows let it; that still comes. */
  pause(): void;
  resume(): void;
  /**
   * Counts so many bytes as held for the call until it has ended, instead of what was counted before; what comes for
   * {@link receiveInto} is counted beside them. `whole`: how many it is going to hold, Infinity where nothing tells. False, and
   * nothing has changed, when the server has no room for more, or the call has ended.
   */
  hold(bytes: number, whole?: number): boolean;
  /**
   * The next `target.length` bytes of the request go there instead of to `onData`, and `onFilled` follows. When the call
   * ends before, that memory may still be written to.
   */
  receiveInto(target: Uint8Array): void;
}

/** What a call is told for whose request there is no room. */
export const NO_ROOM = 'the requests of all clients together hold too many bytes: try again later';

/** Further headers of an answer, by lower-case names. */
export type ResponseHeaders = Readonly<Record<string, string>>;

/** Gets the events of one call, until the call has ended. */
export interface CallListener {
  /** The next bytes of the request, valid only during the call. */
  onData(chunk: Buffer): void;
  /** What {@link GrpcCall.receiveInto} asked for is complete. */
  onFilled?(): void;
  /** There is no room for the request, or others need it: the call has to end. */
  onNoRoom?(): void;
  /** The client will send no more. */
  onHalfClose(): void;
  /** What was written has been sent: the reader is no longer slow. */
  onDrain?(): void;
  /** The client cancelled, or its connection is gone; the call has ended. */
  onCancel(): void;
}

/** Decides what a call is for. Undefined when it has been ended already. */
export type AcceptCall = (call: GrpcCall) => CallListener | undefined;

// A call that is refused for what its headers say. It is answered when its client has sent all of it, as many a client reads
// nothing before; one that has not done so for a while is answered and told to stop.

const PATIENCE_MILLISECONDS = 100;

export class RefusedCall implements CallListener {
  readonly #answer: () => void;
  readonly #patience: NodeJS.Timeout;

  constructor(answer: () => void) {
    this.#answer = answer;
    this.#patience = setTimeout(answer, PATIENCE_MILLISECONDS).unref();
  }

  onData(): void {}

  onHalfClose(): void {
    clearTimeout(this.#patience);
    this.#answer();
  }

  onCancel(): void {
    clearTimeout(this.#patience);
  }
}
