// POST /v1/audio/transcriptions: a recording as form data in, its text out.

import { trimBlanks } from '../../ascii.js';
import type { ResponseSink } from '../../core/response-sink.js';
import { TritonError } from '../../errors.js';
import type { HttpExchange } from '../../http1/http-exchange.js';
import type { ModelInferResponse } from '../../model/exchange.js';
import type { PacedWork } from '../../pacing/paced-work.js';
import { isFormData, readFormData } from '../../protocol/plain-json/form-data.js';
import type { GivenPart } from '../../protocol/plain-json/form-values.js';
import { bodyType } from '../../protocol/plain-json/media-type.js';
import { answerBody, answerJson } from '../http/answers.js';
import type { Stages } from '../inference.js';
import { answerOpenAiError, FieldError } from './openai-errors.js';
import { type OpenAiRun, startOpenAi, textOutput } from './openai-inference.js';

const FORMATS = ['json', 'text', 'verbose_json'] as const;
/** The server reads these parts itself. All others are options for the model. */
const SERVERS_OWN = new Set(['file', 'model', 'stream']);
/** Of all parts but the recording. */
const MOST_TEXT_BYTES = 1 << 20;

export interface TranscriptionsRequest {
  readonly model: string;
  /** A view of the body. */
  readonly file: Buffer;
  readonly format: (typeof FORMATS)[number];
  /** A JSON object with the other fields. */
  readonly options: Buffer;
}

/** Throws INVALID_ARG, naming the field. */
export function* decodeTranscriptions(body: Buffer, contentType: string | undefined): PacedWork<TranscriptionsRequest> {
  const type = bodyType(contentType);
  if (!isFormData(type)) {
    throw new FieldError('body', `the request must be multipart/form-data, got ${contentType ?? 'no Content-Type'}`);
  }
  const parts = yield* readFormData(body, type);
  checkTexts(parts);
  const model = textOf(parts, 'model') ?? '';
  if (model === '') throw new FieldError('model', 'you must provide a model parameter');
  const [file, ...more] = parts.get('file') ?? [];
  if (file === undefined) throw new FieldError('file', "you must provide 'file', the recording");
  if (more.length > 0) throw new FieldError('file', `'file' is given ${more.length + 1} times, expected one recording`);
  if (file.content.length === 0) throw new FieldError('file', "'file' is empty, expected a recording");
  const asked = textOf(parts, 'response_format') ?? 'json';
  const format = FORMATS.find((known) => known === asked);
  if (format === undefined) {
    const message = `'response_format' must be one of ${FORMATS.join(', ')}, got '${asked.slice(0, 100)}'`;
    throw new FieldError('response_format', message);
  }
  if (!/^(false)?$/i.test(textOf(parts, 'stream') ?? '')) {
    throw new FieldError('stream', 'transcriptions are not streamed: leave out stream, or send false');
  }
  if (parts.get('include[]')?.some(({ content }) => content.toString() === 'logprobs') === true) {
    throw new FieldError('include', "'logprobs' are not supported");
  }
  return { model, file: file.content, format, options: optionsOf(parts) };
}

function checkTexts(parts: Parts): void {
  let bytes = 0;
  for (const [name, given] of parts) {
    if (name !== 'file') bytes += given.reduce((sum, { content }) => sum + content.length, 0);
    if (bytes <= MOST_TEXT_BYTES) continue;
    throw new FieldError(name, `all fields but 'file' may have ${MOST_TEXT_BYTES} bytes together, got more`);
  }
}

type Parts = ReadonlyMap<string, readonly GivenPart[]>;

/** The text of a field. The last one counts where there are several, as in a JSON object. */
function textOf(parts: Parts, name: string): string | undefined {
  return parts.get(name)?.at(-1)?.content.toString('utf8');
}

/** A field with `[]` behind its name is a list. */
function optionsOf(parts: Parts): Buffer {
  const options: [string, unknown][] = [];
  for (const [name, given] of parts) {
    if (SERVERS_OWN.has(name)) continue;
    const texts = given.map(({ content }) => content.toString('utf8'));
    if (name.endsWith('[]')) options.push([name.slice(0, -2), texts]);
    else if (name === 'temperature') options.push([name, temperatureOf(texts.at(-1)!)]);
    else options.push([name, texts.at(-1)]);
  }
  return Buffer.from(JSON.stringify(Object.fromEntries(options)));
}

function temperatureOf(text: string): number {
  const value = trimBlanks(text) === '' ? NaN : Number(text);
  if (value >= 0 && value <= 1) return value;
  throw new FieldError('temperature', `'temperature' must be a number from 0 to 1, got '${text.slice(0, 100)}'`);
}

export class Transcriptions {
  readonly #request: TranscriptionsRequest;
  readonly #run: Omit<OpenAiRun, 'sink'>;
  readonly #exchange: HttpExchange;
  #running: Stages | undefined;

  constructor(request: TranscriptionsRequest, run: Omit<OpenAiRun, 'sink'>, exchange: HttpExchange) {
    this.#request = request;
    this.#run = run;
    this.#exchange = exchange;
  }

  start(): void {
    const { model, file, options } = this.#request;
    const sink: ResponseSink = {
      respond: (response) => this.#respond(response),
      // Its model is not decoupled.
      complete: () => undefined,
      fail: (error, refused = false) => answerOpenAiError(this.#exchange, error, refused),
    };
    const inputs = { model, endpoint: 'transcriptions', texts: { audio: [file], options: [options] } } as const;
    this.#running = startOpenAi(inputs, { ...this.#run, sink });
  }

  /** The client hung up. */
  cancel(): void {
    this.#running?.cancel();
  }

  #respond({ outputs }: ModelInferResponse): void {
    try {
      const text = textOutput(outputs, 'text');
      if (text === undefined) throw new TritonError('INTERNAL', "the model gave no 'text' for the recording");
      if (this.#request.format === 'text') {
        return answerBody(this.#exchange, 'text/plain; charset=utf-8', Buffer.from(`${text}\n`));
      }
      const isVerbose = this.#request.format === 'verbose_json';
      const details = isVerbose ? { task: 'transcribe', ...detailsOf(textOutput(outputs, 'details')) } : {};
      answerJson(this.#exchange, 200, { ...details, text });
    } catch (error) {
      answerOpenAiError(this.#exchange, error);
    }
  }
}

function detailsOf(json: string | undefined): object {
  if (json === undefined) return {};
  try {
    return Object(JSON.parse(json)) as object;
  } catch (cause) {
    throw new TritonError('INTERNAL', "the model gave 'details' that are no JSON", { cause });
  }
}
