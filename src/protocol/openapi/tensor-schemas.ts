// JSON Schemas of tensors, as OpenAPI 3.1 has them: for the plain JSON of models' own routes, and for the protocol's generate.

import type { CompleteTensorSpec } from '../../model/complete-model-config.js';
import { DTYPES, isBytesDtype } from '../../tensor/dtype.js';
import { isSingle } from '../plain-json/plain-input.js';

export type Schema = Readonly<Record<string, unknown>>;

/** The JSON of a tensor on a model's own route: nested as its shape says. */
export function plainSchema(spec: CompleteTensorSpec, side: 'input' | 'output'): Schema {
  const element = elementSchema(spec, side);
  const schema = isSingle(spec.shape) ? element : spec.shape.reduceRight<Schema>(listOf, element);
  return described(spec, schema);
}

/** A file, or a text, in form data; several of them for a list. */
export function partSchema(spec: CompleteTensorSpec): Schema {
  if (!isSentAsPart(spec)) return plainSchema(spec, 'input');
  const file = { type: 'string', contentMediaType: 'application/octet-stream' };
  return described(spec, isSingle(spec.shape) ? file : listOf(file, spec.shape[0]!));
}

/** Whether form data carries each element as a part. Other tensors are JSON in one part. */
export function isSentAsPart({ dtype, shape }: CompleteTensorSpec): boolean {
  return isBytesDtype(dtype) && shape.length < 2;
}

/** The flat JSON of the generate extension: one element, or a list of them. 16-bit floats have none. */
export function generateSchema(spec: CompleteTensorSpec): Schema {
  const element = elementSchema({ ...spec, contentEncoding: undefined }, 'input');
  return described(spec, { oneOf: [element, { type: 'array', items: element }] });
}

/** Members of the schema of any tensor. */
export function described({ description }: CompleteTensorSpec, schema: Schema): Schema {
  return description === undefined ? schema : { description, ...schema };
}

function listOf(items: Schema, length: number): Schema {
  return { type: 'array', items, ...(length >= 0 && { minItems: length, maxItems: length }) };
}

function elementSchema(
  { dtype, contentEncoding }: Pick<CompleteTensorSpec, 'dtype'> & { readonly contentEncoding?: 'base64' | undefined },
  side: 'input' | 'output',
): Schema {
  const { kind, range } = DTYPES[dtype];
  switch (kind) {
    case 'bytes':
      return { type: 'string', ...(contentEncoding && { contentEncoding }) };
    case 'bool':
      return { type: 'boolean' };
    case 'integer':
      return { type: 'integer', minimum: range[0], maximum: range[1] };
    case 'wide':
      // JSON Schema's own numbers do not reach as far.
      return { type: 'integer', format: dtype, ...(dtype === 'uint64' && { minimum: 0 }) };
    default:
      // An answer has null for NaN and infinities.
      return {
        type: side === 'input' ? 'number' : ['number', 'null'],
        ...(dtype === 'float64' ? { format: 'double' } : dtype === 'float32' && { format: 'float' }),
      };
  }
}
