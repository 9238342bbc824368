import { describe, expect, it } from 'vitest';

import { allSteps, callDecorated, stepsOf } from '../../test/support/decorated-call.js';
import type { Callable, InferenceContext, ModelSpec } from '../model/callable.js';
import { marksOf } from '../model/decorated.js';
import { HostedRequest } from '../model/inference-request.js';
import { Tensor } from '../tensor/tensor.js';
import { batch } from './batch.js';

type Tensors = Readonly<Record<string, Tensor>>;
type AnyFunc = (inputs: Tensors, context: InferenceContext) => unknown;

const SPEC: ModelSpec = {
  modelName: 'm',
  inputs: { a: { dtype: 'float32', shape: [-1] }, b: { dtype: 'string', shape: [1], optional: true } },
  outputs: { y: { dtype: 'float32', shape: [-1] }, n: { dtype: 'int32', shape: [1] } },
};

function request(
  rows: readonly (readonly number[])[],
  parameters?: Record<string, string>,
  b?: readonly string[],
): HostedRequest {
  const a = Tensor.from(
    'float32',
    rows.map((row) => [...row]),
  );
  const inputs =
    b === undefined
      ? { a }
      : {
          a,
          b: Tensor.from(
            'string',
            b.map((text) => [text]),
          ),
        };
  return new HostedRequest(inputs, rows.length, '', parameters);
}

/** Calls `batch(fn)` as the host does. */
function run(fn: AnyFunc, requests: readonly HostedRequest[], changes: Partial<ModelSpec> = {}): unknown {
  return callDecorated(batch(fn as never), requests, { ...SPEC, ...changes }).result;
}

