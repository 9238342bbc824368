// A request and its answer in the forms that this protocol's answers have.

import type { TritonError } from '../../errors.js';
import type { HttpAnswer, HttpHeaders, HttpRequest } from '../../http1/http-exchange.js';
import { HTTP_STATUS } from '../../protocol/http/http-status.js';

export class HttpExchange {
  readonly request: HttpRequest;
  readonly answer: HttpAnswer;

  constructor(request: HttpRequest, answer: HttpAnswer) {
    this.request = request;
    this.answer = answer;
  }

  /** `value` is what JSON.stringify takes. */
  answerJson(status: number, value: unknown, headers: HttpHeaders = []): void {
    this.answerBody(status, 'application/json', Buffer.from(JSON.stringify(value)), headers);
  }

  /** The protocol's form of an error: `{"error":"…"}` with the status of its code. */
  answerError(error: TritonError, headers: HttpHeaders = []): void {
    this.answerJson(HTTP_STATUS[error.code], { error: error.message }, headers);
  }

  /** Health and readiness answer with the status alone. */
  answerEmpty(status: number): void {
    this.answer.respond(status, ['Content-Type', 'text/plain', 'Content-Length', '0'], []);
  }

  /** `headers` are further ones. */
  answerBody(status: number, contentType: string, body: Buffer, headers: HttpHeaders = []): void {
    const all = ['Content-Type', contentType, 'Content-Length', String(body.length), ...headers];
    this.answer.respond(status, all, [body]);
  }
}
