// PyTriton's recorded decorator and validation cases as values, and tensors of both sides as text to compare.
import { DTYPES, parseDtype, type Dtype } from '../../src/tensor/dtype.js';
import { Tensor } from '../../src/tensor/tensor.js';

/** A numpy array: flat values, row by row; bytes as Latin-1 text, NaN and infinities as strings. */
export interface RecordedTensor {
  readonly dtype: string;
  readonly shape: readonly number[];
  readonly values: readonly (number | boolean | string)[];
}

export type RecordedTensors = Readonly<Record<string, RecordedTensor>>;

/** A line of `cases/pytriton/decorators.jsonl`. */
export interface DecoratorCase {
  readonly name: string;
  /** Outermost first, joined by ` + `. */
  readonly decorator: string;
  readonly args: Readonly<Record<string, unknown>>;
  /** What the decorated function does, in words. */
  readonly fn?: string;
  readonly model?: {
    readonly batching?: boolean;
    readonly max_batch_size?: number;
    readonly preferred_batch_size?: readonly number[] | null;
    readonly batcher?: null;
    readonly inputs?: readonly (string | readonly [string, string, readonly number[], 'optional'?])[];
    readonly outputs?: readonly string[];
  };
  readonly requests: readonly { readonly data: RecordedTensors; readonly parameters: object | null }[];
  readonly calls: readonly {
    readonly positional: readonly (readonly RecordedTensors[])[];
    readonly named: Readonly<Record<string, unknown>>;
  }[];
  readonly returns?: readonly unknown[];
  /** Steps, each with a place per request. */
  readonly yields?: readonly (readonly RecordedTensors[])[];
  readonly error?: { readonly type: string; readonly message: string };
}

/** A line of `cases/pytriton/validation.jsonl`. */
export interface ValidationCase {
  readonly name: string;
  readonly strict: boolean;
  readonly outputs: readonly { readonly name: string; readonly dtype: string; readonly shape: readonly number[] }[];
  /** What the callable returned, in words. */
  readonly returned: string;
  readonly http: {
    readonly status?: number;
    readonly body?: {
      readonly model_name?: string;
      readonly model_version?: string;
      readonly outputs?: readonly {
        readonly name: string;
        readonly datatype: string;
        readonly shape: readonly number[];
        readonly data: readonly unknown[];
      }[];
      readonly error?: string;
    };
    readonly no_answer?: object;
  };
}

/** The dtype of ours that stands for a recorded one: `FP32`, `BYTES(S4)`, `np.object_`. */
export function dtypeOfRecorded(recorded: string): Dtype {
  return /^BYTES|bytes|object/.test(recorded) ? 'bytes' : parseDtype(recorded);
}

/** A recorded array as a tensor. */
export function tensorOf({ dtype, shape, values }: RecordedTensor): Tensor {
  const elements = values.map((value) => {
    if (dtype.startsWith('BYTES')) return Buffer.from(String(value), 'latin1');
    return typeof value === 'string' ? Number(value.replace('inf', 'Infinity')) : value;
  });
  return Tensor.from(dtypeOfRecorded(dtype), elements as never, shape);
}

export function isRecordedTensor(value: unknown): value is RecordedTensor {
  return typeof value === 'object' && value !== null && 'values' in value && 'shape' in value;
}

/** A tensor of either side as text: `FP32[2,1](1 2)`. */
export function describeTensor(given: Tensor | RecordedTensor): string {
  const tensor: Tensor<Dtype> = Tensor.is(given) ? given : tensorOf(given);
  const { datatype } = DTYPES[tensor.dtype];
  const elements = Array.from(tensor.data as ArrayLike<unknown>, (value) => {
    if (value instanceof Uint8Array) return JSON.stringify(Buffer.from(value).toString('latin1'));
    return Object.is(value, -0) ? '-0' : String(value);
  });
  return `${datatype}[${tensor.shape.join(',')}](${elements.join(' ')})`;
}

/** Values by name as text, whatever their order: tensors, and plain values that stand for one. */
export function describeRecord(record: Readonly<Record<string, unknown>>): string {
  const members = Object.keys(record)
    .sort()
    .map((name) => `${name}: ${describeValue(record[name])}`);
  return `{${members.join(', ')}}`;
}

function describeValue(value: unknown): string {
  if (Tensor.is(value) || isRecordedTensor(value)) return describeTensor(value);
  if (value instanceof Uint8Array) return JSON.stringify(Buffer.from(value).toString('latin1'));
  // A numpy scalar.
  if (typeof value === 'object' && value !== null && 'value' in value) return String(value.value);
  return typeof value === 'string' ? JSON.stringify(value) : String(value);
}
