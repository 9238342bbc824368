// PyTriton's `bind` calls, recorded as data, as calls of our `bind`: names in camelCase, numpy's and Python's types
// as the nearest TypeScript has.
import type { BoundModel, TensorSpec, TensorSpecs } from 'tstriton';
import type { BindCase, BoundTensor } from './cases.js';

/** numpy's aliases, and dtype objects; what has no counterpart stays as it is and is refused. */
const DTYPES: Readonly<Record<string, unknown>> = {
  bool_: 'bool',
  bytes_: 'bytes',
  object_: 'bytes',
  object: 'bytes',
  longlong: 'int64',
  intc: 'int32',
  'dtype:float32': Float32Array,
  'dtype:S4': 'bytes',
  'dtype:>f4': 'float32',
  'text:float32': 'float32',
  'text:TYPE_FP32': 'TYPE_FP32',
  'python:int': Number,
  'python:float': Number,
  'python:bool': Boolean,
  'python:str': String,
  none: null,
};

/** Of unknown worth: many of the calls are mistakes, which must be refused at run time, not here. */
export function bindCall({ bind }: BindCase): BoundModel<TensorSpecs, TensorSpecs, boolean> {
  const inferFunc = () => [];
  return {
    modelName: bind.model_name,
    ...(bind.model_version === undefined ? {} : { modelVersion: bind.model_version }),
    ...(bind.strict === undefined ? {} : { strict: bind.strict }),
    inferFunc: bind.callables === undefined ? inferFunc : Array.from({ length: bind.callables }, () => inferFunc),
    inputs: bind.inputs.map(tensorSpec),
    outputs: bind.outputs.map(tensorSpec),
    ...(bind.config === undefined ? {} : { config: camelCased(bind.config) as object }),
  };
}

function tensorSpec({ name, dtype, shape, optional }: BoundTensor): TensorSpec {
  return {
    ...(name === undefined ? {} : { name }),
    dtype: (Object.hasOwn(DTYPES, dtype) ? DTYPES[dtype] : dtype) as TensorSpec['dtype'],
    shape,
    ...(optional === undefined ? {} : { optional }),
  };
}

function camelCased(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(camelCased);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, member]) => [
      key.replaceAll(/_([a-z])/g, (_all, letter: string) => letter.toUpperCase()),
      camelCased(member),
    ]),
  );
}
