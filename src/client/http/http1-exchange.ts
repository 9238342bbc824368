// One request on a connection. It settles once: with the answer, whole or in parts, or with an error.

import type { ClientConnection, Failure, Requester } from '../../http1/client-connection.js';
import type { ResponseHead } from '../../http1/response-head.js';
import type { TritonError } from '../../errors.js';
import type { Call } from '../call.js';
import { connectionError, isLoss, lostInSilence, notTheProtocol, tooLargeError } from '../connection-error.js';
import { HttpBody } from './http-body.js';
import { CLOSED_EARLY, type AnswerHeaders, type HttpResponse, type PartedResponse } from './http-wire.js';

/** The connection and the call of a sent request. */
export interface Sent {
  readonly connection: ClientConnection;
  readonly call: Call;
  readonly address: string;
  readonly maxResponseBytes: number;
  /** Whether the client gave the server a certificate of its own. */
  readonly givesCertificate: boolean;
}

export interface Outcome<T> {
  readonly resolve: (answer: T) => void;
  readonly reject: (error: unknown) => void;
}

/** The connection had been used before, and it ended before any byte of the answer came. */
export class StaleConnection extends Error {
  readonly error: TritonError;

  constructor(error: TritonError) {
    super(error.message);
    this.error = error;
  }
}

abstract class HttpExchange<T> implements Requester {
  protected readonly sent: Sent;
  protected readonly outcome: Outcome<T>;
  /** Stops listening for the call's abort. */
  protected readonly forget: () => void;
  #head: ResponseHead | undefined;

  constructor(sent: Sent, outcome: Outcome<T>) {
    const { connection, call } = sent;
    this.sent = sent;
    this.outcome = outcome;
    const { clock } = call;
    if (clock !== undefined) connection.whenConnected(() => clock.connected());
    this.forget = call.onAbort((error) => {
      connection.leave();
      outcome.reject(error);
    });
  }

  protected get head(): ResponseHead {
    return this.#head!;
  }

  onHead(head: ResponseHead): void {
    this.#head = head;
    this.sent.call.clock?.answered();
  }

  abstract onData(bytes: Buffer, start: number, end: number): void;
  abstract onEnd(): void;

  onFailure(failure: Failure): void {
    this.forget();
    const error = this.#errorOf(failure);
    const { isUsed, hasBegun } = this.sent.connection;
    const isStale = failure.kind === 'lost' && isUsed && !hasBegun && isLoss(failure.error);
    this.fail(isStale ? new StaleConnection(error) : error);
  }

  protected fail(error: Error): void {
    this.outcome.reject(error);
  }

  /** Rejects with the error, and leaves the connection: the rest of the answer is useless. */
  protected giveUp(error: TritonError): void {
    this.forget();
    this.sent.connection.leave();
    this.outcome.reject(error);
  }

  #errorOf(failure: Failure): TritonError {
    const { address, connection, givesCertificate } = this.sent;
    if (failure.kind === 'fault') return notTheProtocol(new Error(failure.fault.detail), address, 'HTTP');
    const { isUsed, hasBegun, wasConnected } = connection;
    const isSilent = givesCertificate && wasConnected && !isUsed && !hasBegun;
    const lost = isSilent ? lostInSilence(failure.error) : failure.error;
    const reason = lost ?? (this.#head === undefined ? hangUp() : new Error(CLOSED_EARLY));
    return connectionError(reason, address, wasConnected);
  }
}

/** Makes the error that the system would have reported. */
function hangUp(): Error {
  return Object.assign(new Error('the server closed the connection'), { code: 'ECONNRESET' });
}

/** Resolves with the answer when it is complete. */
export class WholeExchange extends HttpExchange<HttpResponse> {
  #headers: AnswerHeaders | undefined;
  #body: HttpBody | undefined;

