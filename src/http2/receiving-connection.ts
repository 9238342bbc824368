// What the receivers of headers and data need of their connection.

import type { HeaderList } from './header-list.js';
import type { ErrorCodeName, Http2Error } from './http2-error.js';
import type { Sender } from './sender.js';
import type { StreamState } from './stream-state.js';
import type { Role, StreamTable } from './stream-table.js';

export interface ReceivingConnection {
  readonly role: Role;
  readonly streams: StreamTable;
  readonly sender: Sender;
  /** Ends the connection; nothing more is read. */
  fail(error: Http2Error): void;
  /** Resets a stream on which the peer broke the protocol; it may be closed already. */
  failStream(streamId: number, code: ErrorCodeName, message: string): void;
  /** The peer made work for nothing. False when the connection has failed over it. */
  charge(cost: number, what: string): boolean;
  /** The peer opens a stream, at a server. */
  accept(streamId: number, headers: HeaderList, endsStream: boolean): void;
  /** Tells the stream's listener; its exceptions end the stream and nothing else. */
  tellHeaders(stream: StreamState, headers: HeaderList): void;
  tellData(stream: StreamState, chunk: Buffer): void;
  tellFilled(stream: StreamState): void;
  /** The peer's message is complete, as `stream.endIsReceived` says. */
  tellEnd(stream: StreamState): void;
}
