// A network as a file: its bytes by onnx.proto3, and the file in a folder of its own, for as long as a process of the
// onnx suite lives.

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import type { NetworkNode, NetworkTensor, NetworkWeight, OnnxNetwork } from './onnx-network.js';
import { integer, lengthDelimited, packedIntegers } from './protobuf-bytes.js';
import { bytesOf } from './tensor-wire.js';

const FLOAT = 1; // TensorProto.DataType
const INTS = 7; // AttributeProto.AttributeType
const IR_VERSION = 8;
const OPSET = 17;

function valueInfo({ name, shape }: NetworkTensor): Buffer {
  const axes = [lengthDelimited(2, 'batch'), ...shape.map((length) => integer(1, length))];
  const dimensions = Buffer.concat(axes.map((axis) => lengthDelimited(1, axis)));
  const tensor = Buffer.concat([integer(1, FLOAT), lengthDelimited(2, dimensions)]);
  return Buffer.concat([lengthDelimited(1, name), lengthDelimited(2, lengthDelimited(1, tensor))]);
}

function nodeProto({ operator, inputs, output, attributes = {} }: NetworkNode): Buffer {
  return Buffer.concat([
    ...inputs.map((name) => lengthDelimited(1, name)),
    lengthDelimited(2, output),
    lengthDelimited(4, operator),
    ...Object.entries(attributes).map(([name, values]) =>
      lengthDelimited(5, Buffer.concat([lengthDelimited(1, name), packedIntegers(8, values), integer(20, INTS)])),
    ),
  ]);
}

function tensorProto({ name, shape, values }: NetworkWeight): Buffer {
  return Buffer.concat([
    packedIntegers(1, shape),
    integer(2, FLOAT),
    lengthDelimited(8, name),
    lengthDelimited(9, bytesOf(values)),
  ]);
}

/** A ModelProto. */
export function modelFile(network: OnnxNetwork): Buffer {
  const graph = Buffer.concat([
    ...network.nodes.map((node) => lengthDelimited(1, nodeProto(node))),
    lengthDelimited(2, network.name),
    ...network.weights.map((weight) => lengthDelimited(5, tensorProto(weight))),
    lengthDelimited(11, valueInfo(network.input)),
    lengthDelimited(12, valueInfo(network.output)),
  ]);
  return Buffer.concat([integer(1, IR_VERSION), lengthDelimited(8, integer(2, OPSET)), lengthDelimited(7, graph)]);
}

/** Writes the file and returns its path; it is gone when the process ends. */
export function writeModelFile(network: OnnxNetwork): string {
  const folder = mkdtempSync(join(tmpdir(), 'tstriton-bench-'));
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }));
  const path = join(folder, `${network.name}.onnx`);
  writeFileSync(path, modelFile(network));
  return path;
}
