// A ModelInferRequest as the body of POST …/infer, for clients: JSON, and behind it every input as raw bytes (the
// binary tensor data extension). All outputs are asked for in the same form.

import { invalidArg } from '../../errors.js';
import type { InferTensor } from '../../model/exchange.js';
import type { Parameters } from '../../model/parameters.js';
import type { ClassifiedRequest } from '../classified-request.js';
import { JsonWriter } from '../json/json-writer.js';
import { SEQUENCE_END, SEQUENCE_ID, SEQUENCE_START } from '../sequence-parameters.js';

/** A body up to this size is joined to one chunk: copying it is cheaper than another write. */
const JOINED_BYTES = 64 * 1024;

export interface EncodedInferRequest {
  /** The body in order. Chunks of large tensors are the tensors' own memory, not copies. */
  readonly chunks: readonly Uint8Array[];
  readonly contentLength: number;
  /** The value of the header Inference-Header-Content-Length: the size of the JSON part. */
  readonly headerLength: number;
}

const writer = new JsonWriter();

export function encodeInferRequest(request: ClassifiedRequest): EncodedInferRequest {
  const json = encodeHeader(request);
  const chunks: Uint8Array[] = [json];
  let contentLength = json.length;
  for (const { bytes } of request.inputs) {
    if (bytes.byteLength === 0) continue;
    chunks.push(bytes);
    contentLength += bytes.byteLength;
  }
  const joined = chunks.length > 1 && contentLength <= JOINED_BYTES ? [Buffer.concat(chunks, contentLength)] : chunks;
  return { chunks: joined, contentLength, headerLength: json.length };
}

function encodeHeader(request: ClassifiedRequest): Buffer {
  try {
    writer.raw('{');
    if (request.id !== '') writer.raw('"id":').string(request.id).raw(',');
    writeParameters(request);
    writer.raw('"inputs":[');
    request.inputs.forEach((input, index) => {
      if (index > 0) writer.raw(',');
      writeInput(input);
    });
    writer.raw(']');
    if (request.outputs.length > 0) writeOutputs(request);
    return writer.raw('}').take();
  } catch (error) {
    writer.discard();
    throw error;
  }
}

function writeParameters({ parameters, outputs, priority, timeoutMicroseconds, sequence }: ClassifiedRequest): void {
  const members: [string, Parameters[string]][] = Object.entries(parameters ?? {});
  if (priority !== 0) members.push(['priority', priority]);
  if (timeoutMicroseconds !== 0) members.push(['timeout', timeoutMicroseconds]);
  if (sequence !== undefined) {
    members.push([SEQUENCE_ID, sequence.id], [SEQUENCE_START, sequence.start], [SEQUENCE_END, sequence.end]);
  }
  // It does not count for listed outputs: these say it themselves.
  if (outputs.length === 0) members.push(['binary_data_output', true]);
  if (members.length === 0) return;
  writer.raw('"parameters":{');
  members.forEach(([name, value], index) => {
    if (index > 0) writer.raw(',');
    writer.string(name).raw(':');
    writeParameter(name, value);
  });
  writer.raw('},');
}

function writeParameter(name: string, value: unknown): void {
  if (typeof value === 'string') writer.string(value);
  else if (typeof value === 'boolean') writer.boolean(value);
  else if (typeof value === 'bigint' || Number.isSafeInteger(value)) writer.integer(value as number | bigint);
  else if (typeof value === 'number') writer.double(value);
  else throw invalidArg(`parameter '${name}' must be a string, a boolean or a number, got ${typeof value}`);
}

function writeInput({ name, datatype, shape, bytes }: InferTensor): void {
  writer.raw('{"name":').string(name).raw(',"datatype":').string(datatype).raw(',"shape":[').raw(shape.join(','));
  writer.raw('],"parameters":{"binary_data_size":').integer(bytes.byteLength).raw('}}');
}

function writeOutputs({ outputs, classes }: ClassifiedRequest): void {
  writer.raw(',"outputs":[');
  outputs.forEach((name, index) => {
    if (index > 0) writer.raw(',');
    writer.raw('{"name":').string(name).raw(',"parameters":{"binary_data":true');
    const count = classes?.get(name);
    if (count !== undefined) writer.raw(',"classification":').integer(count);
    writer.raw('}}');
  });
  writer.raw(']');
}
