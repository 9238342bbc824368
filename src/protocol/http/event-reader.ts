// Server-sent events from the bytes of an answer, however they are cut: the data of each, as bytes (WHATWG HTML, section
// 9.2.6). Names, ids and comments are passed over; nobody sends any here.

const LINE_FEED = 0x0a;
const CARRIAGE_RETURN = 0x0d;
const DATA = Buffer.from('data');
const COLON = 0x3a;
const SPACE = 0x20;
const NEW_LINE = Buffer.from('\n');

export class EventReader {
  /** Of the line under way. */
  #parts: Buffer[] = [];
  /** Of the event under way. */
  #data: Buffer[] = [];
  /** A carriage return ended the last line: a line feed right behind it belongs to it. */
  #afterReturn = false;
  #heldBytes = 0;

  /** Bytes of the event under way: who reads from strangers says how many are too many. */
  get heldBytes(): number {
    return this.#heldBytes;
  }

  /** Whether something of an event has come that did not end. */
  get isInside(): boolean {
    return this.#data.length > 0 || this.#parts.length > 0;
  }

  /** Takes the next bytes, which must not change, and gives the data of the events that they complete. */
  push(chunk: Buffer): Buffer[] {
    const events: Buffer[] = [];
    let start = 0;
    if (this.#afterReturn && chunk.length > 0) {
      if (chunk[0] === LINE_FEED) start = 1;
      this.#afterReturn = false;
    }
    for (;;) {
      const end = endOfLine(chunk, start);
      if (end < 0) break;
      this.#endLine(chunk.subarray(start, end), events);
      start = end + 1;
      if (chunk[end] !== CARRIAGE_RETURN) continue;
      if (start === chunk.length) this.#afterReturn = true;
      else if (chunk[start] === LINE_FEED) start++;
    }
    if (start < chunk.length) {
      this.#parts.push(chunk.subarray(start));
      this.#heldBytes += chunk.length - start;
    }
    return events;
  }

  #endLine(rest: Buffer, events: Buffer[]): void {
    const line = this.#parts.length === 0 ? rest : Buffer.concat([...this.#parts, rest]);
    this.#heldBytes -= this.#parts.reduce((sum, { length }) => sum + length, 0);
    this.#parts = [];
    if (line.length > 0) {
      const data = dataOf(line);
      if (data !== undefined) {
        this.#data.push(data);
        this.#heldBytes += data.length;
      }
      return;
    }
    this.#heldBytes = 0;
    const [first, ...more] = this.#data;
    this.#data = [];
    if (first === undefined) return;
    events.push(more.length === 0 ? first : Buffer.concat([first, ...more.flatMap((part) => [NEW_LINE, part])]));
  }
}

function endOfLine(chunk: Buffer, start: number): number {
  const feed = chunk.indexOf(LINE_FEED, start);
  const before = feed < 0 ? chunk : chunk.subarray(0, feed);
  const carriage = before.indexOf(CARRIAGE_RETURN, start);
  return carriage < 0 ? feed : carriage;
}

/** The value of a line of data; undefined for any other line. */
function dataOf(line: Buffer): Buffer | undefined {
  if (!line.subarray(0, DATA.length).equals(DATA)) return undefined;
  if (line.length === DATA.length) return line.subarray(DATA.length);
  if (line[DATA.length] !== COLON) return undefined;
  const start = DATA.length + 1;
  return line.subarray(line[start] === SPACE ? start + 1 : start);
}
