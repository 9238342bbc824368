// Where our decorators differ from PyTriton's on purpose.
import { describeTensor, type DecoratorCase } from './pytriton-cases.js';
import { DECORATOR_ERRORS, MORE_ERRORS } from './decorator-errors.js';
import type { Refusal } from './refusal.js';
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
    cases: Object.keys(answers),
    expects: (recorded, testCase) => {
      const answer = answers[testCase.name] ?? {};
      const results = (answer.results ?? recorded.results).slice(0, testCase.requests.length);
      return { calls: answer.calls ?? recorded.calls, results, errors: errorsOf(testCase.name) };
    },
  };
}

/** With our texts. */
function errorsOf(name: string): readonly Refusal[] {
  return DECORATOR_ERRORS[name] ?? MORE_ERRORS[name] ?? [];
}

const FILLED_STRINGS = ['{a: FP32[2,1](1 2), s: BYTES[2,1]("dd" "dd")}'];

/** How the x that a padded function was given comes back. */
function unpadded({ requests }: DecoratorCase): string[] {
  return requests.map(({ data }) => `{y: ${describeTensor(data['x']!)}}`);
}

/** What functions that are bound to no model get and give. */
const UNBOUND: Readonly<Record<string, Partial<DecoratorAnswer>>> = {
  'batch-list-not-bound': {
    results: ['{add: FP32[1,2](1 2), sub: FP32[1,2](10 20)}', '{add: FP32[2,2](3 4 5 6), sub: FP32[2,2](30 40 50 60)}'],
  },
  'sample-list-not-bound': { results: ['{y: FP32[2](1 2)}'] },
  'fill_optionals-not-bound': {
    calls: ['[{a: FP32[2,1](1 2), b: FP32[2,2](5 6 5 6)}; {a: FP32[1,1](3), b: FP32[1,2](7 8)}]'],
    results: ['{a: FP32[2,1](1 2), b: FP32[2,2](5 6 5 6)}', '{a: FP32[1,1](3), b: FP32[1,2](7 8)}'],
  },
  'first_value-not-bound': { calls: ['{k: 7, x: FP32[1,1](1)}'], results: ['{y: FP32[1,1](1)}'] },
  'pad_batch-not-bound': {
    calls: ['{x: FP32[16,1](0 1 2 2 2 2 2 2 2 2 2 2 2 2 2 2)}'],
    results: ['{y: FP32[3,1](0 1 2)}'],
  },
  'triton_context-not-bound': { calls: ['[{a: FP32[1,1](1)}]{triton_context: "context"}'], results: ['{}'] },
};

export const DECORATOR_RULES: readonly DecoratorRule[] = [
  {
    name: 'a function needs no binding to have its context',
    reason:
      'The model’s configuration comes with every call, as the second argument; PyTriton injects it at bind and fails without.',
    cases: Object.keys(UNBOUND),
    expects: (recorded, { name }) => ({ ...recorded, ...UNBOUND[name], errors: [] }),
  },
  instead('undeclared outputs are refused', 'PyTriton drops them without a word, so a misspelt name goes unnoticed.', {
    'batch-dict-extra': FAILED,
  }),
  instead('a model may have no inputs', 'PyTriton’s @batch fails for it with an internal error.', {
    'batch-no-inputs': { results: ['{y: FP32[1,1](1)}', '{y: FP32[1,1](2)}'] },
  }),
  instead(
    'no requests are no mistake',
    'There is nobody to answer; PyTriton fails. A server calls nobody for nothing.',
    {
      'batch-no-requests': {},
      'sample-no-requests': {},
    },
  ),
  instead(
    'the context is an argument',
    'PyTriton injects one by its keyword, with the model’s configuration. Here it is the second argument of every function, and the compiler knows its members.',
    { 'triton_context-what-is-injected': { calls: ['not asked'] } },
  ),
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
    cases: ['group_by_values-int-negative-order', 'group_by_values-string', 'group_by_values-string-fixed'],
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
      'fill_optionals-empty-request': REFUSED,
    },
  ),
  {
    name: 'string inputs can be filled',
    reason: 'However the input and the default are written; PyTriton compares numpy types that never match.',
    cases: [
      'fill_optionals-string-declared-bytes-default-object',
      'fill_optionals-string-declared-bytes-default-fixed',
      'fill_optionals-string-declared-np.bytes_-default-object',
      'fill_optionals-string-declared-np.bytes_-default-fixed',
      'fill_optionals-string-declared-object-default-fixed',
      'fill_optionals-string-declared-np.object_-default-fixed',
    ],
    expects: (_recorded, { name }) =>
      name.startsWith('fill_optionals-string-declared')
        ? { calls: [`[${FILLED_STRINGS[0]}]`], results: FILLED_STRINGS, errors: [] }
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
      'first_value-on-request-list-differs': REFUSED,
    },
  ),
  {
    name: 'padBatch takes the padding off again',
    reason: 'PyTriton leaves that to the function, which cannot know how many rows were added.',
    cases: [
      'pad_batch-preferred-None-rows-1',
      'pad_batch-preferred-None-rows-3',
      'pad_batch-preferred-None-rows-4',
      'pad_batch-preferred-[2, 4, 6]-rows-1',
      'pad_batch-preferred-[2, 4, 6]-rows-3',
      'pad_batch-preferred-[6, 2, 4]-rows-1',
      'pad_batch-preferred-[6, 2, 4]-rows-3',
      'pad_batch-preferred-[4]-rows-1',
      'pad_batch-preferred-[4]-rows-3',
      'pad_batch-no-batcher',
    ],
    expects: ({ calls }, testCase) =>
      /^pad_batch-(preferred-.*-rows-[134]|no-batcher)$/.test(testCase.name)
        ? { calls, results: unpadded(testCase), errors: [] }
        : undefined,
  },
  {
    name: 'padBatch leaves larger batches alone',
    reason: 'PyTriton fails with an IndexError.',
    cases: [
      'pad_batch-preferred-None-rows-9',
      'pad_batch-preferred-[2, 4, 6]-rows-9',
      'pad_batch-preferred-[6, 2, 4]-rows-9',
      'pad_batch-preferred-[4]-rows-9',
    ],
    expects: (_recorded, testCase) =>
      testCase.name.endsWith('-rows-9')
        ? {
            calls: [`{x: ${describeTensor(testCase.requests[0]!.data['x']!)}}`],
            results: unpadded(testCase),
            errors: [],
          }
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
  {
    name: 'decorators say what is wrong',
    reason:
      'PyTriton checks some of it with bare asserts and lets numpy fail over the rest. Ours are said in words of TypeScript.',
    cases: Object.keys(DECORATOR_ERRORS),
    expects: (recorded, { name }) => ({ ...recorded, errors: errorsOf(name) }),
  },
];
