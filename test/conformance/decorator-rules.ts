// Where our decorators differ from PyTriton's on purpose.
import { describeTensor, type DecoratorCase } from './pytriton-cases.js';
import type { DecoratorAnswer, DecoratorRule } from './replay-decorators.js';

/** Refused before the function is called. */
const REFUSED: Partial<DecoratorAnswer> = { calls: [], results: ['error', 'error'] };
const FAILED: Partial<DecoratorAnswer> = { results: ['error', 'error'] };

/** A rule that says of named cases what their answers are instead. */
function instead(
  name: string,
  reason: string,
  answers: Readonly<Record<string, Partial<DecoratorAnswer>>>,
): DecoratorRule {
  return {
    name,
    reason,
    expects: (recorded, testCase) => {
      const answer = answers[testCase.name];
      if (answer === undefined) return undefined;
      const results = (answer.results ?? recorded.results).slice(0, testCase.requests.length);
      return { calls: answer.calls ?? recorded.calls, results };
    },
  };
}

const FILLED_STRINGS = ['{a: FP32[2,1](1 2), s: BYTES[2,1]("dd" "dd")}'];

/** How the x that a padded function was given comes back. */
function unpadded({ requests }: DecoratorCase): string[] {
  return requests.map(({ data }) => `{y: ${describeTensor(data['x']!)}}`);
}

