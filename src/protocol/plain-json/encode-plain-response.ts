// Encodes a ModelInferResponse as the plain JSON of a model's own route: an object with the outputs by name. It is the whole answer,
// a server-sent event, or a line of NDJSON. Any JSON parser reads it: NaN and infinities are null.

import type { TritonError } from '../../errors.js';
import type { CompleteModelConfig } from '../../model/complete-model-config.js';
import type { ModelInferResponse } from '../../model/exchange.js';
import { Pace, type PacedWork } from '../../pacing/paced-work.js';
import { borrowWriter, giveBackWriter, type JsonWriter, writeParameter } from '../json/json-writer.js';
import { writePlainTensor } from './write-plain-tensor.js';

/** What stands before and behind each object. */
export interface Framing {
  readonly before: string;
  readonly behind: string;
}

export const ONE_ANSWER: Framing = { before: '', behind: '' };
export const EVENT: Framing = { before: 'data: ', behind: '\n\n' };
export const LINE: Framing = { before: '', behind: '\n' };

/** The text in chunks. Throws INTERNAL when an output has no JSON form. */
export function* encodePlainResponse(
  response: ModelInferResponse,
  config: CompleteModelConfig,
  { before, behind }: Framing,
): PacedWork<readonly Buffer[]> {
  const writer = borrowWriter();
  try {
    writer.raw(before);
    yield* writeOutputs(writer, response, config);
    return writer.raw(behind).takeChunks();
  } finally {
    giveBackWriter(writer);
  }
}

/** The failure of a stream that has begun. */
export function encodePlainError(error: TritonError, { before, behind }: Framing): Buffer {
  return Buffer.from(`${before}${JSON.stringify({ error: error.message })}${behind}`);
}

function* writeOutputs(
  writer: JsonWriter,
  { outputs, parameters }: ModelInferResponse,
  config: CompleteModelConfig,
): PacedWork<void> {
  const pace = new Pace();
  let separator = '{';
  for (const output of outputs) {
    writer.raw(separator).string(output.name).raw(':');
    separator = ',';
    const spec = config.outputs.find(({ name }) => name === output.name);
    const rest = writePlainTensor(writer, output, { spec, batched: config.maxBatchSize > 0, pace });
    if (rest !== undefined) yield* rest;
  }
  const given = parameters === undefined ? [] : Object.entries(parameters);
  if (given.length > 0 && !outputs.some(({ name }) => name === 'parameters')) {
    writer.raw(separator).raw('"parameters":');
    separator = '{';
    for (const [name, value] of given) {
      writer.raw(separator).string(name).raw(':');
      if (typeof value === 'number' && !Number.isFinite(value)) writer.raw('null');
      else writeParameter(writer, value);
      separator = ',';
    }
    writer.raw('}');
    separator = ',';
  }
  writer.raw(separator === '{' ? '{}' : '}');
}
