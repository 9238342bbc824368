// The callables whose outputs PyTriton's checks were recorded with, by the recorded name.
import { Tensor, type InferenceRequest, type Nested } from 'tstriton';

type Rows = readonly { readonly x: Tensor<'float32'>; readonly rows: number }[];
/** Outputs for one request; `n` is its rows. */
type OutputsOf = (x: Tensor<'float32'>, n: number) => unknown;

function each(outputsOf: OutputsOf): (requests: readonly InferenceRequest[]) => unknown {
  return (requests) => rowsOf(requests).map(({ x, rows }) => outputsOf(x, rows));
}

function rowsOf(requests: readonly InferenceRequest[]): Rows {
  return requests.map(({ inputs }) => {
    const x = (inputs as Readonly<Record<string, Tensor>>)['x'] as Tensor<'float32'>;
    return { x, rows: x.rowCount };
  });
}

/** An output `y` of another dtype than declared, with the same value in every row. */
const filled =
  (dtype: 'float64' | 'int32' | 'bool' | 'uint8' | 'float16' | 'float32', value: number | boolean): OutputsOf =>
  (_x, n) => ({
    y: Tensor.from(
      dtype,
      Array.from({ length: n }, () => [value]),
    ),
  });
const zeros = (...shape: number[]) => new Tensor('float32', new Float32Array(shape.reduce((a, b) => a * b, 1)), shape);
const strings =
  (values: readonly unknown[]): OutputsOf =>
  () => ({ s: values.map((value) => [value]) as Nested });
const bytes = (text: string) => Buffer.from(text, 'latin1');
const evens = (n: number) =>
  Tensor.from(
    'int32',
    Array.from({ length: n }, (_, row) => [4 * row, 4 * row + 2]),
  );

export const CALLABLES: Readonly<Record<string, (requests: readonly InferenceRequest[]) => unknown>> = {
  right: each((y) => ({ y })),
  wrong_name: each((x) => ({ zz: x })),
  extra_output: each((x) => ({ y: x, zz: x })),
  missing_output: each((y) => ({ y })),
  no_outputs: each(() => ({})),
  dtype_float64: each(filled('float64', 1)),
  dtype_int32: each(filled('int32', 1)),
  dtype_bool: each(filled('bool', true)),
  dtype_int8_overflow: each(filled('int32', 300)),
  dtype_uint8_for_int8: each(filled('uint8', 200)),
  dtype_float_for_int64: each(filled('float64', 2.7)),
  dtype_nan_for_int64: each(filled('float64', NaN)),
  dtype_int_for_bool: each(filled('int32', 7)),
  dtype_float16: each(filled('float16', 1)),
  dtype_bytes_for_fp32: each(() => ({ y: Tensor.from('bytes', [['ab']]) })),
  dtype_digits_for_fp32: each(() => ({ y: Tensor.from('bytes', [['1.5']]) })),
  dtype_float_for_string: each((s) => ({ s })),
  // No dtype of ours is like these.
  dtype_complex: each(() => ({ y: { re: 1, im: 0 } })),
  dtype_datetime: each(() => ({ y: new Date(0) })),
  // Typed arrays have the machine's order; a DataView has any, and comes to the same.
  big_endian: each((x) => {
    const view = new DataView(new ArrayBuffer(4));
    view.setFloat32(0, x.data[0]!, false);
    return { y: [[view.getFloat32(0, false)]] };
  }),
  rank_low: each((x, n) => ({ y: x.reshape([n]) })),
  rank_high: each((x, n) => ({ y: x.reshape([n, 1, 1]) })),
  dim_wrong: each((_x, n) => ({ y: zeros(n, 3) })),
  dim_wrong_second: each((_x, n) => ({ y: zeros(n, 5, 3) })),
  dim_right_wildcard: each((_x, n) => ({ y: zeros(n, 5, 2) })),
  dim_zero_wildcard: each((_x, n) => ({ y: zeros(n, 0, 2) })),
  rows_more: each((_x, n) => ({ y: zeros(n + 2, 1) })),
  rows_fewer: each(() => ({ y: zeros(0, 1) })),
  zero_dim_array: each((x) => ({ y: x.reshape([]) })),
  result_tuple: (requests) => Object.freeze(rowsOf(requests).map(({ x }) => ({ y: x }))),
  result_dict: (requests) => ({ y: rowsOf(requests)[0]!.x }),
  result_array: (requests) => rowsOf(requests)[0]!.x,
  result_none: () => null,
  result_string: () => 'abc',
  result_empty_list: () => [],
  result_too_many: (requests) => [...requests, ...requests],
  result_requests_themselves: (requests) => requests,
  item_none: each(() => null),
  item_list: each((x) => [x]),
  item_array: each((x) => x),
  key_not_string: each((x) => ({ 1: x })),
  value_list: each((x) => ({ y: x.toNested() })),
  value_none: each(() => ({ y: null })),
  value_float: each(() => ({ y: 1.5 })),
  value_numpy_scalar: each((x) => ({ y: x.data[0] })),
  string_right: each(strings([bytes('ab')])),
  string_fixed: each(strings([bytes('ab\0')])),
  string_unicode_array: each(strings(['aé'])),
  string_object_str: each(strings(['ab'])),
  string_object_int: each(strings([7])),
  string_object_none: each(strings([null])),
  string_object_mixed: each(strings([bytes('a'), 'b'])),
  string_object_empty: each(strings([])),
  generator_one_yield: (requests) => [rowsOf(requests).map(({ x }) => ({ y: x }))].values(),
  not_contiguous: each((x, n) => ({ y: x, z: evens(n) })),
  fortran_order: each((x, n) => ({ y: x, z: evens(n) })),
};
