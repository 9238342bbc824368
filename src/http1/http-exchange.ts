// What a server needs of HTTP/1.1, and nothing more: requests that arrive, their bodies, and their answers. Routes and the
// meaning of bodies are above it. Sockets, heads, chunks and the order of pipelined answers are below it. An implementation
// may send a whole answer in one write, because it gets it in one call.

/** The head of a request. Requests of one connection share one object while their heads are byte for byte the same. */
export interface HttpRequest {
  readonly method: string;
  /** As it came: a path with its query, or a whole URL. */
  readonly target: string;
  /** A header by its lower-case name. The values of several lines are joined by commas. */
  header(name: string): string | undefined;
  /** The headers as they came: names and values in turn, their bytes read as Latin-1. */
  readonly rawHeaders: readonly string[];
  /** The length of the body that the request declares, 0 without one; undefined for a chunked body. */
  readonly bodyLength: number | undefined;
  /** Serves requests with this head. The server sets it for the first of them, and the others need no routing. */
  handler: ServeRequest | undefined;
}

/** How the server wants a body: whole, in one buffer. */
export interface BodyPlan {
  /** Larger bodies are refused. */
  readonly limit: number;
  /** With this status. Default: 400, as Triton does. */
  readonly tooLarge?: 400 | 413;
  /** An offset in the body. In memory that was allocated for a large body, a typed array of any kind may begin there. */
  readonly alignedAt: number;
  /**
   * The whole body. A body of a megabyte or more has its memory for itself. Not called when the client hangs up before, nor when
   * the request has been answered.
   */
  onBody(body: Buffer): void;
}

/** Headers as a flat list of names and values. */
export type HttpHeaders = readonly string[];

/**
 * A request and its answer. The answer is given whole, by `respond`, or in parts, by `begin`, `send` and `end`. Answers leave
 * in the order of their requests. Nothing is sent once the client is gone. Nobody may change bytes that were given.
 */
export interface HttpExchange {
  readonly request: HttpRequest;
  /** The server has no room for a larger body, even if it held nothing else. */
  readonly largestBody: number;
  /**
   * Receives the body; a client that expects 100-continue is asked for it. To be called before the `serve` of this request
   * returns: the connection drops a body that nobody has asked for by then.
   */
  receiveBody(plan: BodyPlan): void;
  /**
   * Counts that many bytes as held for the request until it is answered. They replace the count so far, which is the size of
   * the body. Returns false and changes nothing when the server has no room for more, or nobody waits for the answer any more.
   */
  hold(bytes: number): boolean;
  /** Whether the answer has begun. */
  readonly begun: boolean;
  /** Further headers of every answer to this request, including the refusal of a malformed body. */
  commonHeaders: HttpHeaders;
  /** The JSON of the refusal of a body, where it is not Triton's. */
  refusalText: ((status: number, message: string) => string) | undefined;
  /** Memory that nobody needs any more when the answer has been sent: the connection uses it again. To be set before the answer. */
  reusable: ArrayBuffer | undefined;
  respond(status: number, headers: HttpHeaders, body: readonly Uint8Array[]): void;
  begin(status: number, headers: HttpHeaders): void;
  /** Sends a part of the body. The promise means that the reader is slow: it resolves when there is room, or the client is gone. */
  send(part: Uint8Array): void | Promise<void>;
  end(part?: Uint8Array): void;
  /** Whether the client hung up before the answer had ended. */
  readonly aborted: boolean;
  /** Calls back when the client hangs up before the answer has ended. The last listener counts. */
  onAbort(listener: () => void): void;
}

/** Answers a request, at once or later. */
export type ServeRequest = (exchange: HttpExchange) => void;

/** Seconds after which a client may send a refused request again. Only refusals before an execution say so. */
export const RETRY_AFTER_SECONDS = '1';
