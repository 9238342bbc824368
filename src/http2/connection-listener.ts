// The contract of a connection with its user.

import type { HeaderList } from './header-list.js';
import type { ErrorCodeName, Http2Error } from './http2-error.js';
import type { Http2Stream, StreamListener } from './http2-stream.js';

/** What a connection's user sees of it as a whole, and may do with it. */
export interface ConnectionControl {
  readonly openStreams: number;
  /** All bytes that have come, and all HEADERS and DATA frames. */
  readonly receivedBytes: number;
  readonly receivedMessageFrames: number;
  /** HEADERS and DATA frames that were handed over to the socket. */
  readonly sentMessageFrames: number;
  /** The socket has more than the system takes at the moment: no message goes out until it has drained. */
  readonly isCongested: boolean;
  /** The peer may leave data unread for as long as it likes, even when others need the room. Default: false. */
  readsLate: boolean;
  /** `onAnswer` when the peer has answered; never when the connection ends before. */
  ping(onAnswer: () => void): void;
  /** Ends the connection and its streams now, and tells the peer why. */
  close(code: ErrorCodeName, message: string): void;
}

export interface Goaway {
  readonly code: ErrorCodeName;
  /** What the peer says about it, one character a byte. */
  readonly debugData: string;
}

/** Gets the events of one connection. */
export interface ConnectionListener {
  /** The peer's settings have come: streams can be opened. */
  onReady?(): void;
  /**
   * A server: a request has begun; `endsStream` when its headers are all of it. Without a listener the user hears no more of
   * the stream.
   */
  onStream?(stream: Http2Stream, headers: HeaderList, endsStream: boolean): StreamListener | undefined;
  /** A client: the connection's `canOpenStream` was false because of too many streams, and is true again. */
  onStreamAvailable?(): void;
  /** The peer pings; the answer goes out by itself. */
  onPing?(): void;
  /** The peer wants to end the connection: no streams can be opened. */
  onGoaway?(goaway: Goaway): void;
  /** The connection is over, after its streams were told. With an error when it did not end in order. */
  onClose?(error: Http2Error | undefined): void;
  /** The peer broke the protocol on one stream, which is reset. */
  onStreamError?(error: Http2Error, streamId: number): void;
  /** A listener of a stream has thrown, which resets the stream; or with stream 0 this one, which ends the connection. */
  onListenerError?(error: unknown, streamId: number): void;
}
