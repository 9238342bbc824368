// What the receivers of headers and data need of their connection.

import type { ByteShare } from '../sockets/byte-budget.js';
import type { Http2Error } from './http2-error.js';
import type { Sender } from './sender.js';
import type { StreamLifecycle } from './stream-lifecycle.js';
import type { Role } from './connection-options.js';
import type { StreamTable } from './stream-table.js';

export interface ReceivingConnection {
  readonly role: Role;
  readonly streams: StreamTable;
  readonly sender: Sender;
  readonly lifecycle: StreamLifecycle;
  /** What the connection may hold in memory. Undefined: anything. */
  readonly share: ByteShare | undefined;
  /** Ends the connection; nothing more is read. */
  fail(error: Http2Error): void;
  /** The peer made work for nothing. False when the connection has failed over it. */
  charge(cost: number, what: string): boolean;
}
