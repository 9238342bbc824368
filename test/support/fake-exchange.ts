// A request for the HTTP frontend and its answer, without a socket: tests give the body and read what was answered.
import type { BodyPlan, HttpExchange, HttpHeaders, HttpRequest, ServeRequest } from '../../src/http1/http-exchange.js';

export class FakeRequest implements HttpRequest {
  readonly method: string;
  readonly target: string;
  readonly bodyLength: number | undefined;
  readonly rawHeaders: readonly string[];
  handler: ServeRequest | undefined;
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
    this.method = method;
    this.target = target;
    this.bodyLength = bodyLength;
    this.#headers = headers;
    this.rawHeaders = Object.entries(headers).flat();
  }

  header(name: string): string | undefined {
    return this.#headers[name];
  }
}

export class FakeExchange implements HttpExchange {
  readonly request: HttpRequest;
  readonly largestBody = Infinity;
  /** How the frontend wants the body. */
  plan: BodyPlan | undefined;
  begun = false;
  ended = false;
  aborted = false;
  commonHeaders: HttpHeaders = [];
  refusalText: HttpExchange['refusalText'];
  reusable: ArrayBuffer | undefined;
  status = 0;
  headers: HttpHeaders = [];
  readonly parts: Uint8Array[] = [];
  /** What `send` gives: a promise where the reader is slow. */
  room: void | Promise<void> = undefined;
  #onAbort: (() => void) | undefined;

  constructor(request: HttpRequest) {
    this.request = request;
  }

  hold(): boolean {
    return true;
  }

  receiveBody(plan: BodyPlan): void {
    this.plan = plan;
  }

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
}
