// Rows that fail alone, under every decorator: each request gets its own rows or its own error, whatever is in its batch.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { describeResult } from '../../test/support/instances.js';
import type { ExecutionRequest, ExecutionResult, ResponseStream } from '../core/instance/model-instance.js';
import { TritonError } from '../errors.js';
import { hostedCallable } from '../host/callable-turns.js';
import { InlineInstance } from '../link/inline-instance.js';
import type { Callable, InferenceContext } from '../model/callable.js';
import { completeModelConfig } from '../model/complete-model.js';
import type { InferTensor } from '../model/exchange.js';
import { withInputs } from '../model/inference-request.js';
import type { ModelConfig } from '../model/model-config.js';
import type { Tensor } from '../tensor/tensor.js';
import { batch } from './batch.js';
import { constantPadder } from './constant-padder.js';
import { fillOptionals } from './fill-optionals.js';
import { firstValue } from './first-value.js';
import { groupByKeys } from './group-by-keys.js';
import { groupByValues } from './group-by-values.js';
import { padBatch } from './pad-batch.js';
import { stream } from './stream.js';

type Tensors = Readonly<Record<string, Tensor>>;
type AnyFunc = (inputs: Tensors, context: InferenceContext) => unknown;

interface Row {
  readonly key: number;
  readonly isBad: boolean;
}
interface Asked {
  readonly rows: readonly Row[];
  /** Whether the request has the optional input. */
  readonly hasScale: boolean;
}

/** The value of a row, which no other row has. */
const valueOf = (request: number, row: number, { isBad }: Row) => (isBad ? -1 : 1) * (100 * (request + 1) + row);

const asked = fc.array(
  fc.record({
    rows: fc.array(fc.record({ key: fc.nat(2), isBad: fc.boolean() }), {
      minLength: 1,
      maxLength: 3,
    }),
    hasScale: fc.boolean(),
  }),
  { minLength: 1, maxLength: 5 },
);

function tensor(name: string, values: readonly number[]): InferTensor {
  return { name, datatype: 'INT32', shape: [values.length, 1], bytes: new Uint8Array(Int32Array.from(values).buffer) };
}

function executionRequests(requests: readonly Asked[]): ExecutionRequest[] {
  return requests.map(({ rows, hasScale }, index) => ({
    id: String(index),
    parameters: undefined,
    inputs: [
      tensor('x', rows.map((row, place) => valueOf(index, place, row))),
      tensor('k', rows.map(({ key }) => key)),
      hasScale ? tensor('scale', rows.map(() => 1)) : undefined,
    ],
    rows: rows.length,
    memory: undefined,
    requestedOutputs: [],
  })); // prettier-ignore
}

type Outcome = readonly (readonly number[])[] | string;

async function run(callable: unknown, requests: readonly Asked[], config: ModelConfig = {}): Promise<Outcome[]> {
  const spec = {
    modelName: 'm',
    inputs: {
      x: { dtype: 'int32', shape: [1] },
      k: { dtype: 'int32', shape: [1] },
      scale: { dtype: 'int32', shape: [1], optional: true },
    },
    outputs: { y: { dtype: 'int32', shape: [-1] } },
    strict: true,
    config: { maxBatchSize: 16, batcher: { preferredBatchSize: [8] }, ...config },
  } as const;
  const complete = completeModelConfig(spec, 1);
  const logger = { error: () => undefined, verbose: () => undefined, warn: () => undefined, info: () => undefined };
  const instance = new InlineInstance(complete, hostedCallable(callable as Callable, 1), { logger });
  const streamed: (number[] | string)[][] = requests.map(() => []);
  const responses: ResponseStream = {
    respond: (index, [y]) => void streamed[index]!.push(numbersOf(y!)),
    end: (index, error) => void (error && streamed[index]!.push(`${error.code} ${error.message}`)),
    recordMetrics: () => undefined,
  };
  const results = await new Promise<readonly ExecutionResult[]>((resolve) => {
    instance.execute(executionRequests(requests), resolve, complete.decoupled ? responses : undefined);
  });
  if (complete.decoupled) {
    return streamed.map((all) => (typeof all.at(-1) === 'string' ? (all.at(-1) as string) : (all as number[][])));
  }
  return results.map((result) =>
    result.kind === 'outputs' ? [numbersOf(result.outputs[0]!)] : describeResult(result),
  );
}

function numbersOf({ bytes, shape }: InferTensor): number[] {
  const width = shape.slice(1).reduce((product, size) => product * size, 1);
  return [...new Int32Array(bytes.slice().buffer)].filter((_, index) => index % width === 0);
}

