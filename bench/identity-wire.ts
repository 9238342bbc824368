// The identity workload on the wire: model `Identity`, inputs a and b, outputs c and d, each FP32 [1,16], in the three
// forms that are measured, and the checks that an answer really carries the numbers that were sent.
// The values are quarters: exact in float32 and short as text, so both sides of a JSON comparison print the same digits.

import { lengthDelimited, packedIntegers, readFields } from './protobuf-bytes.js';
import type { Field } from './protobuf-bytes.js';

export const MODEL = 'Identity';
export const ROW_LENGTH = 16;

const a = Float32Array.from({ length: ROW_LENGTH }, (_, i) => i + 0.25);
const b = Float32Array.from({ length: ROW_LENGTH }, (_, i) => -i - 0.5);
const shape = [1, ROW_LENGTH];
/** Of a and b. */
export const VALUES = [a, b] as const;

export interface HttpForm {
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
}

function bytesOf(values: Float32Array): Buffer {
  const bytes = Buffer.alloc(values.length * 4);
  values.forEach((value, i) => bytes.writeFloatLE(value, i * 4));
  return bytes;
}

function jsonTensor(name: string, values: Float32Array): object {
  return { name, datatype: 'FP32', shape, data: [...values] };
}

function binaryTensor(name: string): object {
  return { name, datatype: 'FP32', shape, parameters: { binary_data_size: ROW_LENGTH * 4 } };
}

function jsonForm(value: object): HttpForm {
  return { headers: { 'content-type': 'application/json' }, body: Buffer.from(JSON.stringify(value)) };
}

function binaryForm(header: object): HttpForm {
  const json = Buffer.from(JSON.stringify(header));
  return {
    headers: {
      'content-type': 'application/octet-stream',
      'inference-header-content-length': String(json.length),
    },
    body: Buffer.concat([json, bytesOf(a), bytesOf(b)]),
  };
}

export const jsonRequest: HttpForm = jsonForm({ inputs: [jsonTensor('a', a), jsonTensor('b', b)] });
export const binaryRequest: HttpForm = binaryForm({
  inputs: [binaryTensor('a'), binaryTensor('b')],
  parameters: { binary_data_output: true },
});

// What the floor servers answer: the answers of the real one, byte for byte in size.
const answerHead = { model_name: MODEL, model_version: '1' };
export const jsonAnswer: HttpForm = jsonForm({ ...answerHead, outputs: [jsonTensor('c', a), jsonTensor('d', b)] });
export const binaryAnswer: HttpForm = binaryForm({ ...answerHead, outputs: [binaryTensor('c'), binaryTensor('d')] });

function grpcTensor(name: string): Buffer {
  const fields = [lengthDelimited(1, name), lengthDelimited(2, 'FP32'), packedIntegers(3, shape)];
  return lengthDelimited(5, Buffer.concat(fields));
}

/** A ModelInferRequest with raw_input_contents, for any model that takes such tensors. */
export function grpcRequestOf(model: string): Buffer {
  return Buffer.concat([
    lengthDelimited(1, model),
    grpcTensor('a'),
    grpcTensor('b'),
    lengthDelimited(7, bytesOf(a)),
    lengthDelimited(7, bytesOf(b)),
  ]);
}

export const grpcRequest: Buffer = grpcRequestOf(MODEL);

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

function outputsOf(json: string): readonly AnsweredTensor[] {
  const answer = JSON.parse(json) as { readonly model_name?: unknown; readonly outputs?: unknown };
  expectEqual('model_name', answer.model_name, MODEL);
  if (!Array.isArray(answer.outputs)) throw new Error(`wrong answer: outputs is ${JSON.stringify(answer.outputs)}`);
  const outputs = answer.outputs as readonly AnsweredTensor[];
  const described = outputs.map((output) => [output.name, output.datatype, output.shape]);
  expectEqual('the list of outputs', described, [
    ['c', 'FP32', shape],
    ['d', 'FP32', shape],
  ]);
  return outputs;
}

export function checkJsonAnswer(body: Buffer): void {
  const data = outputsOf(body.toString()).map((output) => output.data);
  expectEqual('the data of c and d', data, [[...a], [...b]]);
}

export function checkBinaryAnswer(body: Buffer, headerLength: number): void {
  outputsOf(body.toString('utf8', 0, headerLength));
  const tail = body.subarray(headerLength).toString('hex');
  expectEqual('the binary data of c and d', tail, Buffer.concat([bytesOf(a), bytesOf(b)]).toString('hex'));
}

function texts(fields: readonly Field[], number: number, encoding: 'utf8' | 'hex'): readonly string[] {
  return fields
    .filter((field) => field.number === number)
    .map((field) => (typeof field.value === 'number' ? String(field.value) : field.value.toString(encoding)));
}

/** Checks a ModelInferResponse. */
export function checkGrpcAnswer(message: Buffer): void {
  const fields = readFields(message);
  expectEqual('model_name', texts(fields, 1, 'utf8'), [MODEL]);
  const tensors = fields.filter((field) => field.number === 5).map((field) => readFields(field.value as Buffer));
  const described = tensors.map((tensor) => [1, 2].map((number) => texts(tensor, number, 'utf8')[0]));
  expectEqual('the list of outputs', described, [
    ['c', 'FP32'],
    ['d', 'FP32'],
  ]);
  expectEqual('raw_output_contents', texts(fields, 6, 'hex'), [bytesOf(a).toString('hex'), bytesOf(b).toString('hex')]);
}

export function checkSameBytes(got: Buffer, expected: Buffer): void {
  expectEqual('the answer', got.toString('latin1'), expected.toString('latin1'));
}
