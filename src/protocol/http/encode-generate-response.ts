// From a ModelInferResponse to the flat JSON of the generate extension, and to the events of generate_stream. Members
// are in alphabetical order; a tensor of one element is that element, any other a flat list.

import type { TritonError } from '../../errors.js';
import type { ModelInferResponse } from '../../model/exchange.js';
import { elementCount } from '../../tensor/shape.js';
import { JsonWriter } from '../json/json-writer.js';
import { writeParameter } from './write-parameter.js';
import { writeTensorData } from './write-tensor-data.js';

const writer = new JsonWriter();

/** Throws INVALID_ARG when an output has no JSON form. */
export function encodeGenerateResponse(response: ModelInferResponse): Buffer {
  writer.discard();
  writeResponse(response);
  return writer.take();
}

/** One event of the stream. Throws INVALID_ARG when an output has no JSON form. */
export function encodeGenerateEvent(response: ModelInferResponse): Buffer {
  writer.discard();
  writer.raw('data: ');
  writeResponse(response);
  return writer.raw('\n\n').take();
}

/** An event that tells of a failure. */
export function encodeErrorEvent(error: TritonError): Buffer {
  writer.discard();
  return writer.raw('data: {"error":').string(error.message).raw('}\n\n').take();
}

function writeResponse(response: ModelInferResponse): void {
  // What comes later takes the place of what has the same name.
  const members = new Map<string, () => void>();
  if (response.id !== '') members.set('id', () => writer.string(response.id));
  members.set('model_name', () => writer.string(response.modelName));
  members.set('model_version', () => writer.string(response.modelVersion));
  for (const [name, value] of Object.entries(response.parameters ?? {})) {
    members.set(name, () => writeParameter(writer, value));
  }
  for (const output of response.outputs) {
    const isScalar = elementCount(output.shape) === 1;
    members.set(output.name, () => {
      if (!isScalar) writer.raw('[');
      writeTensorData(writer, output);
      if (!isScalar) writer.raw(']');
    });
  }
  let separator = '{';
  for (const name of [...members.keys()].sort()) {
    writer.raw(separator).string(name).raw(':');
    separator = ',';
    members.get(name)!();
  }
  writer.raw('}');
}
