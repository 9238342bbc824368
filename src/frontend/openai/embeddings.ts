// POST /v1/embeddings: texts in, a vector for each out. The texts of one request go to the dynamic batcher in as few requests
// as the model's batches allow.

import type { ResponseSink } from '../../core/response-sink.js';
import { TritonError } from '../../errors.js';
import type { HttpExchange } from '../../http1/http-exchange.js';
import type { InferTensor, ModelInferResponse } from '../../model/exchange.js';
import { Pace, type PacedWork } from '../../pacing/paced-work.js';
import { borrowWriter, giveBackWriter, type JsonWriter } from '../../protocol/json/json-writer.js';
import { writePlainTensor } from '../../protocol/plain-json/write-plain-tensor.js';
import { answerJsonParts } from '../http/answers.js';
import { Stages } from '../inference.js';
import { answerOpenAiError, FieldError } from './openai-errors.js';
import { type OpenAiRun, resolveOpenAi, startOpenAi } from './openai-inference.js';
import { modelOf, readFields, TOKENS_HINT } from './request-fields.js';

export interface EmbeddingsRequest {
  readonly model: string;
  readonly texts: readonly Buffer[];
  readonly isBase64: boolean;
  /** How many numbers the client wants. */
  readonly dimensions: number | undefined;
}

const FORMATS = ['float', 'base64'];
const FLOAT_BYTES = 4;

/** Throws INVALID_ARG, naming the field. */
export function* decodeEmbeddings(body: Buffer, maxInputSize: number): PacedWork<EmbeddingsRequest> {
  const fields = yield* readFields(body, maxInputSize);
  const model = modelOf(fields);
  const format = fields.string('encoding_format') ?? 'float';
  if (!FORMATS.includes(format)) {
    throw new FieldError('encoding_format', `'encoding_format' must be float or base64, got '${format.slice(0, 100)}'`);
  }
  const texts = yield* fields.texts('input', TOKENS_HINT);
  const dimensions = fields.integer('dimensions', Number.MAX_SAFE_INTEGER);
  return { model, texts, isBase64: format === 'base64', dimensions };
}

interface EmbeddedPart {
  readonly embedding: InferTensor;
  readonly rows: number;
  readonly tokens: number;
}

export class Embeddings {
  readonly #request: EmbeddingsRequest;
  readonly #run: Omit<OpenAiRun, 'sink'>;
  readonly #exchange: HttpExchange;
  readonly #running: Stages[] = [];
  readonly #encoding = new Stages();
  /** The answers to each part of the texts. */
  readonly #parts: EmbeddedPart[] = [];
  #open = 0;
  #isOver = false;

  constructor(request: EmbeddingsRequest, run: Omit<OpenAiRun, 'sink'>, exchange: HttpExchange) {
    this.#request = request;
    this.#run = run;
    this.#exchange = exchange;
  }

  /** Throws NOT_FOUND and INVALID_ARG as {@link resolveOpenAi} does. */
  start(): void {
    const { model, texts } = this.#request;
    const { maxBatchSize } = resolveOpenAi(this.#run.server, model, 'embeddings').config;
    const size = Math.max(1, maxBatchSize);
    this.#open = Math.ceil(texts.length / size);
    for (let part = 0, count = this.#open; part < count && !this.#isOver; part++) {
      const rows = texts.slice(part * size, (part + 1) * size);
      const sink: ResponseSink = {
        respond: (response) => this.#respond(part, response, rows.length),
        // Its model is not decoupled.
        complete: () => undefined,
        fail: (error, refused = false) => this.#fail(error, refused),
      };
      const inputs = { model, endpoint: 'embeddings', texts: { text: rows } } as const;
      this.#running.push(startOpenAi(inputs, { ...this.#run, sink }));
    }
    if (this.#isOver) this.cancel();
  }

  /** The client hung up. */
  cancel(): void {
    this.#isOver = true;
    this.#encoding.cancel();
    for (const stages of this.#running) stages.cancel();
  }

  #respond(part: number, { outputs }: ModelInferResponse, rows: number): void {
    if (this.#isOver) return;
    const { dimensions } = this.#request;
    const embedding = outputs.find(({ name }) => name === 'embedding');
    const length = (embedding?.bytes.length ?? 0) / rows / FLOAT_BYTES;
    if (embedding === undefined || !Number.isInteger(length)) {
      this.#fail(new TritonError('INTERNAL', `the model gave no embedding for each of ${rows} texts`), false);
      return;
    }
    if (dimensions !== undefined && dimensions !== length) {
      const message = `this model gives embeddings of ${length} dimensions, not of ${dimensions}`;
      this.#fail(new FieldError('dimensions', message), false);
      return;
    }
    this.#parts[part] = { embedding, rows, tokens: tokensOf(outputs) };
    if (--this.#open > 0) return;
    this.#isOver = true;
    this.#encoding.pace(this.#encoded(), {
      done: (chunks) => answerJsonParts(this.#exchange, chunks),
      failed: (error) => answerOpenAiError(this.#exchange, error),
    });
  }

  #fail(error: TritonError, refused: boolean): void {
    if (this.#isOver) return;
    answerOpenAiError(this.#exchange, error, refused);
    this.cancel();
  }

  *#encoded(): PacedWork<readonly Buffer[]> {
    const { model, isBase64 } = this.#request;
    const writer = borrowWriter();
    const pace = new Pace();
    try {
      writer.raw('{"object":"list","data":[');
      let index = 0;
      for (const { embedding, rows } of this.#parts) {
        for (const row of rowsOf(embedding, rows)) {
          writer.raw(index === 0 ? '{' : ',{').raw('"object":"embedding","embedding":');
          if (isBase64) yield* writeBase64(writer, row, pace);
          else yield* writePlainTensor(writer, row, { spec: undefined, batched: false, pace }) ?? [];
          writer.raw(`,"index":${index++}}`);
        }
      }
      const tokens = this.#parts.reduce((sum, part) => sum + part.tokens, 0);
      const usage = { prompt_tokens: tokens, total_tokens: tokens };
      writer
        .raw('],"model":')
        .string(model)
        .raw(`,"usage":${JSON.stringify(usage)}}`);
      return writer.takeChunks();
    } finally {
      giveBackWriter(writer);
    }
  }
}

function rowsOf(tensor: InferTensor, count: number): InferTensor[] {
  const length = tensor.bytes.length / count;
  return Array.from({ length: count }, (_, row) => {
    const bytes = tensor.bytes.subarray(row * length, (row + 1) * length);
    return { ...tensor, shape: [length / FLOAT_BYTES], bytes };
  });
}

function* writeBase64(writer: JsonWriter, { bytes }: InferTensor, pace: Pace): PacedWork<void> {
  const { buffer, byteOffset, byteLength } = bytes;
  writer.raw(`"${Buffer.from(buffer, byteOffset, byteLength).toString('base64')}"`);
  if (pace.spend(byteLength)) yield;
}

function tokensOf(outputs: readonly InferTensor[]): number {
  const tokens = outputs.find(({ name }) => name === 'tokens')?.bytes;
  if (tokens === undefined) return 0;
  const view = Buffer.from(tokens.buffer, tokens.byteOffset, tokens.byteLength);
  let sum = 0;
  for (let offset = 0; offset + 4 <= view.length; offset += 4) sum += view.readInt32LE(offset);
  return sum;
}
