// Server-sent events from the bytes of an answer, however they are cut: the data of each, as bytes (WHATWG HTML, section
// 9.2.6). Names, ids and comments are passed over; nobody sends any here.

const LINE_FEED = 0x0a;
const CARRIAGE_RETURN = 0x0d;
const DATA = Buffer.from('data');
const COLON = 0x3a;
const SPACE = 0x20;
const NEW_LINE = Buffer.from('\n');

/** What a piece takes beside its bytes: empty lines of data and single bytes take memory too. */
const BYTES_OF_A_PIECE = 128;

export class EventReader {
  /** Of the line under way. */
  #parts: Buffer[] = [];
  #partBytes = 0;
  /** Of the event under way. */
  #data: Buffer[] = [];
  #dataBytes = 0;
  /** A carriage return ended the last line: a line feed right behind it belongs to it. */
  #afterReturn = false;

  /** Bytes that the event under way takes: who reads from strangers says how many are too many. */
  get heldBytes(): number {
    return this.#partBytes + this.#dataBytes;
  }

  /** Whether something of an event has come that did not end. */
  get isInside(): boolean {
    return this.#data.length > 0 || this.#parts.length > 0;
  }

  /** Takes the next bytes, which must not change, and gives the data of the events that they complete. */
  push(chunk: Buffer): Buffer[] {
    const events: Buffer[] = [];
    let owned = this.#data.length;
    let start = 0;
    if (this.#afterReturn && chunk.length > 0) {
      if (chunk[0] === LINE_FEED) start = 1;
      this.#afterReturn = false;
    }
    let feed = -1;
    let carriage = -1;
    for (;;) {
      // Each is looked for again where it was passed only: a chunk is searched once.
      if (feed < start) feed = placeOf(LINE_FEED, chunk, start);
      if (carriage < start) carriage = placeOf(CARRIAGE_RETURN, chunk, start);
      const end = Math.min(feed, carriage);
      if (end === Infinity) break;
      if (this.#endLine(chunk.subarray(start, end), events)) owned = 0;
      start = end + 1;
      if (end !== carriage) continue;
      if (start === chunk.length) this.#afterReturn = true;
      else if (chunk[start] === LINE_FEED) start++;
    }
    // What stays is copied: a line of a few bytes would keep the whole chunk.
    for (; owned < this.#data.length; owned++) this.#data[owned] = Buffer.from(this.#data[owned]!);
    if (start < chunk.length) {
      this.#parts.push(chunk.subarray(start));
      this.#partBytes += BYTES_OF_A_PIECE + chunk.length - start;
    }
    return events;
  }

  /** True when the line ended an event. */
  #endLine(rest: Buffer, events: Buffer[]): boolean {
    const line = this.#parts.length === 0 ? rest : Buffer.concat([...this.#parts, rest]);
    this.#parts = [];
    this.#partBytes = 0;
    if (line.length > 0) {
      const data = dataOf(line);
      if (data !== undefined) {
        this.#data.push(data);
        this.#dataBytes += BYTES_OF_A_PIECE + data.length;
      }
      return false;
    }
    this.#dataBytes = 0;
    const [first, ...more] = this.#data;
    this.#data = [];
    if (first !== undefined) {
      events.push(more.length === 0 ? first : Buffer.concat([first, ...more.flatMap((part) => [NEW_LINE, part])]));
    }
    return true;
  }
}

/** Infinity for nowhere. */
function placeOf(byte: number, chunk: Buffer, start: number): number {
  const place = chunk.indexOf(byte, start);
  return place < 0 ? Infinity : place;
}

/** The value of a line of data; undefined for any other line. */
function dataOf(line: Buffer): Buffer | undefined {
  if (!line.subarray(0, DATA.length).equals(DATA)) return undefined;
  if (line.length === DATA.length) return line.subarray(DATA.length);
  if (line[DATA.length] !== COLON) return undefined;
  const start = DATA.length + 1;
  return line.subarray(line[start] === SPACE ? start + 1 : start);
}
