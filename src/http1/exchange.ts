// A request and its answer on a connection. Answers leave in the order of their requests: until those before it have left, an
// answer waits here.

import { lowerCase } from '../ascii.js';
import type { HeldRequest } from '../sockets/byte-budget.js';
import { ANSWER_BEGINNING, CONTINUE, dateLine, headerLines, statusLine } from './answer-head.js';
import { faultText, NO_ROOM_FOR_ANSWER, type Fault } from './fault.js';
import type { BodyReader, HttpAnswer, HttpHeaders, HttpRequest } from './http-exchange.js';
import type { RequestHead } from './request-head.js';

/** What an exchange needs of its connection. */
export interface ExchangeConnection {
  /** Called before the head of an answer is made. True: the server wants it to say that the connection closes. */
  beginAnswer(exchange: Exchange): boolean;
  /** Sends text of one byte a character. Only for the exchange whose turn it is. */
  sendText(text: string): void;
  /** Sends bytes that nobody writes to any more. Only for the exchange whose turn it is. */
  sendBytes(bytes: Uint8Array): void;
  /** A promise while the client is so slow that nothing more should be sent. */
  room(exchange: Exchange): void | Promise<void>;
  /** The answer has ended. */
  answerEnded(exchange: Exchange): void;
  /** Nothing comes after the answers to the requests that have come. */
  closeWhenAnswered(): void;
  /** No request may hold more. */
  readonly largestRequest: number;
  /** A request is to hold so many bytes, of `whole` as it says. False: there is no room. */
  hold(exchange: HeldRequest, bytes: number, whole?: number): boolean;
  /** Whether there is room for an answer of so many bytes. */
  admitsAnswer(bytes: number): boolean;
  /** So many more bytes of answers wait for their turn; negative: fewer. */
  queued(bytes: number): void;
}

/** Smaller answers are not worth asking whether there is room for them. */
const SMALLEST_ASKED = 65_536;
/** Smaller heads are not counted: the connection itself costs more. */
const SMALLEST_COUNTED_HEAD = 1024;

const KEEP_ALIVE = `Connection: keep-alive\r\nKeep-Alive: timeout=620\r\n`;
const CLOSE = 'Connection: close\r\n';
const LAST_CHUNK = '0\r\n\r\n';
/** Readers take sizes of 16 digits. */
const MOST_ZEROS = 8;

export class Exchange implements HttpRequest, HttpAnswer, HeldRequest {
  readonly #connection: ExchangeConnection;
  readonly #head: RequestHead;
  /** The one after it on the connection. */
  next: Exchange | undefined;
  /** Whether its answer is the next on the wire. */
  hasTurn = false;
  /** Whether its body has come whole. */
  isReceived = false;
  begun = false;
  ended = false;
  /** Its answer has no other end than that of the connection. */
  isOpenEnded = false;
  aborted = false;
  // Bytes that are counted for the request, kept by the budget.
  heldBytes = 0;
  wholeBytes = 0;
  isLarge = false;
  commonHeaders: HttpHeaders = NONE;
  reader: BodyReader | undefined;
  #expectsContinue: boolean;
  #isChunked = false;
  /** Characters that were sent ahead of the answer, or of its next chunk. */
  #ahead = 0;
  #hasBody = true;
  #onAbort: (() => void) | undefined;
  #queue: (string | Uint8Array)[] | undefined;
  /** Of what waits for its turn. */
  queuedBytes = 0;
  #room: { readonly promise: Promise<void>; readonly open: () => void } | undefined;

  constructor(connection: ExchangeConnection, head: RequestHead) {
    this.#connection = connection;
    this.#head = head;
    this.#expectsContinue = head.expects === '100-continue';
  }

  get method(): string {
    return this.#head.method;
  }

  get target(): string {
    return this.#head.target;
  }

  get largestBody(): number {
    return this.#connection.largestRequest;
  }

  get bodyLength(): number | undefined {
    return this.#head.bodyLength;
  }

