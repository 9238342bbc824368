/* oxlint-disable typescript/only-throw-error, unicorn/no-thenable -- callables of users do such things */
// What holds for a callable wherever it runs: in the server's thread or behind a message port.
import { afterEach, describe, expect, it } from 'vitest';

import { wireTensor } from '../../test/support/infer-requests.js';
import {
  executionRequest,
  hostCallable,
  outcomes,
  Run,
  type AnyCallable,
  type HostedInstance,
  type InstanceKind,
} from '../../test/support/instances.js';
import { batch } from '../callables/batch.js';
import { TritonError } from '../errors.js';
import type { InferenceContext, InferenceRequest } from '../model/callable.js';
import { withInputs } from '../model/inference-request.js';
import type { TensorSpecs } from '../model/tensor-spec.js';
import { Tensor } from '../tensor/tensor.js';

const X = { x: { dtype: 'float32', shape: [-1] } } as const;
const Y = { y: { dtype: 'float32', shape: [-1] } } as const;

const open: HostedInstance[] = [];

afterEach(() => {
  for (const hosted of open.splice(0)) hosted.close();
});

function host(
  kind: InstanceKind,
  callable: AnyCallable | { infer: AnyCallable },
  inputs: TensorSpecs = X,
  outputs: TensorSpecs = Y,
): HostedInstance {
  const hosted = hostCallable(kind, { inputs, outputs, config: { maxBatchSize: 8 } }, callable);
  open.push(hosted);
  return hosted;
}

function x(...values: number[]) {
  return executionRequest([wireTensor('x', 'float32', Float32Array.from(values), [1, values.length])]);
}

function dataOf(request: InferenceRequest): Float32Array {
  return (request.inputs as Record<string, Tensor<'float32'>>)['x']!.data;
}

function doubled(requests: readonly InferenceRequest[]) {
  return requests.map((request) => {
    const data = dataOf(request);
    return {
      y: new Tensor(
        'float32',
        data.map((value) => 2 * value),
        [1, data.length],
      ),
    };
  });
}

class Doubler {
  readonly #factor = 2;

