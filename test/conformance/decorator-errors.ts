// What our decorators say of mistakes, by the name of the recorded case: the part of the text that tells the mistake.
import type { Refusal } from './refusal.js';

/** Mistakes of who binds, or of requests. */
const invalid = (...texts: readonly string[]) => texts.map((text): Refusal => ({ code: 'INVALID_ARG', text }));
/** Mistakes of the callable while it answers. */
const internal = (...texts: readonly string[]) => texts.map((text): Refusal => ({ code: 'INTERNAL', text }));

const NOT_ONE_VALUE = invalid("the rows of input 'k' for model 'm' have different values");
const SHORT_DEFAULT = invalid("the default of input 'b' of model 'm' has shape [1], expected [2]");
const NOT_OF_TENSORS = (decorator: string) => invalid(`${decorator} takes tensors; put it inside batch or stream`);

/** Where PyTriton fails too. */
export const DECORATOR_ERRORS: Readonly<Record<string, readonly Refusal[]>> = {
  'batch-list-too-short': internal("model 'm' returned a list of 1 outputs, expected 2: add, sub"),
  'batch-list-too-long': internal("model 'm' returned a list of 3 outputs, expected 2: add, sub"),
  'batch-list-empty': internal("model 'm' returned a list of 0 outputs, expected 2: add, sub"),
  'batch-missing-key-in-second': invalid('cannot batch requests with different sets of inputs: a, b and a'),
  'batch-missing-key-in-first': invalid('cannot batch requests with different sets of inputs: a and a, b'),
  'batch-different-trailing-shapes': invalid('cannot concatenate float32 [1,3] with float32 [1,2]'),
  'batch-different-rank': invalid('cannot concatenate float32 [1,1,2] with float32 [1,2]'),
  'batch-rows-taken-from-first-input': internal("output 'y' of model 'm' has shape [4,1], expected 2 rows"),
  'batch-output-too-many-rows': internal("output 'y' of model 'm' has shape [5,1], expected 3 rows"),
  'batch-output-too-few-rows': internal("output 'y' of model 'm' has shape [2,1], expected 3 rows"),
  'batch-output-one-bad-of-two': internal("output 'bad' of model 'm' has shape [1,1], expected 3 rows"),
  'batch-output-scalar-array': internal("output 'y' of model 'm' has shape [], expected 3 rows"),
  'batch-output-numpy-scalar': internal("output 'y' of model 'm' is a number"),
  'batch-output-none': internal("model 'm' returned undefined"),
  'batch-output-array': internal("model 'm' returned a Tensor"),
  'batch-output-string': internal("model 'm' returned a string"),
  'batch-raises': internal('boom'),
  'batch-generator-second-yield-wrong-rows': internal("output 'y' of model 'm' has shape [1,2], expected 3 rows"),
  'batch-generator-raises-after-one': internal('after one'),
  'sample-list-too-short': internal("model 'm' returned a list of 1 outputs, expected 2: y, z"),
  'sample-none': internal("model 'm' returned undefined"),
  'sample-raises': internal('boom'),
  'group_by_values-different-output-shapes': internal("output 'y' of model 'm' has rows of shape [2] and [3]"),
  'group_by_values-later-group-has-extra-output': internal("output 'z' of model 'm' is missing for 2 of 3 groups"),
  'group_by_values-wrong-rows': internal("output 'y' of model 'm' has shape [5,1], expected 1 row"),
  'group_by_values-outside-batch': NOT_OF_TENSORS('groupByValues'),
  'group_by_values-without-batch': NOT_OF_TENSORS('groupByValues'),
  'fill_optionals-unknown-name': invalid("fillOptionals names an input 'zz' that model 'm' does not have"),
  'fill_optionals-wrong-dtype': invalid("the default of input 'b' of model 'm' has dtype float64, expected float32"),
  'fill_optionals-wrong-shape': SHORT_DEFAULT,
  'fill_optionals-wrong-rank': invalid("the default of input 'b' of model 'm' has shape [1,2], expected [2]"),
  'fill_optionals-wrong-although-all-present': SHORT_DEFAULT,
  'fill_optionals-two-bad': SHORT_DEFAULT,
  'first_value-differs': NOT_ONE_VALUE,
  'first_value-differs-across-requests': NOT_ONE_VALUE,
  'first_value-vector-row-differs': NOT_ONE_VALUE,
  'first_value-object-string-differs': NOT_ONE_VALUE,
  'first_value-non-batching-model': invalid('is decorated with batch, but the model has batching: false'),
  'first_value-special-key': invalid("firstValue names an input '__triton_context__' that model 'm' does not have"),
};

/** Where PyTriton goes on, or fails over something else. */
export const MORE_ERRORS: Readonly<Record<string, readonly Refusal[]>> = {
  'batch-dict-extra': internal("model 'm' returned an output 'zzz' that is not declared"),
  'batch-mixed-dtypes': invalid('cannot concatenate int64 [1,2] with float32 [1,2]'),
  'sample-two-requests': internal('sample takes one request at a time, got 2'),
  'group_by_keys-over-sample-ignores-others': internal('sample takes one request at a time, got 2'),
  'sample-numpy-scalar-output-not-checked': internal("output 'y' of model 'm' is a number"),
  'group_by_keys-fewer-responses': internal("model 'm' returned 1 results for 2 requests of the same inputs"),
  'group_by_keys-none': internal(
    "model 'm' returned no list for 2 requests of the same inputs",
    "model 'm' returned no list for 1 requests of the same inputs",
  ),
  'group_by_keys-raises-on-second-group': internal('boom'),
  'group_by_values-later-group-lacks-output': internal("output 'z' of model 'm' is missing for 2 of 3 groups"),
  'group_by_values-one-row-broadcast': internal("output 'y' of model 'm' has shape [1,1], expected 2 rows"),
  'fill_optionals-required-input': invalid(
    "fillOptionals has a default for input 'a' of model 'm', which is not optional",
  ),
  'fill_optionals-empty-request': invalid(
    "fillOptionals has a default for input 'a' of model 'm', which is not optional",
  ),
  'first_value-missing-key': invalid("firstValue names an input 'nope' that model 'm' does not have"),
  'first_value-on-request-list': NOT_OF_TENSORS('firstValue'),
  'first_value-on-request-list-differs': NOT_OF_TENSORS('firstValue'),
  'pad_batch-user-trims': internal("output 'y' of model 'm' has shape [3,1], expected 4 rows"),
  'pad_batch-two-inputs-strings': internal("output 'y' of model 'm' has shape [3,1], expected 4 rows"),
};