export const DECORATOR_RULES: readonly DecoratorRule[] = [
  {
    name: 'a function needs no binding to have its context',
    reason:
      'The model’s configuration comes with every call, as the second argument; PyTriton injects it at bind and fails without.',
    allows: (ours, _recorded, { name }) => name.endsWith('-not-bound') && !ours.results.includes('error'),
  },
  instead('undeclared outputs are refused', 'PyTriton drops them without a word, so a misspelt name goes unnoticed.', {
    'batch-dict-extra': FAILED,
  }),
  instead('a model may have no inputs', 'PyTriton’s @batch fails for it with an internal error.', {
    'batch-no-inputs': { results: ['{y: FP32[1,1](1)}', '{y: FP32[1,1](2)}'] },
  }),
  instead(
    'tensors keep their dtype',
    'numpy makes FP64 of FP32 and INT64 without a word. In a server it cannot happen: inputs have the declared dtype.',
    {
      'batch-mixed-dtypes': REFUSED,
    },
  ),
  instead('plain arrays are tensors too', 'What a list stands for is known from the declaration.', {
    'batch-output-python-list': { results: ['{y: FP32[1,1](1)}', '{y: FP32[2,1](2 3)}'] },
    'sample-python-list-output-not-checked': { results: ['{y: FP32[1](1)}'] },
    'fill_optionals-python-list': {
      calls: ['[{a: FP32[2,1](1 2), b: FP32[2,2](5 6 5 6)}; {a: FP32[1,1](3), b: FP32[1,2](7 8)}]'],
      results: ['{a: FP32[2,1](1 2), b: FP32[2,2](5 6 5 6)}', '{a: FP32[1,1](3), b: FP32[1,2](7 8)}'],
    },
  }),
  instead(
    'asynchronous functions and generators work under every decorator',
    'PyTriton’s take neither, but for generators under @batch.',
    {
      'batch-coroutine': { results: ['{y: FP32[1,2](1 2)}', '{y: FP32[2,2](3 4 5 6)}'] },
      'sample-generator': { results: ['{y: FP32[1](1)}'] },
      'group_by_keys-generator': { results: ['{a: FP32[1,1](1)}', '{a: FP32[1,1](2), b: FP32[1,1](20)}'] },
    },
  ),
  instead(
    'sample takes one request',
    'PyTriton answers the first and forgets the others, whose clients get an error that tells nothing.',
    {
      'sample-two-requests': REFUSED,
      'group_by_keys-over-sample-ignores-others': REFUSED,
    },
  ),
  instead(
    'a bare number is no tensor',
    'It has no dtype here; PyTriton’s sample lets it through and the server fails later.',
    {
      'sample-numpy-scalar-output-not-checked': FAILED,
    },
  ),
  instead(
    'a group that fails fails alone',
    'Its requests have nothing to do with those of other groups. PyTriton fails all of them, and gives results to the wrong requests when a group returns too few.',
    {
      'group_by_keys-fewer-responses': { results: ['error', 'error', 'error', 'error', '{b: FP32[1,1](50)}'] },
      'group_by_keys-none': {
        calls: [
          '[{a: FP32[1,1](1)}; {a: FP32[1,1](3)}]',
          '[{a: FP32[1,1](2), b: FP32[1,1](20)}; {a: FP32[1,1](4), b: FP32[1,1](40)}]',
          '[{b: FP32[1,1](50)}]',
        ],
      },
      'group_by_keys-raises-on-second-group': {
        calls: [
          '[{a: FP32[1,1](1)}; {a: FP32[1,1](3)}]',
          '[{a: FP32[1,1](2), b: FP32[1,1](20)}; {a: FP32[1,1](4), b: FP32[1,1](40)}]',
          '[{b: FP32[1,1](50)}]',
        ],
        results: ['{a: FP32[1,1](1)}', 'error', '{a: FP32[1,1](3)}', 'error', 'error'],
      },
    },
  ),
  {
    name: 'groups are called in the order of their first rows',
    reason: 'PyTriton goes by the little-endian bytes of the values: 256 before 1 before -1.',
    expects: (recorded, { decorator }) => {
      if (!decorator.includes('group_by_values')) return undefined;
      const firstRow = (call: string) => Number(/x: FP32\[[^\]]*\]\((\S+?)[ )]/.exec(call)?.[1]);
      return { ...recorded, calls: [...recorded.calls].sort((a, b) => firstRow(a) - firstRow(b)) };
    },
  },
  instead('0 and -0 are one value', 'They are equal; only their bits differ. NaNs are one value in both.', {
    'group_by_values-float-key-nan-and-zero-signs': {
      calls: ['{k: FP32[2,1](0 -0), x: FP32[2,1](1 2)}', '{k: FP32[2,1](NaN NaN), x: FP32[2,1](3 4)}'],
    },
  }),
  instead('lists of outputs work everywhere', 'PyTriton’s @group_by_values takes dictionaries only.', {
    'group_by_values-list-output': { results: ['{y: FP32[2,1](1 2)}', '{y: FP32[2,1](3 4)}'] },
  }),
  instead('strings are never cut', 'PyTriton cuts those of later groups to the length of the first.', {
    'group_by_values-longer-strings-later': { results: ['{y: BYTES[2,1]("xx" "xx")}', '{y: BYTES[2,1]("xx" "xxx")}'] },
  }),
  instead('an output that only some groups have is refused', 'PyTriton fills zeros in, which look like results.', {
    'group_by_values-later-group-lacks-output': FAILED,
  }),
  instead(
    'outputs have the declared dtype before they are joined',
    'PyTriton takes the dtype of whichever group came first, or fails when they are to be padded.',
    {
      'group_by_values-dtype-differs': { results: ['{y: FP32[2,1](1 2)}', '{y: FP32[2,1](3 4)}'] },
      'group_by_values-dtype-differs-padded': { results: ['{y: FP32[2,1](1 2)}', '{y: FP32[2,1](3 4)}'] },
    },
  ),
  instead(
    'one row does not stand for many',
    'numpy repeats it for the whole group; a function that forgot rows goes unnoticed.',
    {
      'group_by_values-one-row-broadcast': FAILED,
    },
  ),
  instead(
    'only optional inputs have defaults',
    'A request without a required input is refused before; the default would never be used.',
    {
      'fill_optionals-required-input': REFUSED,
    },
  ),
  {
    name: 'string inputs can be filled',
    reason: 'However the input and the default are written; PyTriton compares numpy types that never match.',
    expects: (_recorded, { name }) =>
      name.startsWith('fill_optionals-string-declared')
        ? { calls: [`[${FILLED_STRINGS[0]}]`], results: FILLED_STRINGS }
        : undefined,
  },
  instead(
    'names that the model does not have are refused',
    'PyTriton’s @first_value ignores them, so a misspelt name goes unnoticed.',
    {
      'first_value-missing-key': REFUSED,
    },
  ),
  instead(
    'rows are compared as rows',
    'PyTriton compares single strings, so that a row of two differs from itself, and refuses NaNs that are all the same.',
    {
      'first_value-object-row-of-two-strings': {
        calls: ['{k: BYTES[2]("a" "b"), x: FP32[2,1](1 2)}'],
        results: ['{y: FP32[2,1](1 2)}'],
      },
      'first_value-nan': { calls: ['{k: NaN, x: FP32[2,1](1 2)}'], results: ['{y: FP32[2,1](1 2)}'] },
    },
  ),
  instead(
    'firstValue works on tensors',
    'One level for each decorator: what a function gets follows from its type. PyTriton guesses at each call.',
    {
      'first_value-on-request-list': REFUSED,
    },
  ),
  {
    name: 'padBatch takes the padding off again',
    reason: 'PyTriton leaves that to the function, which cannot know how many rows were added.',
    expects: ({ calls }, testCase) =>
      /^pad_batch-(preferred-.*-rows-[134]|no-batcher)$/.test(testCase.name)
        ? { calls, results: unpadded(testCase) }
        : undefined,
  },
  {
    name: 'padBatch leaves larger batches alone',
    reason: 'PyTriton fails with an IndexError.',
    expects: (_recorded, testCase) =>
      testCase.name.endsWith('-rows-9')
        ? { calls: [`{x: ${describeTensor(testCase.requests[0]!.data['x']!)}}`], results: unpadded(testCase) }
        : undefined,
  },
  instead(
    'a function under padBatch returns as many rows as it gets',
    'Those that cut the padding off themselves need not any more.',
    {
      'pad_batch-user-trims': FAILED,
      'pad_batch-two-inputs-strings': FAILED,
    },
  ),
];
