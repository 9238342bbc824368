// What the receivers of headers and data need of their connection.

import type { Exchanges } from './exchanges.js';
import type { Http2Error } from './http2-error.js';
import type { Sender } from './sender.js';
import type { Role, StreamTable } from './stream-table.js';

export interface ReceivingConnection {
  readonly role: Role;
  readonly streams: StreamTable;
  readonly sender: Sender;
  readonly exchanges: Exchanges;
  /** Ends the connection; nothing more is read. */
  fail(error: Http2Error): void;
  /** The peer made work for nothing. False when the connection has failed over it. */
  charge(cost: number, what: string): boolean;
}
