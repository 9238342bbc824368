// Reads the head of a request out of received bytes, line by line (RFC 9112, sections 2 to 5). Strict: a line ends with CRLF, one
// space stands between the parts of the request line, no field is folded. Bytes may come in any pieces; a line that has not
// come whole is read again when its end is there.

import { COLON, CR, LF, PLACES, SPACE, TAB, TARGET, TOKEN, VALUE } from './characters.js';
import { malformed, TOO_LARGE_HEAD, type Fault } from './fault.js';
import { HeadFraming } from './head-framing.js';
import { RequestHead } from './request-head.js';

export const MAX_HEAD_BYTES = 16 * 1024;
const MAX_FIELDS = 2000;

/** Those that are registered. Others are refused before anything is made of the rest. */
const METHODS: ReadonlySet<string> = new Set(
  (
    'ACL BIND CHECKOUT CONNECT COPY DELETE GET HEAD LINK LOCK M-SEARCH MERGE MKACTIVITY MKCALENDAR MKCOL MOVE NOTIFY OPTIONS ' +
    'PATCH POST PROPFIND PROPPATCH PURGE PUT QUERY REBIND REPORT SEARCH SOURCE SUBSCRIBE TRACE UNBIND UNLINK UNLOCK UNSUBSCRIBE'
  ).split(' '),
);
const LONGEST_METHOD = 11;
/** A path, `*`, or a whole URL. */
const TARGET_FORM = /^(?:\/|\*$|[a-z][a-z0-9+.-]*:\/\/.)/i;

/** What a line has come to. */
type Progress = 'more' | 'line' | 'end';

export class HeadReader {
  readonly #framing = new HeadFraming();
  #places: number[] = [];
  #method = '';
  #target = '';
  #isVersion10 = false;
  /** Where the next line begins, from the beginning of the head. */
  #next = 0;
  /** Up to where the next line has been looked through for its end in vain. */
  #searched = 0;
  #fault: Fault | undefined;
  /** Of the head that was read last, with the empty line. */
  length = 0;

