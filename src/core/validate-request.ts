// Checks a decoded request against the model's configuration, with Triton's rules, order and texts
// (core/src/infer_request.cc, Normalize and ValidateRequestInputs; the letters of section 1.8 of the protocol
// notes). Where Triton's iteration follows a hash map, ours follows the declaration.

import { isAscii, isUtf8 } from 'node:buffer';

import { TritonError } from '../errors.js';
import type { CompleteModelConfig, CompleteTensorSpec } from '../model/complete-model-config.js';
import type { InferTensor, ModelInferRequest } from '../model/exchange.js';
import { DATATYPE_BYTE_SIZE } from '../tensor/dtype.js';
import { scanBytesElements } from '../tensor/raw.js';
import { elementCount, formatShape, matchesShape } from '../tensor/shape.js';
import { requestLabel } from './request-label.js';

export interface ValidatedInputs {
  /** One place per declared input, in declaration order. */
  readonly inputs: readonly (InferTensor | undefined)[];
  /** Rows of the batch axis; 1 when the model does not batch. */
  readonly rows: number;
}

const BATCH_NOTE =
  ' NOTE: Setting a non-zero max_batch_size in the model config requires a batch dimension to be prepended to each input shape. ' +
  'If you want to specify the full shape including the batch dim in your input dims config, try setting max_batch_size to zero. ' +
  'See the model configuration docs for more info on max_batch_size.';

/** Throws INVALID_ARG. */
export function validateRequest(request: ModelInferRequest, config: CompleteModelConfig): ValidatedInputs {
  const { name } = config;
  const inputs = arrangeInputs(request, config);
  let rows = 0;
  for (let i = 0; i < inputs.length; i++) {
    const input = inputs[i];
    if (input === undefined) continue;
    if (config.maxBatchSize === 0) continue;
    const batch = input.shape[0];
    if (batch === undefined)
      throw refuse(request, `input '${input.name}' has no shape but model requires batch dimension for '${name}'`);
    if (rows === 0) rows = batch;
    else if (batch !== rows)
      throw refuse(request, `input '${input.name}' batch size does not match other inputs for '${name}'`);
    if (batch === 0) throw refuse(request, `inference request batch-size must be >= 1 for '${name}', got 0`);
  }
  if (rows > config.maxBatchSize && config.maxBatchSize > 0) {
    throw refuse(request, `inference request batch-size must be <= ${config.maxBatchSize} for '${name}'`);
  }
  for (let i = 0; i < inputs.length; i++) {
    const input = inputs[i];
    if (input !== undefined) validateInput(request, input, config.inputs[i]!, config);
  }
  return { inputs, rows: Math.max(1, rows) };
}

function refuse(request: ModelInferRequest, message: string): TritonError {
  return new TritonError('INVALID_ARG', `${requestLabel(request.id)}${message}`);
}

function checkRequestedOutputs(request: ModelInferRequest, { name, outputs }: CompleteModelConfig): void {
  for (const requested of request.outputs) {
    if (!outputs.some((output) => output.name === requested)) {
      throw new TritonError('INVALID_ARG', `unexpected inference output '${requested}' for model '${name}'`);
    }
  }
}

function arrangeInputs(request: ModelInferRequest, config: CompleteModelConfig): readonly (InferTensor | undefined)[] {
  const declared = config.inputs;
  const given = request.inputs;
  const asDeclared = isAsDeclared(given, declared);
  if (!asDeclared) checkDuplicates(request);
  checkRequestedOutputs(request, config);
  if (asDeclared) return given;
  checkInputCount(request, config);
  for (const input of given) {
    if (!declared.some((spec) => spec.name === input.name)) {
      throw new TritonError('INVALID_ARG', `unexpected inference input '${input.name}' for model '${config.name}'`);
    }
  }
  const arranged = declared.map((spec) => given.find((input) => input.name === spec.name));
  if (declared.some((spec, index) => !spec.optional && arranged[index] === undefined))
    throw wrongInputCount(request, config);
  return arranged;
}

// As nearly always: every input, in declaration order.
function isAsDeclared(given: readonly InferTensor[], declared: readonly CompleteTensorSpec[]): boolean {
  if (given.length !== declared.length) return false;
  for (let i = 0; i < given.length; i++) if (given[i]!.name !== declared[i]!.name) return false;
  return true;
}

function checkDuplicates(request: ModelInferRequest): void {
  const names = new Set<string>();
  for (const { name } of request.inputs) {
    if (names.has(name)) throw refuse(request, `input '${name}' already exists in request`);
    names.add(name);
  }
}

function checkInputCount(request: ModelInferRequest, config: CompleteModelConfig): void {
  const required = config.inputs.filter((spec) => !spec.optional).length;
  const count = request.inputs.length;
  if (count > config.inputs.length || count < required) throw wrongInputCount(request, config);
}

