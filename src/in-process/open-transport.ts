// How a client finds a server in its own process.

/** An object with this member is a server in this process. Two copies of the package share the symbol. */
export const OPEN_TRANSPORT: unique symbol = Symbol.for('tstriton.openTransport');

/**
 * A server in this process, in the place of a URL: a {@link Triton} whose server runs in this thread, and what `inProcess` and
 * `mockModel` of 'tstriton/testing' give.
 */
export interface InProcessServer {
  /** For clients of this package. */
  readonly [OPEN_TRANSPORT]: () => unknown;
}
