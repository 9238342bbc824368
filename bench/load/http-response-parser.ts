// Finds where an HTTP/1.1 response ends, for a load generator that must cost less than the servers it drives: one pass
// over the header's bytes, no strings, and the body is counted rather than kept. Only responses with a Content-Length
// are understood; anything else throws, since a generator that guesses would measure nonsense.

const LF = 10;
const CR = 13;
const SPACE = 32;
const COLON = 58;
const CONTENT_LENGTH = Buffer.from('content-length:');
const TRANSFER_ENCODING = Buffer.from('transfer-encoding:');
const STATUS_END = 12; // the length of "HTTP/1.1 200"
const LONGEST_HEADER = 1 << 16;

export class HttpResponseParser {
  /** Of the response that ended last. */
  status = 0;
  bodyLength = 0;
  /** While true, bodies are collected and `body` holds the last one. */
  keepBody = false;
  body: Buffer = Buffer.alloc(0);
  #inBody = false;
  #missing = 0;
  #column = 0;
  #lineIsEmpty = true;
  #headerBytes = 0;
  #digits = -1;
  #isContentLength = true;
  #isTransferEncoding = true;
  #inStatusLine = true;
  #parts: Buffer[] = [];

  /** Reads `bytes` from `start`. Returns where the current response ends, or -1 when it needs more than `end`. */
  read(bytes: Buffer, start: number, end: number): number {
    let at = start;
    if (!this.#inBody) {
      at = this.#readHeader(bytes, start, end);
      if (at === -1) return -1;
    }
    const taken = Math.min(this.#missing, end - at);
    if (this.keepBody && taken > 0) this.#parts.push(Buffer.from(bytes.subarray(at, at + taken)));
    this.#missing -= taken;
    if (this.#missing > 0) return -1;
    this.#finish();
    return at + taken;
  }

  #finish(): void {
    this.#inBody = false;
    this.#inStatusLine = true;
    this.#headerBytes = 0;
    if (this.keepBody) this.body = Buffer.concat(this.#parts);
    this.#parts = [];
  }

  #readHeader(bytes: Buffer, start: number, end: number): number {
    for (let at = start; at < end; at++) {
      const byte = bytes[at]!;
      if (byte === LF) {
        if (this.#lineIsEmpty) {
          this.#headerEnds();
          return at + 1;
        }
        this.#lineEnds();
      } else if (byte !== CR) {
        this.#lineIsEmpty = false;
        if (this.#inStatusLine) this.#statusByte(byte);
        else if (this.#isContentLength || this.#isTransferEncoding) this.#fieldByte(byte);
        this.#column++;
      }
    }
    this.#headerBytes += end - start;
    if (this.#headerBytes > LONGEST_HEADER) throw new Error('the response header does not end');
    return -1;
  }

  #statusByte(byte: number): void {
    if (this.#column === 0) {
      this.status = 0;
      this.#digits = -1;
    }
    if (this.#column > 8 && this.#column < STATUS_END) this.status = this.status * 10 + byte - 48;
  }

  // Narrows down which of the two names this line can still be; past the name of the first, collects its number.
  #fieldByte(byte: number): void {
    const lower = byte >= 65 && byte <= 90 ? byte + 32 : byte;
    const column = this.#column;
    if (this.#isTransferEncoding) {
      if (lower !== TRANSFER_ENCODING[column]) this.#isTransferEncoding = false;
      else if (byte === COLON) throw new Error('expected a response with Content-Length, got Transfer-Encoding');
    }
    if (!this.#isContentLength) return;
    if (column < CONTENT_LENGTH.length) {
      if (lower !== CONTENT_LENGTH[column]) this.#isContentLength = false;
      else if (byte === COLON) this.#digits = 0;
    } else if (byte !== SPACE) {
      if (byte < 48 || byte > 57) throw new Error('Content-Length is not a number');
      this.#digits = this.#digits * 10 + byte - 48;
    }
  }

  #lineEnds(): void {
    if (this.#inStatusLine && !(this.#column >= STATUS_END && this.status >= 100 && this.status < 600)) {
      throw new Error('expected an HTTP/1.1 status line');
    }
    this.#inStatusLine = false;
    this.#column = 0;
    this.#lineIsEmpty = true;
    this.#isContentLength = true;
    this.#isTransferEncoding = true;
  }

  #headerEnds(): void {
    if (this.#inStatusLine) throw new Error('expected an HTTP/1.1 status line, got an empty line');
    if (this.#digits < 0) throw new Error('expected a response with Content-Length, got none');
    this.#inBody = true;
    this.#column = 0;
    this.bodyLength = this.#digits;
    this.#missing = this.#digits;
  }
}
