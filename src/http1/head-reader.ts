// Reads the head of a message out of received bytes, line by line (RFC 9112, sections 2 to 5). Strict: a line ends with CRLF, no
// field is folded. Bytes may come in any pieces; a line that has not come whole is read again when its end is there. What the
// first line is, a subclass knows.

import { COLON, CR, LF, PLACES, SPACE, TAB, TOKEN, VALUE } from './characters.js';
import { malformed, TOO_LARGE_HEAD, type Fault } from './fault.js';
import { HeadFraming } from './head-framing.js';
import type { MessageHead } from './message-head.js';

export const MAX_HEAD_BYTES = 16 * 1024;
const MAX_FIELDS = 2000;

/** What a line has come to. */
type Progress = 'more' | 'line' | 'end';

export abstract class HeadReader<Head extends MessageHead> {
  readonly #framing = new HeadFraming();
  #places: number[] = [];
  /** Where the next line begins, from the beginning of the head. */
  #next = 0;
  /** Up to where the next line has been looked through for its end in vain. */
  #searched = 0;
  #fault: Fault | undefined;
  /** The value of the last Host header: the requests of a connection mostly have the same. */
  #host = '';
  /** Of the head that was read last, with the empty line. */
  length = 0;

  /** Reads the first line. Returns its length with its end; undefined: it is not whole. */
  protected abstract startLine(bytes: Buffer, start: number, end: number): number | Fault | undefined;

  /** The mistake at the beginning of a first line. Other protocols may have no lines at all. */
  protected abstract beginningFault(bytes: Buffer, start: number, end: number): Fault | undefined;

  /** Makes the head, whose first line was read last. */
  protected abstract headOf(text: string, places: readonly number[], framing: HeadFraming): Head | Fault;

  /**
   * Reads on in the head that begins at `bytes[start]`, of which everything up to `end` has come. Undefined: it is not whole.
   * The bytes may lie elsewhere the next time.
   */
  read(bytes: Buffer, start: number, end: number): Head | Fault | undefined {
    if (!this.#hasLine(bytes, start, end)) return this.#incomplete(bytes, start, end);
    for (;;) {
      const progress = this.#next === 0 ? this.#firstLine(bytes, start, end) : this.#fieldLine(bytes, start, end);
      if (this.#fault !== undefined) return this.#fail(this.#fault);
      if (this.#next > MAX_HEAD_BYTES) return this.#fail(TOO_LARGE_HEAD);
      if (progress === 'more') return this.#incomplete(bytes, start, end);
      if (progress === 'end') return this.#whole(bytes, start);
    }
  }

  #hasLine(bytes: Buffer, start: number, end: number): boolean {
    return this.#searched === 0 || hasLineEnd(bytes, start + this.#searched, end);
  }

  #incomplete(bytes: Buffer, start: number, end: number): Fault | undefined {
    this.#searched = end - start;
    if (this.#searched > MAX_HEAD_BYTES) return this.#fail(TOO_LARGE_HEAD);
    const fault = this.#next === 0 ? this.beginningFault(bytes, start, end) : undefined;
    return fault === undefined ? undefined : this.#fail(fault);
  }

  #whole(bytes: Buffer, start: number): Head | Fault {
    const length = this.#next;
    const text = bytes.toString('latin1', start, start + length);
    const head = this.headOf(text, this.#places, this.#framing);
    this.#reset();
    this.length = length;
    return head;
  }

  #fail(fault: Fault): Fault {
    this.#reset();
    return fault;
  }

  #reset(): void {
    this.#framing.reset();
    this.#places = [];
    this.#next = 0;
    this.#searched = 0;
    this.#fault = undefined;
  }

