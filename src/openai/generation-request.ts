// Reads the tensor `options` of a request for text: the fields of the API that have no tensor of their own.

import { invalidArg } from '../errors.js';
import { textOf } from '../checks/check.js';

/** A field of a JSON object. */
export type JsonFields = Readonly<Record<string, unknown>>;

/** The request's options as a callable sees them. Undefined: the client left the choice to the model. */
export interface GenerationOptions {
  /** The most tokens that the client wants. The answer ends after so many texts in any case. */
  readonly maxTokens: number | undefined;
  /** The answer ends before any of these in any case. */
  readonly stop: readonly string[];
  readonly temperature: number | undefined;
  readonly topP: number | undefined;
  readonly presencePenalty: number | undefined;
  readonly frequencyPenalty: number | undefined;
  /** Equal requests with equal seeds should get equal answers. An integer, rounded beyond 2^53. */
  readonly seed: number | undefined;
  /**
   * All fields as the client sent them, under the names of the API, without the chat or prompt and what the server does itself:
   * `model`, `stream`, `stream_options`, `n` and `echo`.
   */
  readonly options: JsonFields;
  /** Aborts when the client is gone. */
  readonly signal: AbortSignal;
}

const MOST_STOPS = 16;
/** Clients make seeds of 64 bits. Their rounded numbers are as good. */
const MOST_SEED = 2 ** 63;

/** Throws INVALID_ARG. */
export function generationOptions(json: string | undefined, signal: AbortSignal): GenerationOptions {
  const options = json === undefined ? {} : parseFields(json);
  const most = Number.MAX_SAFE_INTEGER;
  return {
    maxTokens: integer(options, 'max_completion_tokens', 1, most) ?? integer(options, 'max_tokens', 1, most),
    stop: stops(options['stop']),
    temperature: number(options, 'temperature', 0, 2),
    topP: number(options, 'top_p', 0, 1),
    presencePenalty: number(options, 'presence_penalty', -2, 2),
    frequencyPenalty: number(options, 'frequency_penalty', -2, 2),
    seed: integer(options, 'seed', -MOST_SEED, MOST_SEED),
    options,
    signal,
  };
}

/** Parses JSON of a tensor. Throws INVALID_ARG naming the tensor. */
export function parseTensorJson(name: string, json: string): unknown {
  try {
    return JSON.parse(json) as unknown;
  } catch (error) {
    throw invalidArg(`'${name}' must be JSON: ${(error as Error).message}`, { cause: error });
  }
}

export function isFields(value: unknown): value is JsonFields {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The list in that field; undefined where there is none. Throws INVALID_ARG for anything but a list of objects. */
export function objects(fields: JsonFields, name: string): readonly JsonFields[] | undefined {
  const value = fields[name] ?? undefined;
  if (value === undefined) return undefined;
  if (Array.isArray(value) && value.every(isFields)) return value;
  throw invalidArg(`'${name}' must be a list of objects, got ${textOf(value)}`);
}

/** Parses the tensor `options`. Throws INVALID_ARG. */
export function parseFields(json: string): JsonFields {
  const value = parseTensorJson('options', json);
  if (isFields(value)) return value;
  throw invalidArg(`'options' must be a JSON object, got ${textOf(value)}`);
}

function integer(fields: JsonFields, name: string, least: number, most: number): number | undefined {
  const value = number(fields, name, least, most);
  if (value === undefined || Number.isInteger(value)) return value;
  throw invalidArg(`'${name}' must be an integer, got ${value}`);
}

function number(fields: JsonFields, name: string, least: number, most: number): number | undefined {
  const value = fields[name] ?? undefined;
  if (value === undefined) return undefined;
  if (typeof value === 'number' && value >= least && value <= most) return value;
  const range = most === Number.MAX_SAFE_INTEGER ? `>= ${least}` : `from ${least} to ${most}`;
  throw invalidArg(`'${name}' must be a number ${range}, got ${textOf(value)}`);
}

function stops(value: unknown): readonly string[] {
  const list = typeof value === 'string' ? [value] : (value ?? []);
  if (!Array.isArray(list) || !list.every((stop) => typeof stop === 'string' && stop !== '')) {
    throw invalidArg(`'stop' must be a string or a list of strings that are not empty, got ${textOf(value)}`);
  }
  if (list.length > MOST_STOPS) throw invalidArg(`'stop' has ${list.length} strings, expected at most ${MOST_STOPS}`);
  return list as string[];
}
