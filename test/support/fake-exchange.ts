// A request for the HTTP frontend and its answer, without a socket: tests give the body and read what was answered.
import type { BodyReader, HttpAnswer, HttpHeaders, HttpRequest } from '../../src/http1/http-exchange.js';
import { HeldRoom } from './held-room.js';

export class FakeRequest extends HeldRoom implements HttpRequest {
  readonly method: string;
  readonly target: string;
  readonly bodyLength: number | undefined;
  readonly largestBody = Infinity;
  readonly rawHeaders: readonly string[];
  /** Whether the frontend wants what still comes of the body. */
  reader: BodyReader | undefined;
  isDropped = false;
  readonly #headers: Readonly<Record<string, string>>;

  /** `headers` by their lower-case names; `bodyLength` is undefined for a chunked body. */
  constructor(
    method: string,
    target: string,
    {
      headers = {},
      bodyLength,
    }: { readonly headers?: Readonly<Record<string, string>>; readonly bodyLength?: number } = {},
  ) {
    super();
    this.method = method;
    this.target = target;
    this.bodyLength = bodyLength;
    this.#headers = headers;
    this.rawHeaders = Object.entries(headers).flat();
  }

  header(name: string): string | undefined {
    return this.#headers[name];
  }

  readBody(reader: BodyReader): void {
    this.reader = reader;
  }

  dropBody(): void {
    this.reader = undefined;
    this.isDropped = true;
  }
}

export class FakeAnswer implements HttpAnswer {
  begun = false;
  ended = false;
  aborted = false;
  commonHeaders: HttpHeaders = [];
  status = 0;
  headers: HttpHeaders = [];
  readonly parts: Uint8Array[] = [];
  /** What `send` gives: a promise where the reader is slow. */
  room: void | Promise<void> = undefined;
  isLast = false;
  #onAbort: (() => void) | undefined;

  get body(): string {
    return Buffer.concat(this.parts).toString();
  }

  respond(status: number, headers: HttpHeaders, body: readonly Uint8Array[]): void {
    this.begin(status, headers);
    this.parts.push(...body);
    this.end();
  }

  begin(status: number, headers: HttpHeaders): void {
    if (this.begun) throw new Error('the answer has begun');
    this.begun = true;
    this.status = status;
    this.headers = [...headers, ...this.commonHeaders];
  }

  send(part: Uint8Array): void | Promise<void> {
    if (this.ended) throw new Error('the answer has ended');
    this.parts.push(part);
    return this.room;
  }

  end(part?: Uint8Array): void {
    if (part !== undefined) void this.send(part);
    this.ended = true;
  }

  onAbort(listener: () => void): void {
    this.#onAbort = listener;
  }

  /** The client hangs up. */
  abort(): void {
    this.aborted = true;
    this.#onAbort?.();
  }

  closeConnection(): void {
    this.isLast = true;
  }
}
