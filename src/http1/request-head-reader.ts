// Reads the heads of requests. Strict: one space stands between the parts of the request line.

import { CR, PLACES, SPACE, TARGET, TOKEN } from './characters.js';
import { malformed, refused, type Fault } from './fault.js';
import type { HeadFraming } from './head-framing.js';
import { authorityOf, isHost } from './host.js';
import { hasLineEnd, HeadReader, isLineEnd, isText } from './head-reader.js';
import { RequestHead } from './request-head.js';

/** The registered methods. Others are refused before anything is made of the rest. */
const METHODS: ReadonlySet<string> = new Set(
  (
    'ACL BIND CHECKOUT CONNECT COPY DELETE GET HEAD LINK LOCK M-SEARCH MERGE MKACTIVITY MKCALENDAR MKCOL MOVE NOTIFY OPTIONS ' +
    'PATCH POST PROPFIND PROPPATCH PURGE PUT QUERY REBIND REPORT SEARCH SOURCE SUBSCRIBE TRACE UNBIND UNLINK UNLOCK UNSUBSCRIBE'
  ).split(' '),
);
const LONGEST_METHOD = 11;
const LONGEST_KEPT_LINE = 512;
/** A path, `*`, or a whole URL. */
const TARGET_FORM = /^(?:\/|\*$|[a-z]+:\/\/.)/i;

export class RequestHeadReader extends HeadReader<RequestHead> {
  #method = '';
  #target = '';
  #isVersion10 = false;
  /** The last first line, with its end: the requests of a connection mostly have the same. */
  #line = '';

  protected override startLine(bytes: Buffer, start: number, end: number): number | Fault | undefined {
    const line = this.#line;
    if (line !== '' && start + line.length <= end && isText(bytes, start, start + line.length, line))
      return line.length;
    this.#line = '';
    let at = start;
    while (at < end && (PLACES[bytes[at]!]! & TOKEN) !== 0) at++;
    if (at === end) return undefined;
    const method = bytes.toString('latin1', start, at);
    if (bytes[at] !== SPACE || !METHODS.has(method)) return UNKNOWN_METHOD;
    const targetStart = ++at;
    while (at < end && (PLACES[bytes[at]!]! & TARGET) !== 0) at++;
    if (at === end) return undefined;
    const target = bytes.toString('latin1', targetStart, at);
    // CONNECT has targets of another form, and is refused whatever they are.
    if (method !== 'CONNECT' && !TARGET_FORM.test(target)) return malformed('Unexpected char in url schema');
    if (bytes[at] === CR) return at + 1 === end ? undefined : otherVersion('HTTP/0.9');
    if (bytes[at] !== SPACE) return malformed('invalid request target');
    const versionEnd = at + 1 + 'HTTP/1.1'.length;
    if (versionEnd + 2 > end) return hasLineEnd(bytes, at, end) ? INVALID_VERSION : undefined;
    const version = bytes.toString('latin1', at + 1, versionEnd);
    if (!isLineEnd(bytes, versionEnd)) return INVALID_VERSION;
    if (version !== 'HTTP/1.1' && version !== 'HTTP/1.0') return otherVersion(version);
    this.#isVersion10 = version === 'HTTP/1.0';
    this.#method = method;
    this.#target = target;
    const length = versionEnd + 2 - start;
    if (length <= LONGEST_KEPT_LINE) this.#line = bytes.toString('latin1', start, start + length);
    return length;
  }

  protected override beginningFault(bytes: Buffer, start: number, end: number): Fault | undefined {
    const [first = ''] = bytes.toString('latin1', start, Math.min(end, start + LONGEST_METHOD + 1)).split(' ', 1);
    if (METHODS.has(first)) return undefined;
    for (const method of METHODS) if (method.startsWith(first)) return undefined;
    return UNKNOWN_METHOD;
  }

  protected override headOf(text: string, places: readonly number[], fields: HeadFraming): RequestHead | Fault {
    const framing = fields.ofRequest(this.#isVersion10);
    if ('status' in framing) return framing;
    const authority = authorityOf(this.#target);
    if (authority !== undefined && (authority === '' || !isHost(authority))) {
      return malformed('invalid host in the request target');
    }
    return new RequestHead(text, { method: this.#method, target: this.#target }, { framing, places });
  }
}

const UNKNOWN_METHOD = malformed('Invalid method encountered');
const INVALID_VERSION = malformed('invalid HTTP version');

function otherVersion(version: string): Fault {
  if (version !== 'HTTP/0.9' && version !== 'HTTP/2.0') return INVALID_VERSION;
  return refused(505, `${version} is not supported, expected HTTP/1.1 or HTTP/1.0`);
}
