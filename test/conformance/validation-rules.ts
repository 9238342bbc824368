// Where our checks of what callables return differ from PyTriton's on purpose.
import { VALIDATION_ERRORS } from './validation-errors.js';
import { modelName, type ValidationRule } from './replay-validation.js';
import { listedCases } from './listed-cases.js';

/** A rule for named cases, strict or not; `answer` says what they are answered instead. */
function instead(name: string, reason: string, [answer, ...cases]: readonly [string, ...string[]]): ValidationRule {
  const [status, ...outputs] = answer.split('; ');
  const expects: ValidationRule['expects'] = (_recorded, testCase) => ({
    status: Number(status),
    model: status === '200' ? `${modelName(testCase)} 1` : '',
    outputs,
    error: status === '500' ? (VALIDATION_ERRORS[testCase.name] ?? '') : '',
  });
  return { name, reason, cases, expects };
}
const both = (...names: string[]) => names.flatMap((name) => [name, `${name} (strict)`]);

export const VALIDATION_RULES: readonly ValidationRule[] = [
  instead(
    'undeclared outputs are refused',
    'PyTriton drops them unless strict: a misspelt name gives 200 without outputs.',
    ['500', 'wrong_name', 'extra_output'],
  ),
  instead('strict wants every declared output', 'PyTriton does not look for those that are missing.', [
    '500',
    'missing_output (strict)',
    'no_outputs (strict)',
  ]),
  instead(
    'numbers that do not fit are refused',
    'PyTriton sends others: 44 for 300, 2 for 2.7, -2^63 for NaN, true for 7.',
    [
      '500',
      'dtype_int8_overflow',
      'dtype_uint8_for_int8',
      'dtype_float_for_int64',
      'dtype_nan_for_int64',
      'dtype_int_for_bool',
    ],
  ),
  instead(
    'text is no number, and a number no text',
    'PyTriton reads and writes them, and leaves the client without an answer where it cannot.',
    ['500', 'dtype_bytes_for_fp32', 'dtype_digits_for_fp32', 'dtype_float_for_string'],
  ),
  instead('there are as many rows as in the input', 'PyTriton does not look, strict or not.', [
    '500',
    ...both('rows_more'),
    'zero_dim_array',
  ]),
  instead('a tensor may have no elements', 'PyTriton fails on it with an internal error.', [
    '200; y FP32[1,0,2] []',
    ...both('dim_zero_wildcard'),
  ]),
  instead('a list may be frozen', 'It is a list all the same; TypeScript has no tuples at run time.', [
    '200; y FP32[1,1] [1]',
    ...both('result_tuple'),
  ]),
  instead('a request returned stands for its inputs', 'PyTriton’s own documents have it, but it fails there.', [
    '200; y FP32[1,1] [1]',
    ...both('result_requests_themselves'),
  ]),
  instead('outputs may be a list in declaration order', 'PyTriton takes that under decorators only.', [
    '200; y FP32[1,1] [1]',
    ...both('item_list'),
  ]),
  instead('plain arrays are tensors too', 'What a list stands for is known from the declaration.', [
    '200; y FP32[1,1] [1]',
    ...both('value_list'),
  ]),
  instead('bytes are exact', 'numpy’s fixed-width bytes lose zeros at their end.', [
    '200; s BYTES[1,1] ["ab\\u0000"]',
    ...both('string_fixed'),
  ]),
  instead('strings are strings', 'PyTriton wants bytes in object arrays.', [
    '200; s BYTES[1,1] ["ab"]',
    ...both('string_object_str'),
  ]),
  instead('tensors have one layout', 'Row by row; PyTriton fails on numpy’s others with an internal error.', [
    '200; y FP32[2,1] [1,2]; z INT32[2,2] [0,2,4,6]',
    ...both('fortran_order'),
  ]),
  {
    name: 'outputs are refused in words of TypeScript',
    reason: 'PyTriton speaks of numpy, or lets it fail, and sends the stack along.',
    cases: listedCases('outputs', 'outputs are refused in words of TypeScript'),
    expects: (recorded, { name }) => {
      const error = VALIDATION_ERRORS[name];
      return recorded.status === 500 && error !== undefined ? { ...recorded, error } : undefined;
    },
  },
];