function wrongInputCount(request: ModelInferRequest, config: CompleteModelConfig): TritonError {
  const required = config.inputs.filter((spec) => !spec.optional);
  const quote = (names: readonly string[]) => names.map((name) => `'${name}'`).join(',');
  const given = request.inputs.map((input) => input.name);
  const missing = required.map((spec) => spec.name).filter((name) => !given.includes(name));
  const expected =
    required.length === config.inputs.length
      ? `expected ${config.inputs.length} inputs`
      : `expected number of inputs between ${required.length} and ${config.inputs.length}`;
  return refuse(
    request,
    `${expected} but got ${given.length} inputs for model '${config.name}'. Got input(s) [${quote(given)}], ` +
      `but missing required input(s) [${quote(missing)}]. Please provide all required input(s).`,
  );
}

function validateInput(
  request: ModelInferRequest,
  input: InferTensor,
  spec: CompleteTensorSpec,
  config: CompleteModelConfig,
): void {
  const model = config.name;
  if (input.datatype !== spec.datatype) {
    throw refuse(
      request,
      `inference input '${spec.name}' data-type is '${input.datatype}', but model '${model}' expects '${spec.datatype}'`,
    );
  }
  const { shape } = input;
  for (const dim of shape) {
    if (dim < 0) {
      throw refuse(
        request,
        `All input dimensions should be specified for input '${spec.name}' for model '${model}', got ${formatGivenShape(shape)}`,
      );
    }
  }
  if (!hasDeclaredShape(shape, spec, config)) {
    const batching = config.maxBatchSize > 0;
    const expected = batching ? [-1, ...spec.shape] : spec.shape;
    throw refuse(
      request,
      `unexpected shape for input '${spec.name}' for model '${model}'. Expected ${formatShape(expected)}, got ${formatGivenShape(shape)}.` +
        (batching ? BATCH_NOTE : ' '),
    );
  }
  const count = elementCount(shape);
  // A dimension of zero hides another one that is beyond all bounds.
  if (!Number.isSafeInteger(count * 8) || !shape.every(Number.isSafeInteger)) {
    throw refuse(
      request,
      `invalid shape for input '${spec.name}': shape ${formatGivenShape(shape)} causes total element count to exceed maximum size of 9223372036854775807`,
    );
  }
  if (spec.datatype === 'BYTES') return validateBytes(request, input, spec, { count, model });
  const expected = count * DATATYPE_BYTE_SIZE[spec.datatype];
  if (input.bytes.byteLength !== expected) {
    throw refuse(
      request,
      `input byte size mismatch for input '${spec.name}' for model '${model}'. Expected ${expected}, got ${input.bytes.byteLength}`,
    );
  }
}

/** A shape from a client, which may be of any size: a number beyond 2^53 prints as another one than it is. */
function formatGivenShape(shape: readonly number[]): string {
  return `[${shape.map((dim) => (Number.isSafeInteger(dim) ? dim : BigInt(dim))).join(',')}]`;
}

function hasDeclaredShape(shape: readonly number[], spec: CompleteTensorSpec, config: CompleteModelConfig): boolean {
  if (config.maxBatchSize === 0) return matchesShape(spec.shape, shape);
  const declared = spec.shape;
  if (shape.length !== declared.length + 1) return false;
  for (let i = 0; i < declared.length; i++) if (declared[i] !== -1 && declared[i] !== shape[i + 1]) return false;
  return true;
}

function validateBytes(
  request: ModelInferRequest,
  input: InferTensor,
  spec: CompleteTensorSpec,
  { count, model }: { readonly count: number; readonly model: string },
): void {
  const scan = scanBytesElements(input.bytes);
  if (scan.kind === 'incomplete length') {
    throw refuse(
      request,
      `incomplete string length indicator for inference input '${spec.name}' for model '${model}', expecting 4 bytes but only ` +
        `${scan.available} bytes available. Please make sure the string length indicator is in one buffer.`,
    );
  }
  if (scan.kind === 'incomplete element') {
    throw new TritonError(
      'INVALID_ARG',
      `incomplete string data for inference input '${spec.name}', expecting string of length ${scan.expected} but only ${scan.available} bytes available`,
    );
  }
  if (scan.count < count) {
    throw refuse(
      request,
      `expected ${count} string elements for inference input '${spec.name}' for model '${model}', got ${scan.count}`,
    );
  }
  if (scan.count > count) {
    throw refuse(
      request,
      `unexpected number of string elements ${scan.count} for inference input '${spec.name}' for model '${model}', expecting ${count}`,
    );
  }
  if (spec.dtype === 'string') validateUtf8(request, input, spec);
}

function validateUtf8(request: ModelInferRequest, { bytes }: InferTensor, spec: CompleteTensorSpec): void {
  if (isAscii(bytes)) return;
  // Each element by itself: two halves of a character in neighbouring elements are not text.
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  for (let offset = 0; offset < bytes.byteLength;) {
    const length = view.getUint32(offset, true);
    offset += 4;
    if (!isUtf8(bytes.subarray(offset, offset + length))) {
      throw refuse(
        request,
        `inference input '${spec.name}' holds strings, but an element is not valid UTF-8; declare it as 'bytes' to take any bytes`,
      );
    }
    offset += length;
  }
}