  override onHead(head: ResponseHead): void {
    super.onHead(head);
    this.#headers = new ReceivedHeaders(head);
    this.#body = new HttpBody(this.#headers, this.sent.maxResponseBytes);
    if (this.#body.isTooLarge) this.#tooLarge();
  }

  override onData(bytes: Buffer, start: number, end: number): void {
    const body = this.#body!;
    try {
      body.add(bytes, start, end);
    } catch (error) {
      // The memory for the body could not be allocated.
      this.giveUp(connectionError(error, this.sent.address));
      return;
    }
    if (body.isTooLarge) this.#tooLarge();
  }

  directTarget(): Buffer | undefined {
    return this.#body?.rest();
  }

  override onEnd(): void {
    this.forget();
    this.outcome.resolve({ status: this.head.status, headers: this.#headers!, body: this.#body!.end() });
  }

  #tooLarge(): void {
    this.giveUp(tooLargeError(this.sent.maxResponseBytes, this.sent.address));
  }
}

/** The connection stops reading when this many bytes wait for the reader. */
const MOST_WAITING = 65_536;

/** Resolves with the head of the answer. Keeps the bytes that follow until the reader takes them. */
export class PartedExchange extends HttpExchange<PartedResponse> implements PartedResponse {
  #waiting: Buffer[] = [];
  #waitingBytes = 0;
  #state: 'coming' | 'complete' | Error = 'coming';
  #taker: Outcome<IteratorResult<Uint8Array>> | undefined;
  #answered: ReceivedHeaders | undefined;

  get status(): number {
    return this.head.status;
  }

  get headers(): AnswerHeaders {
    return (this.#answered ??= new ReceivedHeaders(this.head));
  }

  get complete(): boolean {
    return this.#state === 'complete';
  }

  parts(): AsyncIterator<Uint8Array, unknown> {
    return { next: () => this.#next() };
  }

  cancel(): void {
    if (this.#state !== 'coming') return;
    this.sent.connection.leave();
    this.#end(new Error(CLOSED_EARLY));
  }

  override onHead(head: ResponseHead): void {
    super.onHead(head);
    this.forget();
    this.outcome.resolve(this);
  }

  override onData(bytes: Buffer, start: number, end: number): void {
    const part = Buffer.from(bytes.subarray(start, end));
    if (this.#taker !== undefined) {
      this.#taker.resolve({ done: false, value: part });
      this.#taker = undefined;
      return;
    }
    this.#waiting.push(part);
    this.#waitingBytes += part.length;
    if (this.#waitingBytes >= MOST_WAITING) this.sent.connection.pause();
  }

  override onEnd(): void {
    this.#end('complete');
  }

  protected override fail(error: Error): void {
    this.outcome.reject(error);
    this.#end(error);
  }

  #end(state: 'complete' | Error): void {
    this.#state = state;
    const taker = this.#taker;
    this.#taker = undefined;
    if (state === 'complete') taker?.resolve(DONE);
    else taker?.reject(state);
  }

  /** Returns the received bytes first, and then how the answer ended. */
  #next(): Promise<IteratorResult<Uint8Array>> {
    const waiting = this.#waiting;
    if (waiting.length > 0) {
      this.#waiting = [];
      this.#waitingBytes = 0;
      if (this.#state === 'coming') this.sent.connection.resume();
      return Promise.resolve({ done: false, value: waiting.length === 1 ? waiting[0]! : Buffer.concat(waiting) });
    }
    if (this.#state === 'complete') return Promise.resolve(DONE);
    if (this.#state !== 'coming') return Promise.reject(this.#state);
    return new Promise((resolve, reject) => (this.#taker = { resolve, reject }));
  }
}

const DONE = { done: true, value: undefined } as const;

/** The headers of the head, read on demand. */
class ReceivedHeaders implements AnswerHeaders {
  readonly #head: ResponseHead;

  constructor(head: ResponseHead) {
    this.#head = head;
  }

  get 'content-encoding'(): string | undefined {
    return this.#head.header('content-encoding');
  }

  get 'content-length'(): string | undefined {
    return this.#head.header('content-length');
  }

  get 'content-type'(): string | undefined {
    return this.#head.header('content-type');
  }

  get location(): string | undefined {
    return this.#head.header('location');
  }

  get 'retry-after'(): string | undefined {
    return this.#head.header('retry-after');
  }

  get 'inference-header-content-length'(): string | undefined {
    return this.#head.header('inference-header-content-length');
  }
}
