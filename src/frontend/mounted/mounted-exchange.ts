// A request of somebody else's HTTP server, and its answer. This part collects the body and counts bytes, as the server's
// own connections do. How the body comes and the answer leaves is the subclass's.

import { answerFault, bodyTooLarge, MOST_TINY_PIECES, NO_ROOM, NO_ROOM_FOR_ANSWER, noMemory, TOO_MANY_CHUNKS, type Fault } from '../../http1/fault.js'; // prettier-ignore
import type { BodyPlan, HttpExchange, HttpHeaders } from '../../http1/http-exchange.js';
import { copyPaced } from '../../pacing/paced-bytes.js';
import { Pace, type PacedWork } from '../../pacing/paced-work.js';
import { startPaced } from '../../pacing/paced-workers.js';
import type { ByteBudget, ByteShare, HeldRequest, ShareOwner } from '../../sockets/byte-budget.js';
import type { Linked } from '../../linked-list.js';
import type { MountedRequest } from './mounted-request.js';

/** Smaller answers are sent without asking whether there is room for them. */
const SMALLEST_ASKED = 65_536;
/** Smaller bodies that came in one piece stay where they are. Larger ones get memory of their own. */
const SMALLEST_MOVED = 65_536;
/** Beyond {@link MOST_TINY_PIECES}, pieces of a body must be larger than this on average. */
const TINY = 1024;
/** Typed arrays of all kinds may begin at multiples of this. */
const ALIGNED_BYTES = 8;
/** A client that moved nothing for so long makes room for others. */
const STALLED_MILLISECONDS = 5000;

/** What the requests of a frontend share. */
export interface MountedSurroundings {
  readonly budget: ByteBudget;
  /** Milliseconds of `ServedTime`, which the frontend reads now and then. */
  readonly clock: { readonly now: number };
}

export abstract class MountedExchange implements HttpExchange, HeldRequest, ShareOwner, Linked<MountedExchange> {
  /** Of the frontend's list. */
  previous: MountedExchange | undefined;
  next: MountedExchange | undefined;
  readonly request: MountedRequest;
  readonly largestBody: number;
  begun = false;
  ended = false;
  aborted = false;
  commonHeaders: HttpHeaders = [];
  refusalText: HttpExchange['refusalText'];
  /** Nobody uses the memory again: the other server gives no word when it has sent it. */
  reusable: ArrayBuffer | undefined;
  heldBytes = 0;
  wholeBytes = 0;
  isLarge = false;
  readonly #share: ByteShare;
  readonly #onDone: () => void;
  #plan: BodyPlan | undefined;
  #pieces: Uint8Array[] = [];
  #received = 0;
  readonly #clock: MountedSurroundings['clock'];
  #movedAt: number;
  #isDone = false;
  #onAbort: (() => void) | undefined;

  /** `onDone`: the answer has been handed over whole, or nobody wants it any more. */
  constructor(request: MountedRequest, { budget, clock }: MountedSurroundings, address: string, onDone: () => void) {
    this.#clock = clock;
    this.#movedAt = clock.now;
    this.request = request;
    this.largestBody = budget.largestRequest;
    this.#share = budget.open(this, address);
    this.#onDone = onDone;
  }

  /** Begins to read the body: {@link bodyPiece} and {@link bodyEnd} are called from now on. */
  protected abstract readBody(): void;
  /** Nothing more of the body is wanted. */
  protected abstract dropBody(): void;
  protected abstract sendWhole(status: number, headers: HttpHeaders, body: readonly Uint8Array[]): void;
  protected abstract sendHead(status: number, headers: HttpHeaders): void;
  protected abstract sendPart(part: Uint8Array): void | Promise<void>;
  protected abstract sendEnd(): void;
  /** Ends the answer without its rest. */
  protected abstract cutOff(): void;
  /** Bytes of the answer that wait for the client now. */
  protected abstract readonly waitingBytes: number;

  receiveBody(plan: BodyPlan): void {
    const { bodyLength = 0 } = this.request;
    const limit = Math.min(plan.limit, this.largestBody);
    if (bodyLength > limit) {
      this.#refuse(bodyTooLarge(String(bodyLength), limit, plan));
      return;
    }
    this.#plan = plan;
    this.readBody();
  }

  hold(bytes: number): boolean {
    return !this.aborted && !this.ended && this.#share.hold(this, bytes);
  }

