// A mistake in the bytes of the other side. The connection closes then, after the answer that says so where there is one,
// because nobody knows where the next message would begin.

import { type BodyPlan, type HttpExchange, RETRY_AFTER_SECONDS } from './http-exchange.js';

export interface Fault {
  /** Of the answer that refuses a request. */
  readonly status: number;
  /** In that answer. */
  readonly message: string;
  /** The mistake, in a request or an answer alike. */
  readonly detail: string;
  /** Nothing was done, and it may go well a moment later. */
  readonly isTransient?: boolean;
}

export function malformed(detail: string): Fault {
  return { status: 400, message: `malformed HTTP request: ${detail}`, detail };
}

export function refused(status: number, message: string, detail = message): Fault {
  return { status, message, detail };
}

export const TOO_LARGE_HEAD = refused(431, 'Request Header Fields Too Large', 'a head that is too large');
export const TOO_LARGE_EXTENSIONS = refused(413, 'Payload Too Large', 'chunk extensions that are too large');
export const TOO_SLOW = refused(408, 'Request Timeout');
/** The request has not been executed: it may be sent again. */
export const NO_ROOM: Fault = {
  ...refused(503, 'the requests of all clients together hold too many bytes: try again later'),
  isTransient: true,
};
/** The request may have been executed: nothing in this answer asks for it again. */
export const NO_ROOM_FOR_ANSWER = refused(
  503,
  'there is no room for the answer: too many bytes of answers wait for their clients',
);

/** More tiny chunks than this would cost memory for each of them. */
export const MOST_TINY_PIECES = 65_536;
export const TOO_MANY_CHUNKS = refused(
  400,
  `Chunked request body exceeds maximum of ${MOST_TINY_PIECES} non-empty chunks. Send fewer or larger HTTP chunks.`,
);

/** `limit`: that of the plan, or a lower one. */
export function bodyTooLarge(size: string, limit: number, { tooLarge = 400 }: Pick<BodyPlan, 'tooLarge'>): Fault {
  return refused(tooLarge, `request size of ${size} bytes exceeds the maximum allowed input size of ${limit} bytes`);
}

export function noMemory(size: number): Fault {
  return refused(503, `there is no memory for a request of ${size} bytes`);
}

export function faultText({ message }: Fault): string {
  return JSON.stringify({ error: message });
}

/** Answers an exchange with the mistake. */
export function answerFault(exchange: Pick<HttpExchange, 'respond' | 'refusalText'>, fault: Fault): void {
  const body = Buffer.from(exchange.refusalText?.(fault.status, fault.message) ?? faultText(fault));
  const headers = ['Content-Type', 'application/json', 'Content-Length', String(body.length)];
  if (fault.isTransient === true) headers.push('Retry-After', RETRY_AFTER_SECONDS);
  exchange.respond(fault.status, headers, [body]);
}