/**
 * What each request gets, in so many responses; which of several bad rows it is told of, `outcomes` decide. A text says
 * which row it means unless the request has failed as a whole.
 */
function expected(requests: readonly Asked[], outcomes: readonly Outcome[], { responses = 1, isWhole = false } = {}) {
  return requests.map(({ rows }, index): Outcome => {
    const texts = rows.map((row, place) => {
      const text = `bad ${valueOf(index, place, row)}`;
      return `NOT_FOUND ${isWhole || rows.length === 1 ? text : `row ${place}: ${text}`}`;
    });
    const bad = texts.filter((_, place) => rows[place]!.isBad);
    if (bad.length > 0) return bad.find((text) => text === outcomes[index]) ?? bad[0]!;
    const values = rows.map((row, place) => 2 * valueOf(index, place, row));
    return Array.from({ length: responses }, () => values);
  });
}

const errorOf = (value: number) => new TritonError('NOT_FOUND', `bad ${value}`);
const valuesOf = ({ x }: Tensors) => [...(x!.data as Int32Array)];

const failing: AnyFunc = (inputs, { failRow }) => {
  valuesOf(inputs).forEach((value, row) => void (value < 0 && failRow(row, errorOf(value))));
  return { y: inputs['x']!.map((value) => 2 * (value as number)) };
};
const placing: AnyFunc = (inputs) => ({
  y: valuesOf(inputs).map((value) => (value < 0 ? errorOf(value) : [2 * value])),
});
/** As wide as the group's key, so that groups have to be padded. */
const widening: AnyFunc = (inputs) => {
  const width = 1 + ((inputs['k']!.data as Int32Array)[0] ?? 0);
  return {
    y: valuesOf(inputs).map((value) =>
      value < 0 ? errorOf(value) : Array.from({ length: width }, (_, at) => (at === 0 ? 2 * value : 0)),
    ),
  };
};

const around = (decorator: unknown, fn: unknown) => (decorator as (fn: unknown) => never)(fn);
const grouped = (fn: unknown, padFn?: ReturnType<typeof constantPadder>) =>
  groupByValues(['k'] as never, fn as never, padFn && { padFn });
const first = (fn: unknown) => firstValue(['k'] as never, fn as never, { strict: false });

/** `groupByKeys` around all: requests have different sets of inputs. */
const DECORATED: Readonly<Record<string, (fn: AnyFunc) => unknown>> = {
  batch: (fn) => around(batch, fn),
  groupByValues: (fn) => around(batch, grouped(fn)),
  padBatch: (fn) => around(batch, around(padBatch, fn)),
  firstValue: (fn) => around(batch, first(fn)),
  'groupByValues, padBatch, firstValue': (fn) => around(batch, grouped(around(padBatch, first(fn)))),
  'padBatch, groupByValues': (fn) => around(batch, around(padBatch, grouped(fn))),
  'groupByValues, groupByValues': (fn) => around(batch, grouped(groupByValues(['x'] as never, fn as never))),
};
const inTurn = (callable: unknown) => around(groupByKeys, callable);
const filled = (callable: unknown) => fillOptionals({ scale: 1 } as never, callable as never);
const later = (fn: AnyFunc) => async (inputs: Tensors, context: InferenceContext) => {
  await Promise.resolve();
  return fn(inputs, context);
};