  infer(requests: readonly InferenceRequest[]) {
    return requests.map((request) => [Array.from(dataOf(request), (value) => this.#factor * value)]);
  }
}

/** A promise with its resolver. */
function pending<T>() {
  let resolve!: (value: T) => void;
  const promise = new Promise<T>((settle) => (resolve = settle));
  return { promise, resolve };
}

describe.each<InstanceKind>(['inline', 'port'])('An instance (%s)', (kind) => {
  it.each([
    ['synchronous', doubled],
    ['asynchronous', async (requests: readonly InferenceRequest[]) => Promise.resolve(doubled(requests))],
    ['an object with a method that needs it', new Doubler()],
  ])('runs a callable that is %s', async (_, callable) => {
    const { instance } = host(kind, callable as AnyCallable);
    expect(await outcomes(instance, [x(1, 2), x(3)])).toEqual(['y FP32 [1,2] 2 4', 'y FP32 [1,1] 6']);
  });

  it('runs a batch function on all rows at once', async () => {
    const sizes: number[] = [];
    const sums = batch<typeof X, typeof Y, false>(({ x: all }) => {
      sizes.push(all.rowCount);
      return { y: all.map((value) => value + 1) };
    });
    const { instance } = host(kind, sums as unknown as AnyCallable);
    expect(await outcomes(instance, [x(1, 2), x(3, 4)])).toEqual(['y FP32 [1,2] 2 3', 'y FP32 [1,2] 4 5']);
    expect(sizes).toEqual([2]);
  });

  it('takes a request that is returned for its inputs, matched to the outputs by position', async () => {
    const inputs = { a: { dtype: 'bytes', shape: [1] }, b: { dtype: 'int64', shape: [1] } } as const;
    const outputs = { c: { dtype: 'bytes', shape: [1] }, d: { dtype: 'int64', shape: [1] } } as const;
    const { instance } = host(kind, (requests) => requests, inputs, outputs);
    const a = wireTensor('a', 'bytes', [new TextEncoder().encode('hi')], [1, 1]);
    const b = wireTensor('b', 'int64', BigInt64Array.of(-5n), [1, 1]);
    expect(await outcomes(instance, [executionRequest([a, b])])).toEqual(['c BYTES [1,1] hi; d INT64 [1,1] -5']);
  });

  it('refuses a returned request when inputs and outputs do not match in number', async () => {
    const { instance } = host(kind, (requests) => requests, X, { ...Y, z: { dtype: 'float32', shape: [-1] } });
    expect(await outcomes(instance, [x(1)])).toEqual([expect.stringContaining('has 1 inputs and 2 outputs')]);
  });

  describe('whose elements become objects', () => {
    const TEXTS = { x: { dtype: 'string', shape: [-1] } } as const;
    const texts = (count: number) => {
      const data = Array.from({ length: count }, (_, i) => `text ${i}`);
      return executionRequest([wireTensor('x', 'string', data, [1, count])]);
    };
    const countOf = (request: InferenceRequest) =>
      (request.inputs as Record<string, Tensor<'string'>>)['x']!.data.length;

    it('lets others have their turn when they are many', async () => {
      const sizes: number[] = [];
      const { instance } = host(
        kind,
        (requests) => {
          sizes.push(...requests.map(countOf));
          return requests.map((request) => ({ y: [[countOf(request)]] }));
        },
        TEXTS,
      );
      const large = outcomes(instance, [texts(20_000)]);
      const small = outcomes(instance, [texts(2)]);
      expect(await Promise.all([large, small])).toEqual([['y FP32 [1,1] 20000'], ['y FP32 [1,1] 2']]);
      expect(sizes).toEqual([2, 20_000]);
    });

    it('tells the callable of clients that went away meanwhile', async () => {
      const aborted: boolean[][] = [];
      const { instance } = host(
        kind,
        async (requests) => {
          await Promise.resolve();
          aborted.push(requests.map(({ signal }) => signal.aborted));
          return requests.map((request) => ({ y: [[countOf(request)]] }));
        },
        TEXTS,
      );
      const run = new Run(instance, [texts(20_000), texts(1)]);
      run.execution.cancel(0);
      await run.ended;
      expect(aborted).toEqual([[true, false]]);
    });
  });

  it('reads inputs wherever they lie in memory', async () => {
    const misaligned = (values: number[]) => {
      const bytes = new Uint8Array(values.length * 4 + 3).subarray(3);
      bytes.set(new Uint8Array(Float32Array.from(values).buffer));
      return executionRequest([{ name: 'x', datatype: 'FP32', shape: [1, values.length], bytes }]);
    };
    const { instance } = host(kind, doubled);
    expect(await outcomes(instance, [misaligned([1.5, 2]), misaligned([4])])).toEqual([
      'y FP32 [1,2] 3 4',
      'y FP32 [1,1] 8',
    ]);
  });

  it('leaves out optional inputs that were not sent', async () => {
    const names: string[][] = [];
    const callable: AnyCallable = (requests) => {
      for (const request of requests) names.push(Object.keys(request.inputs));
      return requests.map(() => ({}));
    };
    const { instance } = host(kind, callable, { a: { dtype: 'float32', shape: [1], optional: true }, ...X });
    await outcomes(instance, [executionRequest([undefined, x(1).inputs[0]])]);
    expect(names).toEqual([['x']]);
  });

  it('sends only the outputs that were requested, for each request by itself', async () => {
    const callable: AnyCallable = (requests) => requests.map(() => ({ a: [[1]], b: [[2]] }));
    const outputs = { a: { dtype: 'int32', shape: [1] }, b: { dtype: 'int32', shape: [1] } } as const;
    const { instance } = host(kind, callable, X, outputs);
    const requests = [x(1), { ...x(1), requestedOutputs: ['b'] }, { ...x(1), requestedOutputs: ['b', 'a', 'b'] }];
    expect(await outcomes(instance, requests)).toEqual([
      'a INT32 [1,1] 1; b INT32 [1,1] 2',
      'b INT32 [1,1] 2',
      'a INT32 [1,1] 1; b INT32 [1,1] 2',
    ]);
  });

  it('tells which outputs were requested, of each request and of any', async () => {
    const seen: unknown[] = [];
    const outputs = { a: { dtype: 'int32', shape: [1] }, b: { dtype: 'int32', shape: [1] } } as const;
    const callable: AnyCallable = (requests, { requestedOutputs }) => {
      // As decorators hand them on.
      const derived = requests.map((request) => withInputs(request, {} as never));
      expect(derived.map((request) => request.requestedOutputs)).toEqual(requests.map((r) => r.requestedOutputs));
      seen.push(
        requests.map((request) => request.requestedOutputs),
        requestedOutputs,
      );
      return requests.map(() => ({}));
    };
    const { instance } = host(kind, callable, X, outputs);
    await outcomes(instance, [
      { ...x(1), requestedOutputs: ['b'] },
      { ...x(1), requestedOutputs: ['b', 'b'] },
    ]);
    await outcomes(instance, [{ ...x(1), requestedOutputs: ['b', 'a'] }, { ...x(1), requestedOutputs: ['b'] }, x(1)]);
    expect(seen).toEqual([[['b'], ['b']], ['b'], [['a', 'b'], ['b'], ['a', 'b']], ['a', 'b']]);
  });

  it.each<[string, AnyCallable]>([
    ['raw', (requests) => requests.map(({ requestedOutputs }) => Object.fromEntries(requestedOutputs.map((name) => [name, [[1]]])))],
    ['batch', batch((({ x: { rowCount } }: { x: Tensor }, { requestedOutputs }: InferenceContext) =>
      Object.fromEntries(requestedOutputs.map((name) => [name, Tensor.from('int32', Array.from({ length: rowCount }, () => [1]))]))) as never) as AnyCallable],
  ])('lets a %s callable leave out what nobody asked for, also with strict: true', async (_, callable) => {
    const outputs = { a: { dtype: 'int32', shape: [1] }, b: { dtype: 'int32', shape: [1] } } as const;
    const hosted = hostCallable(kind, { inputs: X, outputs, config: { maxBatchSize: 8 }, strict: true }, callable);
    open.push(hosted);
    const asking = (...requestedOutputs: string[]) => ({ ...x(1), requestedOutputs });
    expect(await outcomes(hosted.instance, [asking('b'), asking('b')])).toEqual(['b INT32 [1,1] 1', 'b INT32 [1,1] 1']);
    expect(await outcomes(hosted.instance, [asking('b'), asking('a')])).toEqual(['b INT32 [1,1] 1', 'a INT32 [1,1] 1']);
    expect(await outcomes(hosted.instance, [asking()])).toEqual(['a INT32 [1,1] 1; b INT32 [1,1] 1']);
  }); // prettier-ignore

  it('fails a request whose output is missing, with strict: true, although another one did not ask for it', async () => {
    const outputs = { a: { dtype: 'int32', shape: [1] }, b: { dtype: 'int32', shape: [1] } } as const;
    const spec = { inputs: X, outputs, config: { maxBatchSize: 8 }, strict: true };
    const hosted = hostCallable(kind, spec, (requests) => requests.map(() => ({ a: [[1]] })));
    open.push(hosted);
    const [first, second] = await outcomes(hosted.instance, [{ ...x(1), requestedOutputs: ['a'] }, x(1)]);
    expect(first).toBe('a INT32 [1,1] 1');
    expect(second).toContain("returned no output 'b'");
  });

  it('hands ids, parameters and the context to the callable', async () => {
    const seen: unknown[] = [];
    const { instance } = host(kind, (requests, context: InferenceContext) => {
      seen.push(requests.map(({ id, parameters }) => [id, parameters]));
      seen.push([
        context.modelName,
        context.modelVersion,
        context.modelConfig.maxBatchSize,
        context.requests === requests,
      ]);
      return requests.map(() => ({}));
    });
    const parameters = { text: 'a', flag: true, number: 1.5, large: 2n ** 60n };
    await outcomes(instance, [{ ...x(1), id: '7', parameters }, x(2)]);
    expect(seen).toEqual([
      [
        ['7', parameters],
        ['', {}],
      ],
      ['m', 1, 8, true],
    ]);
  });

  it.each([
    [
      'throws',
      () => {
        throw new Error('boom');
      },
      'INTERNAL boom',
    ],
    ['rejects', () => Promise.reject(new Error('boom')), 'INTERNAL boom'],
    [
      'throws something that is no error',
      () => {
        throw 'boom';
      },
      'INTERNAL boom',
    ],
    [
      'throws a TritonError',
      () => {
        throw new TritonError('NOT_FOUND', 'no such user');
      },
      'NOT_FOUND no such user',
    ],
    [
      'returns nothing',
      () => undefined,
      "INTERNAL model 'm' must return a list with one result per request, got undefined",
    ],
    [
      'returns a record',
      () => ({ y: [[1]] }),
      "INTERNAL model 'm' must return a list with one result per request, got an object",
    ],
    [
      'returns too few results',
      () => [{}],
      "INTERNAL model 'm' returned 1 results for 2 requests, expected one result per request",
    ],
    [
      'returns too many results',
      () => [{}, {}, {}],
      "INTERNAL model 'm' returned 3 results for 2 requests, expected one result per request",
    ],
  ])('fails the batch of a callable that %s, and goes on', async (_, callable: AnyCallable, expected) => {
    let misbehaving = true;
    const { instance, errors, infos } = host(kind, (requests, context) =>
      misbehaving ? callable(requests, context) : doubled(requests),
    );
    expect(await outcomes(instance, [x(1), x(2)])).toEqual([expected, expected]);
    // What a client did wrong is no error of the server's.
    const lines = expected.startsWith('NOT_FOUND') ? infos : errors;
    expect(lines.join()).toContain(expected.slice(expected.indexOf(' ') + 1));
    misbehaving = false;
    expect(await outcomes(instance, [x(1)])).toEqual(['y FP32 [1,1] 2']);
  });

  it.each([
    ['is misspelt', { yy: [[1]] }, "did you mean 'y'?"],
    ['has too many rows', { y: [[1], [2]] }, 'expected 1 row'],
    ['holds strings for numbers', { y: [['a']] }, "output 'y' of model 'm'"],
    [
      'was transferred away',
      {
        get y() {
          const tensor = new Tensor('float32', Float32Array.of(1), [1, 1]);
          structuredClone(tensor.data, { transfer: [tensor.data.buffer as ArrayBuffer] });
          return tensor;
        },
      },
      'was its buffer transferred?',
    ],
  ])('fails only the request whose output %s', async (_, bad, expected) => {
    const { instance } = host(kind, (requests) =>
      requests.map((request, index) => (index === 1 ? bad : doubled([request])[0])),
    );
    expect(await outcomes(instance, [x(1), x(2), x(3)])).toEqual([
      'y FP32 [1,1] 2',
      expect.stringContaining(expected),
      'y FP32 [1,1] 6',
    ]);
  });

  it.each([
    ['at once', (results: unknown) => results],
    ['in time', (results: unknown) => Promise.resolve(results)],
  ])(
    'waits for a promise in the place of each request, and fails only those that are rejected (%s)',
    async (_, give) => {
      const { instance } = host(kind, (requests) =>
        give(
          requests.map(async (request) => {
            const [value] = dataOf(request);
            if (value === 2) throw new TritonError('INVALID_ARG', 'not two');
            if (value === 3) return new TritonError('INVALID_ARG', 'not three');
            return value === 4 ? request : { y: [[value! + 1]] };
          }),
        ),
      );
      expect(await outcomes(instance, [x(1), x(2), x(3), x(4)])).toEqual([
        'y FP32 [1,1] 2',
        'INVALID_ARG not two',
        'INVALID_ARG not three',
        'y FP32 [1,1] 4',
      ]);
    },
  );

  it('takes a mistake with a tensor for its own, and not for its client’s', async () => {
    const { instance } = host(kind, (requests, { failRow }) =>
      requests.map(async (request, index) => {
        const [value] = dataOf(request);
        if (value === 1) return { y: new Tensor('float32', dataOf(request), [7]) };
        if (value === 2) return { y: new Tensor('float16', [] as never, [0]) };
        try {
          return { y: Tensor.concat([]) };
        } catch (error) {
          failRow(index, error as Error);
          return {};
        }
      }),
    );
    expect(await outcomes(instance, [x(1), x(2), x(3)])).toEqual([
      'INTERNAL unexpected number of elements for a tensor of shape [7]. Expected 7, got 1',
      'INTERNAL unexpected data for a float16 tensor. Expected Uint16Array, got Array',
      'INTERNAL cannot concatenate an empty list of tensors',
    ]);
  });

  it('refuses too few promises as it refuses too few results, although some are rejected', async () => {
    const { instance } = host(kind, () => [Promise.reject(new Error('lost'))]);
    expect(await outcomes(instance, [x(1), x(2)])).toEqual(
      Array(2).fill(expect.stringContaining('returned 1 results for 2 requests')),
    );
  });

  it.each([
    ['bytes', [[1, 2]], 'expected a Uint8Array'],
    ['string', [1], 'expected a string'],
  ] as const)('fails only the request whose %s tensor holds something else', async (dtype, elements, expected) => {
    const good = new Tensor(dtype, (dtype === 'bytes' ? [Buffer.from('ok')] : ['ok']) as never, [1, 1]);
    const bad = new Tensor(dtype, elements as never, [1, 1]);
    const { instance } = host(kind, () => [{ y: bad }, { y: good }], X, { y: { dtype, shape: [1] } });
    expect(await outcomes(instance, [x(1), x(2)])).toEqual([expect.stringContaining(expected), 'y BYTES [1,1] ok']);
  });

  it('refuses a promise in the place of an output, although it is rejected', async () => {
    const { instance } = host(kind, () => [{ y: Promise.reject(new Error('not seen')) }]);
    expect(await outcomes(instance, [x(1)])).toEqual([expect.stringContaining("output 'y' of model 'm' is")]);
    await new Promise((resolve) => setImmediate(resolve));
  });

  it('ends a batch once when a thenable calls back twice, or throws after', async () => {
    const thenable = {
      then: (resolve: (value: unknown) => void) => {
        resolve([{ y: [[1]] }]);
        resolve([]);
        throw new Error('afterwards');
      },
    };
    const { instance } = host(kind, () => thenable);
    const run = new Run(instance, [x(1)]);
    await run.ended;
    await outcomes(instance, [x(2)]);
    expect(run.done).toBe(1);
  });

  it('measures what the callable takes', async () => {
    const { instance } = host(kind, async (requests) => {
      const until = performance.now() + 5;
      while (performance.now() < until) await Promise.resolve();
      return doubled(requests);
    });
    const from = performance.now();
    const { times } = await new Run(instance, [x(1)]).ended;
    const took = performance.now() - from;
    expect(times.computeInfer).toBeGreaterThanOrEqual(5);
    expect(Math.min(times.computeInput, times.computeOutput)).toBeGreaterThanOrEqual(0);
    // Threads read the monotonic clock with an error of their own.
    expect(times.computeInput + times.computeInfer + times.computeOutput).toBeLessThan(took + 1);
  });
});

describe.each<InstanceKind>(['inline', 'port'])('Memory of an instance (%s)', (kind) => {
  it('lets a callable keep and change its inputs and outputs after it returned', async () => {
    const kept: Float32Array[] = [];
    const shape = [1, 2];
    const { instance } = host(kind, (requests) =>
      requests.map((request) => {
        const input = dataOf(request);
        const output = input.map((value) => 2 * value);
        kept.push(input, output);
        return { y: new Tensor('float32', output, shape) };
      }),
    );
    const { results } = await new Run(instance, [x(1, 2), x(3, 4)]).ended;
    for (const array of kept) {
      expect(array.byteLength).toBe(8);
      array.fill(99);
    }
    shape[0] = 77;
    const answers = results.map((result) => (result.kind === 'outputs' ? result.outputs[0]! : undefined));
    expect(answers.map((answer) => [answer!.shape, new Float32Array(answer!.bytes.slice().buffer)])).toEqual([
      [[1, 2], Float32Array.of(2, 4)],
      [[1, 2], Float32Array.of(6, 8)],
    ]);
  });

  it('takes an output without elements whose memory another thread has by now', async () => {
    const { instance } = host(kind, (requests) =>
      requests.map(() => {
        const output = new Float32Array(0);
        structuredClone(output.buffer, { transfer: [output.buffer] });
        return { y: new Tensor('float32', output, [1, 0]) };
      }),
    );
    expect(await outcomes(instance, [x(1)])).toEqual(['y FP32 [1,0]']);
  });

  it('does not show what a callable keeps to later batches', async () => {
    const kept: Float32Array[] = [];
    const { instance } = host(kind, (requests) => {
      for (const request of requests) kept.push(dataOf(request));
      return requests;
    });
    await outcomes(instance, [x(1)]);
    kept[0]!.fill(5);
    expect(await outcomes(instance, [x(2)])).toEqual(['y FP32 [1,1] 2']);
    expect(kept[0]).toEqual(Float32Array.of(5));
  });

  it('lets a callable return the same array for several requests, and in several batches', async () => {
    const constant = new Tensor('float32', Float32Array.of(7), [1, 1]);
    const { instance } = host(kind, (requests) => requests.map(() => ({ y: constant })));
    for (let i = 0; i < 2; i++)
      expect(await outcomes(instance, [x(1), x(2)])).toEqual(['y FP32 [1,1] 7', 'y FP32 [1,1] 7']);
    expect(constant.data).toEqual(Float32Array.of(7));
  });

  it('takes outputs that are views of larger arrays', async () => {
    const whole = Float32Array.of(0, 1, 2, 3);
    const { instance } = host(kind, () => [{ y: new Tensor('float32', whole.subarray(1, 3), [1, 2]) }]);
    expect(await outcomes(instance, [x(1)])).toEqual(['y FP32 [1,2] 1 2']);
  });

  it('keeps memory that others share out of the hands of the callable', async () => {
    const shared = Buffer.from(new Float32Array([1, 2, 3, 4]).buffer);
    const view = { name: 'x', datatype: 'FP32', shape: [1, 2], bytes: shared.subarray(4, 12) } as const;
    const { instance } = host(kind, (requests) => {
      dataOf(requests[0]!).fill(0);
      return [{}];
    });
    await outcomes(instance, [executionRequest([view])]);
    expect(new Float32Array(shared.buffer, 0, 4)).toEqual(Float32Array.of(1, 2, 3, 4));
  });
});

describe.each<InstanceKind>(['inline', 'port'])('Cancellation on an instance (%s)', (kind) => {
  it('aborts the signal of one request, and that of the context when all are gone', async () => {
    const started = pending<[AbortSignal[], AbortSignal]>();
    const finish = pending<void>();
    const { instance } = host(kind, async (requests, context) => {
      started.resolve([requests.map(({ signal }) => signal), context.signal]);
      await finish.promise;
      return requests;
    });
    const run = new Run(instance, [x(1), x(2)]);
    const [signals, all] = await started.promise;
    const aborted = new Promise((resolve) => signals[1]!.addEventListener('abort', resolve));
    run.execution.cancel(1);
    await aborted;
    expect([signals[0]!.aborted, signals[1]!.aborted, all.aborted]).toEqual([false, true, false]);
    const allAborted = new Promise((resolve) => all.addEventListener('abort', resolve));
    run.execution.cancel(0);
    await allAborted;
    expect(signals[0]!.aborted).toBe(true);
    finish.resolve();
    await run.ended;
    run.execution.cancel(0);
    run.execution.cancel(9);
    expect(run.done).toBe(1);
  });

  it('shows signals aborted that are asked for only after the client went', async () => {
    const started = pending<void>();
    const cancelled = pending<void>();
    const seen: boolean[] = [];
    const { instance } = host(kind, async (requests, context) => {
      started.resolve();
      await cancelled.promise;
      seen.push(requests[0]!.signal.aborted, context.signal.aborted);
      return requests;
    });
    const run = new Run(instance, [x(1)]);
    await started.promise;
    run.execution.cancel(0);
    // Let the message cross.
    await outcomesOfAnother(kind);
    await new Promise((resolve) => setImmediate(resolve));
    cancelled.resolve();
    await run.ended;
    expect(seen).toEqual([true, true]);
  });
});

/** A round trip of its own: by then, earlier messages have arrived as well. */
async function outcomesOfAnother(kind: InstanceKind): Promise<void> {
  const { instance } = host(kind, doubled);
  await outcomes(instance, [x(1)]);
}