  /**
   * Reads on in the head that begins at `bytes[start]`, of which everything up to `end` has come. Undefined: it is not whole.
   * The bytes may lie elsewhere the next time.
   */
  read(bytes: Buffer, start: number, end: number): RequestHead | Fault | undefined {
    if (!this.#hasLine(bytes, start, end)) return this.#incomplete(bytes, start, end);
    for (;;) {
      const progress = this.#next === 0 ? this.#requestLine(bytes, start, end) : this.#fieldLine(bytes, start, end);
      if (this.#fault !== undefined) return this.#fail(this.#fault);
      if (this.#next > MAX_HEAD_BYTES) return this.#fail(TOO_LARGE_HEAD);
      if (progress === 'more') return this.#incomplete(bytes, start, end);
      if (progress === 'end') return this.#whole(bytes, start);
    }
  }

  #hasLine(bytes: Buffer, start: number, end: number): boolean {
    if (this.#searched === 0) return true;
    for (let i = start + this.#searched; i < end; i++) if (bytes[i] === LF) return true;
    return false;
  }

  #incomplete(bytes: Buffer, start: number, end: number): Fault | undefined {
    this.#searched = end - start;
    if (this.#searched > MAX_HEAD_BYTES) return this.#fail(TOO_LARGE_HEAD);
    // Other protocols may have no lines at all.
    if (this.#next === 0 && !beginsMethod(bytes, start, end))
      return this.#fail(malformed('Invalid method encountered'));
    return undefined;
  }

  #whole(bytes: Buffer, start: number): RequestHead | Fault {
    const framing = this.#framing.decide(this.#isVersion10);
    if ('status' in framing) return this.#fail(framing);
    const length = this.#next;
    const text = bytes.toString('latin1', start, start + length);
    const head = new RequestHead(
      text,
      { method: this.#method, target: this.#target },
      { framing, places: this.#places },
    );
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

  #requestLine(bytes: Buffer, start: number, end: number): Progress {
    let at = start;
    while (at < end && (PLACES[bytes[at]!]! & TOKEN) !== 0) at++;
    if (at === end) return 'more';
    const method = bytes.toString('latin1', start, at);
    if (bytes[at] !== SPACE || !METHODS.has(method)) return this.#refuse('Invalid method encountered');
    const targetStart = ++at;
    while (at < end && (PLACES[bytes[at]!]! & TARGET) !== 0) at++;
    if (at === end) return 'more';
    const target = bytes.toString('latin1', targetStart, at);
    // CONNECT has targets of another form, and is refused whatever they are.
    if (method !== 'CONNECT' && !TARGET_FORM.test(target)) return this.#refuse('Unexpected char in url schema');
    if (bytes[at] === CR) return at + 1 === end ? 'more' : this.#version('HTTP/0.9');
    if (bytes[at] !== SPACE) return this.#refuse('invalid request target');
    const versionEnd = at + 1 + 'HTTP/1.1'.length;
    if (versionEnd + 2 > end) return this.#hasBareLine(bytes, at, end) ? this.#refuse('invalid HTTP version') : 'more';
    const version = bytes.toString('latin1', at + 1, versionEnd);
    if (bytes[versionEnd] !== CR || bytes[versionEnd + 1] !== LF) return this.#refuse('invalid HTTP version');
    if (version !== 'HTTP/1.1' && version !== 'HTTP/1.0') return this.#version(version);
    this.#isVersion10 = version === 'HTTP/1.0';
    this.#method = method;
    this.#target = target;
    return this.#endLine(versionEnd + 2 - start);
  }

  #version(version: string): Progress {
    if (version !== 'HTTP/0.9' && version !== 'HTTP/2.0') return this.#refuse('invalid HTTP version');
    this.#fault = { status: 505, message: `${version} is not supported, expected HTTP/1.1 or HTTP/1.0` };
    return 'end';
  }

  #hasBareLine(bytes: Buffer, start: number, end: number): boolean {
    for (let i = start; i < end; i++) if (bytes[i] === LF) return true;
    return false;
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
    this.#notice(bytes, start);
    return this.#endLine(at + 2 - start);
  }

  /** The field that was read last: the framing may depend on it. */
  #notice(bytes: Buffer, start: number): void {
    const framing = this.#framing;
    const [nameStart, nameEnd, valueStart, valueEnd] = this.#places.slice(-4) as [number, number, number, number];
    const is = (name: string) => isNamed(bytes, start + nameStart, name);
    const value = () => bytes.toString('latin1', start + valueStart, start + valueEnd);
    switch (nameEnd - nameStart) {
      case 'host'.length:
        if (is('host')) framing.host();
        return;
      case 'expect'.length:
        if (is('expect')) framing.expect(value());
        return;
      case 'connection'.length:
        if (is('connection')) framing.connection(value());
        return;
      case 'content-length'.length:
        if (is('content-length')) this.#fault = framing.contentLength(value());
        return;
      case 'transfer-encoding'.length:
        if (is('transfer-encoding')) framing.transferEncoding(value());
        return;
      default:
    }
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

/** Whether a name, of the length of `name`, is that in any case. */
function isNamed(bytes: Buffer, start: number, name: string): boolean {
  for (let i = 0; i < name.length; i++) {
    const wanted = name.charCodeAt(i);
    const byte = bytes[start + i]!;
    if (byte !== wanted && ((byte | 0x20) !== wanted || wanted === 0x2d)) return false;
  }
  return true;
}

function beginsMethod(bytes: Buffer, start: number, end: number): boolean {
  const [first = ''] = bytes.toString('latin1', start, Math.min(end, start + LONGEST_METHOD + 1)).split(' ', 1);
  if (METHODS.has(first)) return true;
  for (const method of METHODS) if (method.startsWith(first)) return true;
  return false;
}
