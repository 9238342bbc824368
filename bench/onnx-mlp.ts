// The network that the onnx suite serves, as a file and on the wire: three dense layers of a million weights, FP32
// [1,256] in, [1,64] out. Weights are -1, 0 or 1 and the input is in quarters, so that every sum is exact and the answer
// is the same to the bit, however many rows are computed together.

import { lengthDelimited, packedIntegers } from './protobuf-bytes.js';
import type { HttpForm } from './identity-wire.js';

export const MODEL = 'mlp';
export const INPUT = 'x';
export const OUTPUT = 'y';
const SIZES = [256, 1024, 640, 64] as const;
const LAYERS = [0, 1, 2] as const;
export const ROW_LENGTH = SIZES[0];
const OUTPUT_LENGTH = SIZES[3];

/** Small whole numbers that look random and are the same in every process. */
function numbers(count: number, most: number): Float32Array {
  let state = 7;
  return Float32Array.from({ length: count }, () => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
    return ((state >>> 16) % (2 * most + 1)) - most;
  });
}

const weights = LAYERS.map((i) => numbers(SIZES[i] * SIZES[i + 1]!, 1));
export const row = numbers(ROW_LENGTH, 8).map((value) => value / 4);
export const answer = LAYERS.reduce<Float32Array>((values, i) => {
  const next = new Float32Array(SIZES[i + 1]!);
  for (let k = 0; k < values.length; k++) {
    for (let j = 0; j < next.length; j++) next[j]! += values[k]! * weights[i]![k * next.length + j]!;
  }
  return i === 2 ? next : next.map((value) => Math.max(0, value));
}, row);

export function bytesOf(values: Float32Array): Buffer {
  return Buffer.from(values.buffer, values.byteOffset, values.byteLength);
}

// onnx.proto3: a field of one integer is written as a varint, which packedIntegers writes behind its tag and length.
function integer(field: number, value: number): Buffer {
  const varint = packedIntegers(field, [value]).subarray(2);
  return Buffer.concat([Buffer.from([field * 8]), varint]);
}

function valueInfo(name: string, size: number): Buffer {
  const dimensions = [lengthDelimited(2, 'batch'), integer(1, size)].map((dimension) => lengthDelimited(1, dimension));
  const tensor = Buffer.concat([integer(1, 1), lengthDelimited(2, Buffer.concat(dimensions))]);
  return Buffer.concat([lengthDelimited(1, name), lengthDelimited(2, lengthDelimited(1, tensor))]);
}

function node(operator: string, inputs: readonly string[], output: string): Buffer {
  const names = inputs.map((name) => lengthDelimited(1, name));
  return Buffer.concat([...names, lengthDelimited(2, output), lengthDelimited(4, operator)]);
}

/** The model's file. */
export function modelFile(): Buffer {
  const nodes = LAYERS.flatMap((i) => [
    node('MatMul', [i === 0 ? INPUT : `h${i}`, `w${i}`], i === 2 ? OUTPUT : `s${i}`),
    ...(i === 2 ? [] : [node('Relu', [`s${i}`], `h${i + 1}`)]),
  ]);
  const tensors = LAYERS.map((i) =>
    Buffer.concat([
      packedIntegers(1, [SIZES[i], SIZES[i + 1]!]),
      integer(2, 1),
      lengthDelimited(8, `w${i}`),
      lengthDelimited(9, bytesOf(weights[i]!)),
    ]),
  );
  const graph = Buffer.concat([
    ...nodes.map((one) => lengthDelimited(1, one)),
    lengthDelimited(2, MODEL),
    ...tensors.map((one) => lengthDelimited(5, one)),
    lengthDelimited(11, valueInfo(INPUT, ROW_LENGTH)),
    lengthDelimited(12, valueInfo(OUTPUT, OUTPUT_LENGTH)),
  ]);
  return Buffer.concat([integer(1, 8), lengthDelimited(8, integer(2, 17)), lengthDelimited(7, graph)]);
}

const requestHeader = Buffer.from(
  JSON.stringify({
    inputs: [
      { name: INPUT, datatype: 'FP32', shape: [1, ROW_LENGTH], parameters: { binary_data_size: ROW_LENGTH * 4 } },
    ],
    parameters: { binary_data_output: true },
  }),
);

export const binaryRequest: HttpForm = {
  headers: {
    'content-type': 'application/octet-stream',
    'inference-header-content-length': String(requestHeader.length),
  },
  body: Buffer.concat([requestHeader, bytesOf(row)]),
};

const grpcInput = [lengthDelimited(1, INPUT), lengthDelimited(2, 'FP32'), packedIntegers(3, [1, ROW_LENGTH])];

/** A ModelInferRequest with raw_input_contents. */
export const grpcRequest: Buffer = Buffer.concat([
  lengthDelimited(1, MODEL),
  lengthDelimited(5, Buffer.concat(grpcInput)),
  lengthDelimited(7, bytesOf(row)),
]);

/** Both wires end with the output's bytes. */
export function checkAnswer(message: Buffer): void {
  const expected = bytesOf(answer);
  if (message.subarray(-expected.length).equals(expected)) return;
  throw new Error(`wrong answer: ${message.length} bytes that do not end with the network's output`);
}
