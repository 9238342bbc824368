// A request and its answer in the forms that this protocol's answers have.

import { isUtf8 } from 'node:buffer';

import { TritonError } from '../../errors.js';
import type { HttpAnswer, HttpHeaders, HttpRequest } from '../../http1/http-exchange.js';
import { HTTP_STATUS } from '../../protocol/http/http-status.js';
import type { Later } from '../served-core.js';

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

  /** Answers with what JSON.stringify takes, at once when it is here. */
  answerLater(value: Later<object>): void {
    if (value instanceof Promise) {
      value.then(
        (here: object) => this.answerJson(200, here),
        (error: unknown) => this.answerError(TritonError.from(error)),
      );
    } else {
      this.answerJson(200, value);
    }
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

/** A flat list of names and values, each read as UTF-8 where it is that. */
export function headerTexts(rawHeaders: readonly string[]): readonly string[] {
  return rawHeaders.some((text) => BEYOND_ASCII.test(text)) ? rawHeaders.map(headerText) : rawHeaders;
}

const BEYOND_ASCII = /[^\0-\x7f]/;

function headerText(text: string): string {
  if (!BEYOND_ASCII.test(text)) return text;
  const bytes = Buffer.from(text, 'latin1');
  return isUtf8(bytes) ? bytes.toString() : text;
}
