// Reads the heads of answers. Strict: HTTP/1.1 or HTTP/1.0, one space, three digits, and a reason that nobody reads.

import { CR, PLACES, SPACE, VALUE } from './characters.js';
import { malformed, type Fault } from './fault.js';
import type { HeadFraming } from './head-framing.js';
import { HeadReader, isLineEnd } from './head-reader.js';
import { ResponseHead } from './response-head.js';

const VERSION = 'HTTP/1.';
/** `HTTP/1.1 200`. */
const STATUS_END = 12;

export class ResponseHeadReader extends HeadReader<ResponseHead> {
  #status = 0;
  #isVersion10 = false;

  protected override startLine(bytes: Buffer, start: number, end: number): number | Fault | undefined {
    const fault = this.beginningFault(bytes, start, end);
    if (fault !== undefined) return fault;
    let at = start + STATUS_END;
    if (at + 1 >= end) return undefined;
    // Some leave out the space too when there is no reason.
    if (bytes[at] === SPACE) while (at < end && (PLACES[bytes[at]!]! & VALUE) !== 0) at++;
    if (at + 1 >= end) return at === end || bytes[at] === CR ? undefined : INVALID;
    if (!isLineEnd(bytes, at)) return INVALID;
    const text = bytes.toString('latin1', start, start + STATUS_END);
    this.#isVersion10 = text[VERSION.length] === '0';
    this.#status = Number(text.slice(-3));
    return at + 2 - start;
  }

  protected override beginningFault(bytes: Buffer, start: number, end: number): Fault | undefined {
    const text = bytes.toString('latin1', start, Math.min(end, start + STATUS_END));
    for (let i = 0; i < text.length; i++) if (!mayStand(text[i]!, i)) return INVALID;
    return undefined;
  }

  protected override headOf(text: string, places: readonly number[], fields: HeadFraming): ResponseHead | Fault {
    const framing = fields.ofResponse(this.#isVersion10, this.#status);
    return 'detail' in framing ? framing : new ResponseHead(text, this.#status, { framing, places });
  }
}

const INVALID = malformed('no status line of HTTP/1.1 or HTTP/1.0');

/** Whether a character may be the one at `place` of a status line, up to the status. */
function mayStand(character: string, place: number): boolean {
  if (place < VERSION.length) return character === VERSION[place];
  if (place === VERSION.length) return character === '1' || character === '0';
  if (place === VERSION.length + 1) return character === ' ';
  // The first digit is the class of the status.
  return place === VERSION.length + 2 ? character >= '1' && character <= '5' : character >= '0' && character <= '9';
}
