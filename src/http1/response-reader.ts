// Takes what a server sends on a connection apart into answers, one to each request. It is told when a request has been sent; what
// comes without one, or behind the answer, is none.

import { ChunkReader } from './chunk-reader.js';
import { malformed, type Fault } from './fault.js';
import { HeadReceiver } from './head-receiver.js';
import type { ResponseHead } from './response-head.js';
import { ResponseHeadReader } from './response-head-reader.js';

/** Reading straight into the listener's memory saves copying so much at least. */
const SMALLEST_DIRECT_READ = 32_768;

/** The listener of an answer. */
export interface ResponseListener {
  /** The head; interim ones are not told. */
  onHead(head: ResponseHead): void;
  /** The next bytes of the body, `bytes[start…end)`, which are valid only during the call. */
  onData(bytes: Buffer, start: number, end: number): void;
  /** The best buffer for the rest of a body of known length; `onData` reports these bytes too. */
  directTarget?(): Buffer | undefined;
}

type Place = 'nothing' | 'head' | 'body';

export class ResponseReader {
  /** Why nothing can be read any more. */
  fault: Fault | undefined;
  /** Of the answer that is coming, or came last. */
  head: ResponseHead | undefined;
  readonly #heads = new HeadReceiver(new ResponseHeadReader(), { skipsEmptyLines: false });
  readonly #chunks = new ChunkReader();
  #listener: ResponseListener | undefined;
  #place: Place = 'nothing';
  #isChunked = false;
  #left = 0;

  /** A request has been sent. */
  begin(listener: ResponseListener): void {
    this.#listener = listener;
    this.head = undefined;
    this.#place = 'head';
  }

  /** Nothing more is reported. */
  stop(): void {
    this.#listener = undefined;
  }

  /** Whether an answer is still to come, or to end. */
  get isWaiting(): boolean {
    return this.#place !== 'nothing';
  }

  /** Reads up to the end of the answer or of the bytes, or to a fault. Returns where it has come to. */
  receive(bytes: Buffer, start: number, end: number): number {
    let at = start;
    while (at < end && this.isWaiting && this.fault === undefined) {
      if (this.#place === 'head') at = this.#receiveHead(bytes, at, end);
      else if (this.#isChunked) at = this.#receiveChunk(bytes, at, end);
      else at = this.#receiveMeasured(bytes, at, end);
    }
    return at;
  }

  /** The server sends nothing more. Some answers have no other end; any other that is under way is cut off: then false. */
  inputEnded(): boolean {
    if (this.#left === Infinity && this.#place === 'body' && !this.#isChunked) this.#end();
    return !this.isWaiting;
  }

  directTarget(): Buffer | undefined {
    if (this.#place !== 'body' || this.#isChunked || this.#left < SMALLEST_DIRECT_READ) return undefined;
    return this.#left === Infinity ? undefined : this.#listener?.directTarget?.();
  }

  #receiveHead(bytes: Buffer, start: number, end: number): number {
    const heads = this.#heads;
    const head = heads.receive(bytes, start, end);
    if (head === undefined) return heads.end;
    if (!('text' in head)) this.fault = head;
    // Nobody asked for another protocol.
    else if (head.status === 101) this.fault = malformed('status 101 without a request for it');
    else if (head.status >= 200) this.#begin(head);
    // The answer itself could not come any more.
    else if (!head.keepsAlive) this.fault = malformed('an interim answer that closes the connection');
    return heads.end;
  }

  #begin(head: ResponseHead): void {
    const { bodyLength } = head;
    this.head = head;
    this.#place = 'body';
    this.#isChunked = bodyLength === undefined;
    if (bodyLength === undefined) this.#chunks.reset();
    this.#left = bodyLength ?? 0;
    this.#listener?.onHead(head);
    if (bodyLength === 0) this.#end();
  }

  #receiveMeasured(bytes: Buffer, start: number, end: number): number {
    const taken = Math.min(end - start, this.#left);
    this.#left -= taken;
    this.#listener?.onData(bytes, start, start + taken);
    if (this.#left === 0) this.#end();
    return start + taken;
  }

  #receiveChunk(bytes: Buffer, start: number, end: number): number {
    const chunks = this.#chunks;
    const at = chunks.read(bytes, start, end);
    if (chunks.dataEnd > chunks.dataStart) this.#listener?.onData(bytes, chunks.dataStart, chunks.dataEnd);
    if (chunks.fault !== undefined) this.fault = chunks.fault;
    else if (chunks.isAtEnd) this.#end();
    return at;
  }

  #end(): void {
    this.#place = 'nothing';
    this.#listener = undefined;
  }
}