  respond(status: number, headers: HttpHeaders, body: readonly Uint8Array[]): void {
    if (this.begun || this.aborted) return;
    const bytes = body.reduce((sum, part) => sum + part.length, 0);
    this.#share.hold(this, 0);
    if (bytes >= SMALLEST_ASKED && !this.#share.admits(bytes)) {
      answerFault(this, NO_ROOM_FOR_ANSWER);
      return;
    }
    this.begun = this.ended = true;
    this.#onAbort = undefined;
    this.moved();
    this.sendWhole(status, this.#allHeaders(headers), body);
  }

  begin(status: number, headers: HttpHeaders): void {
    if (this.begun || this.aborted) return;
    this.begun = true;
    this.sendHead(status, this.#allHeaders(headers));
  }

  send(part: Uint8Array): void | Promise<void> {
    if (this.ended || this.aborted || part.length === 0) return undefined;
    // Until now the client waited for the model.
    if (this.waitingBytes === 0) this.moved();
    return this.sendPart(part);
  }

  end(part?: Uint8Array): void {
    if (this.ended || this.aborted) return;
    if (part !== undefined) void this.send(part);
    this.ended = true;
    this.#onAbort = undefined;
    this.#share.hold(this, 0);
    this.sendEnd();
  }

  onAbort(listener: () => void): void {
    if (this.aborted) listener();
    else if (!this.ended) this.#onAbort = listener;
  }

  /** The server closes: exchanges that are not done by now are cut off. */
  close(): void {
    if (this.#isDone) return;
    this.cutOff();
    this.lost();
  }

  // For subclasses.

  protected bodyPiece(piece: Uint8Array): void {
    const plan = this.#plan;
    if (plan === undefined || piece.length === 0) return;
    this.moved();
    this.#received += piece.length;
    if (!this.#share.hold(this, this.heldBytes + piece.length, this.request.bodyLength ?? Infinity)) {
      this.#refuse(NO_ROOM);
      return;
    }
    // Making room for the piece may have ended this request.
    if (this.#plan === undefined) return;
    this.#pieces.push(piece);
    const limit = Math.min(plan.limit, this.largestBody);
    const before = this.#pieces.length - 1;
    if (this.#received > limit) this.#refuse(bodyTooLarge(`more than ${limit}`, limit, plan));
    else if (before >= MOST_TINY_PIECES && this.#received < before * TINY) this.#refuse(TOO_MANY_CHUNKS);
  }

  protected bodyEnd(): void {
    const plan = this.#plan;
    const pieces = this.#pieces;
    this.#plan = undefined;
    this.#pieces = [];
    if (plan === undefined || this.begun || this.aborted) return;
    const [only] = pieces;
    if (pieces.length <= 1 && this.#received < SMALLEST_MOVED) {
      plan.onBody(only === undefined ? Buffer.alloc(0) : asBuffer(only));
      return;
    }
    const run = startPaced(joined(pieces, this.#received, plan.alignedAt), {
      done: (body) => plan.onBody(body),
      failed: () => this.#refuse(noMemory(this.#received)),
    });
    if (run !== undefined) this.onAbort(() => run.cancel());
  }

  /** The client took or sent something. */
  protected moved(): void {
    this.#movedAt = this.#clock.now;
  }

  /** That many bytes of the answer wait for the client. */
  protected unread(bytes: number): void {
    if (!this.#isDone) this.#share.unread(bytes);
  }

  /** The answer has been handed over whole. */
  protected done(): void {
    if (this.#isDone) return;
    this.#isDone = true;
    this.#share.close();
    this.#onDone();
  }

  /** Nobody waits for the answer any more. Idempotent. */
  protected lost(): void {
    if (this.#isDone) return;
    this.aborted = true;
    this.#plan = undefined;
    this.#pieces = [];
    const listener = this.#onAbort;
    this.#onAbort = undefined;
    this.done();
    listener?.();
  }

  // For the budget.

  get isStalled(): boolean {
    const waits = this.#plan !== undefined || this.waitingBytes > 0;
    return waits && this.#clock.now - this.#movedAt > STALLED_MILLISECONDS;
  }

  evict(): void {
    if (this.#plan === undefined) this.close();
    else this.#refuse(NO_ROOM);
  }

  largestUpload(isLarge: boolean): HeldRequest | undefined {
    return this.#plan !== undefined && this.heldBytes > 0 && this.isLarge === isLarge ? this : undefined;
  }

  refuseUpload(): void {
    if (this.#plan !== undefined) this.#refuse(NO_ROOM);
  }

  /** Answers without the rest of the body. */
  #refuse(fault: Fault): void {
    this.#plan = undefined;
    this.#pieces = [];
    this.dropBody();
    answerFault(this, fault);
  }

  #allHeaders(headers: HttpHeaders): HttpHeaders {
    return this.commonHeaders.length === 0 ? headers : [...headers, ...this.commonHeaders];
  }
}

function asBuffer({ buffer, byteOffset, byteLength }: Uint8Array): Buffer {
  return Buffer.from(buffer, byteOffset, byteLength);
}

/** Joins the pieces in memory of their own, where typed arrays of all kinds may begin at the offset `alignedAt`. */
function* joined(pieces: readonly Uint8Array[], byteLength: number, alignedAt: number): PacedWork<Buffer> {
  const padding = (ALIGNED_BYTES - (alignedAt % ALIGNED_BYTES)) % ALIGNED_BYTES;
  const whole = Buffer.allocUnsafeSlow(padding + byteLength).subarray(padding);
  const pace = new Pace();
  let offset = 0;
  for (const piece of pieces) {
    yield* copyPaced(piece, whole, offset, pace);
    offset += piece.byteLength;
  }
  return whole;
}
