// Writes the language model of examples/language-id as an ONNX file: the same weights as two operators, MatMul and Softmax.
// An ONNX file is a protobuf message; the few fields that a small graph needs are written here by hand.
//
//   node build/examples/onnx-language-id/export.js language-id.onnx
import { readFileSync, writeFileSync } from 'node:fs';

import { exampleFile } from '../language-id/example-files.js';
import { decodeModel, LANGUAGES, type LanguageModel } from '../language-id/model.js';
import { whenStarted } from '../when-started.js';

const FLOAT = 1;
const IR_VERSION = 8;
const OPERATOR_SET = 17;

/** The weights of examples/language-id. */
export function readLanguageModel(): LanguageModel {
  return decodeModel(readFileSync(exampleFile('model.bin')));
}

/** `features` [batch, n-grams] in, `scores` [batch, languages] out. */
export function encodeOnnx({ ngrams, weights }: LanguageModel): Uint8Array {
  return encodeClassifier({ name: 'language-id', features: ngrams.size, classes: LANGUAGES.length, weights });
}

export interface Classifier {
  readonly name: string;
  readonly features: number;
  readonly classes: number;
  /** A row for each feature. */
  readonly weights: Float32Array;
}

/** `features` [batch, features] in, `scores` [batch, classes] out. */
export function encodeClassifier({ name, features, classes, weights }: Classifier): Uint8Array {
  const graph = [
    bytes(1, node('MatMul', ['features', 'weights'], 'sums')),
    bytes(1, node('Softmax', ['sums'], 'scores')),
    bytes(2, name),
    bytes(5, tensor('weights', [features, classes], weights)),
    bytes(11, value('features', features)),
    bytes(12, value('scores', classes)),
  ];
  return Buffer.concat([integer(1, IR_VERSION), bytes(8, integer(2, OPERATOR_SET)), bytes(7, Buffer.concat(graph))]);
}

function node(operator: string, inputs: readonly string[], output: string): Buffer {
  return Buffer.concat([...inputs.map((name) => bytes(1, name)), bytes(2, output), bytes(4, operator)]);
}

function tensor(name: string, shape: readonly number[], values: Float32Array): Buffer {
  const data = Buffer.alloc(values.length * 4);
  values.forEach((number, i) => data.writeFloatLE(number, i * 4));
  return Buffer.concat([...shape.map((size) => integer(1, size)), integer(2, FLOAT), bytes(8, name), bytes(9, data)]);
}

/** An input or output with a symbolic first dimension: TSTriton takes it for the batch axis. */
function value(name: string, size: number): Buffer {
  const shape = Buffer.concat([bytes(1, bytes(2, 'batch')), bytes(1, integer(1, size))]);
  return Buffer.concat([bytes(1, name), bytes(2, bytes(1, Buffer.concat([integer(1, FLOAT), bytes(2, shape)])))]);
}

// Protobuf's wire format: a field is its number and kind, then an integer or a length and as many bytes.

function integer(field: number, number: number): Buffer {
  return Buffer.concat([varint(field * 8), varint(number)]);
}

function bytes(field: number, content: string | Uint8Array): Buffer {
  const buffer = Buffer.from(content);
  return Buffer.concat([varint(field * 8 + 2), varint(buffer.length), buffer]);
}

function varint(number: number): Buffer {
  const groups: number[] = [];
  for (; number > 127; number = Math.floor(number / 128)) groups.push((number % 128) + 128);
  return Buffer.from([...groups, number]);
}

await whenStarted(import.meta.url, async () => {
  const path = process.argv[2] ?? 'language-id.onnx';
  const file = encodeOnnx(readLanguageModel());
  writeFileSync(path, file);
  console.log(`${path}: ${file.length} bytes`);
});
