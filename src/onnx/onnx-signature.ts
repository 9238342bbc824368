// What an ONNX file says of its model's inputs and outputs, read without onnxruntime and without the weights.
// Field numbers are from onnx.proto3.

import { invalidArg, TritonError } from '../errors.js';
import { ProtobufFile, type Span } from './protobuf-file.js';

/** An input or output of a graph. */
export interface OnnxValue {
  readonly name: string;
  /** `tensor` is what can be served. */
  readonly kind: 'tensor' | 'sparse tensor' | 'sequence' | 'map' | 'optional' | 'value of an unknown type';
  /** TensorProto.DataType; 0 when the file does not tell. */
  readonly elementType: number;
  /** Numbers, names of symbolic dimensions, undefined where the file leaves a dimension open; undefined without a rank. */
  readonly shape: readonly (number | string | undefined)[] | undefined;
}

export interface OnnxSignature {
  /** Without the inputs that have a value in the file. */
  readonly inputs: readonly OnnxValue[];
  readonly outputs: readonly OnnxValue[];
}

/** A signature, and where the model keeps its weights. */
export interface OnnxFile extends OnnxSignature {
  /** The files that have weights of the model, relative to its folder. */
  readonly weightFiles: readonly string[];
}

const MODEL = { graph: 7 } as const;
const GRAPH = { initializer: 5, input: 11, output: 12, sparseInitializer: 15 } as const;
const TENSOR = { name: 8, externalData: 13 } as const;
const ENTRY = { key: 1, value: 2 } as const;
const SPARSE_TENSOR = { values: 1 } as const;
const VALUE_INFO = { name: 1, type: 2 } as const;
const TENSOR_TYPE = { elementType: 1, shape: 2 } as const;
const SHAPE = { dimension: 1 } as const;
const DIMENSION = { value: 1, parameter: 2 } as const;
const KINDS: Readonly<Record<number, OnnxValue['kind']>> = {
  1: 'tensor',
  4: 'sequence',
  5: 'map',
  8: 'sparse tensor',
  9: 'optional',
};

/** How the text begins that a clone without Git LFS has in the place of a large file. */
const LFS_POINTER = 'version https://git-lfs.github.com/spec/';

/** Throws INVALID_ARG when the file cannot be read or is not an ONNX model. */
export function readOnnxSignature(path: string): OnnxFile {
  let file: ProtobufFile;
  try {
    file = new ProtobufFile(path);
  } catch (error) {
    throw invalidArg(`cannot read the ONNX model ${path}: ${TritonError.from(error).message}`, {
      cause: error,
    });
  }
  try {
    return readModel(file);
  } catch (error) {
    const reason = isLfsPointer(file)
      ? 'Git LFS has not fetched it; run git lfs pull'
      : TritonError.from(error).message;
    throw invalidArg(`${path} is not an ONNX model: ${reason}`, { cause: error });
  } finally {
    file.close();
  }
}

function isLfsPointer(file: ProtobufFile): boolean {
  const { length } = LFS_POINTER;
  return file.span.end >= length && file.text({ start: 0, end: length }) === LFS_POINTER;
}

function readModel(file: ProtobufFile): OnnxFile {
  const inputs: OnnxValue[] = [];
  const outputs: OnnxValue[] = [];
  const initialized = new Set<string>();
  const weightFiles = new Set<string>();
  let hasGraph = false;
  for (const { number, span: graph } of file.fields(file.span)) {
    if (number !== MODEL.graph) continue;
    hasGraph = true;
    for (const field of file.fields(graph)) {
      if (field.number === GRAPH.input) inputs.push(readValue(file, field.span));
      else if (field.number === GRAPH.output) outputs.push(readValue(file, field.span));
      else if (field.number === GRAPH.initializer) readInitializer(file, field.span, { initialized, weightFiles });
      else if (field.number === GRAPH.sparseInitializer) {
        const values = spanOf(file, field.span, SPARSE_TENSOR.values);
        if (values !== undefined) initialized.add(textOf(file, values, TENSOR.name));
      }
    }
  }
  if (!hasGraph) throw new RangeError('it has no graph');
  if (outputs.length === 0) throw new RangeError('its graph has no outputs');
  return { inputs: inputs.filter(({ name }) => !initialized.has(name)), outputs, weightFiles: [...weightFiles] };
}

interface Initializers {
  readonly initialized: Set<string>;
  readonly weightFiles: Set<string>;
}

function readInitializer(file: ProtobufFile, tensor: Span, { initialized, weightFiles }: Initializers): void {
  let name = '';
  for (const { number, span } of file.fields(tensor)) {
    if (number === TENSOR.name) name = file.text(span);
    else if (number === TENSOR.externalData && textOf(file, span, ENTRY.key) === 'location')
      weightFiles.add(textOf(file, span, ENTRY.value));
  }
  initialized.add(name);
}

function readValue(file: ProtobufFile, span: Span): OnnxValue {
  const name = textOf(file, span, VALUE_INFO.name);
  const type = spanOf(file, span, VALUE_INFO.type);
  let kind: OnnxValue['kind'] = 'value of an unknown type';
  let elementType = 0;
  let shape: OnnxValue['shape'];
  for (const field of type === undefined ? [] : file.fields(type)) {
    const known = KINDS[field.number];
    if (known === undefined) continue;
    kind = known;
    if (kind !== 'tensor') continue;
    for (const member of file.fields(field.span)) {
      if (member.number === TENSOR_TYPE.elementType) elementType = member.value;
      else if (member.number === TENSOR_TYPE.shape) shape = readShape(file, member.span);
    }
  }
  return { name, kind, elementType, shape };
}

function readShape(file: ProtobufFile, span: Span): OnnxValue['shape'] {
  const shape: (number | string | undefined)[] = [];
  for (const { number, span: dimension } of file.fields(span)) {
    if (number !== SHAPE.dimension) continue;
    let size: number | string | undefined;
    for (const field of file.fields(dimension)) {
      // Some exporters write -1 for an open dimension, which is a huge number here, and some 0.
      if (field.number === DIMENSION.value)
        size = Number.isSafeInteger(field.value) && field.value > 0 ? field.value : undefined;
      else if (field.number === DIMENSION.parameter) size = file.text(field.span);
    }
    shape.push(size);
  }
  return shape;
}

/** The last occurrence of a field counts, as protobuf has it. */
function spanOf(file: ProtobufFile, message: Span, number: number): Span | undefined {
  let span: Span | undefined;
  for (const field of file.fields(message)) if (field.number === number) span = field.span;
  return span;
}

function textOf(file: ProtobufFile, message: Span, number: number): string {
  const span = spanOf(file, message, number);
  return span === undefined ? '' : file.text(span);
}