describe('a row that fails', () => {
  const cases = Object.entries(DECORATED).flatMap(([name, decorate]) => [
    [`groupByKeys, ${name}`, (fn: AnyFunc) => inTurn(decorate(fn))] as const,
    [`fillOptionals, ${name}`, (fn: AnyFunc) => filled(decorate(fn))] as const,
  ]);

  it.each(cases)('fails its request and no other under %s', async (_, decorate) => {
    const property = fc.asyncProperty(asked, fc.constantFrom(failing, placing, later(failing), later(placing)), async (requests, fn) => {
      const outcomes = await run(decorate(fn), requests);
      expect(outcomes).toEqual(expected(requests, outcomes));
    }); // prettier-ignore
    await fc.assert(property, { numRuns: 60 });
  });

  it('fails its request and no other where groups have rows of different shapes', async () => {
    const property = fc.asyncProperty(asked, async (requests) => {
      const callable = inTurn(around(batch, grouped(widening, constantPadder(0))));
      const outcomes = await run(callable, requests);
      expect(outcomes).toEqual(expected(requests, outcomes));
    });
    await fc.assert(property, { numRuns: 60 });
  });

  const steps = (fn: AnyFunc): AnyFunc =>
    async function* (inputs, context) {
      yield { y: valuesOf(inputs).map((value) => [2 * value]) };
      await Promise.resolve();
      yield fn(inputs, context);
    };

  it.each([
    ['batch', (fn: AnyFunc) => inTurn(around(batch, fn))],
    ['groupByValues', (fn: AnyFunc) => filled(around(batch, grouped(fn)))],
    ['stream', (fn: AnyFunc) => around(stream, fn)],
    ['stream, groupByValues', (fn: AnyFunc) => around(stream, grouped(fn))],
  ])('ends the stream of its request and no other under %s', async (_, decorate) => {
    const property = fc.asyncProperty(asked, fc.constantFrom(failing, placing), async (requests, fn) => {
      const outcomes = await run(decorate(steps(fn)), requests, { decoupled: true });
      expect(outcomes).toEqual(expected(requests, outcomes, { responses: 2 }));
    });
    await fc.assert(property, { numRuns: 60 });
  });

  it('ends the stream of its request though nothing more is yielded', async () => {
    const requests = [{ rows: [{ key: 0, isBad: true }], hasScale: false }, { rows: [{ key: 0, isBad: false }], hasScale: false }]; // prettier-ignore
    const silent: AnyFunc = async function* (inputs, context) {
      yield { y: valuesOf(inputs).map((value) => [2 * value]) };
      await Promise.resolve();
      failing(inputs, context);
    };
    for (const decorate of [batch, stream]) {
      const config = { decoupled: true };
      const outcomes = await run(around(decorate, silent), requests, config);
      expect(outcomes).toEqual(expected(requests, outcomes));
    }
  });

  it('fails its request in a raw callable, by its place among all rows or as a list in its outputs', async () => {
    const requests = [
      { rows: [{ key: 0, isBad: false }], hasScale: false },
      { rows: [{ key: 0, isBad: false }, { key: 0, isBad: true }], hasScale: false },
    ]; // prettier-ignore
    const byPlace = (batched: readonly { readonly inputs: Tensors }[], { failRow }: InferenceContext) => {
      batched.flatMap(({ inputs }) => valuesOf(inputs)).forEach((value, row) => void (value < 0 && failRow(row, errorOf(value)))); // prettier-ignore
      return batched.map(({ inputs }) => ({ y: inputs['x']!.map((value) => 2 * (value as number)) }));
    };
    const inList = (batched: readonly { readonly inputs: Tensors }[]) =>
      batched.map(({ inputs }) => placing(inputs, undefined as never));
    for (const raw of [byPlace, inList]) {
      const outcomes = await run(raw, requests);
      expect(outcomes).toEqual(expected(requests, outcomes));
    }
  });

  it('has its own error though the callable fails on all', async () => {
    const requests = [{ rows: [{ key: 0, isBad: true }], hasScale: false }, { rows: [{ key: 0, isBad: false }], hasScale: false }]; // prettier-ignore
    const throwing: AnyFunc = (inputs, context) => {
      failing(inputs, context);
      throw new Error('out of memory');
    };
    expect(await run(around(batch, throwing), requests)).toEqual(['NOT_FOUND bad -100', 'INTERNAL out of memory']);
    const config = { isolateFailures: true };
    expect(await run(around(batch, throwing), requests, config)).toEqual(['NOT_FOUND bad -100', 'INTERNAL out of memory']); // prettier-ignore
  });

  it('is one that there is, of a request of this package', async () => {
    const requests = [{ rows: [{ key: 0, isBad: false }], hasScale: false }, { rows: [{ key: 0, isBad: false }], hasScale: false }]; // prettier-ignore
    const at =
      (row: number): AnyFunc =>
      (inputs, { failRow }) => {
        failRow(row, new Error('bad'));
        return { y: inputs['x']! };
      };
    for (const row of [2, -1, 0.5, NaN]) {
      const message = `INTERNAL failRow takes a row from 0 to 1, got ${row}`;
      expect(await run(around(batch, at(row)), requests)).toEqual([message, message]);
    }
    const text = at('0' as unknown as number);
    const refused = 'INTERNAL failRow takes a row from 0 to 1, got "0"';
    expect(await run(around(batch, text), requests)).toEqual([refused, refused]);
    // The rows that padBatch adds are copies of the last.
    const [first, last] = await run(around(batch, around(padBatch, at(7))), requests);
    expect([first, last]).toEqual([[[100]], 'INTERNAL bad']);
    const message = 'INTERNAL failRow takes a row from 0 to 7, got 8';
    expect(await run(around(batch, around(padBatch, at(8))), requests)).toEqual([message, message]);
    expect(await run(around(batch, at(1)), requests)).toEqual([[[100]], 'INTERNAL bad']);
  });
});

