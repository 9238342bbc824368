// A call as methods see it: the bytes that arrive, and the ways to end it. Message framing, deadlines and methods build on it.
// http2-call.ts beneath it writes the status, trailers and headers of gRPC's protocol. An HTTP/2 stream passes its events to the
// listener of its call.

import type { KeepaliveOptions } from './connection-keepalive.js';
import type { GrpcStatus } from '../../protocol/grpc/grpc-status.js';

/** The headers of a call. Calls with the same headers may share one. */
export interface CallHead {
  /** The method, as `/package.Service/Method`. */
  readonly path: string;
  /** The text of the grpc-timeout header. */
  readonly timeout: string | undefined;
  /** A request header by its lower-case name. Several lines of one name are joined by commas. */
  readonly header: (name: string) => string | undefined;
  /** The request headers as they came: names and values in turn. */
  readonly rawHeaders: readonly string[];
}

export function callHead({ path, header, rawHeaders }: Omit<CallHead, 'timeout'>): CallHead {
  return { path, header, rawHeaders, timeout: header('grpc-timeout') };
}

/**
 * A call that arrived. It ends once, by `respond`, `end`, `fail` or `reset`. Ending it again, or after the client is gone, does
 * nothing.
 */
export interface GrpcCall {
  readonly head: CallHead;
  /** Ends the call with status OK and these bytes, one whole frame. Takes ownership of them. */
  respond(frame: readonly Uint8Array[], headers?: ResponseHeaders): void;
  /**
   * Sends bytes of an answer of several messages, whole frames, and takes ownership of them. The first call sends `headers`
   * before them. Returns false when the reader is slow; `onDrain` will then follow.
   */
  write(frames: readonly Uint8Array[], headers?: ResponseHeaders): boolean;
  /** Ends the call with status OK after all that was written. */
  end(): void;
  /** Ends the call with this status after all that was written. `headers` are sent beside the status. */
  fail(status: GrpcStatus, message: string, headers?: ResponseHeaders): void;
  /** Ends the call without a status. Drops all that was written and not sent. */
  reset(): void;
  /** Changes the keepalive of the connection that the call came on, where there is one. */
  keepalive?(options: Partial<KeepaliveOptions>): void;
  /** Makes the client wait until {@link resume}. It may still send as much as HTTP/2's windows let it, and those bytes still arrive. */
  pause(): void;
  resume(): void;
  /**
   * Sets the number of bytes that count as held for the call until it has ended. Bytes for {@link receiveInto} are counted in
   * addition. `whole` is the number that the call is going to hold, Infinity if that is unknown. Returns false and changes
   * nothing when the server has no room for more, or the call has ended.
   */
  hold(bytes: number, whole?: number): boolean;
  /**
   * Writes the next `target.length` bytes of the request into `target` instead of passing them to `onData`; `onFilled` follows.
   * If the call ends earlier, that memory may still be written to.
   */
  receiveInto(target: Uint8Array): void;
}

/** The text for a call whose request does not fit into the server's budget. */
export const NO_ROOM = 'the requests of all clients together hold too many bytes: try again later';

/** Further headers of an answer, by lower-case names. */
export type ResponseHeaders = Readonly<Record<string, string>>;

/** Gets the events of one call. Events after the end of the call have no meaning. */
export interface CallListener {
  /** The next bytes of the request, valid only during the call. */
  onData(chunk: Buffer): void;
  /** The target of {@link GrpcCall.receiveInto} is full. */
  onFilled?(): void;
  /** The server has no room for the request, or other requests need that room: the call has to end. */
  onNoRoom(): void;
  /** The client will send no more. */
  onEnd(): void;
  /** All that was written has been sent: the reader has caught up. */
  onDrain?(): void;
  /** The call has ended in order, or its client has cancelled it or is gone. */
  onClose(): void;
}

/** Takes a call. Returns undefined when it has already ended the call. */
export type TakeCall<Call = GrpcCall> = (call: Call) => CallListener | undefined;

/** Finds what serves calls with these headers. */
export type RouteCall = (head: CallHead) => TakeCall;

// A call that is refused because of its headers. Many clients read nothing until they have sent everything, so the answer waits
// until then. A client that takes too long gets the answer earlier, and is stopped.

const PATIENCE_MILLISECONDS = 100;

export class RefusedCall implements CallListener {
  readonly #answer: () => void;
  readonly #patience: NodeJS.Timeout;

  constructor(answer: () => void) {
    this.#answer = answer;
    this.#patience = setTimeout(answer, PATIENCE_MILLISECONDS).unref();
  }

  onData(): void {}

  onEnd(): void {
    clearTimeout(this.#patience);
    this.#answer();
  }

  onNoRoom(): void {
    this.onEnd();
  }

  onClose(): void {
    clearTimeout(this.#patience);
  }
}