  /** Whether the client wants to send further requests. */
  get keepsAlive(): boolean {
    return this.#head.keepsAlive;
  }

  get rawHeaders(): readonly string[] {
    return this.#head.rawHeaders;
  }

  header(name: string): string | undefined {
    return this.#head.header(name);
  }

  readBody(reader: BodyReader): void {
    this.continue();
    this.reader = reader;
  }

  dropBody(): void {
    this.reader = undefined;
  }

  hold(bytes: number): boolean {
    return !this.aborted && !this.ended && this.#connection.hold(this, this.#headBytes + bytes);
  }

  /** So many more bytes of its body have come. False: there is no room for them. */
  holdBody(bytes: number): boolean {
    const { bodyLength = Infinity } = this.#head;
    return this.#connection.hold(this, this.heldBytes + bytes, this.#headBytes + bodyLength);
  }

  /** Its head has come. False: there is no room for it. */
  holdHead(): boolean {
    const bytes = this.#headBytes;
    return bytes === 0 || this.#connection.hold(this, bytes);
  }

  get #headBytes(): number {
    const { length } = this.#head.text;
    return length < SMALLEST_COUNTED_HEAD ? 0 : length;
  }

  /** Asks for the body where the client waits for that. */
  continue(): void {
    if (!this.#expectsContinue) return;
    this.#expectsContinue = false;
    this.#sendText(CONTINUE);
  }

  respond(status: number, headers: HttpHeaders, body: readonly Uint8Array[]): void {
    if (this.begun || this.aborted) return;
    if (!this.#hasRoom(body)) {
      refuse(this, NO_ROOM_FOR_ANSWER);
      return;
    }
    this.#begin(status, headers);
    for (const part of body) this.#sendPart(part);
    this.#end();
  }

  begin(status: number, headers: HttpHeaders): void {
    if (!this.begun && !this.aborted) this.#begin(status, headers);
  }

  send(part: Uint8Array): void | Promise<void> {
    if (this.ended || this.aborted) return undefined;
    this.#sendPart(part);
    return this.#connection.room(this);
  }

  end(part?: Uint8Array): void {
    if (this.ended || this.aborted) return;
    if (part !== undefined) this.#sendPart(part);
    this.#end();
  }

  onAbort(listener: () => void): void {
    if (this.aborted) listener();
    else if (!this.ended) this.#onAbort = listener;
  }

  closeConnection(): void {
    this.#connection.closeWhenAnswered();
  }

  // For the connection.

  /** The client hung up. */
  abort(): void {
    this.#release();
    this.aborted = true;
    this.reader = undefined;
    this.#queue = undefined;
    this.#connection.queued(-this.queuedBytes);
    this.queuedBytes = 0;
    this.openRoom();
    const listener = this.#onAbort;
    this.#onAbort = undefined;
    listener?.();
  }

  /**
   * Sends a character of the answer that does not depend on what the answer is, if there is one: of its first line, or a zero
   * before the size of its next chunk.
   */
  sendAhead(): void {
    if (!this.hasTurn || this.ended) return;
    const next = this.begun ? this.#zero : ANSWER_BEGINNING[this.#ahead];
    if (next === undefined) return;
    this.#ahead++;
    this.#connection.sendText(next);
  }

  get #zero(): string | undefined {
    return this.#isChunked && this.#ahead < MOST_ZEROS ? '0' : undefined;
  }

  /** The answers before it have left. */
  takeTurn(): void {
    this.hasTurn = true;
    const queue = this.#queue;
    this.#queue = undefined;
    this.#connection.queued(-this.queuedBytes);
    this.queuedBytes = 0;
    for (const part of queue ?? NO_PARTS) {
      if (typeof part === 'string') this.#connection.sendText(part);
      else this.#connection.sendBytes(part);
    }
  }

  /** One wait for all that is sent meanwhile: a fast callable has hundreds of answers under way. */
  waitForRoom(): Promise<void> {
    if (this.#room === undefined) {
      let open!: () => void;
      const promise = new Promise<void>((resolve) => (open = resolve));
      this.#room = { promise, open };
    }
    return this.#room.promise;
  }

  openRoom(): void {
    const room = this.#room;
    this.#room = undefined;
    room?.open();
  }

  #begin(status: number, headers: HttpHeaders): void {
    const lines = headerLines(headers);
    const common = this.commonHeaders === NONE ? '' : headerLines(this.commonHeaders);
    this.begun = true;
    const { isVersion10, keepsAlive } = this.#head;
    // Whether the body still comes is anybody's guess, so nothing can come after it.
    if (this.#expectsContinue) this.#connection.closeWhenAnswered();
    const closing = this.#connection.beginAnswer(this) ? CLOSE : '';
    const isMeasured = hasLength(headers);
    this.#hasBody = this.method !== 'HEAD' && status !== 204;
    this.#isChunked = this.#hasBody && !isMeasured && !isVersion10;
    this.isOpenEnded = isVersion10 && !isMeasured;
    const connection = closing !== '' ? '' : keepsAlive && !this.isOpenEnded ? KEEP_ALIVE : CLOSE;
    const chunked = this.#isChunked ? 'Transfer-Encoding: chunked\r\n' : '';
    const head = `${statusLine(status)}${lines}${common}${closing}${dateLine()}${connection}${chunked}\r\n`;
    this.#sendText(this.#ahead === 0 ? head : head.slice(this.#ahead));
    this.#ahead = 0;
  }

  #sendPart(part: Uint8Array): void {
    // A chunk without bytes would end the body.
    if (!this.#hasBody || part.length === 0) return;
    if (!this.#isChunked) {
      this.#sendBytes(part);
      return;
    }
    this.#ahead = 0;
    this.#sendText(`${part.length.toString(16)}\r\n`);
    this.#sendBytes(part);
    this.#sendText('\r\n');
  }

  #end(): void {
    if (this.#isChunked) this.#sendText(LAST_CHUNK);
    this.ended = true;
    this.#release();
    this.#onAbort = undefined;
    this.#connection.answerEnded(this);
  }

  #sendText(text: string): void {
    if (this.hasTurn) this.#connection.sendText(text);
    else this.#wait(text);
  }

  #sendBytes(bytes: Uint8Array): void {
    if (this.hasTurn) this.#connection.sendBytes(bytes);
    else this.#wait(bytes);
  }

  #wait(part: string | Uint8Array): void {
    (this.#queue ??= []).push(part);
    this.queuedBytes += part.length;
    this.#connection.queued(part.length);
  }

  /** What the request holds is of no use any more when its whole answer is here. */
  #hasRoom(body: readonly Uint8Array[]): boolean {
    let bytes = 0;
    for (let i = 0; i < body.length; i++) bytes += body[i]!.length;
    this.#release();
    return bytes < SMALLEST_ASKED || this.#connection.admitsAnswer(bytes);
  }

  #release(): void {
    if (this.heldBytes > 0) this.#connection.hold(this, 0);
  }
}

/** Answers a request by what is wrong with it, or with the server. */
export function refuse(exchange: HttpAnswer, fault: Fault): void {
  const body = Buffer.from(faultText(fault));
  const headers = ['Content-Type', 'application/json', 'Content-Length', String(body.length)];
  if (fault.isTransient === true) headers.push('Retry-After', RETRY_AFTER_SECONDS);
  exchange.respond(fault.status, headers, [body]);
}

/** When to try again what nothing was done for. */
export const RETRY_AFTER_SECONDS = '1';

const NONE: HttpHeaders = [];
const NO_PARTS: readonly Uint8Array[] = [];

function hasLength(headers: HttpHeaders): boolean {
  for (let i = 0; i < headers.length; i += 2) {
    const name = headers[i]!;
    if (name === 'Content-Length' || (name.length === 14 && lowerCase(name) === 'content-length')) return true;
  }
  return false;
}
