// A connection of HTTP/1.1 without its socket: it is given bytes and gives bytes. Requests that come are served at once, whatever
// those before them wait for, up to a bound; answers leave in the order of their requests.

import type { ByteShare, HeldRequest } from '../sockets/byte-budget.js';
import type { Output } from '../sockets/output.js';
import { LEAST_PROGRESS, Standstill } from '../sockets/standstill.js';
import { lastWords } from './answer-head.js';
import { BodyReceiver } from './body-receiver.js';
import { Exchange, type ExchangeConnection } from './exchange.js';
import { faultText, malformed, NO_ROOM, refused, TOO_SLOW, type Fault } from './fault.js';
import { HeadReceiver } from './head-receiver.js';
import type { ServeRequest } from './http-exchange.js';
import type { RequestHead } from './request-head.js';
import { RequestHeadReader } from './request-head-reader.js';

const NO_BODY = Buffer.alloc(0);

/** From a connection's beginning, or a head's, to the end of that head. */
const HEAD_MILLISECONDS = 60_000;
/** For a whole request; large uploads over slow links take their time. */
const REQUEST_MILLISECONDS = 300_000;
// Clients pool connections and load balancers keep them for up to ten minutes. A side that closes without the
// other knowing loses a request, so the server waits longer than it says.
const IDLE_MILLISECONDS = 621_000;
/** Requests of one connection that wait for their answers; the next ones are not read. */
const MAX_UNANSWERED = 128;
/** Limit on the bytes that pipelined answers may take. */
const MOST_ANSWER_BYTES = 32 * 1024 * 1024;
/** Requests that are read before the first answer, while its size is unknown. */
const MOST_AT_FIRST = 16;
/** A body of which hardly anything has come for so long is given up. */
const STILL_BODY_MILLISECONDS = 60_000;
/** The same when others need the room. */
const STALLED_MILLISECONDS = 2000;
/** Of requests that are held back, so much is read all the same: the end of the connection may be behind it. */
const MAX_HELD_BACK_BYTES = 16 * 1024;
/** Of answers that the client has not taken; nothing more is read from it, and nothing more sent. */
const MAX_UNSENT_BYTES = 256 * 1024;

/** The time in milliseconds, kept current by the caller of the connections' {@link HttpConnection.tick}. */
export interface Clock {
  now: number;
}

export interface ConnectionEnvironment {
  readonly serve: ServeRequest;
  readonly output: Output;
  readonly clock: Clock;
  readonly owner: ConnectionOwner;
  /** What the connection may hold in memory. Default: anything. */
  readonly share?: ByteShare | undefined;
}

/** The owner of a connection's socket. */
export interface ConnectionOwner {
  /** Its `writableLength` is the number of bytes that were written and that it has not passed on. */
  readonly socket: { readonly writableLength: number };
  /** There is something to write, or to read that was held back. */
  writeSoon(): void;
  /** Writes what there is now. */
  flush(): void;
}

export class HttpConnection implements ExchangeConnection {
  readonly #serve: ServeRequest;
  readonly #clock: Clock;
  readonly #owner: ConnectionOwner;
  readonly output: Output;
  readonly share: ByteShare | undefined;
  readonly largestRequest: number;
  /** Nothing more will be sent. */
  isFinished = false;
  /** The socket takes no more for the moment. To be set by its owner, who calls {@link drained} in the end. */
  isCongested = false;
  readonly #heads = new HeadReceiver(new RequestHeadReader(), { skipsEmptyLines: true });
  readonly #body = new BodyReceiver();
  /** Received bytes that have to wait. */
  #rest: Buffer | undefined;
  #first: Exchange | undefined;
  #newest: Exchange | undefined;
  #unanswered = 0;
  #mostUnanswered = MOST_AT_FIRST;
  #largestAnswer = 0;
  /** Of answers that wait for their turn. */
  #queuedBytes = 0;
  readonly #upload = new Standstill(LEAST_PROGRESS);
  /** How long it has stood still, in milliseconds. */
  #stillFor = 0;
  /** What a head that has not come whole holds. */
  readonly #partialHead: HeldRequest = { heldBytes: 0, wholeBytes: 0, isLarge: false };
  /** Of the head or the body that is coming, nothing has come for a while, or less than would have it whole in time. */
  isUploadStalled = false;
  /** The client sends nothing more than {@link #rest}. */
  #isInputEnded = false;
  /** No further requests are taken. */
  #isDeaf = false;
  /** The server wants the connection to end. */
  #isClosing = false;
  /** The next request will be the last. */
  #isRetiring = false;
  /** The requests that were held back will be the last. */
  #isDraining = false;
  #answeredAt = -Infinity;
  #lastWords: string | undefined;
  #hasServed = false;
  /** When the current wait began. */
  #since: number;

