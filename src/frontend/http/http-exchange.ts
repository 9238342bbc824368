// One request and its answer on a connection: writes status, headers and body in one go or as they come, and says on
// the right answer that the connection closes.

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
  /** The client waits for a word before it sends the body (Expect: 100-continue). */
  expectsContinue = false;
  /** Headers that the answer has whatever it is, a flat list of names and values. */
  commonHeaders: readonly string[] = [];
  /** While the reader is slow. */
  #room: Promise<void> | undefined;

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

  /** The body is wanted. */
  continue(): void {
    if (!this.expectsContinue) return;
    this.expectsContinue = false;
    this.response.writeContinue();
  }

  /** Health and readiness answer with the status alone. */
  answerEmpty(status: number): void {
    if (this.#head(status, ['Content-Type', 'text/plain', 'Content-Length', '0'])) this.response.end();
  }

  /** An answer without a body, to which `headers` are all there is. */
  answerNoContent(headers: readonly string[]): void {
    if (this.#head(204, [...headers])) this.response.end();
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
    if (contentLength <= LARGEST_JOINED) {
      // As text of one byte a character, which Node joins with the head: one write instead of two.
      response.end(Buffer.concat(parts, contentLength).toString('latin1'), 'latin1');
    } else if (parts.length === 1) {
      response.end(parts[0]);
    } else {
      for (const part of parts) response.write(part);
      response.end();
    }
  }

  /** Begins an answer whose body comes in parts, see {@link send} and {@link end}. */
  begin(status: number, contentType: string): void {
    this.#head(status, ['Content-Type', contentType]);
  }

  /** A part of the body. A promise when the reader is slow, until there is room again or the client is gone. */
  send(part: Uint8Array): void | Promise<void> {
    const { response, connection } = this;
    if (response.destroyed || response.write(part)) return undefined;
    // One wait for all that is sent meanwhile: a fast callable has hundreds of answers under way.
    return (this.#room ??= new Promise((resolve) => {
      const resume = () => {
        response.off('drain', resume);
        connection.socket.off('close', resume);
        this.#room = undefined;
        resolve();
      };
      response.on('drain', resume);
      connection.socket.on('close', resume);
    }));
  }

  end(part?: Uint8Array): void {
    if (this.response.destroyed) return;
    if (part === undefined) this.response.end();
    else this.response.end(part);
  }

  /** False when nobody is there to read the answer. */
  #head(status: number, headers: string[]): boolean {
    this.answered = true;
    // Whether the body still comes is anybody's guess, so nothing can come after it.
    if (this.expectsContinue) this.connection.closeWhenAnswered();
    if (this.commonHeaders.length > 0) headers.push(...this.commonHeaders);
    this.connection.beforeAnswer(this, headers);
    if (this.response.destroyed) return false;
    this.response.writeHead(status, headers);
    return true;
  }
}
