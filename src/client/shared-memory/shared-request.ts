// An inference whose tensors lie in shared memory, as a question in both protocols. The request tells their places.

import { TritonError } from '../../errors.js';
import { ALIGNED_BYTES, type InferTensor } from '../../model/exchange.js';
import type { Parameters } from '../../model/parameters.js';
import type { ClassifiedRequest } from '../../protocol/classified-request.js';
import { parameterValue, type ParameterValue } from '../../protocol/grpc/infer-parameters.js';
import { readOutput } from '../../protocol/http/decode-infer-response.js';
import { writeRequest } from '../../protocol/http/encode-infer-request.js';
import { arrayMember, expectUnsigned, stringMember } from '../../protocol/http/json-members.js';
import { parseResponseJson, readResponse } from '../../protocol/http/parse-response-json.js';
import { jsonElements } from '../../protocol/json/json-parser.js';
import type { JsonValue } from '../../protocol/json/json-value.js';
import { JsonWriter } from '../../protocol/json/json-writer.js';
import { type InferParameter, ModelInferResponse } from '../../protocol/protobuf/generated/grpc-service.js';
import { emptyMessage, type Init } from '../../protocol/protobuf/values.js';
import { SEQUENCE_END, SEQUENCE_ID, SEQUENCE_START } from '../../protocol/sequence-parameters.js';
import { modelPath } from '../http/model-path.js';
import type { ServerOperation } from '../server/server-operation.js';

/** Where a tensor lies in a slot. */
export interface Place {
  readonly offset: number;
  readonly byteSize: number;
}

/** Where the tensors of a request lie. Inputs without bytes, and outputs without room, go with the messages. */
export interface Layout {
  readonly inputs: ReadonlyMap<InferTensor, Place>;
  /** The outputs that are asked for, in order. */
  readonly outputs: readonly { readonly name: string; readonly place: Place | undefined }[];
  readonly byteSize: number;
}

/** `rooms`: the bytes for each output, by name; these are asked for when the request names none. */
export function layOut(request: ClassifiedRequest, rooms: ReadonlyMap<string, number>): Layout {
  let byteSize = 0;
  const place = (size: number): Place => {
    const offset = byteSize;
    byteSize += Math.ceil(size / ALIGNED_BYTES) * ALIGNED_BYTES;
    return { offset, byteSize: size };
  };
  const inputs = new Map<InferTensor, Place>();
  for (const input of request.inputs) {
    if (input.bytes.byteLength > 0) inputs.set(input, place(input.bytes.byteLength));
  }
  const asked = request.outputs.length > 0 ? request.outputs : [...rooms.keys()];
  const outputs = asked.map((name) => {
    // Classes are a few texts.
    const room = request.classes?.has(name) === true ? undefined : rooms.get(name);
    return { name, place: room === undefined ? undefined : place(room) };
  });
  return { inputs, outputs, byteSize };
}

/** The answer has no bytes for outputs that lie in the region. `read` of HTTP and the message of gRPC throw INTERNAL. */
export function sharedInference(
  request: ClassifiedRequest,
  layout: Layout,
  region: string,
): ServerOperation<ModelInferResponse> {
  return {
    grpc: { method: 'ModelInfer', message: messageOf(request, layout, region), response: ModelInferResponse },
    http: {
      method: 'POST',
      path: `/v2${modelPath(request)}/infer`,
      body: jsonOf(request, layout, region),
      read: (body) => responseOf(body, layout),
      no: [],
    },
    none: () => emptyMessage(ModelInferResponse),
  };
}

type Members = Readonly<Record<string, string | number>>;

function placeMembers(region: string, { offset, byteSize }: Place): Members {
  return { shared_memory_region: region, shared_memory_offset: offset, shared_memory_byte_size: byteSize };
}

function jsonOf(request: ClassifiedRequest, layout: Layout, region: string): Buffer {
  const writer = new JsonWriter();
  writeRequest(
    writer,
    { ...request, outputs: [] },
    {
      isBinary: false,
      writeForm: (input) => {
        const place = layout.inputs.get(input);
        if (place === undefined) writer.raw(',"data":[]');
        else writer.raw(',"parameters":').raw(JSON.stringify(placeMembers(region, place)));
      },
    },
  );
  const head = writer.take();
  if (layout.outputs.length === 0) return head;
  const outputs = layout.outputs.map(({ name, place }) => {
    const count = request.classes?.get(name);
    const classified = count === undefined ? undefined : { classification: count };
    return { name, parameters: place === undefined ? classified : placeMembers(region, place) };
  });
  // In the place of the last brace.
  return Buffer.concat([head.subarray(0, -1), Buffer.from(`,"outputs":${JSON.stringify(outputs)}}`)]);
}

