// What the fields of a head mean for its message: where the body ends, and what becomes of the connection. A head that leaves that
// open, or says it twice, is refused (RFC 9112, sections 3.2, 6.1 and 6.3): a proxy may read it otherwise and see other requests.

import { listElements, lowerCase } from '../ascii.js';
import { malformed, refused, type Fault } from './fault.js';
import { isHost } from './host.js';
import type { Framing } from './request-head.js';
import type { ResponseFraming } from './response-head.js';

const LARGEST_LENGTH = '18446744073709551615';
const CONTINUE = '100-continue';

export class HeadFraming {
  #hosts = 0;
  #host = '';
  /** The last valid host. */
  #validHost = '';
  #lengths = 0;
  #length: number | undefined;
  #coding: string | undefined;
  #closes = false;
  #keepsAlive = false;
  #expectation: string | undefined;

  reset(): void {
    this.#hosts = 0;
    this.#host = '';
    this.#lengths = 0;
    this.#length = undefined;
    this.#coding = undefined;
    this.#closes = false;
    this.#keepsAlive = false;
    this.#expectation = undefined;
  }

  host(value: string): void {
    this.#hosts++;
    this.#host = value;
  }

  /** The value, which may be a number already. */
  contentLength(value: string | number): Fault | undefined {
    if (this.#lengths++ > 0) return malformed('more than one Content-Length');
    if (typeof value === 'number') {
      this.#length = value;
      return undefined;
    }
    if (!/^[0-9]+$/.test(value)) return malformed('Content-Length is not a number');
    const digits = value.replace(/^0+(?=.)/, '');
    const isTooLarge =
      digits.length > LARGEST_LENGTH.length || (digits.length === LARGEST_LENGTH.length && digits > LARGEST_LENGTH);
    if (isTooLarge) return malformed('Content-Length overflows');
    this.#length = Number(digits);
    return undefined;
  }

  transferEncoding(value: string): void {
    this.#coding = this.#coding === undefined ? value : `${this.#coding}, ${value}`;
  }

  connection(value: string): void {
    for (const option of listElements(lowerCase(value))) {
      if (option === 'close') this.#closes = true;
      else if (option === 'keep-alive') this.#keepsAlive = true;
    }
  }

  expect(value: string): void {
    this.#expectation = this.#expectation === undefined ? value : `${this.#expectation}, ${value}`;
  }

  /** For HTTP/1.1 or HTTP/1.0, when all fields have been told. */
  ofRequest(isVersion10: boolean): Framing | Fault {
    if (this.#saysTwice) return SAID_TWICE;
    if (this.#hosts > 1) return malformed('more than one Host header');
    if (this.#hosts === 0 && !isVersion10) return malformed('no Host header');
    if (this.#host !== this.#validHost) {
      if (!isHost(this.#host)) return malformed('invalid Host header');
      this.#validHost = this.#host;
    }
    const coding = this.#coding;
    const fault = coding === undefined ? undefined : codingFault(coding, isVersion10);
    if (fault !== undefined) return fault;
    return {
      isVersion10,
      bodyLength: coding === undefined ? (this.#length ?? 0) : undefined,
      keepsAlive: this.#keepsConnection(isVersion10),
      expects: isVersion10 ? 'nothing' : expectationOf(this.#expectation),
    };
  }

  /** The same for an answer to a request that is neither HEAD nor CONNECT. */
  ofResponse(isVersion10: boolean, status: number): ResponseFraming | Fault {
    if (this.#saysTwice) return SAID_TWICE;
    const coding = this.#coding;
    const fault = coding === undefined ? undefined : codingFault(coding, isVersion10);
    if (fault !== undefined) return fault;
    const keepsAlive = this.#keepsConnection(isVersion10);
    if (status < 200 || status === 204 || status === 304) {
      // What is said of a body that cannot be may be sent all the same. Only 304 speaks of the body that it does not send.
      const hasBody = coding !== undefined || (status !== 304 && (this.#length ?? 0) > 0);
      return hasBody ? malformed(`a body for status ${status}`) : { bodyLength: 0, keepsAlive };
    }
    if (coding !== undefined) return { bodyLength: undefined, keepsAlive };
    return this.#length === undefined
      ? { bodyLength: Infinity, keepsAlive: false }
      : { bodyLength: this.#length, keepsAlive };
  }

  get #saysTwice(): boolean {
    return this.#coding !== undefined && this.#lengths > 0;
  }

  #keepsConnection(isVersion10: boolean): boolean {
    return !this.#closes && (!isVersion10 || this.#keepsAlive);
  }
}

const SAID_TWICE = malformed('both Content-Length and Transfer-Encoding');

function codingFault(coding: string, isVersion10: boolean): Fault | undefined {
  if (isVersion10) return malformed('HTTP/1.0 has no Transfer-Encoding');
  const codings = listElements(lowerCase(coding));
  if (codings.indexOf('chunked') !== codings.length - 1) {
    return malformed(`chunked must be the last transfer coding, once, got: ${coding}`);
  }
  if (codings.length === 1) return undefined;
  return refused(501, `the only transfer coding that is supported is chunked, got: ${coding}`);
}

function expectationOf(value: string | undefined): Framing['expects'] {
  if (value === undefined) return 'nothing';
  return listElements(lowerCase(value)).includes(CONTINUE) ? CONTINUE : 'something else';
}
