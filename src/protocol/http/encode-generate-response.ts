// Encodes a ModelInferResponse as the flat JSON of the generate extension, and as events of generate_stream. Members are in
// alphabetical order. A tensor of one element becomes that element, any other a flat list.

import type { TritonError } from '../../errors.js';
import type { InferTensor, ModelInferResponse } from '../../model/exchange.js';
import { Pace, type PacedWork } from '../../pacing/paced-work.js';
import { elementCount } from '../../tensor/shape.js';
import { borrowWriter, giveBackWriter, type JsonWriter, writeParameter } from '../json/json-writer.js';
import { writeTensorData } from './write-tensor-data.js';

/** The text in chunks. Throws INVALID_ARG when an output has no JSON form. */
export function* encodeGenerateResponse(response: ModelInferResponse): PacedWork<readonly Buffer[]> {
  const writer = borrowWriter();
  try {
    yield* writeResponse(writer, response);
    return writer.takeChunks();
  } finally {
    giveBackWriter(writer);
  }
}

/** One event of the stream, in chunks. Throws INVALID_ARG when an output has no JSON form. */
export function* encodeGenerateEvent(response: ModelInferResponse): PacedWork<readonly Buffer[]> {
  const writer = borrowWriter();
  try {
    writer.raw('data: ');
    yield* writeResponse(writer, response);
    return writer.raw('\n\n').takeChunks();
  } finally {
    giveBackWriter(writer);
  }
}

/** An event that reports a failure. */
export function encodeErrorEvent(error: TritonError): Buffer {
  const writer = borrowWriter();
  try {
    return writer.raw('data: {"error":').string(error.message).raw('}\n\n').take();
  } finally {
    giveBackWriter(writer);
  }
}

function* writeResponse(writer: JsonWriter, response: ModelInferResponse): PacedWork<void> {
  // A later member replaces an earlier one of the same name.
  const members = new Map<string, InferTensor | (() => void)>();
  if (response.id !== '') members.set('id', () => writer.string(response.id));
  members.set('model_name', () => writer.string(response.modelName));
  members.set('model_version', () => writer.string(response.modelVersion));
  for (const [name, value] of Object.entries(response.parameters ?? {})) {
    members.set(name, () => writeParameter(writer, value));
  }
  for (const output of response.outputs) members.set(output.name, output);
  const pace = new Pace();
  let separator = '{';
  for (const name of [...members.keys()].sort()) {
    writer.raw(separator).string(name).raw(':');
    separator = ',';
    const member = members.get(name)!;
    if (typeof member === 'function') {
      member();
      continue;
    }
    const isScalar = elementCount(member.shape) === 1;
    if (!isScalar) writer.raw('[');
    yield* writeTensorData(writer, member, pace);
    if (!isScalar) writer.raw(']');
  }
  writer.raw('}');
}
