// What the server needs of each wire protocol's listener.

export interface Frontend {
  /** As the log names it. */
  readonly name: string;
  /** Listens and resolves with the real port. Rejects with UNAVAILABLE naming address and port when taken. */
  start(): Promise<number>;
  /** The server is about to stop and serves on for a while: clients are told to use other connections from now on. */
  retire(): void;
  /** No new connections; existing ones close as soon as they have no request under way. */
  drain(): void;
  /** Connections with a request or an answer under way. */
  readonly underWay: number;
  /** Resolves when all requests are answered and all answers are written. To be called after {@link drain}. */
  settled(): Promise<void>;
  /** Closes whatever is left, and logs whom that cut off; resolves when no socket is open. Idempotent. */
  close(): Promise<void>;
  /** Open now. */
  readonly connections: number;
}
