// Checks declarations of inputs and outputs in either form, and lists them in declaration order.

import { invalidArg, TritonError } from '../errors.js';
import { type Dtype, DTYPES, isClassified, parseDtype } from '../tensor/dtype.js';
import { checkMembers, expectBoolean, expectObject, textOf } from '../checks/check.js';
import type { CompleteTensorSpec } from './complete-model-config.js';
import type { TensorSpec, TensorSpecs } from './tensor-spec.js';

const MEMBERS = ['name', 'dtype', 'shape', 'optional', 'labels', 'contentEncoding', 'description', 'boxes'];

/** `where` names the model in messages. Throws INVALID_ARG. */
export function completeTensorSpecs(specs: TensorSpecs, kind: 'input' | 'output', where: string): CompleteTensorSpec[] {
  const complete = namedSpecs(specs, kind, where).map(([name, spec]) => completeTensorSpec(name, spec, kind, where));
  const seen = new Set<string>();
  for (const { name } of complete) {
    if (seen.has(name)) throw invalidArg(`${kind} '${name}' of ${where} is declared twice`);
    seen.add(name);
  }
  return complete;
}

function namedSpecs(specs: TensorSpecs, kind: string, where: string): (readonly [string, TensorSpec])[] {
  if (Array.isArray(specs)) {
    return (specs as readonly TensorSpec[]).map((spec, index) => {
      expectObject(spec, `${kind} ${index + 1} of ${where}`);
      const name = spec.name ?? `${kind.toUpperCase()}_${index + 1}`;
      if (typeof name !== 'string')
        throw invalidArg(`name of ${kind} ${index + 1} of ${where} must be a string, got ${typeof name}`);
      return [name, spec] as const;
    });
  }
  expectObject(specs, `${kind}s of ${where}`, 'a record by name or a list');
  return Object.entries(specs as Readonly<Record<string, TensorSpec>>).map(([name, spec]) => {
    // JavaScript moves integer-like keys to the front of a record, which would change the positional order.
    if (/^(0|[1-9][0-9]*)$/.test(name)) {
      throw invalidArg(
        `${kind} '${name}' of ${where} has an integer-like name, which a record cannot keep in order; declare the ${kind}s as a list`,
      );
    }
    expectObject(spec, `${kind} '${name}' of ${where}`);
    if (spec.name !== undefined && spec.name !== name) {
      throw invalidArg(`${kind} '${name}' of ${where} has another name '${spec.name}' inside`);
    }
    return [name, spec] as const;
  });
}

function completeTensorSpec(
  name: string,
  spec: TensorSpec,
  kind: 'input' | 'output',
  where: string,
): CompleteTensorSpec {
  const what = `${kind} '${name}' of ${where}`;
  if (name === '') throw invalidArg(`an ${kind} of ${where} has an empty name`);
  checkMembers(spec, MEMBERS, what);
  const optional = expectBoolean(spec.optional ?? false, `optional of ${what}`);
  if (optional && kind === 'output') throw invalidArg(`Output tensors cannot be optional, but ${what} is`);
  let dtype;
  try {
    dtype = parseDtype(spec.dtype);
  } catch (error) {
    throw invalidArg(`${what} has an ${TritonError.from(error).message}`);
  }
  if (!Array.isArray(spec.shape))
    throw invalidArg(`shape of ${what} must be a list of integers, got ${typeof spec.shape}`);
  for (const dim of spec.shape as readonly unknown[]) {
    if (!Number.isSafeInteger(dim) || ((dim as number) < 1 && dim !== -1)) {
      const range = Number.isInteger(dim) && (dim as number) > 0 ? `from 1 to ${Number.MAX_SAFE_INTEGER}` : '>= 1';
      throw invalidArg(
        `shape of ${what} must hold integers ${range}, or -1 for any size, got ${textOf(dim)} in [${spec.shape.join(',')}]`,
      );
    }
  }
  const complete = {
    name,
    dtype,
    datatype: DTYPES[dtype].datatype,
    shape: [...spec.shape],
    optional,
  };
  if (spec.labels === undefined) return complete;
  if (kind === 'input') throw invalidArg(`only outputs have labels, but ${what} has some`);
  return { ...complete, labels: completeLabels(spec.labels, dtype, what) };
}

function completeLabels(labels: unknown, dtype: Dtype, what: string): string[] {
  if (!Array.isArray(labels)) {
    throw invalidArg(`labels of ${what} must be a list of strings, got ${typeof labels}`);
  }
  for (const label of labels as readonly unknown[]) {
    if (typeof label !== 'string') throw invalidArg(`labels of ${what} must be strings, got ${typeof label}`);
  }
  if (!isClassified(dtype)) {
    throw invalidArg(`labels of ${what} are for classification, which ${dtype} has none of`);
  }
  return [...(labels as readonly string[])];
}
