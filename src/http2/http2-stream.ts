// The contract of a stream with its user: how a server or a client sends and receives the messages of one exchange.

import type { HeaderList } from './header-list.js';
import type { ErrorCodeName, Http2Error } from './http2-error.js';
import type { OutgoingHeaders } from './outgoing-headers.js';

/**
 * One exchange. It drops messages that are sent after its end, or after its connection's. A server's stream is over when it has
 * sent the end of its answer. The server then asks a client that is still sending to stop.
 */
export interface Http2Stream {
  readonly id: number;
  /** It has ended in both directions, or was reset. */
  readonly isClosed: boolean;
  /** Bytes of data that were handed over and that neither the peer's window nor the socket has taken yet. */
  readonly queuedBytes: number;

  /** Sends a head: of the answer, or with `endsStream` trailers or an answer that is all headers. */
  sendHeaders(headers: OutgoingHeaders, endsStream?: boolean): void;
  /**
   * Sends data; takes ownership of it, because large chunks are not copied. False: more is queued than is good, and
   * `onDrain` will follow.
   */
  sendData(chunk: Uint8Array, endsStream?: boolean): boolean;
  /**
   * Sends a whole message: a head, data, and trailers. As one write, when windows and socket allow. Bytes that were held for
   * the stream do not count any more. Returns false and sends nothing when the server has no room for a message that its client
   * may not read for long.
   */
  sendMessage(head: OutgoingHeaders, data: readonly Uint8Array[], trailers: OutgoingHeaders): boolean;
  /**
   * Counts that many bytes as held for the stream until it is closed. They replace the count so far. Bytes that come for
   * {@link receiveInto} are counted beside them. `whole`: how many it is going to hold, Infinity where nothing tells; while it holds
   * less, it may be ended for others. Returns false and changes nothing when the server has no room for more.
   */
  hold(bytes: number, whole?: number): boolean;
  /** Ends the stream in both directions and drops queued data. Its listener hears no more of it. */
  reset(code: ErrorCodeName): void;

  /**
   * Whether data counts as consumed as soon as `onData` has returned; true unless changed. Otherwise {@link consume} says when,
   * and until then the peer may send no more than its window.
   */
  consumesAtOnce: boolean;
  consume(bytes: number): void;
  /**
   * The next `target.length` bytes of data go there instead of to `onData`, and `onFilled` follows; large ones are read from
   * the socket straight into it. They count as consumed at once. When the stream ends before, one more read may go there:
   * do not use that memory again.
   */
  receiveInto(target: Uint8Array): void;
}

/** Gets the events of one stream, in this order, until it is closed. */
export interface StreamListener {
  /** A client: the head of the answer, or one before it (1xx). Both: trailers, which end the message. */
  onHeaders?(headers: HeaderList): void;
  /** The next bytes of the message, valid only during the call: they are a view of memory that the next read overwrites. */
  onData(chunk: Buffer): void;
  /** What {@link Http2Stream.receiveInto} asked for is complete. */
  onFilled?(): void;
  /** The server has no room for the message, or others need it. The stream has to end, and holds nothing any more. */
  onNoRoom?(): void;
  /** The peer's message is complete. */
  onEnd(): void;
  /** All queued data has been sent. */
  onDrain?(): void;
  /**
   * The stream is over. With an error: the peer reset it, broke the protocol on it, or the connection is lost. The code
   * REFUSED_STREAM says that the peer did nothing for it, so that it may be sent again.
   */
  onClose?(error: Http2Error | undefined): void;
}
