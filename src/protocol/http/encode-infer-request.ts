// A ModelInferRequest as the body of POST …/infer, for clients. Either every input follows the JSON as raw bytes (the binary
// tensor data extension), or all is JSON, for servers without that extension. The request asks for all outputs in the same form.

import { invalidArg, TritonError } from '../../errors.js';
import type { InferTensor } from '../../model/exchange.js';
import type { Parameters } from '../../model/parameters.js';
import type { ClassifiedRequest } from '../classified-request.js';
import { borrowWriter, giveBackWriter, JsonWriter, writeParameter } from '../json/json-writer.js';
import { finishPaced, Pace } from '../../pacing/paced-work.js';
import { traitsOf } from '../../tensor/dtype.js';
import { writeTensorData } from './write-tensor-data.js';
import { SEQUENCE_END, SEQUENCE_ID, SEQUENCE_START } from '../sequence-parameters.js';

export interface EncodedInferRequest {
  /** The body in order. The chunks of binary tensors are the tensors' own memory, not copies. */
  readonly chunks: readonly Uint8Array[];
  /** Value of Inference-Header-Content-Length: the size of the JSON part. Undefined when nothing follows the JSON. */
  readonly headerLength: number | undefined;
}

const headerWriter = new JsonWriter();

/** The binary form. */
export function encodeInferRequest(
  request: ClassifiedRequest,
): EncodedInferRequest & { readonly headerLength: number } {
  const json = encodeHeader(request);
  const chunks: Uint8Array[] = [json];
  for (const { bytes } of request.inputs) if (bytes.byteLength > 0) chunks.push(bytes);
  return { chunks, headerLength: json.length };
}

/** JSON alone. Throws UNSUPPORTED for datatypes without a JSON form, and INVALID_ARG for strings that are not UTF-8. */
export function encodeJsonRequest(request: ClassifiedRequest): EncodedInferRequest {
  const writer = borrowWriter();
  try {
    const pace = new Pace();
    writeRequest(writer, request, {
      isBinary: false,
      writeForm: (input) => {
        if (traitsOf(input.datatype).kind === 'half') {
          throw new TritonError('UNSUPPORTED', `input '${input.name}' is ${input.datatype}, which has no form in JSON`);
        }
        writer.raw(',"data":[');
        finishPaced(writeTensorData(writer, input, pace, 'input'));
        writer.raw(']');
      },
    });
    return { chunks: writer.takeChunks(), headerLength: undefined };
  } finally {
    giveBackWriter(writer);
  }
}

function encodeHeader(request: ClassifiedRequest): Buffer {
  try {
    writeRequest(headerWriter, request, BINARY);
    return headerWriter.take();
  } catch (error) {
    headerWriter.discard();
    throw error;
  }
}

/** How a request carries its tensors and asks for outputs. */
export interface Form {
  readonly isBinary: boolean;
  /** Writes the member of an input that holds its elements, or says where they are. */
  readonly writeForm: (input: InferTensor) => void;
}

const BINARY: Form = {
  isBinary: true,
  writeForm: ({ bytes }) => headerWriter.raw(',"parameters":{"binary_data_size":').integer(bytes.byteLength).raw('}'),
};

export function writeRequest(writer: JsonWriter, request: ClassifiedRequest, { isBinary, writeForm }: Form): void {
  writer.raw('{');
  if (request.id !== '') writer.raw('"id":').string(request.id).raw(',');
  writeParameters(writer, request, isBinary);
  writer.raw('"inputs":[');
  request.inputs.forEach((input, index) => {
    if (index > 0) writer.raw(',');
    const { name, datatype, shape } = input;
    writer.raw('{"name":').string(name).raw(',"datatype":').string(datatype);
    writer.raw(',"shape":[').raw(shape.join(',')).raw(']');
    writeForm(input);
    writer.raw('}');
  });
  writer.raw(']');
  if (request.outputs.length > 0) writeOutputs(writer, request, isBinary);
  writer.raw('}');
}

/** The types of parameters, for values from users of plain JavaScript. */
const PARAMETER_TYPES: ReadonlySet<string> = new Set(['string', 'boolean', 'number', 'bigint']);

function writeParameters(
  writer: JsonWriter,
  { parameters, outputs, priority, timeoutMicroseconds, sequence }: ClassifiedRequest,
  isBinary: boolean,
): void {
  const members: [string, Parameters[string]][] = Object.entries(parameters ?? {});
  if (priority !== 0) members.push(['priority', priority]);
  if (timeoutMicroseconds !== 0) members.push(['timeout', timeoutMicroseconds]);
  if (sequence !== undefined) {
    members.push([SEQUENCE_ID, sequence.id], [SEQUENCE_START, sequence.start], [SEQUENCE_END, sequence.end]);
  }
  // The member has no effect on listed outputs, which carry their own.
  if (isBinary && outputs.length === 0) members.push(['binary_data_output', true]);
  if (members.length === 0) return;
  writer.raw('"parameters":{');
  members.forEach(([name, value], index) => {
    if (index > 0) writer.raw(',');
    writer.string(name).raw(':');
    if (!PARAMETER_TYPES.has(typeof value)) {
      throw invalidArg(`parameter '${name}' must be a string, a boolean or a number, got ${typeof value}`);
    }
    writeParameter(writer, value);
  });
  writer.raw('},');
}

function writeOutputs(writer: JsonWriter, { outputs, classes }: ClassifiedRequest, isBinary: boolean): void {
  writer.raw(',"outputs":[');
  outputs.forEach((name, index) => {
    if (index > 0) writer.raw(',');
    const count = classes?.get(name);
    writer.raw('{"name":').string(name);
    if (isBinary || count !== undefined) writer.raw(',"parameters":{');
    if (isBinary) writer.raw('"binary_data":true');
    if (count !== undefined) writer.raw(isBinary ? ',"classification":' : '"classification":').integer(count);
    if (isBinary || count !== undefined) writer.raw('}');
    writer.raw('}');
  });
  writer.raw(']');
}
