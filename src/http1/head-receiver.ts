// The heads that come on a connection, in whatever pieces. One that is byte for byte the last one is the same object, and is not
// read again.

import { CR, LF } from './characters.js';
import { malformed, type Fault } from './fault.js';
import { MAX_HEAD_BYTES, type HeadReader } from './head-reader.js';
import type { MessageHead } from './message-head.js';

/** A head up to this size is kept: the next one is mostly the same. */
const LARGEST_KEPT = 2048;
const SMALLEST_PARTIAL = 512;

export class HeadReceiver<Head extends MessageHead> {
  readonly #reader: HeadReader<Head>;
  readonly #skipsEmptyLines: boolean;
  #last: Head | undefined;
  /** Whether a head has begun to come. */
  isPartial = false;
  #partial: Buffer | undefined;
  #partialBytes = 0;
  #hasCarriageReturn = false;
  /** Set by {@link receive}: where it has come to. */
  end = 0;

  /** `skipsEmptyLines`: before a head they are nothing. */
  constructor(reader: HeadReader<Head>, { skipsEmptyLines }: { readonly skipsEmptyLines: boolean }) {
    this.#reader = reader;
    this.#skipsEmptyLines = skipsEmptyLines;
  }

  /** What keeping it costs. */
  get heldBytes(): number {
    return this.#partial?.length ?? 0;
  }

  /** The received part of a head is of no interest. */
  stop(): void {
    this.isPartial = false;
    this.#partial = undefined;
    this.#partialBytes = 0;
  }

  /** Reads on, up to the end of a head or of the bytes. Undefined: the head is not whole yet. */
  receive(bytes: Buffer, start: number, end: number): Head | Fault | undefined {
    if (this.#partial !== undefined) return this.#receiveMore(bytes, start, end);
    if (this.#skipsEmptyLines && (this.#hasCarriageReturn || bytes[start] === CR)) return this.#emptyLine(bytes, start);
    const last = this.#last;
    if (last !== undefined) {
      const headEnd = start + last.text.length;
      if (headEnd <= end && bytes.toString('latin1', start, headEnd) === last.text) {
        this.end = headEnd;
        return last;
      }
    }
    const read = this.#reader.read(bytes, start, end);
    if (read === undefined) this.#keep(bytes, start, end);
    return this.#ended(read, read === undefined ? end : start + this.#reader.length);
  }

  #receiveMore(bytes: Buffer, start: number, end: number): Head | Fault | undefined {
    const before = this.#partialBytes;
    this.#keep(bytes, start, Math.min(end, start + MAX_HEAD_BYTES + 1 - before));
    const read = this.#reader.read(this.#partial!, 0, this.#partialBytes);
    if (read !== undefined) this.stop();
    return this.#ended(read, read === undefined ? end : start + this.#reader.length - before);
  }

  #emptyLine(bytes: Buffer, start: number): Fault | undefined {
    this.end = start + 1;
    if (this.#hasCarriageReturn && bytes[start] !== LF) return malformed('a carriage return without a line feed');
    this.#hasCarriageReturn = !this.#hasCarriageReturn;
    return undefined;
  }

  #ended(read: Head | Fault | undefined, end: number): Head | Fault | undefined {
    this.end = end;
    if (read !== undefined && 'text' in read) this.#last = read.text.length <= LARGEST_KEPT ? read : undefined;
    return read;
  }

  #keep(bytes: Buffer, start: number, end: number): void {
    this.isPartial = true;
    const size = this.#partialBytes + end - start;
    const { length } = (this.#partial ??= Buffer.allocUnsafeSlow(Math.max(SMALLEST_PARTIAL, 2 * size)));
    if (size > length) {
      const larger = Buffer.allocUnsafeSlow(2 * size);
      this.#partial.copy(larger, 0, 0, this.#partialBytes);
      this.#partial = larger;
    }
    bytes.copy(this.#partial, this.#partialBytes, start, end);
    this.#partialBytes = size;
  }
}
