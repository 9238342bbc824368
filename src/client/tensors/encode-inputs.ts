// Makes tensors in wire form from the user's inputs, and checks them against the model's declaration: a mistake found here needs
// no round trip.

import { hasMembers } from '../../checks/check.js';
import { TritonError } from '../../errors.js';
import type { CompleteTensorSpec } from '../../model/complete-model-config.js';
import type { InferTensor } from '../../model/exchange.js';
import { nearest } from '../../checks/nearest.js';
import { oddElementOf } from '../../checks/odd-element.js';
import type { ModelSignature } from '../../protocol/model-signature.js';
import { formatShape, matchesShape } from '../../tensor/shape.js';
import { encodeRaw } from '../../tensor/raw.js';
import { type Dtype, DTYPES, isBytesDtype } from '../../tensor/dtype.js';
import { withArticle } from '../../tensor/tag-of.js';
import { Tensor } from '../../tensor/tensor.js';
import { isSingleValue, toTensor } from './to-tensor.js';

/** `sample`: without the batch axis, which is added. `batch`: with it. */
export type InferKind = 'sample' | 'batch';

/** Throws INVALID_ARG. The bytes of numeric tensors are the user's own memory. */
export function encodeInputs(
  inputs: unknown,
  model: ModelSignature,
  kind: InferKind,
  verb: 'infer' | 'stream' = 'infer',
): InferTensor[] {
  if (kind === 'batch' && model.maxBatchSize === 0) {
    throw new TritonError(
      'INVALID_ARG',
      `model '${model.name}' doesn't support batching: use ${verb}Sample instead of ${verb}Batch`,
    );
  }
  const values = Array.isArray(inputs) ? positionalValues(inputs, model) : namedValues(inputs, model);
  checkMissing(values, model);
  const tensors: InferTensor[] = [];
  model.inputs.forEach((spec, index) => {
    if (values[index] !== undefined) tensors.push(encodeInput(values[index], { spec, model, kind, verb }));
  });
  if (kind === 'batch') checkRows(tensors, model);
  return tensors;
}

function positionalValues(values: readonly unknown[], { name, inputs }: ModelSignature): readonly unknown[] {
  if (values.length <= inputs.length) return values;
  throw new TritonError(
    'INVALID_ARG',
    `model '${name}' has ${inputs.length} inputs (${quote(inputs.map((spec) => spec.name))}), got a list of ${values.length}`,
  );
}

function namedValues(record: unknown, { name, inputs }: ModelSignature): readonly unknown[] {
  // A promise or a Map would pass for a record without inputs.
  if (!hasMembers(record) || Tensor.is(record)) {
    const got = typeof record === 'object' && record !== null ? withArticle(record.constructor.name) : String(record);
    throw new TritonError(
      'INVALID_ARG',
      `inputs of model '${name}' must be a record by input name or a list in declaration order, got ${got}`,
    );
  }
  const names = inputs.map((spec) => spec.name);
  for (const key of Object.keys(record)) {
    if (names.includes(key)) continue;
    const hint = nearest(key, names);
    const known = hint === undefined ? `its inputs are ${quote(names)}` : `did you mean '${hint}'?`;
    throw new TritonError('INVALID_ARG', `unexpected inference input '${key}' for model '${name}'; ${known}`);
  }
  return names.map((key) =>
    Object.hasOwn(record, key) ? (record as Readonly<Record<string, unknown>>)[key] : undefined,
  );
}

// The error has Triton's words.
function checkMissing(values: readonly unknown[], { name, inputs }: ModelSignature): void {
  const missing = inputs.filter((spec, index) => !spec.optional && values[index] === undefined);
  if (missing.length === 0) return;
  const got = inputs.filter((_, index) => values[index] !== undefined);
  const required = inputs.filter((spec) => !spec.optional).length;
  const expected =
    required === inputs.length
      ? `expected ${required}`
      : `expected number of inputs between ${required} and ${inputs.length}`;
  throw new TritonError(
    'INVALID_ARG',
    `${expected}${required === inputs.length ? ' inputs' : ''} but got ${got.length} inputs for model '${name}'. ` +
      `Got input(s) [${quote(
        got.map((spec) => spec.name),
        ',',
      )}], but missing required input(s) [${quote(
        missing.map((spec) => spec.name),
        ',',
      )}]. ` +
      'Please provide all required input(s).',
  );
}

function quote(names: readonly string[], separator = ', '): string {
  return names.map((name) => `'${name}'`).join(separator);
}

interface Wanted {
  readonly spec: CompleteTensorSpec;
  readonly model: ModelSignature;
  readonly kind: InferKind;
  readonly verb: 'infer' | 'stream';
}

function encodeInput(value: unknown, { spec, model, kind, verb }: Wanted): InferTensor {
  const expected = kind === 'batch' ? [-1, ...spec.shape] : spec.shape;
  const what = `input '${spec.name}' of model '${model.name}'`;
  if (kind === 'batch' && isSingleValue(value, spec.dtype)) {
    throw new TritonError(
      'INVALID_ARG',
      `${what} is a single value, expected rows of shape ${formatShape(spec.shape)}: ${verb}Batch takes tensors with the batch axis first`,
    );
  }
  const tensor: Tensor<Dtype> = toTensor(value, spec.dtype, expected, what);
  if (DTYPES[tensor.dtype].datatype !== spec.datatype) {
    throw new TritonError('INVALID_ARG', `${what} is ${withArticle(tensor.dtype)} tensor, expected ${spec.dtype}`);
  }
  if (!matchesShape(expected, tensor.shape)) {
    throw new TritonError(
      'INVALID_ARG',
      `unexpected shape for input '${spec.name}' for model '${model.name}'. Expected ${formatShape(expected)}, got ${formatShape(tensor.shape)}.${axisHint(model, kind, verb)}`,
    );
  }
  const shape = kind === 'sample' && model.maxBatchSize > 0 ? [1, ...tensor.shape] : tensor.shape;
  return { name: spec.name, datatype: spec.datatype, shape, bytes: rawBytes(tensor, what) };
}

function axisHint({ maxBatchSize }: ModelSignature, kind: InferKind, verb: string): string {
  if (maxBatchSize === 0) return '';
  return kind === 'sample'
    ? ` ${verb}Sample takes tensors without the batch axis.`
    : ` ${verb}Batch takes tensors with the batch axis first.`;
}

function rawBytes(tensor: Tensor, what: string): Uint8Array {
  const { dtype, data } = tensor;
  if (isBytesDtype(dtype)) {
    const fault = oddElementOf(tensor);
    if (fault !== undefined) throw new TritonError('INVALID_ARG', `${what} ${fault}`);
    return encodeRaw(dtype, data);
  }
  const { buffer, byteOffset, byteLength } = data as Uint8Array;
  try {
    return new Uint8Array(buffer, byteOffset, byteLength);
  } catch (cause) {
    throw new TritonError('INVALID_ARG', `${what} lies in memory that was given away`, { cause });
  }
}

function checkRows(tensors: readonly InferTensor[], { name }: ModelSignature): void {
  const [first] = tensors;
  for (const tensor of tensors) {
    if (tensor.shape[0] === first!.shape[0]) continue;
    throw new TritonError(
      'INVALID_ARG',
      `input '${tensor.name}' batch size does not match other inputs for '${name}': it has ${tensor.shape[0]} rows, input '${first!.name}' has ${first!.shape[0]}`,
    );
  }
}
