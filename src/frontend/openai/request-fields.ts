// Reads the JSON of a request to the OpenAI API. Only the fields that the server itself acts on are read; the others stay
// JSON for the model. The time is proportional to the bytes, with pauses.

import { PAUSE_BYTES, type PacedWork } from '../../pacing/paced-work.js';
import { REQUEST_LIMITS } from '../../model/request-limits.js';
import { checkJsonSize } from '../../protocol/http/decode-infer-request.js';
import { tensorDataReader } from '../../protocol/http/read-tensor-data.js';
import { listOf, membersOf, objectOf, VALUE } from '../../protocol/json/json-shape.js';
import { JsonArray, JsonObject, JsonText, type JsonValue } from '../../protocol/json/json-value.js';
import { parsePaced } from '../../protocol/json/parse-paced.js';
import { FieldError } from './openai-errors.js';

/** The most texts of one request, as in the API. */
export const MOST_TEXTS = 2048;
/** Of a field that the server itself reads, such as the name of the model. */
const MOST_STRING_BYTES = 65_536;

const REQUEST = membersOf(
  { limit: REQUEST_LIMITS.parameters, what: 'fields' },
  {
    input: listOf(VALUE, MOST_TEXTS, 'inputs'),
    prompt: listOf(VALUE, MOST_TEXTS, 'prompts'),
    stream_options: objectOf({ include_usage: VALUE }),
  },
);

export class RequestFields {
  readonly #body: Buffer;
  readonly #json: JsonObject;

  constructor(body: Buffer, json: JsonObject) {
    this.#body = body;
    this.#json = json;
  }

  /** The value; undefined also for null, which means the same in the API. */
  get(name: string): JsonValue | undefined {
    return this.#json.get(name) ?? undefined;
  }

  /** The field's own JSON. */
  text(name: string): Buffer | undefined {
    const index = this.#json.keys.indexOf(name);
    return index < 0 ? undefined : this.#place(index);
  }

  /** A JSON object with all fields but these. */
  without(names: ReadonlySet<string>): Buffer {
    const parts: Buffer[] = [];
    this.#json.keys.forEach((name, index) => {
      if (names.has(name)) return;
      parts.push(Buffer.from(`${parts.length === 0 ? '{' : ','}${JSON.stringify(name)}:`), this.#place(index));
    });
    return Buffer.concat([...(parts.length === 0 ? [Buffer.from('{')] : parts), Buffer.from('}')]);
  }

  string(name: string): string | undefined {
    const value = this.get(name);
    if (value === undefined) return undefined;
    if (typeof value === 'string') return value;
    if (!(value instanceof JsonText)) throw new FieldError(name, `'${name}' must be a string`);
    if (value.byteLength <= MOST_STRING_BYTES) return value.toString();
    throw new FieldError(
      name,
      `'${name}' must be a string of at most ${MOST_STRING_BYTES} bytes, got ${value.byteLength}`,
    );
  }

  boolean(name: string): boolean {
    const value = this.get(name);
    if (value === undefined || typeof value === 'boolean') return value ?? false;
    throw new FieldError(name, `'${name}' must be true or false`);
  }

  /** An integer from 1 to `most`. */
  integer(name: string, most: number): number | undefined {
    const value = this.get(name);
    if (value === undefined) return undefined;
    if (typeof value === 'number' && value >= 1 && value <= most) return value;
    throw new FieldError(name, `'${name}' must be an integer from 1 to ${most}`);
  }

  /** The texts of a field that is a string or a list of strings, as UTF-8. Throws when there is none. */
  *texts(name: string, hint: string): PacedWork<readonly Buffer[]> {
    const value = this.get(name);
    if (value === undefined) throw new FieldError(name, `you must provide '${name}'`);
    const list = value instanceof JsonArray ? (value.elements ?? []) : [value];
    if (list.length === 0) throw new FieldError(name, `'${name}' must have at least one text, got none`);
    for (const text of list) {
      if (typeof text === 'string' || text instanceof JsonText) continue;
      throw new FieldError(name, `'${name}' must be a string or a list of strings${hint}`);
    }
    const { buffer, byteOffset, byteLength } = this.text(name)!;
    const place = { bytes: Buffer.from(buffer, byteOffset, byteLength), start: 0, end: byteLength };
    const reader = tensorDataReader(place, { datatype: 'BYTES', count: list.length, name });
    while (!reader.advance(PAUSE_BYTES)) yield;
    return elementsOf(reader.values);
  }

  #place(index: number): Buffer {
    const { places } = this.#json;
    return this.#body.subarray(places[2 * index], places[2 * index + 1]);
  }
}

/** The elements of a tensor of BYTES, as views of it. */
function elementsOf({ buffer, byteOffset, byteLength }: Uint8Array): readonly Buffer[] {
  const tensor = Buffer.from(buffer, byteOffset, byteLength);
  const elements: Buffer[] = [];
  for (let at = 0; at < byteLength;) {
    const start = at + 4;
    at = start + tensor.readUInt32LE(at);
    elements.push(tensor.subarray(start, at));
  }
  return elements;
}

/** Throws INVALID_ARG. */
export function* readFields(body: Buffer, maxInputSize: number): PacedWork<RequestFields> {
  checkJsonSize(body.length, maxInputSize);
  const json = yield* parsePaced(body, REQUEST);
  if (!(json instanceof JsonObject)) throw new FieldError('body', 'the request must be a JSON object');
  return new RequestFields(body, json);
}

/** The name of the model, which every request has. */
export function modelOf(fields: RequestFields): string {
  const model = fields.string('model');
  if (model === undefined || model === '') throw new FieldError('model', 'you must provide a model parameter');
  return model;
}

export const TOKENS_HINT =
  ': lists of tokens are not supported (LangChain sends text with check_embedding_ctx_length=False)';
