// One request and its answer on a connection: writes status, headers and body in one go, and says on the right answer
// that the connection closes.

import type { IncomingMessage, ServerResponse } from 'node:http';

import type { TritonError } from '../../errors.js';
import { HTTP_STATUS } from '../../protocol/http/http-status.js';
import type { HttpConnection } from './http-connection.js';

/** Up to this size the parts of a body are joined: one more copy costs less than one more write. */
const LARGEST_JOINED = 16 * 1024;

export class HttpExchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly connection: HttpConnection;
  answered = false;

  constructor(request: IncomingMessage, response: ServerResponse, connection: HttpConnection) {
    this.request = request;
    this.response = response;
    this.connection = connection;
  }

  /** `value` is what JSON.stringify takes. */
  answerJson(status: number, value: unknown, headers: readonly string[] = []): void {
    this.answerBody(status, 'application/json', Buffer.from(JSON.stringify(value)), headers);
  }

  /** The protocol's form of an error: `{"error":"…"}` with the status of its code. */
  answerError(error: TritonError, headers: readonly string[] = []): void {
    this.answerJson(HTTP_STATUS[error.code], { error: error.message }, headers);
  }

  /** Health and readiness answer with the status alone. */
  answerEmpty(status: number): void {
    if (this.#head(status, ['Content-Type', 'text/plain', 'Content-Length', '0'])) this.response.end();
  }

  /** `headers` are further ones, a flat list of names and values. */
  answerBody(status: number, contentType: string, body: Buffer, headers: readonly string[] = []): void {
    const all = ['Content-Type', contentType, 'Content-Length', String(body.length), ...headers];
    if (this.#head(status, all)) this.response.end(body);
  }

  /** A 200 whose body is the parts one after the other. `headers` tells type and length. */
  answerParts(headers: string[], parts: readonly Uint8Array[], contentLength: number): void {
    if (!this.#head(200, headers)) return;
    const { response } = this;
    if (parts.length === 1) {
      response.end(parts[0]);
    } else if (contentLength <= LARGEST_JOINED) {
      response.end(Buffer.concat(parts, contentLength));
    } else {
      for (const part of parts) response.write(part);
      response.end();
    }
  }

  /** False when nobody is there to read the answer. */
  #head(status: number, headers: string[]): boolean {
    this.answered = true;
    this.connection.beforeAnswer(this, headers);
    if (this.response.destroyed) return false;
    this.response.writeHead(status, headers);
    return true;
  }
}
