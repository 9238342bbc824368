// Checks a decoded request against the model's configuration, with Triton's rules, order and texts
// (core/src/infer_request.cc, Normalize and ValidateRequestInputs; the letters of section 1.8 of the protocol
// notes). Where Triton's iteration follows a hash map, ours follows the declaration. What is inside of BYTES comes last,
// because it takes time in proportion to its bytes.

import { isUtf8 } from 'node:buffer';

import { invalidArg, type TritonError } from '../errors.js';
import type { CompleteModelConfig, CompleteTensorSpec } from '../model/complete-model-config.js';
import type { InferTensor, ModelInferRequest } from '../model/exchange.js';
import { isAsciiPaced, isUtf8Paced } from '../model/paced-bytes.js';
import { Pace, type PacedWork } from '../model/paced-work.js';
import { beyondLimit, REQUEST_LIMITS } from '../model/request-limits.js';
import { DATATYPE_BYTE_SIZE } from '../tensor/dtype.js';
import { BytesScan } from '../tensor/raw.js';
import { elementCount, formatShape, matchesShape } from '../tensor/shape.js';
import { requestLabel } from './refusals.js';

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

/** Checks everything but what is inside of BYTES, see {@link validateContents}. Throws INVALID_ARG. */
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

/** The inputs whose elements are to be counted; undefined when there are none. */
export function inputsToCount({ inputs }: ValidatedInputs): readonly InferTensor[] | undefined {
  let counted: InferTensor[] | undefined;
  for (let i = 0; i < inputs.length; i++) {
    const input = inputs[i];
    if (input?.datatype === 'BYTES') (counted ??= []).push(input);
  }
  return counted;
}

/** Checks the elements of BYTES inputs. Throws INVALID_ARG. */
export function* validateContents(
  request: ModelInferRequest,
  inputs: readonly InferTensor[],
  config: CompleteModelConfig,
): PacedWork<void> {
  const pace = new Pace();
  let elements = 0;
  for (const input of inputs) {
    const spec = config.inputs.find(({ name }) => name === input.name)!;
    elements += yield* validateBytes(request, input, { spec, model: config.name, pace });
    if (elements > REQUEST_LIMITS.bytesElements) throw tooManyElements();
  }
}

function tooManyElements(): TritonError {
  return beyondLimit('elements of datatype BYTES', REQUEST_LIMITS.bytesElements);
}

function refuse(request: ModelInferRequest, message: string): TritonError {
  return invalidArg(`${requestLabel(request.id)}${message}`);
}

function checkRequestedOutputs(request: ModelInferRequest, { name, outputs }: CompleteModelConfig): void {
  const requested = request.outputs;
  if (requested.length === 0) return;
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
  checkRequestedOutputs(request, config);
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

interface BytesCheck {
  readonly spec: CompleteTensorSpec;
  readonly model: string;
  readonly pace: Pace;
}

/** Gives the number of elements, which is that of the shape. */
function* validateBytes(
  request: ModelInferRequest,
  input: InferTensor,
  { spec, model, pace }: BytesCheck,
): PacedWork<number> {
  const scan = new BytesScan(input.bytes);
  while (!scan.advance(ELEMENTS_AT_ONCE)) {
    if (scan.count > REQUEST_LIMITS.bytesElements) throw tooManyElements();
    if (pace.spend(ELEMENTS_AT_ONCE * BYTES_OF_AN_ELEMENT)) yield;
  }
  const { fault } = scan;
  if (fault?.kind === 'incomplete length') {
    throw refuse(
      request,
      `incomplete string length indicator for inference input '${spec.name}' for model '${model}', expecting 4 bytes but only ` +
        `${fault.available} bytes available. Please make sure the string length indicator is in one buffer.`,
    );
  }
  if (fault?.kind === 'incomplete element') {
    throw invalidArg(
      `incomplete string data for inference input '${spec.name}', expecting string of length ${fault.expected} but only ${fault.available} bytes available`,
    );
  }
  const count = elementCount(input.shape);
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
  if (pace.spend((scan.count % ELEMENTS_AT_ONCE) * BYTES_OF_AN_ELEMENT)) yield;
  if (spec.dtype === 'string') yield* validateUtf8(request, input, { spec, model, pace });
  return count;
}

const ELEMENTS_AT_ONCE = 8192;
/** What finding an element takes, as so many bytes. */
const BYTES_OF_AN_ELEMENT = 2;

function* validateUtf8(
  request: ModelInferRequest,
  { bytes }: InferTensor,
  { spec, pace }: BytesCheck,
): PacedWork<void> {
  if (yield* isAsciiPaced(bytes, pace)) return;
  // Each element by itself: two halves of a character in neighbouring elements are not text.
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  for (let offset = 0; offset < bytes.byteLength;) {
    const length = view.getUint32(offset, true);
    offset += 4;
    const text = bytes.subarray(offset, offset + length);
    if (!(length < SHORT_TEXT ? isUtf8(text) : yield* isUtf8Paced(text, pace))) {
      throw refuse(
        request,
        `inference input '${spec.name}' holds strings, but an element is not valid UTF-8; declare it as 'bytes' to take any bytes`,
      );
    }
    offset += length;
    if (pace.spend(BYTES_OF_A_TEXT + Math.min(length, SHORT_TEXT))) yield;
  }
}

/** Shorter ones are looked at in one go. */
const SHORT_TEXT = 4096;
/** What a look at a text takes, however short it is, as so many bytes. */
const BYTES_OF_A_TEXT = 32;
