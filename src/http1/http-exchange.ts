// What a server needs of HTTP/1.1, and nothing more: requests that arrive, their bodies, and their answers. Routes and what
// bodies mean are above it; sockets, heads, chunks and the order of pipelined answers below. An implementation may send a
// whole answer in one write, because it gets it in one call.

export interface HttpRequest {
  readonly method: string;
  /** As it came: a path with its query, or a whole URL. */
  readonly target: string;
  /** A header by its lower-case name. Of several lines one, joined by commas. */
  header(name: string): string | undefined;
  /** The headers as they came: names and values in turn, their bytes read as Latin-1. */
  readonly rawHeaders: readonly string[];
  /** No body may be larger: the server would have no room for it even if it held nothing else. */
  readonly largestBody: number;
  /** The length of the body that the request declares, 0 without one; undefined for a chunked body. */
  readonly bodyLength: number | undefined;
  /**
   * Reads the body, which a client that expects 100-continue is asked for. To be called before the request's `serve` returns: a
   * body that nobody reads by then is dropped.
   */
  readBody(reader: BodyReader): void;
  /** Drops what still comes of the body; its reader is told nothing more. */
  dropBody(): void;
  /**
   * Counts so many bytes as held for the request until it is answered, instead of what was counted before: that is what has come
   * of its body. False, and nothing has changed, when the server has no room for more, or nobody waits for the answer any more.
   */
  hold(bytes: number): boolean;
}

export interface BodyReader {
  /**
   * Asked for when a body of known length does not come in one piece: memory of so many bytes, into which the body is received; then
   * `data` is not told. It is asked for more, up to the whole length, when that much has come: a length is only a claim. Then what
   * lies in the memory that was given before has to lie in the new one. Memory of a body that never comes whole is freed with its
   * connection. Without `memory` the body is told piece by piece.
   */
  memory?(bytes: number): Buffer | undefined;
  /** The next bytes; nobody else writes to them. */
  data(chunk: Buffer): void;
  /** The body is here. Not told when the client hangs up before, nor when the request has been answered. */
  end(): void;
}

/** Headers as a flat list of names and values. */
export type HttpHeaders = readonly string[];

/**
 * The answer to one request: whole, by `respond`, or in parts, by `begin`, `send` and `end`. Answers leave in the order of
 * their requests. What is given after the client is gone is dropped. Bytes that are given stay as they are.
 */
export interface HttpAnswer {
  /** Whether the answer has begun. */
  readonly begun: boolean;
  /** What the answer has beside its own headers, whatever it is: that a request is malformed, too. */
  commonHeaders: HttpHeaders;
  respond(status: number, headers: HttpHeaders, body: readonly Uint8Array[]): void;
  begin(status: number, headers: HttpHeaders): void;
  /** A part of the body. A promise: the reader is slow, until there is room again or the client is gone. */
  send(part: Uint8Array): void | Promise<void>;
  end(part?: Uint8Array): void;
  /** Whether the client hung up before the answer had ended. */
  readonly aborted: boolean;
  /** Calls back when the client hangs up before the answer has ended. The last listener counts. */
  onAbort(listener: () => void): void;
  /** The connection takes no further requests, and closes after the answers to those that have come. */
  closeConnection(): void;
}

/** Answers a request, at once or later. */
export type ServeRequest = (request: HttpRequest, answer: HttpAnswer) => void;