describe('a group of rows that fails', () => {
  it('fails the requests that have rows in it, and no others', async () => {
    const property = fc.asyncProperty(asked, fc.boolean(), async (requests, isLate) => {
      const throwing: AnyFunc = (inputs) => {
        if (valuesOf(inputs).some((value) => value < 0)) throw new RangeError(`bad ${inputs['k']!.data[0] as number}`);
        return { y: inputs['x']!.map((value) => 2 * (value as number)) };
      };
      const rows = requests.flatMap((request) => request.rows);
      const keys = new Set(rows.map(({ key }) => key));
      const badKeys = new Set(rows.filter(({ isBad }) => isBad).map(({ key }) => key));
      const outcomes = await run(filled(around(batch, grouped(isLate ? later(throwing) : throwing))), requests);
      const wanted = requests.map(({ rows: own }, index) => {
        const bad = own.flatMap(({ key }, row) => (badKeys.has(key) ? [row] : []));
        if (bad.length === 0) return [own.map((row, place) => 2 * valueOf(index, place, row))];
        // One group alone is the batch, which fails as a whole.
        const isNamed = own.length > 1 && keys.size > 1;
        const texts = bad.map((row) => `INTERNAL ${isNamed ? `row ${row}: ` : ''}bad ${own[row]!.key}`);
        return texts.find((text) => text === outcomes[index]) ?? texts[0];
      });
      expect(outcomes).toEqual(wanted);
    });
    await fc.assert(property, { numRuns: 100 });
  });
});

describe('a model that isolates failures', () => {
  const rows = (count: number, isBad = false) => ({ rows: Array.from({ length: count }, () => ({ key: 0, isBad })), hasScale: false }); // prettier-ignore
  const throwing: AnyFunc = (inputs) => {
    const bad = valuesOf(inputs).find((value) => value < 0);
    // Whoever computes in place is not given its own results.
    const data = inputs['x']!.data as Int32Array;
    for (let i = 0; i < data.length; i++) data[i]! *= 2;
    if (bad !== undefined) throw errorOf(bad);
    return { y: inputs['x'] };
  };

  it.each([
    ['batch', (fn: AnyFunc) => around(batch, fn)],
    ['groupByKeys', (fn: AnyFunc) => inTurn(around(batch, fn))],
    ['groupByValues', (fn: AnyFunc) => around(batch, grouped(fn))],
    ['fillOptionals, padBatch', (fn: AnyFunc) => filled(around(batch, around(padBatch, fn)))],
  ])('fails only those requests that are the reason under %s', async (name, decorate) => {
    const property = fc.asyncProperty(asked, fc.boolean(), async (given, isLate) => {
      const requests = name === 'groupByKeys' ? given : given.map(({ rows: own }) => ({ rows: own, hasScale: false }));
      const outcomes = await run(decorate(isLate ? later(throwing) : throwing), requests, { isolateFailures: true });
      // Groups run one after the other, so the first that fails need not have the first bad row.
      expect(outcomes).toEqual(expected(requests, outcomes, { isWhole: true }));
    });
    await fc.assert(property, { numRuns: 60 });
  });

  it('runs none again when all is well, and a request that is alone only once', async () => {
    let calls = 0;
    const counting: AnyFunc = (inputs, context) => {
      calls++;
      return throwing(inputs, context);
    };
    await run(around(batch, counting), [rows(2), rows(1)], { isolateFailures: true });
    expect(calls).toBe(1);
    await run(around(batch, counting), [rows(2, true)], { isolateFailures: true });
    expect(calls).toBe(2);
  });

  it('hands requests on with what they have', async () => {
    const seen: string[] = [];
    const callable = (requests: readonly { readonly id: string; readonly inputs: Tensors }[], context: InferenceContext) => {
      seen.push(requests.map(({ id }) => id).join());
      expect(context.requests).toEqual(requests);
      if (requests.length > 1) throw new Error('together');
      return requests.map((request) => ({ y: withInputs(request as never, request.inputs).inputs['x'] }));
    }; // prettier-ignore
    expect(await run(callable, [rows(1), rows(2)], { isolateFailures: true })).toEqual([[[100]], [[200, 201]]]);
    expect(seen).toEqual(['0,1', '0', '1']);
  });

  it('is not decoupled', async () => {
    await expect(run(around(batch, throwing), [rows(1)], { isolateFailures: true, decoupled: true })).rejects.toThrow(
      "config.isolateFailures of model 'm' needs one response per request: responses of a decoupled model cannot be taken back; use stream",
    );
  });
});
