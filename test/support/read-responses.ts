// What a client makes of bytes that a server sends: answers, one to each request, that were read without a socket.
import type { ResponseHead } from '../../src/http1/response-head.js';
import { ResponseReader, type ResponseListener } from '../../src/http1/response-reader.js';

/** An answer as somebody understood it. */
export interface UnderstoodResponse {
  readonly status: number;
  readonly headers: readonly string[];
  readonly body: string;
}

export class ReadResponse implements ResponseListener {
  head: ResponseHead | undefined;
  body = '';
  /** Whether large bodies of known length are received into one piece of memory. */
  memory: Buffer | undefined;
  #received = 0;

  onHead(head: ResponseHead): void {
    if (this.head !== undefined) throw new Error('two heads for one request');
    this.head = head;
    if (head.bodyLength !== undefined && head.bodyLength < 1e6) this.memory = Buffer.alloc(head.bodyLength);
  }

  onData(bytes: Buffer, start: number, end: number): void {
    if (end <= start) throw new Error('data without bytes');
    this.#received += end - start;
    this.body += bytes.toString('latin1', start, end);
  }

  directTarget(): Buffer | undefined {
    return this.memory?.subarray(this.#received);
  }

  get understood(): UnderstoodResponse {
    const { status, rawHeaders: headers } = this.head!;
    return { status, headers, body: this.body };
  }
}

export interface ReadResponses {
  readonly responses: readonly UnderstoodResponse[];
  /** What is wrong, as the last of all. */
  readonly fault: string | undefined;
  /** What came behind the last answer. */
  readonly rest: number;
}

/** As many answers as there are requests, one after the other; the server closes the connection in the end. */
export function readResponses(parts: readonly string[], requests = 1): ReadResponses {
  const reader = new ResponseReader();
  const responses: UnderstoodResponse[] = [];
  let response = new ReadResponse();
  let rest = 0;
  const begin = () => {
    if (responses.length < requests) reader.begin((response = new ReadResponse()));
  };
  begin();
  for (const part of parts) {
    // In memory that is used again.
    const bytes = Buffer.from(`xx${part}`, 'latin1');
    for (let at = 2; at < bytes.length && reader.fault === undefined;) {
      at = reader.receive(bytes, at, bytes.length);
      if (reader.fault !== undefined) break;
      if (reader.isWaiting) continue;
      if (responses.length < requests) {
        responses.push(response.understood);
        begin();
      } else {
        rest += bytes.length - at;
        break;
      }
    }
    bytes.fill('y');
  }
  if (reader.fault === undefined && responses.length < requests && reader.inputEnded())
    responses.push(response.understood);
  return { responses, fault: reader.fault?.detail, rest };
}
