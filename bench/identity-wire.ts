// The identity workload on the wire: model `Identity`, inputs a and b, outputs c and d, each FP32 [1,16], in the three
// forms that are measured, and the checks that an answer really carries the numbers that were sent.
// The values are quarters: exact in float32 and short as text, so both sides of a JSON comparison print the same digits. Each
// request has its own id and the same numbers in another order, so that all requests are equally long.

import { readFields } from './protobuf-bytes.js';
import type { Field } from './protobuf-bytes.js';
import type { HttpAnswer } from './real-clients.js';
import { binaryForm, binaryRequestOf, bytesOf, grpcRequestOf, IDS, jsonForm, jsonTensor } from './tensor-wire.js';
import type { HttpForm, WireTensor } from './tensor-wire.js';

export const MODEL = 'Identity';
export const ROW_LENGTH = 16;

const shape = [1, ROW_LENGTH];

/** Of a and b, for each request. */
export const VALUES = IDS.map((_, k) => {
  const from = (i: number): number => (i + k) % ROW_LENGTH;
  return [
    Float32Array.from({ length: ROW_LENGTH }, (_, i) => from(i) + 0.25),
    Float32Array.from({ length: ROW_LENGTH }, (_, i) => -from(i) - 0.5),
  ] as const;
});

const tensorsOf = (names: readonly string[], k: number): readonly WireTensor[] =>
  names.map((name, i) => ({ name, shape, bytes: bytesOf(VALUES[k]![i]!) }));
const INPUTS = IDS.map((_, k) => tensorsOf(['a', 'b'], k));

export const jsonRequests: readonly HttpForm[] = INPUTS.map((inputs, k) =>
  jsonForm({ id: IDS[k], inputs: inputs.map(jsonTensor) }),
);
export const binaryRequests: readonly HttpForm[] = INPUTS.map((inputs, k) => binaryRequestOf(inputs, IDS[k]!));
/** For any model that takes such tensors. */
export const grpcRequestsOf = (model: string): readonly Buffer[] =>
  INPUTS.map((inputs, k) => grpcRequestOf(model, inputs, IDS[k]!));
export const grpcRequests: readonly Buffer[] = grpcRequestsOf(MODEL);

// What the floor servers answer to all: the answer of the real one to the first request, byte for byte in size.
const answerHead = { id: IDS[0], model_name: MODEL, model_version: '1' };
const outputs = tensorsOf(['c', 'd'], 0);
export const jsonAnswer: HttpForm = jsonForm({ ...answerHead, outputs: outputs.map(jsonTensor) });
export const binaryAnswer: HttpForm = binaryForm('outputs', outputs, answerHead);

function expectEqual(what: string, got: unknown, expected: unknown): void {
  const [left, right] = [JSON.stringify(got), JSON.stringify(expected)];
  if (left !== right) throw new Error(`wrong answer: ${what} is ${left}, expected ${right}`);
}

interface AnsweredTensor {
  readonly name?: unknown;
  readonly datatype?: unknown;
  readonly shape?: unknown;
  readonly data?: unknown;
}

function outputsOf(json: string, k: number): readonly AnsweredTensor[] {
  const answer = JSON.parse(json) as {
    readonly id?: unknown;
    readonly model_name?: unknown;
    readonly outputs?: unknown;
  };
  expectEqual('model_name', answer.model_name, MODEL);
  expectEqual('id', answer.id, IDS[k]);
  if (!Array.isArray(answer.outputs)) throw new Error(`wrong answer: outputs is ${JSON.stringify(answer.outputs)}`);
  const given = answer.outputs as readonly AnsweredTensor[];
  const described = given.map((output) => [output.name, output.datatype, output.shape]);
  expectEqual('the list of outputs', described, [
    ['c', 'FP32', shape],
    ['d', 'FP32', shape],
  ]);
  return given;
}

/** `k` is the number of the request. */
export function checkJsonAnswer({ body }: Pick<HttpAnswer, 'body'>, k: number): void {
  const data = outputsOf(body.toString(), k).map((output) => output.data);
  expectEqual(
    'the data of c and d',
    data,
    VALUES[k]!.map((values) => [...values]),
  );
}

export function checkBinaryAnswer({ headers, body }: HttpAnswer, k: number): void {
  const headerLength = Number(headers['inference-header-content-length']);
  outputsOf(body.toString('utf8', 0, headerLength), k);
  const tail = body.subarray(headerLength).toString('hex');
  expectEqual('the binary data of c and d', tail, Buffer.concat(VALUES[k]!.map(bytesOf)).toString('hex'));
}

function texts(fields: readonly Field[], number: number, encoding: 'utf8' | 'hex'): readonly string[] {
  return fields
    .filter((field) => field.number === number)
    .map((field) => (typeof field.value === 'number' ? String(field.value) : field.value.toString(encoding)));
}

/** Checks a ModelInferResponse. */
export function checkGrpcAnswer(message: Buffer, k: number): void {
  const fields = readFields(message);
  expectEqual('model_name', texts(fields, 1, 'utf8'), [MODEL]);
  expectEqual('id', texts(fields, 3, 'utf8'), [IDS[k]]);
  const tensors = fields.filter((field) => field.number === 5).map((field) => readFields(field.value as Buffer));
  const described = tensors.map((tensor) => [1, 2].map((number) => texts(tensor, number, 'utf8')[0]));
  expectEqual('the list of outputs', described, [
    ['c', 'FP32'],
    ['d', 'FP32'],
  ]);
  const contents = VALUES[k]!.map((values) => bytesOf(values).toString('hex'));
  expectEqual('raw_output_contents', texts(fields, 6, 'hex'), contents);
}

/** Of a server that gives each gRPC message back. */
export function checkEcho(message: Buffer, k: number): void {
  expectEqual('the answer', message.toString('latin1'), grpcRequests[k]!.toString('latin1'));
}
