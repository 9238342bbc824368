// A request and its answer on a connection. Answers leave in the order of their requests: an answer waits here until the
// answers before it have left.

import type { ByteShare, HeldRequest } from '../sockets/byte-budget.js';
import { largeMemory } from '../sockets/large-memory.js';
import type { Output } from '../sockets/output.js';
import { ANSWER_BEGINNING, answerHead, CONTINUE, headerLines } from './answer-head.js';
import { answerFault, bodyTooLarge, NO_ROOM_FOR_ANSWER, type Fault } from './fault.js';
import type { BodyPlan, HttpExchange, HttpHeaders } from './http-exchange.js';
import type { RequestHead } from './request-head.js';

/** What an exchange needs of its connection. */
export interface ExchangeConnection {
  /** Only the exchange whose turn it is writes to it. */
  readonly output: Output;
  /** Undefined where requests may hold anything. */
  readonly share: ByteShare | undefined;
  /** No request may hold more. */
  readonly largestRequest: number;
  /** Something was written to the output. */
  wrote(): void;
  /** Called before the head of an answer is made. True: the server wants it to say that the connection closes. */
  beginAnswer(exchange: Exchange): boolean;
  /** A promise while the client is so slow that nothing more should be sent. */
  room(exchange: Exchange): void | Promise<void>;
  /** The answer has ended. */
  answerEnded(exchange: Exchange): void;
  /** Nothing comes after the answers to the requests that have come. */
  closeWhenAnswered(): void;
  /** Whether there is room for an answer of that many bytes. */
  admitsAnswer(bytes: number): boolean;
  /** Adds to the bytes of answers that wait for their turn. */
  queued(bytes: number): void;
}

/** Smaller answers are sent without asking whether there is room for them. */
const SMALLEST_ASKED = 65_536;
/** Smaller heads are not counted: the connection itself costs more. */
const SMALLEST_COUNTED_HEAD = 1024;

const KEEP_ALIVE = `Connection: keep-alive\r\nKeep-Alive: timeout=620\r\n`;
const CLOSE = 'Connection: close\r\n';
const LAST_CHUNK = '0\r\n\r\n';
/** Readers take sizes of 16 digits. */
const MOST_ZEROS = 8;

export class Exchange implements HttpExchange, HeldRequest {
  readonly #connection: ExchangeConnection;
  readonly request: RequestHead;
  readonly largestBody: number;
  readonly #headBytes: number;
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
  refusalText: HttpExchange['refusalText'];
  reusable: ArrayBuffer | undefined;
  /** Undefined when nobody wants the body. */
  plan: BodyPlan | undefined;
  #expectsContinue: boolean;
  #isChunked = false;
  /** Characters that were sent ahead of the answer, or of its next chunk. */
  #ahead = 0;
  #hasBody = true;
  #onAbort: (() => void) | undefined;
  #queue: (string | Uint8Array)[] | undefined;
  /** Bytes of this answer that wait for its turn. */
  queuedBytes = 0;
  #room: { readonly promise: Promise<void>; readonly open: () => void } | undefined;

  constructor(connection: ExchangeConnection, request: RequestHead) {
    const { length } = request.text;
    this.#connection = connection;
    this.request = request;
    this.largestBody = connection.largestRequest;
    this.#headBytes = length < SMALLEST_COUNTED_HEAD ? 0 : length;
    this.#expectsContinue = request.expects === '100-continue';
  }

