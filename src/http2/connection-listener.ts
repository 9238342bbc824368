// The contract of a connection with its user.

import type { HeaderList } from './header-list.js';
import type { ErrorCodeName, Http2Error } from './http2-error.js';
import type { Http2Stream, StreamListener } from './http2-stream.js';

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
   * A server: a request has begun; `endsStream` when its headers are all of it. Without a listener nothing more is told
   * about the stream.
   */
  onStream?(stream: Http2Stream, headers: HeaderList, endsStream: boolean): StreamListener | undefined;
  /** A client: the connection's `canOpenStream` was false because of too many streams, and is true again. */
  onStreamAvailable?(): void;
  /** The peer pings, for the so many-th time since headers or data were sent to it; the answer goes out by itself. */
  onPing?(pingsWithoutData: number): void;
  /** The peer wants to end the connection: no streams can be opened. */
  onGoaway?(goaway: Goaway): void;
  /** The connection is over, after its streams were told. With an error when it did not end in order. */
  onClose?(error: Http2Error | undefined): void;
  /** The peer broke the protocol on one stream, which is reset. */
  onStreamError?(error: Http2Error, streamId: number): void;
  /** A listener of a stream has thrown, which resets the stream; or with stream 0 this one, which ends the connection. */
  onListenerError?(error: unknown, streamId: number): void;
}