  #firstLine(bytes: Buffer, start: number, end: number): Progress {
    const line = this.startLine(bytes, start, end);
    if (line === undefined) return 'more';
    if (typeof line === 'number') return this.#endLine(line);
    this.#fault = line;
    return 'end';
  }

  #fieldLine(bytes: Buffer, start: number, end: number): Progress {
    const nameStart = start + this.#next;
    if (nameStart === end) return 'more';
    if (bytes[nameStart] === CR) {
      if (nameStart + 1 === end) return 'more';
      if (bytes[nameStart + 1] !== LF) return this.#refuse('a carriage return without a line feed');
      this.#next += 2;
      return 'end';
    }
    let at = nameStart;
    while (at < end && (PLACES[bytes[at]!]! & TOKEN) !== 0) at++;
    if (at === end) return 'more';
    if (bytes[at] !== COLON || at === nameStart) return this.#refuse('invalid header name');
    const nameEnd = at++;
    while (at < end && isBlank(bytes[at]!)) at++;
    const valueStart = at;
    while (at < end && (PLACES[bytes[at]!]! & VALUE) !== 0) at++;
    if (at + 1 >= end) return at === end || bytes[at] === CR ? 'more' : this.#refuse('invalid header value');
    if (bytes[at] !== CR || bytes[at + 1] !== LF) return this.#refuse('invalid header value');
    let valueEnd = at;
    while (valueEnd > valueStart && isBlank(bytes[valueEnd - 1]!)) valueEnd--;
    // A line that begins with a blank has no name: folded lines are refused with the next one.
    this.#places.push(nameStart - start, nameEnd - start, valueStart - start, valueEnd - start);
    if (this.#places.length > 4 * MAX_FIELDS) {
      this.#fault = TOO_LARGE_HEAD;
      return 'end';
    }
    this.#notice(bytes, { nameStart, nameEnd, valueStart, valueEnd });
    return this.#endLine(at + 2 - start);
  }

  /** The field that was read last: the framing may depend on it. */
  #notice(bytes: Buffer, field: FieldPlace): void {
    const framing = this.#framing;
    switch (field.nameEnd - field.nameStart) {
      case 'host'.length:
        if (isNamed(bytes, field, 'host')) framing.host(this.#hostOf(bytes, field));
        return;
      case 'expect'.length:
        if (isNamed(bytes, field, 'expect')) framing.expect(valueOf(bytes, field));
        return;
      case 'connection'.length:
        if (isNamed(bytes, field, 'connection')) framing.connection(valueOf(bytes, field));
        return;
      case 'content-length'.length:
        if (isNamed(bytes, field, 'content-length')) {
          this.#fault = framing.contentLength(shortNumberOf(bytes, field) ?? valueOf(bytes, field));
        }
        return;
      case 'transfer-encoding'.length:
        if (isNamed(bytes, field, 'transfer-encoding')) framing.transferEncoding(valueOf(bytes, field));
        return;
      default:
    }
  }

  #hostOf(bytes: Buffer, field: FieldPlace): string {
    if (!isText(bytes, field.valueStart, field.valueEnd, this.#host)) this.#host = valueOf(bytes, field);
    return this.#host;
  }

  #endLine(next: number): Progress {
    this.#next = next;
    this.#searched = next;
    return 'line';
  }

  #refuse(what: string): Progress {
    this.#fault = malformed(what);
    return 'end';
  }
}

function isBlank(byte: number): boolean {
  return byte === SPACE || byte === TAB;
}

/** Where the name and the value of a field lie in the bytes. */
interface FieldPlace {
  readonly nameStart: number;
  readonly nameEnd: number;
  readonly valueStart: number;
  readonly valueEnd: number;
}

function valueOf(bytes: Buffer, { valueStart, valueEnd }: FieldPlace): string {
  return bytes.toString('latin1', valueStart, valueEnd);
}

const DIGIT_0 = 48;
/** A number with so many digits is exact. */
const MOST_DIGITS = 15;

/** The number of a value that is nothing but digits, and neither zero nor long; undefined for any other value. */
function shortNumberOf(bytes: Buffer, { valueStart, valueEnd }: FieldPlace): number | undefined {
  if (valueEnd - valueStart > MOST_DIGITS || bytes[valueStart] === DIGIT_0) return undefined;
  let number = 0;
  for (let at = valueStart; at < valueEnd; at++) {
    const digit = bytes[at]! - DIGIT_0;
    if (digit < 0 || digit > 9) return undefined;
    number = number * 10 + digit;
  }
  return number === 0 ? undefined : number;
}

/** Whether the bytes from `start` to `end` are a text of Latin-1. */
export function isText(bytes: Buffer, start: number, end: number, text: string): boolean {
  if (end - start !== text.length) return false;
  let at = start;
  while (at < end && bytes[at] === text.charCodeAt(at - start)) at++;
  return at === end;
}

/** Whether a name, of the length of `name`, is that in any case. */
function isNamed(bytes: Buffer, { nameStart }: FieldPlace, name: string): boolean {
  for (let i = 0; i < name.length; i++) {
    // Among the bytes of names only capital letters become another one of them.
    if ((bytes[nameStart + i]! | 0x20) !== name.charCodeAt(i)) return false;
  }
  return true;
}

/** Whether a line ends in the bytes. */
export function hasLineEnd(bytes: Buffer, start: number, end: number): boolean {
  for (let i = start; i < end; i++) if (bytes[i] === LF) return true;
  return false;
}

/** Whether a line ends exactly there. */
export function isLineEnd(bytes: Buffer, at: number): boolean {
  return bytes[at] === CR && bytes[at + 1] === LF;
}
