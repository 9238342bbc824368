// A request and its answer on node:http.

import type { IncomingMessage, ServerResponse } from 'node:http';

import type { ConnectedExchange, HttpConnection } from './http-connection.js';
import type { BodyReader, HttpHeaders, HttpRequest } from './http-exchange.js';

/** Up to this size the parts of a body are joined: one more copy costs less than one more write. */
const LARGEST_JOINED = 16 * 1024;

export class NodeExchange implements HttpRequest, ConnectedExchange {
  readonly #request: IncomingMessage;
  readonly #response: ServerResponse;
  readonly #connection: HttpConnection;
  readonly bodyLength: number | undefined;
  before: ConnectedExchange | undefined;
  after: ConnectedExchange | undefined;
  begun = false;
  commonHeaders: HttpHeaders = [];
  aborted = false;
  /** The client waits for a word before it sends the body (Expect: 100-continue). */
  #expectsContinue: boolean;
  #reader: BodyReader | undefined;
  #onAbort: (() => void) | undefined;
  /** While the reader is slow. */
  #room: Promise<void> | undefined;

  constructor(
    request: IncomingMessage,
    response: ServerResponse,
    { connection, expectsContinue }: { readonly connection: HttpConnection; readonly expectsContinue: boolean },
  ) {
    this.#request = request;
    this.#response = response;
    this.#connection = connection;
    this.bodyLength = declaredLength(request);
    this.#expectsContinue = expectsContinue;
    if (this.bodyLength === 0) this.#continue();
  }

  get method(): string {
    return this.#request.method!;
  }

  get target(): string {
    return this.#request.url!;
  }

  get rawHeaders(): readonly string[] {
    return this.#request.rawHeaders;
  }

  header(name: string): string | undefined {
    const value = this.#request.headers[name];
    return Array.isArray(value) ? value.join(', ') : value;
  }

  readBody(reader: BodyReader): void {
    this.#continue();
    this.#reader = reader;
    this.#request.on('data', (chunk: Buffer) => this.#reader?.data(chunk));
    this.#request.on('end', () => {
      // What came after the body may have spoilt the connection before this event.
      if (!this.begun) this.#reader?.end();
    });
  }

  dropBody(): void {
    this.#reader = undefined;
  }

  #continue(): void {
    if (!this.#expectsContinue) return;
    this.#expectsContinue = false;
    this.#response.writeContinue();
  }

  respond(status: number, headers: HttpHeaders, body: readonly Uint8Array[]): void {
    if (!this.#head(status, headers)) return;
    const response = this.#response;
    let length = 0;
    for (const { byteLength } of body) length += byteLength;
    if (length === 0) {
      response.end();
    } else if (length <= LARGEST_JOINED) {
      // As text of one byte a character, which Node joins with the head: one write instead of two.
      response.end(Buffer.concat(body, length).toString('latin1'), 'latin1');
    } else {
      for (const part of body.slice(0, -1)) response.write(part);
      response.end(body.at(-1));
    }
    this.#ended();
  }

  begin(status: number, headers: HttpHeaders): void {
    this.#head(status, headers);
  }

  send(part: Uint8Array): void | Promise<void> {
    const response = this.#response;
    if (response.destroyed || response.write(part)) return undefined;
    // One wait for all that is sent meanwhile: a fast callable has hundreds of answers under way.
    return (this.#room ??= new Promise((resolve) => {
      const { socket } = this.#connection;
      const resume = () => {
        response.off('drain', resume);
        socket.off('close', resume);
        this.#room = undefined;
        resolve();
      };
      response.on('drain', resume);
      socket.on('close', resume);
    }));
  }

  end(part?: Uint8Array): void {
    this.#ended();
    if (this.#response.destroyed) return;
    if (part === undefined) this.#response.end();
    else this.#response.end(part);
  }

  onAbort(listener: () => void): void {
    if (this.aborted) listener();
    else this.#onAbort = listener;
  }

  closeConnection(): void {
    this.#connection.closeWhenAnswered();
  }

  get isComplete(): boolean {
    return this.#request.complete;
  }

  get isSent(): boolean {
    return this.#response.writableFinished;
  }

  onSent(listener: () => void): void {
    this.#response.once('close', listener);
  }

  abort(): void {
    this.aborted = true;
    const listener = this.#onAbort;
    this.#onAbort = undefined;
    listener?.();
  }

  #ended(): void {
    this.#onAbort = undefined;
    this.#connection.ended(this);
  }

  /** False when nobody is there to read the answer. */
  #head(status: number, headers: HttpHeaders): boolean {
    this.begun = true;
    // Whether the body still comes is anybody's guess, so nothing can come after it.
    if (this.#expectsContinue) this.#connection.closeWhenAnswered();
    const isLast = this.#connection.beforeAnswer(this);
    if (this.#response.destroyed) return false;
    const { commonHeaders } = this;
    const closing = isLast ? ['Connection', 'close'] : [];
    const plain = !isLast && commonHeaders.length === 0;
    this.#response.writeHead(status, plain ? (headers as string[]) : [...headers, ...commonHeaders, ...closing]);
    return true;
  }
}

function declaredLength({ headers }: IncomingMessage): number | undefined {
  const { 'content-length': length, 'transfer-encoding': encoding } = headers;
  if (length !== undefined) return Number(length);
  return encoding === undefined ? 0 : undefined;
}
