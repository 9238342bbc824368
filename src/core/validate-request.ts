// Checks a decoded request against the model's configuration, with Triton's rules, order and texts
// (core/src/infer_request.cc, Normalize and ValidateRequestInputs; the letters of section 1.8 of the protocol
// notes). Where Triton's iteration follows a hash map, ours follows the declaration. The elements of
// BYTES are checked last, in `validate-contents.ts`.

import { invalidArg, type TritonError } from '../errors.js';
import type { CompleteModelConfig, CompleteTensorSpec } from '../model/complete-model-config.js';
import type { InferTensor, ModelInferRequest } from '../model/exchange.js';
import { DATATYPE_BYTE_SIZE } from '../tensor/dtype.js';
import { elementCount, formatShape, matchesShape } from '../tensor/shape.js';
import { refuse } from './refusals.js';

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

/** Checks everything but the elements of BYTES. Throws INVALID_ARG. */
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
  if (rows > config.maxBatchSize) {
    throw refuse(request, `inference request batch-size must be <= ${config.maxBatchSize} for '${name}'`);
  }
  for (let i = 0; i < inputs.length; i++) {
    const input = inputs[i];
    if (input !== undefined) validateInput(request, input, config.inputs[i]!, config);
  }
  return { inputs, rows: Math.max(1, rows) };
}

function checkRequestedOutputs(request: ModelInferRequest, { name, outputs }: CompleteModelConfig): void {
  const requested = request.outputs;
  const declared = outputs.length <= FEW ? undefined : new Set(outputs.map((output) => output.name));
  for (const asked of requested) {
    const isDeclared = declared === undefined ? outputs.some((output) => output.name === asked) : declared.has(asked);
    if (!isDeclared) throw invalidArg(`unexpected inference output '${asked}' for model '${name}'`);
  }
}

/** Of so many names one is found sooner by looking at each. */
const FEW = 16;

function arrangeInputs(request: ModelInferRequest, config: CompleteModelConfig): readonly (InferTensor | undefined)[] {
  const declared = config.inputs;
  const given = request.inputs;
  const asDeclared = isAsDeclared(given, declared);
  if (!asDeclared) {
    checkDuplicates(
      request,
      given.map(({ name }) => name),
      'input',
    );
  }
  if (request.outputs.length > 1) checkDuplicates(request, request.outputs, 'output');
  if (request.outputs.length > 0) checkRequestedOutputs(request, config);
  if (asDeclared) return given;
  checkInputCount(request, config);
  const byName = new Map(given.map((input) => [input.name, input]));
  const arranged = declared.map((spec) => {
    const input = byName.get(spec.name);
    byName.delete(spec.name);
    return input;
  });
  const [unknown] = byName.keys();
  if (unknown !== undefined) {
    throw invalidArg(`unexpected inference input '${unknown}' for model '${config.name}'`);
  }
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

function checkDuplicates(request: ModelInferRequest, names: readonly string[], what: 'input' | 'output'): void {
  const seen = new Set<string>();
  for (const name of names) {
    if (seen.has(name)) throw refuse(request, `${what} '${name}' already exists in request`);
    seen.add(name);
  }
}

function checkInputCount(request: ModelInferRequest, config: CompleteModelConfig): void {
  const required = config.inputs.filter((spec) => !spec.optional).length;
  const count = request.inputs.length;
  if (count > config.inputs.length || count < required) throw wrongInputCount(request, config);
}

function wrongInputCount(request: ModelInferRequest, config: CompleteModelConfig): TritonError {
  const required = config.inputs.filter((spec) => !spec.optional);
  const given = request.inputs.map((input) => input.name);
  const isGiven = new Set(given);
  const missing = required.map((spec) => spec.name).filter((name) => !isGiven.has(name));
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

/** As many names as a message can show. */
function quote(names: readonly string[]): string {
  const shown: string[] = [];
  let length = 0;
  for (const name of names) {
    length += name.length;
    if (length > LONGEST_LIST) return [...shown, '…'].join(',');
    shown.push(`'${name}'`);
  }
  return shown.join(',');
}

const LONGEST_LIST = 4096;

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
  if (spec.datatype === 'BYTES') return;
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
