// What our server says of outputs that it refuses, by the recorded case: the part of the text that tells the mistake.

const NO_RECORD = 'expected a record of its outputs by name';
const NO_TENSOR = 'expected a Tensor, a typed array or nested arrays';
const NO_LIST = 'must return a list with one result per request';

const ONE_ROW = 'expected 1 row in the first dimension';

/** Whether `strict` or not. */
const EITHER: Readonly<Record<string, string>> = {
  wrong_name: "returned an output 'zz' that is not declared",
  extra_output: "returned an output 'zz' that is not declared",
  dtype_complex: `is a record, ${NO_TENSOR}`,
  dtype_datetime: `is a Date, ${NO_TENSOR}`,
  rows_more: `has shape [3,1], ${ONE_ROW}`,
  rows_fewer: `has shape [0,1], ${ONE_ROW}`,
  zero_dim_array: `has shape [], ${ONE_ROW}`,
  result_dict: `${NO_LIST}, got an object`,
  result_array: `${NO_LIST}, got an object`,
  result_none: `${NO_LIST}, got null`,
  result_string: `${NO_LIST}, got abc`,
  result_empty_list: 'returned 0 results for 1 requests',
  result_too_many: 'returned 2 results for 1 requests',
  item_none: `returned null, ${NO_RECORD}`,
  item_array: `returned a Tensor, ${NO_RECORD}`,
  key_not_string: "returned an output '1' that is not declared",
  value_none: `is null, ${NO_TENSOR}`,
  value_float: `is a number, ${NO_TENSOR}`,
  value_numpy_scalar: `is a number, ${NO_TENSOR}`,
  string_object_int: 'element 0 does not fit bytes: expected a Uint8Array or a string, got 7',
  string_object_none: 'element 0 does not fit bytes: expected a Uint8Array or a string, got null',
  string_object_empty: 'has 0 elements, which do not fill the shape [1,1]',
  generator_one_yield: `${NO_LIST}, got an object`,
};

const LENIENT: Readonly<Record<string, string>> = {
  dtype_int8_overflow: 'element 0 does not fit int8: expected an integer from -128 to 127, got 300',
  dtype_uint8_for_int8: 'element 0 does not fit int8: expected an integer from -128 to 127, got 200',
  dtype_float_for_int64: 'element 0 does not fit int64: expected an integer from',
  dtype_nan_for_int64: 'element 0 does not fit int64: expected an integer from',
  dtype_int_for_bool: 'element 0 does not fit bool: expected true, false, 0 or 1, got 7',
  dtype_bytes_for_fp32: 'has dtype bytes, which does not convert to float32',
  dtype_digits_for_fp32: 'has dtype bytes, which does not convert to float32',
  dtype_float_for_string: 'has dtype float32, which does not convert to bytes',
};

const STRICT: Readonly<Record<string, string>> = {
  missing_output: "returned no output 'z', and strict: true wants every declared output",
  no_outputs: "returned no output 'y', and strict: true wants every declared output",
  dtype_int8_overflow: 'has dtype int32, expected int8 (strict: true)',
  dtype_uint8_for_int8: 'has dtype uint8, expected int8 (strict: true)',
  dtype_float_for_int64: 'has dtype float64, expected int64 (strict: true)',
  dtype_nan_for_int64: 'has dtype float64, expected int64 (strict: true)',
  dtype_int_for_bool: 'has dtype int32, expected bool (strict: true)',
  dtype_bytes_for_fp32: 'has dtype bytes, expected float32 (strict: true)',
  dtype_digits_for_fp32: 'has dtype bytes, expected float32 (strict: true)',
  dtype_float_for_string: 'has dtype float32, expected bytes (strict: true)',
  dtype_float64: 'has dtype float64, expected float32 (strict: true)',
  dtype_int32: 'has dtype int32, expected float32 (strict: true)',
  dtype_bool: 'has dtype bool, expected float32 (strict: true)',
  dtype_float16: 'has dtype float16, expected float32 (strict: true)',
  rank_low: 'has shape [1], expected [-1,1] (strict: true)',
  rank_high: 'has shape [1,1,1], expected [-1,1] (strict: true)',
  dim_wrong: 'has shape [1,3], expected [-1,1] (strict: true)',
  dim_wrong_second: 'has shape [1,5,3], expected [-1,-1,2] (strict: true)',
};

export const VALIDATION_ERRORS: Readonly<Record<string, string>> = {
  ...EITHER,
  ...LENIENT,
  ...Object.fromEntries(Object.entries({ ...EITHER, ...STRICT }).map(([name, text]) => [`${name} (strict)`, text])),
};