  receiveBody(plan: BodyPlan): void {
    const { bodyLength = 0 } = this.request;
    const limit = Math.min(plan.limit, this.largestBody);
    if (bodyLength > limit) {
      // Reading the rest only to drop it could take forever.
      this.refuse(bodyTooLarge(String(bodyLength), limit, plan));
      return;
    }
    if (this.#expectsContinue) this.continue();
    this.plan = plan;
  }

  hold(bytes: number): boolean {
    const { share } = this.#connection;
    return !this.aborted && !this.ended && (share?.hold(this, this.#headBytes + bytes) ?? true);
  }

  /** More bytes of its body have come. False: there is no room for them. */
  holdBody(bytes: number): boolean {
    const { share } = this.#connection;
    const { bodyLength = Infinity } = this.request;
    return share?.hold(this, this.heldBytes + bytes, this.#headBytes + bodyLength) ?? true;
  }

  /** Its head has come. False: there is no room for it. */
  holdHead(): boolean {
    return this.#headBytes === 0 || this.hold(0);
  }

  /** Asks for the body where the client waits for that. */
  continue(): void {
    if (!this.#expectsContinue) return;
    this.#expectsContinue = false;
    this.#sendText(CONTINUE);
    this.#connection.wrote();
  }

  respond(status: number, headers: HttpHeaders, body: readonly Uint8Array[]): void {
    if (this.begun || this.aborted) return;
    let bytes = 0;
    for (let i = 0; i < body.length; i++) bytes += body[i]!.length;
    // What the request holds is of no use any more when its whole answer is here.
    if (this.heldBytes > 0) this.#connection.share?.hold(this, 0);
    if (bytes >= SMALLEST_ASKED && !this.#connection.admitsAnswer(bytes)) {
      answerFault(this, NO_ROOM_FOR_ANSWER);
      return;
    }
    if (this.reusable !== undefined) largeMemory.lend(this.reusable, body);
    this.#begin(status, headers);
    for (let i = 0; i < body.length; i++) this.#sendPart(body[i]!);
    this.#end();
  }

  /** Answers with the mistake of the request, or of the server. It is the last request that is answered. */
  refuse(fault: Fault): void {
    this.#connection.closeWhenAnswered();
    answerFault(this, fault);
  }

  begin(status: number, headers: HttpHeaders): void {
    if (this.begun || this.aborted) return;
    this.#begin(status, headers);
    this.#connection.wrote();
  }

  send(part: Uint8Array): void | Promise<void> {
    if (this.ended || this.aborted) return undefined;
    this.#sendPart(part);
    this.#connection.wrote();
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

  // For the connection.

  /** The client hung up. */
  abort(): void {
    if (this.heldBytes > 0) this.#connection.share?.hold(this, 0);
    this.aborted = true;
    this.plan = undefined;
    this.#queue = undefined;
    this.#connection.queued(-this.queuedBytes);
    this.queuedBytes = 0;
    this.openRoom();
    const listener = this.#onAbort;
    this.#onAbort = undefined;
    listener?.();
  }

  /**
   * Sends a character that the answer has in any case, if there is one: of its first line, or a zero before the size of its
   * next chunk.
   */
  sendAhead(): void {
    if (!this.hasTurn || this.ended) return;
    const next = this.begun ? this.#zero : ANSWER_BEGINNING[this.#ahead];
    if (next === undefined) return;
    this.#ahead++;
    this.#connection.output.writeText(next);
    this.#connection.wrote();
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
    if (queue === undefined) return;
    for (const part of queue) {
      if (typeof part === 'string') this.#connection.output.writeText(part);
      else this.#connection.output.writeBytes(part);
    }
    this.#connection.wrote();
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
    const common = this.commonHeaders === NONE ? '' : headerLines(this.commonHeaders);
    const { isVersion10, keepsAlive, method } = this.request;
    // Nobody knows whether the body still comes, so nothing can come after it.
    if (this.#expectsContinue) this.#connection.closeWhenAnswered();
    const closing = this.#connection.beginAnswer(this) ? CLOSE : '';
    let isMeasured = false;
    for (let i = 0; i < headers.length; i += 2) if (headers[i] === 'Content-Length') isMeasured = true;
    this.#hasBody = method !== 'HEAD' && status !== 204 && status !== 304;
    this.#isChunked = this.#hasBody && !isMeasured && !isVersion10;
    this.isOpenEnded = isVersion10 && !isMeasured;
    const connection = closing !== '' ? '' : keepsAlive && !this.isOpenEnded ? KEEP_ALIVE : CLOSE;
    const chunked = this.#isChunked ? 'Transfer-Encoding: chunked\r\n' : '';
    const head = answerHead(status, headers, { beforeDate: common + closing, behindDate: connection + chunked });
    this.begun = true;
    this.#sendText(this.#ahead === 0 ? head : head.slice(this.#ahead));
    this.#ahead = 0;
  }

  #sendPart(part: Uint8Array): void {
    // A chunk without bytes would end the body.
    if (!this.#hasBody || part.length === 0) return;
    if (this.#isChunked) {
      this.#ahead = 0;
      this.#sendText(`${part.length.toString(16)}\r\n`);
    }
    if (this.hasTurn) this.#connection.output.writeBytes(part);
    else this.#wait(part);
    if (this.#isChunked) this.#sendText('\r\n');
  }

  #end(): void {
    if (this.#isChunked) this.#sendText(LAST_CHUNK);
    this.ended = true;
    if (this.heldBytes > 0) this.#connection.share?.hold(this, 0);
    this.#onAbort = undefined;
    this.#connection.answerEnded(this);
  }

  #sendText(text: string): void {
    if (this.hasTurn) this.#connection.output.writeText(text);
    else this.#wait(text);
  }

  #wait(part: string | Uint8Array): void {
    (this.#queue ??= []).push(part);
    this.queuedBytes += part.length;
    this.#connection.queued(part.length);
  }
}

const NONE: HttpHeaders = [];
