// A request in the form of the Fetch standard (https://fetch.spec.whatwg.org), as the routers of Hono and Next.js hand it on.

import type { UnderlyingByteSource } from 'node:stream/web';

import { TritonError } from '../../errors.js';
import type { HttpHeaders } from '../../http1/http-exchange.js';
import { MountedExchange, type MountedSurroundings } from './mounted-exchange.js';
import { MountedRequest } from './mounted-request.js';

/** Statuses of answers without a body. */
const BODILESS: ReadonlySet<number> = new Set([204, 304]);
/** A stream has room while fewer bytes than this wait in it. */
const ROOM_BYTES = 65_536;
/** Copying so many bytes takes well under a millisecond. A longer whole answer leaves in blocks. */
const BLOCK_BYTES = 1 << 20;

export class FetchExchange extends MountedExchange {
  readonly #request: Request;
  /** Removed by hand: a controller that removes it makes an error for each request. */
  readonly #onHangUp = () => this.#hungUp();
  #reader: ReadableStreamDefaultReader<Uint8Array> | undefined;
  #controller: ReadableStreamDefaultController<Uint8Array> | undefined;
  #open: (() => void) | undefined;
  #resolve!: (answer: Response) => void;
  #reject!: (reason: unknown) => void;
  /** Rejects when the client left, or the server closes, before the answer has begun. */
  readonly answer = new Promise<Response>((resolve, reject) => {
    this.#resolve = resolve;
    this.#reject = reject;
  });

  constructor(request: Request, target: string, surroundings: MountedSurroundings, onDone: () => void) {
    const { method, headers, body, signal } = request;
    const rawHeaders = [...headers].flat();
    // A request that a program has made has its host in the URL alone.
    if (!headers.has('host')) rawHeaders.push('host', new URL(request.url).host);
    const isMeasured = body === null || headers.has('content-length');
    super(new MountedRequest({ method, target, rawHeaders, isMeasured }), surroundings, '', onDone);
    this.#request = request;
    signal.addEventListener('abort', this.#onHangUp);
  }

  protected readBody(): void {
    void this.#readBody();
  }

  async #readBody(): Promise<void> {
    try {
      this.#reader = this.#request.body?.getReader();
      for (let next = await this.#reader?.read(); next?.done === false; next = await this.#reader?.read()) {
        this.bodyPiece(next.value);
      }
      this.bodyEnd();
    } catch {
      // The body ended early, so nobody is there any more.
      this.#hungUp();
    }
  }

  protected dropBody(): void {
    this.#reader?.cancel().catch(() => undefined);
  }

  protected sendWhole(status: number, headers: HttpHeaders, body: readonly Uint8Array[]): void {
    const [first] = body;
    const isEmpty = BODILESS.has(status) || this.request.method === 'HEAD' || first === undefined;
    const isLong = body.reduce((sum, part) => sum + part.byteLength, 0) > BLOCK_BYTES;
    const whole = isEmpty ? null : isLong ? blocksOf(body) : body.length === 1 ? first : Buffer.concat(body);
    this.#resolve(
      new Response(whole as ConstructorParameters<typeof Response>[0], { status, headers: pairsOf(headers) }),
    );
    this.done();
  }

  protected sendHead(status: number, headers: HttpHeaders): void {
    const stream = new ReadableStream<Uint8Array>(
      {
        start: (controller) => void (this.#controller = controller),
        pull: () => this.#pulled(),
        cancel: () => this.#hungUp(),
      },
      { highWaterMark: ROOM_BYTES, size: ({ byteLength }) => byteLength },
    );
    this.#resolve(new Response(stream, { status, headers: pairsOf(headers) }));
  }

  protected sendPart(part: Uint8Array): void | Promise<void> {
    const controller = this.#controller!;
    controller.enqueue(part);
    this.unread(this.waitingBytes);
    if (this.waitingBytes < ROOM_BYTES) return undefined;
    return new Promise((resolve) => {
      const before = this.#open;
      this.#open = () => {
        before?.();
        resolve();
      };
    });
  }

  protected sendEnd(): void {
    this.#controller!.close();
    this.done();
  }

  protected get waitingBytes(): number {
    const room = this.#controller?.desiredSize;
    return room === undefined || room === null ? 0 : ROOM_BYTES - room;
  }

  protected cutOff(): void {
    const error = new TritonError('UNAVAILABLE', 'the server has stopped');
    this.#controller?.error(error);
    this.#reject(error);
  }

  protected override done(): void {
    this.#request.signal.removeEventListener('abort', this.#onHangUp);
    super.done();
  }

  protected override lost(): void {
    super.lost();
    this.#openRoom();
  }

  #pulled(): void {
    this.moved();
    this.unread(this.waitingBytes);
    this.#openRoom();
  }

  #openRoom(): void {
    const open = this.#open;
    this.#open = undefined;
    open?.();
  }

  #hungUp(): void {
    const reason: unknown =
      this.#request.signal.reason ?? new TritonError('CANCELLED', 'the client left before its request had come');
    this.lost();
    // A program may read on, but nothing comes. Servers cancel the stream in this turn, and would log the error.
    setImmediate(() => this.#controller?.error(reason));
    this.#reject(reason);
  }
}

/**
 * The bytes as a stream of copies, of which each is made in a turn of the event loop of its own. `Response` would copy all at once,
 * for most of a second where there are some hundred megabytes.
 */
function blocksOf(parts: readonly Uint8Array[]): ReadableStream<Uint8Array> {
  const copies = copiesOf(parts);
  let isCancelled = false;
  const source: UnderlyingByteSource = {
    type: 'bytes',
    pull: (controller) =>
      new Promise<void>((resolve) => {
        setImmediate(() => {
          resolve();
          if (isCancelled) return;
          const { value, done } = copies.next();
          if (done !== true) {
            controller.enqueue(value);
            return;
          }
          controller.close();
          controller.byobRequest?.respond(0);
        });
      }),
    cancel: () => void (isCancelled = true),
  };
  return new ReadableStream(source, { highWaterMark: 0 });
}

function* copiesOf(parts: readonly Uint8Array[]): Generator<Uint8Array<ArrayBuffer>, undefined> {
  for (const part of parts) {
    for (let start = 0; start < part.byteLength; start += BLOCK_BYTES)
      yield new Uint8Array(part.subarray(start, start + BLOCK_BYTES));
  }
}

/** As `new Response` takes them, which makes its own `Headers`. */
function pairsOf(flat: HttpHeaders): [string, string][] {
  const pairs: [string, string][] = [];
  for (let i = 0; i < flat.length; i += 2) pairs.push([flat[i]!, flat[i + 1]!]);
  return pairs;
}