  constructor({ serve, output, clock, owner, share }: ConnectionEnvironment) {
    this.#serve = serve;
    this.#clock = clock;
    this.#owner = owner;
    this.output = output;
    this.share = share;
    this.largestRequest = share?.largestRequest ?? Infinity;
    this.#since = clock.now;
  }

  /** Bytes that came, which are valid during the call. */
  receive(bytes: Buffer, start: number, end: number): void {
    if (this.#rest !== undefined) {
      this.#rest = Buffer.concat([this.#rest, bytes.subarray(start, end)]);
      return;
    }
    let at = start;
    while (at < end && !this.#isDeaf) {
      const { exchange } = this.#body;
      if (exchange !== undefined) {
        at = this.#body.receive(bytes, at, end);
        if (this.#body.fault !== undefined) this.#fail(this.#body.fault);
        else if (exchange.isReceived) this.#received(exchange);
      } else if (this.#hasToWait()) {
        this.#rest = Buffer.from(bytes.subarray(at, end));
        return;
      } else if (this.#isClosing && !this.#heads.isPartial) {
        return;
      } else {
        at = this.#receiveHead(bytes, at, end);
      }
    }
  }

  /** Whether received bytes wait until answers have left. */
  get isHoldingBack(): boolean {
    return this.#rest !== undefined;
  }

  /** Whether the connection does nothing but read: it holds nothing back, has not ended, and no answer waits for the client. */
  get onlyReads(): boolean {
    return this.#rest === undefined && !this.isFinished && !this.#isInputEnded && this.#queuedBytes === 0;
  }

  /** Reads held-back bytes when they may be read again. */
  proceed(): void {
    const rest = this.#rest;
    if (rest === undefined || this.#hasToWait()) return;
    this.#rest = undefined;
    this.receive(rest, 0, rest.length);
    if (this.#isDraining) this.drain();
    if (this.#isInputEnded) this.inputEnded();
  }

  /** False while so much is held back that the client has to wait until it has taken answers. */
  get wantsInput(): boolean {
    return this.#isDeaf || this.#rest === undefined || this.#rest.length < MAX_HELD_BACK_BYTES;
  }

  directTarget(): Buffer | undefined {
    return this.#body.exchange === undefined ? undefined : this.#body.directTarget();
  }

  /** The socket has passed on its bytes. */
  drained(): void {
    this.isCongested = false;
    this.#first?.openRoom();
  }

  /** The client sends nothing more. Whether it waits for its answers or is gone shows only when it is sent something. */
  inputEnded(): void {
    this.#isInputEnded = true;
    // Requests that are held back have come as well.
    if (this.isFinished || this.#rest !== undefined) return;
    const isCut = this.#heads.isPartial || this.#body.exchange !== undefined;
    if (isCut && !this.#isDeaf) this.#fail(malformed('the connection ended before the request'));
    this.#isDeaf = true;
    this.closeWhenAnswered();
  }

  /** Whether the end of the connection would not be seen though answers are under way. */
  get isUnheard(): boolean {
    return (this.#isInputEnded || !this.wantsInput) && !this.isIdle;
  }

  /** Sends a character of the next answer, if there is one that can be sent before the answer is known. */
  sendAhead(): void {
    this.#first?.sendAhead();
  }

  /** The connection is gone. */
  lost(): void {
    this.#isDeaf = true;
    this.isFinished = true;
    this.#abortAll();
    this.#body.lost();
  }

  /** It waits for a request. */
  get isIdle(): boolean {
    return this.#first === undefined && !this.#heads.isPartial && this.#body.exchange === undefined;
  }

  /** Milliseconds for which there has been nothing to do; a request that does not come any further is nothing to do. */
  get idleFor(): number {
    if (this.isCongested || this.isFinished) return 0;
    const { exchange } = this.#body;
    if (exchange !== undefined && (this.#first === undefined || this.#first === exchange)) return this.#stillFor;
    return this.#first === undefined ? this.#clock.now - this.#since : 0;
  }

  get hasServed(): boolean {
    return this.#hasServed;
  }

  /** The next request is the last. */
  retire(): void {
    this.#isRetiring = true;
  }

  /**
   * The connection ends after the answers to all that has come, what was held back included. Where the last of them has not said so,
   * because it had begun, one more request is answered: whoever calls this ends the connection when none comes.
   */
  drain(): void {
    this.#isRetiring = this.#isDraining = true;
    if (this.#rest !== undefined) return;
    const isComing = this.#heads.isPartial || this.#body.exchange !== undefined;
    if (isComing || this.#newest?.begun === false) this.closeWhenAnswered();
  }

  /** When the last answer ended that its client may take for one of many, though the server ends. */
  get answeredAt(): number {
    return this.#answeredAt;
  }

  /** The connection ends after the answers to the requests that were read, one that has begun to come included. */
  closeWhenAnswered(): void {
    this.#isClosing = true;
    if (this.#first === undefined && !this.#heads.isPartial) this.#finish();
  }

  /** To be called now and then: ends waits that have lasted too long. */
  tick(): void {
    const { now } = this.#clock;
    const age = now - this.#since;
    this.isUploadStalled = this.#isUploadStalled(now, age);
    if (this.#isDeaf || this.#rest !== undefined || this.#isHeld) return;
    if (this.#body.exchange !== undefined) {
      if (age > REQUEST_MILLISECONDS || this.#stillFor > STILL_BODY_MILLISECONDS) this.#fail(TOO_SLOW);
    } else if (this.#heads.isPartial || !this.#hasServed) {
      if (age > HEAD_MILLISECONDS) this.#fail(TOO_SLOW);
    } else if (this.#first === undefined && age > IDLE_MILLISECONDS) {
      this.#finish();
    }
  }

  /** Others need the room that a request takes whose client does nothing. */
  giveUpUpload(): void {
    if (this.isUploadStalled && !this.isFinished) this.#fail(TOO_SLOW);
    this.isUploadStalled = false;
  }

  /** The request that is coming, a head included. */
  largestUpload(isLarge: boolean): HeldRequest | undefined {
    const upload = this.#body.exchange ?? this.#partialHead;
    return upload.heldBytes > 0 && upload.isLarge === isLarge ? upload : undefined;
  }

  /** Others need the room of {@link largestUpload}. */
  refuseUpload(): void {
    if (!this.isFinished) this.#fail(NO_ROOM);
  }

  /** Bytes of answers that the client has not taken yet, and of requests that are not read because of that. */
  get unreadBytes(): number {
    return this.#unsentBytes + this.#queuedBytes + (this.#rest?.length ?? 0);
  }

  // For exchanges.

  wrote(): void {
    this.#owner.writeSoon();
  }

  admitsAnswer(bytes: number): boolean {
    this.#largestAnswer = Math.max(this.#largestAnswer, bytes);
    const { share } = this;
    if (share === undefined) return true;
    share.unread(this.unreadBytes);
    return share.admits(bytes);
  }

  queued(bytes: number): void {
    this.#queuedBytes += bytes;
  }

  beginAnswer(exchange: Exchange): boolean {
    if (!this.#isClosing || exchange !== this.#newest || this.#lastWords !== undefined) return false;
    this.#isDeaf = true;
    return true;
  }

  room(exchange: Exchange): void | Promise<void> {
    if (!exchange.hasTurn) {
      return exchange.queuedBytes < MAX_UNSENT_BYTES ? undefined : exchange.waitForRoom();
    }
    if (this.#unsentBytes < MAX_UNSENT_BYTES) return undefined;
    this.#owner.flush();
    return this.#unsentBytes < MAX_UNSENT_BYTES || exchange.aborted ? undefined : exchange.waitForRoom();
  }

  answerEnded(exchange: Exchange): void {
    if (exchange !== this.#first) return;
    this.#owner.writeSoon();
    let first: Exchange | undefined = exchange;
    while (first?.ended === true) {
      this.#unanswered--;
      this.#mostUnanswered =
        this.#largestAnswer === 0
          ? MAX_UNANSWERED
          : Math.min(MAX_UNANSWERED, Math.max(1, Math.floor(MOST_ANSWER_BYTES / this.#largestAnswer)));
      if (first.isOpenEnded) {
        this.#abortAll();
        this.#finish();
        return;
      }
      const { next }: Exchange = first;
      // An old exchange would keep all younger ones alive until the next full collection.
      first.next = undefined;
      first = next;
      next?.takeTurn();
    }
    this.#first = first;
    if (first === undefined) this.#allAnswered();
    else if (!this.isCongested) first.openRoom();
  }

  get #unsentBytes(): number {
    return this.output.bytes + this.#owner.socket.writableLength;
  }

  get #isHeld(): boolean {
    // A request that has begun is read to its end: it could not be answered otherwise.
    const isFull = this.#unanswered >= this.#mostUnanswered && this.#body.exchange === undefined;
    // What is held back does not count: when the client has taken its answers, nothing else would have it read.
    return isFull || this.#unsentBytes + this.#queuedBytes > MAX_UNSENT_BYTES;
  }

  /** Answers that were given at once, to many requests of one read, may only have to be written. */
  #hasToWait(): boolean {
    // Nothing waits for an answer, and nothing for the client.
    if (this.#first === undefined && this.output.bytes === 0 && !this.isCongested) return false;
    if (this.#unsentBytes > MAX_UNSENT_BYTES) this.#owner.flush();
    return this.#isHeld;
  }

  #isUploadStalled(now: number, age: number): boolean {
    const { exchange, length, left } = this.#body;
    const still = (this.#stillFor = this.#upload.look(now, exchange !== undefined, left));
    if (this.#isDeaf) return false;
    if (exchange === undefined) return this.#heads.isPartial && age > STALLED_MILLISECONDS;
    const isLate = age > STALLED_MILLISECONDS && length - left < (length * age) / REQUEST_MILLISECONDS;
    return isLate || still > STALLED_MILLISECONDS;
  }

  #allAnswered(): void {
    this.#newest = undefined;
    if (this.#lastWords !== undefined) this.#endWith(this.#lastWords);
    else if (this.#isDeaf || (this.#isClosing && !this.#heads.isPartial)) this.#finish();
    else if (this.#body.exchange === undefined) this.#since = this.#clock.now;
    if (this.#isRetiring) this.#answeredAt = performance.now();
  }

  #receiveHead(bytes: Buffer, start: number, end: number): number {
    const heads = this.#heads;
    const hadBegun = heads.isPartial;
    const head = heads.receive(bytes, start, end);
    if (!hadBegun && (head !== undefined || heads.isPartial)) this.#since = this.#clock.now;
    // A head that comes in one piece is not held.
    if ((hadBegun || heads.isPartial) && !this.#holdPartialHead()) this.#fail(NO_ROOM);
    else if (head === undefined) return heads.end;
    else if ('status' in head) this.#fail(head);
    else this.#begin(head, end - heads.end);
    return heads.end;
  }

  #holdPartialHead(): boolean {
    const { heldBytes } = this.#heads;
    if (heldBytes === this.#partialHead.heldBytes) return true;
    return this.share?.hold(this.#partialHead, heldBytes, Infinity) ?? true;
  }

  /** `following`: bytes that came with the head. */
  #begin(head: RequestHead, following: number): void {
    this.#hasServed = true;
    if (head.method === 'CONNECT') {
      // It asks for a connection to elsewhere.
      this.#fail(refused(405, 'Method Not Allowed'));
      return;
    }
    const exchange = new Exchange(this, head);
    const { bodyLength } = head;
    this.#unanswered++;
    if (this.#first === undefined) {
      this.#first = exchange;
      exchange.hasTurn = true;
    } else {
      this.#newest!.next = exchange;
    }
    this.#newest = exchange;
    // Requests behind it are answered as well.
    const isLast = bodyLength === undefined || bodyLength >= following;
    if (this.#isRetiring && isLast) this.closeWhenAnswered();
    if (bodyLength !== 0) this.#body.begin(exchange);
    else exchange.isReceived = true;
    if (!exchange.holdHead()) {
      exchange.refuse(NO_ROOM);
      return;
    }
    if (head.expects === 'something else') {
      exchange.refuse(refused(417, 'the only expectation that is met is 100-continue'));
      return;
    }
    if (bodyLength !== 0) {
      this.#serve(exchange);
      return;
    }
    exchange.continue();
    this.#serve(exchange);
    const { plan } = exchange;
    exchange.plan = undefined;
    if (!exchange.begun) plan?.onBody(NO_BODY);
    this.#received(exchange);
  }

  /** The whole request is here. */
  #received({ request }: Exchange): void {
    if (!request.keepsAlive) {
      this.#isDeaf = true;
      if (this.#first === undefined) this.#finish();
    } else if (this.#first === undefined) {
      this.#since = this.#clock.now;
    }
  }

  /** The next request cannot be found any more: answers with the fault where an answer is still possible, and ends. */
  #fail(fault: Fault): void {
    const receiving = this.#body.exchange;
    const newest = this.#newest;
    // An answer has said that it is the last one, or the client sends nothing that could be answered.
    const wasDeaf = this.#isDeaf;
    this.#isDeaf = true;
    this.#dropInput();
    if (receiving !== undefined && !receiving.begun) {
      receiving.plan = undefined;
      receiving.refuse(fault);
    } else if (receiving === undefined && !wasDeaf) {
      // Requests that came whole are answered first.
      this.#lastWords = lastWords(fault.status, faultText(fault));
      if (newest === undefined) this.#endWith(this.#lastWords);
    } else {
      this.closeWhenAnswered();
    }
  }

  #endWith(words: string): void {
    this.output.writeText(words);
    this.#finish();
  }

  #finish(): void {
    if (this.isFinished) return;
    this.#isDeaf = true;
    this.isFinished = true;
    this.#rest = undefined;
    this.#dropInput();
    this.#owner.writeSoon();
  }

  /** Drops the head and the body that are coming, and what the head holds. */
  #dropInput(): void {
    this.#heads.stop();
    this.#holdPartialHead();
    this.#body.stop();
  }

  /** Open requests will never be answered. */
  #abortAll(): void {
    let exchange = this.#first;
    this.#first = this.#newest = undefined;
    this.#unanswered = 0;
    while (exchange !== undefined) {
      if (!exchange.ended) exchange.abort();
      exchange = exchange.next;
    }
  }
}
