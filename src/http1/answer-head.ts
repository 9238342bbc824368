// The head of an answer as text. The date is that of the second, made once in it.

import type { HttpHeaders } from './http-exchange.js';

const REASONS: Readonly<Record<number, string>> = {
  200: 'OK',
  204: 'No Content',
  304: 'Not Modified',
  400: 'Bad Request',
  403: 'Forbidden',
  404: 'Not Found',
  405: 'Method Not Allowed',
  408: 'Request Timeout',
  413: 'Payload Too Large',
  417: 'Expectation Failed',
  431: 'Request Header Fields Too Large',
  500: 'Internal Server Error',
  501: 'Not Implemented',
  503: 'Service Unavailable',
  505: 'HTTP Version Not Supported',
};

export const CONTINUE = 'HTTP/1.1 100 Continue\r\n\r\n';

/** All answers begin so. */
export const ANSWER_BEGINNING = 'HTTP/1.1 ';

/** The first line of an answer, by its status. */
const STATUS_LINES: readonly string[] = Array.from(
  { length: 600 },
  (_, status) => `${ANSWER_BEGINNING}${status} ${REASONS[status] ?? 'unknown'}\r\n`,
);

/** The lines of a head besides its own headers. */
export interface CommonLines {
  readonly beforeDate: string;
  readonly behindDate: string;
}

let latest = { status: 0, headers: [] as HttpHeaders, beforeDate: '', behindDate: '', date: '', text: '' };

/** A whole head. Throws as {@link headerLines} does. One like the latest is the same text: most answers are alike. */
export function answerHead(status: number, headers: HttpHeaders, { beforeDate, behindDate }: CommonLines): string {
  const date = dateLine();
  const isLatest =
    status === latest.status &&
    date === latest.date &&
    beforeDate === latest.beforeDate &&
    behindDate === latest.behindDate &&
    areEqual(headers, latest.headers);
  if (!isLatest) {
    const text = `${STATUS_LINES[status]!}${headerLines(headers)}${beforeDate}${date}${behindDate}\r\n`;
    latest = { status, headers: headers.slice(), beforeDate, behindDate, date, text };
  }
  return latest.text;
}

function areEqual(headers: HttpHeaders, others: HttpHeaders): boolean {
  let i = headers.length;
  if (i !== others.length) return false;
  while (i > 0 && headers[i - 1] === others[i - 1]) i--;
  return i === 0;
}

/** The lines of headers. Throws for one that would end its line early: it would begin another header, or another answer. */
export function headerLines(headers: HttpHeaders): string {
  let lines = '';
  for (let i = 0; i < headers.length; i += 2) {
    const line = `${headers[i]!}: ${headers[i + 1]!}`;
    if (FORBIDDEN.test(line)) throw new Error(`a header of an answer has a character that none may have: ${line}`);
    lines += `${line}\r\n`;
  }
  return lines;
}

// oxlint-disable-next-line no-control-regex -- they are what it is about
const FORBIDDEN = /[^\t\x20-\x7e\x80-\xff]/;

let second = 0;
let line = '';

function dateLine(): string {
  const now = Math.floor(Date.now() / 1000);
  if (now !== second) {
    second = now;
    line = `Date: ${new Date(now * 1000).toUTCString()}\r\n`;
  }
  return line;
}

/** The answer to bytes that are not a request, one character a byte. */
export function lastWords(status: number, text: string): string {
  const body = Buffer.from(text).toString('latin1');
  const headers = headerLines(['Content-Type', 'application/json', 'Content-Length', String(body.length)]);
  return `${STATUS_LINES[status]!}${headers}Connection: close\r\n${dateLine()}\r\n${body}`;
}
