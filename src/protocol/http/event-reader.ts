// Reads server-sent events from the bytes of an answer, in chunks of any size. Each event gives its data as bytes (WHATWG HTML,
// section 9.2.6). Names, ids and comments are ignored; nobody sends any here.

const LINE_FEED = 0x0a;
const CARRIAGE_RETURN = 0x0d;
const DATA = Buffer.from('data');
const COLON = 0x3a;
const SPACE = 0x20;
const NEW_LINE = Buffer.from('\n');
const BYTE_ORDER_MARK = Buffer.from('\ufeff');

/** The memory that a piece takes beside its bytes: empty lines of data and single bytes take memory too. */
const BYTES_OF_A_PIECE = 128;

export class EventReader {
  /** Parts of the current line. */
  #parts: Buffer[] = [];
  #partBytes = 0;
  /** Data of the current event. */
  #data: Buffer[] = [];
  #dataBytes = 0;
  /** True when a carriage return ended the last line. A line feed right behind it belongs to it. */
  #afterReturn = false;
  /** Until the first line has ended, before which a byte order mark may stand. */
  #isFirst = true;

  /** Bytes that the current event takes. A caller that does not trust the sender sets a limit. */
  get heldBytes(): number {
    return this.#partBytes + this.#dataBytes;
  }

  /** Whether the bytes so far end inside an event. */
  get isInside(): boolean {
    return this.#data.length > 0 || this.#parts.length > 0;
  }

  /** Takes the next bytes, which must not change, and returns the data of the events that they complete. */
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
      // A byte is searched for again only behind the last place found, so a chunk is searched once.
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
    // Data that stays is copied. Otherwise a line of a few bytes would keep the whole chunk.
    for (; owned < this.#data.length; owned++) this.#data[owned] = Buffer.from(this.#data[owned]!);
    if (start < chunk.length) {
      this.#parts.push(chunk.subarray(start));
      this.#partBytes += BYTES_OF_A_PIECE + chunk.length - start;
    }
    return events;
  }

  /** True when the line ended an event. */
  #endLine(rest: Buffer, events: Buffer[]): boolean {
    let line = this.#parts.length === 0 ? rest : Buffer.concat([...this.#parts, rest]);
    const { length } = BYTE_ORDER_MARK;
    if (this.#isFirst && line.subarray(0, length).equals(BYTE_ORDER_MARK)) line = line.subarray(length);
    this.#isFirst = false;
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

/** Returns Infinity when the byte is not there. */
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