describe('batch', () => {
  it('is marked, so that bind can refuse it where it cannot work', () => {
    expect(marksOf(batch((() => ({})) as never) as Callable)[0]?.decorator).toBe('batch');
  });

  it('puts the rows of all requests together and hands the results back', () => {
    const seen: unknown[] = [];
    const results = run(
      ({ a }) => {
        seen.push(a!.toNested());
        return { y: a!.map((value) => 10 * (value as number)), n: a!.rows().map((_, i) => [i]) };
      },
      [request([[1, 2]]), request([[3, 4], [5, 6]]), request([[7, 8]])], // prettier-ignore
    );
    expect(seen).toEqual([[[1, 2], [3, 4], [5, 6], [7, 8]]]); // prettier-ignore
    expect(results).toEqual([
      { y: Tensor.from('float32', [[10, 20]]), n: Tensor.from('int32', [[0]]) },
      { y: Tensor.from('float32', [[30, 40], [50, 60]]), n: Tensor.from('int32', [[1], [2]]) }, // prettier-ignore
      { y: Tensor.from('float32', [[70, 80]]), n: Tensor.from('int32', [[3]]) },
    ]);
  });

  it('gives the tensors of a single request as they are, and its outputs too', () => {
    const only = request([[1], [2]]);
    let seen: Tensor | undefined;
    const results = run(({ a }) => ((seen = a), { y: a }), [only]);
    expect(seen).toBe(only.inputs['a']);
    expect((results as { y: Tensor }[])[0]!.y).toBe(seen);
  });

  it('does not copy rows that lie one after the other', () => {
    const [first, second] = Tensor.from('float32', [[1], [2], [3]]).split([1, 2]);
    const requests = [
      new HostedRequest({ a: first! }, 1, '', undefined),
      new HostedRequest({ a: second! }, 2, '', undefined),
    ];
    let seen: Tensor | undefined;
    run(({ a }) => ((seen = a), { y: a }), requests);
    expect((seen!.data as Float32Array).buffer).toBe((first!.data as Float32Array).buffer);
  });

  it('joins strings', () => {
    let seen: unknown;
    run(({ b }) => ((seen = b!.toNested()), {}), [request([[1]], {}, ['x']), request([[1], [1]], {}, ['y', 'z'])]);
    expect(seen).toEqual([['x'], ['y'], ['z']]);
  });

  it('awaits an asynchronous function', async () => {
    const results = run(async ({ a }) => Promise.resolve({ y: a }), [request([[1]]), request([[2]])]);
    expect(results).toBeInstanceOf(Promise);
    await expect(results).resolves.toEqual([
      { y: Tensor.from('float32', [[1]]) },
      { y: Tensor.from('float32', [[2]]) },
    ]);
  });

  it('takes a list in declaration order, and leaves out what was left out', () => {
    const requests = [request([[1]]), request([[2]])];
    const n = [[5], [6]];
    expect(run(({ a }) => [a, n], requests)).toEqual([
      { y: Tensor.from('float32', [[1]]), n: Tensor.from('int32', [[5]]) },
      { y: Tensor.from('float32', [[2]]), n: Tensor.from('int32', [[6]]) },
    ]);
    expect(run(() => ({ n }), requests)).toEqual([
      { n: Tensor.from('int32', [[5]]) },
      { n: Tensor.from('int32', [[6]]) },
    ]);
  });

  it('takes a typed array for all rows together', () => {
    expect(run(() => ({ y: Float32Array.of(1, 2, 3, 4) }), [request([[0]]), request([[0]])])).toEqual([
      { y: Tensor.from('float32', [[1, 2]]) },
      { y: Tensor.from('float32', [[3, 4]]) },
    ]);
  });

  it('gives the requests, their parameters and ids in the context', () => {
    const requests = [request([[1]], { user: 'x' }), request([[2]], { user: 'y' })];
    let seen: unknown;
    run((_, context) => ((seen = context.requests.map(({ parameters }) => parameters['user'])), {}), requests);
    expect(seen).toEqual(['x', 'y']);
  });

  it('calls a model without inputs with as many rows as the requests have', () => {
    const empty = [new HostedRequest({}, 1, '', undefined), new HostedRequest({}, 2, '', undefined)];
    const results = run((inputs) => ({ y: [[1], [2], [Object.keys(inputs).length]] }), empty, { inputs: {} });
    expect(results).toEqual([{ y: Tensor.from('float32', [[1]]) }, { y: Tensor.from('float32', [[2], [0]]) }]);
  });

  it('throws what the function throws, and rejects with what it rejects with', async () => {
    const error = new Error('out of memory');
    const thrower = () => {
      throw error;
    };
    expect(() => run(thrower, [request([[1]])])).toThrow(error);
    await expect(run(() => Promise.reject(error), [request([[1]])])).rejects.toBe(error);
  });

  it('refuses another number of rows', async () => {
    const requests = [request([[1]]), request([[2], [3]])];
    const message =
      "output 'y' of model 'm' has shape [1,1], expected 3 rows in the first dimension, one per row of the input";
    expect(() => run(() => ({ y: [[1]] }), requests)).toThrow(message);
    await expect(run(() => Promise.resolve({ y: [[1]] }), requests)).rejects.toMatchObject({
      code: 'INTERNAL',
      message,
    });
  });

  it('refuses outputs that are not declared', () => {
    expect(() => run(({ a }) => ({ yy: a }), [request([[1]])])).toThrow(
      "model 'm' returned an output 'yy' that is not declared; did you mean 'y'?",
    );
  });

  it('refuses missing outputs of a strict model', () => {
    expect(() => run(({ a }) => ({ y: a }), [request([[1]])], { strict: true })).toThrow(
      "model 'm' returned no output 'n'",
    );
  });

  it.each([
    ['more', [request([[1]]), request([[2]], {}, ['x'])], 'a and a, b'],
    ['fewer', [request([[1]], {}, ['x']), request([[2]])], 'a, b and a'],
  ])('refuses to join requests when a later one has %s inputs', (_, requests, sets) => {
    expect(() => run(() => ({}), requests)).toThrow(
      expect.objectContaining({
        code: 'INVALID_ARG',
        message: `cannot batch requests with different sets of inputs: ${sets}`,
      }),
    );
  });

  it('names the input of requests that do not join, such as states that have grown', () => {
    expect(() => run(() => ({}), [request([[1, 2]]), request([[1]])])).toThrow(
      "cannot batch input 'a': cannot concatenate float32 [1,1] with float32 [1,2]: ",
    );
  });

  describe('in a decoupled model', () => {
    const decoupled: Partial<ModelSpec> = { config: { decoupled: true } };
    const requests = [request([[1]]), request([[2], [3]])];
    const twice = function* ({ a }: Tensors) {
      yield { y: a };
      yield [a, [[1], [2], [3]]];
    };
    const steps = [
      [{ y: Tensor.from('float32', [[1]]) }, { y: Tensor.from('float32', [[2], [3]]) }],
      [
        { y: Tensor.from('float32', [[1]]), n: Tensor.from('int32', [[1]]) },
        { y: Tensor.from('float32', [[2], [3]]), n: Tensor.from('int32', [[2], [3]]) },
      ],
    ];

    it('hands the rows of each step back, synchronously where the generator is', () => {
      expect(stepsOf(run(twice, requests, decoupled))).toEqual(steps);
    });

    it('hands the rows of an asynchronous generator back', async () => {
      const slowly = async function* (inputs: Tensors) {
        await Promise.resolve();
        yield* twice(inputs);
      };
      expect(await allSteps(run(slowly, requests, decoupled))).toEqual(steps);
    });

    it('takes a promise of a generator', async () => {
      expect(stepsOf(await run(async (inputs) => Promise.resolve(twice(inputs)), requests, decoupled))).toEqual(steps);
    });

    it('may have no steps at all', () => {
      expect(stepsOf(run(() => [][Symbol.iterator](), requests, decoupled))).toEqual([]);
    });

    it('refuses another number of rows in a later step', () => {
      const result = run(
        function* ({ a }) {
          yield { y: a };
          yield { y: a!.slice(0, 1) };
        },
        requests,
        decoupled,
      ) as Iterator<unknown>;
      expect(result.next().done).toBe(false);
      expect(() => result.next()).toThrow("output 'y' of model 'm' has shape [1,1], expected 3 rows");
    });

    it('ends as the generator does, and lets it clean up when nobody wants more', () => {
      let cleaned = 0;
      const failing = function* ({ a }: Tensors) {
        try {
          yield { y: a };
          throw new Error('after one');
        } finally {
          cleaned++;
        }
      };
      expect(() => stepsOf(run(failing, requests, decoupled))).toThrow('after one');
      for (const step of run(failing, requests, decoupled) as Iterable<unknown>) {
        expect(step).toEqual(steps[0]);
        break;
      }
      expect(cleaned).toBe(2);
    });

    it('takes what is returned for the only step', async () => {
      expect(stepsOf(run(({ a }) => ({ y: a }), requests, decoupled))).toEqual([steps[0]]);
      expect(stepsOf(await run(async ({ a }) => ({ y: a }), requests, decoupled))).toEqual([steps[0]]);
    });
  });
});