function responseOf(body: Buffer, { outputs }: Layout): ModelInferResponse {
  return readResponse(() => {
    const json = parseResponseJson(body);
    const inRegion = new Set(outputs.filter(({ place }) => place !== undefined).map(({ name }) => name));
    const raw: Uint8Array[] = [];
    const read = jsonElements(arrayMember(json, 'outputs')).map((output) => {
      const name = stringMember(output, 'name');
      const placed = inRegion.has(name);
      const { datatype, shape, bytes } = placed ? readPlaced(output) : readOutput(output, refuseBinary);
      raw.push(bytes);
      return { name, datatype, shape: shape.map(BigInt), parameters: {}, contents: undefined };
    });
    return { ...emptyMessage(ModelInferResponse), outputs: read, rawOutputContents: raw };
  });
}

function readPlaced(output: JsonValue): { datatype: string; shape: readonly number[]; bytes: Uint8Array } {
  const shape = jsonElements(arrayMember(output, 'shape')).map((dim) => Number(expectUnsigned(dim, 'shape')));
  return { datatype: stringMember(output, 'datatype'), shape, bytes: NO_BYTES };
}

const NO_BYTES = new Uint8Array();

function refuseBinary(name: string): never {
  throw new TritonError('INTERNAL', `output '${name}' is in binary form, expected JSON`);
}

function messageOf(request: ClassifiedRequest, layout: Layout, region: string): Init<object> {
  const { parameters, priority, timeoutMicroseconds, sequence, classes } = request;
  const given: Record<string, Parameters[string]> = {};
  if (priority !== 0) given['priority'] = BigInt(priority);
  if (timeoutMicroseconds !== 0) given['timeout'] = timeoutMicroseconds;
  if (sequence !== undefined) {
    // The field is signed, but servers read its bits as an unsigned number.
    given[SEQUENCE_ID] = typeof sequence.id === 'bigint' ? BigInt.asIntN(64, sequence.id) : sequence.id;
    given[SEQUENCE_START] = sequence.start;
    given[SEQUENCE_END] = sequence.end;
  }
  return {
    modelName: request.modelName,
    modelVersion: request.modelVersion,
    id: request.id,
    parameters: parametersOf({ ...parameters, ...given }),
    inputs: request.inputs.map((input) => {
      const place = layout.inputs.get(input);
      return {
        name: input.name,
        datatype: input.datatype,
        shape: input.shape.map(BigInt),
        parameters: place === undefined ? {} : parametersOf(placeMembers(region, place)),
      };
    }),
    outputs: layout.outputs.map(({ name, place }) => {
      const count = classes?.get(name);
      const classified = count === undefined ? {} : { classification: count };
      return { name, parameters: parametersOf(place === undefined ? classified : placeMembers(region, place)) };
    }),
    // Only of inputs that are empty.
    rawInputContents: request.inputs.filter((input) => !layout.inputs.has(input)).map(({ bytes }) => bytes),
  };
}

const CHOICES = { bool: 'boolParam', int64: 'int64Param', uint64: 'uint64Param', string: 'stringParam', double: 'doubleParam' } as const; // prettier-ignore

function parametersOf(parameters: Parameters): Readonly<Record<string, InferParameter>> {
  const entries = Object.entries(parameters).map(([name, value]) => [name, choiceOf(parameterValue(name, value))]);
  return Object.fromEntries(entries) as Readonly<Record<string, InferParameter>>;
}

function choiceOf(given: ParameterValue): InferParameter {
  if (given.kind === 'unset') return { parameterChoice: { case: undefined } };
  const value = given.kind === 'int64' || given.kind === 'uint64' ? BigInt(given.value) : given.value;
  return { parameterChoice: { case: CHOICES[given.kind], value } as InferParameter['parameterChoice'] };
}
