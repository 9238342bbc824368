// What the server needs of each wire protocol's listener.

export interface Frontend {
  /** The frontend's name in the log. */
  readonly name: string;
  /** Listens and resolves with the real port. Rejects with UNAVAILABLE, naming address and port, when the port is taken. */
  start(): Promise<number>;
  /** Asks clients to use other connections from now on. The server is about to stop, and serves on for a while. */
  retire(): void;
  /** Takes no new connections. Existing ones close as soon as they have no request under way. */
  drain(): void;
  /** Connections with a request or an answer under way. */
  readonly underWay: number;
  /** Connections with nothing under way whose clients may still send a request. */
  readonly awaited: number;
  /** Resolves when all requests are answered and all answers are written. Call it after {@link drain}. */
  settled(): Promise<void>;
  /** Closes all remaining connections, and logs which clients that cut off. Resolves when no socket is open. Idempotent. */
  close(): Promise<void>;
  /** Number of connections that are open now. */
  readonly connections: number;
}
