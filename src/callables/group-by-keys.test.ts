import { describe, expect, it } from 'vitest';

import { type AnyInferFunc, callDecorated, requestOf } from '../../test/support/decorated-call.js';
import { TritonError } from '../errors.js';
import type { ModelSpec } from '../model/callable.js';
import { RequestGroups } from '../model/steps.js';
import { Tensor } from '../tensor/tensor.js';
import { batch } from './batch.js';
import { groupByKeys } from './group-by-keys.js';

const SPEC: ModelSpec = {
  modelName: 'm',
  inputs: { a: { dtype: 'float32', shape: [1], optional: true }, b: { dtype: 'float32', shape: [1], optional: true } },
  outputs: { y: { dtype: 'float32', shape: [1] } },
};

const column = (...values: number[]) =>
  Tensor.from(
    'float32',
    values.map((value) => [value]),
  );
const A = (value: number, user?: string) => requestOf({ a: column(value) }, user === undefined ? undefined : { user });
const AB = (a: number, b: number) => requestOf({ a: column(a), b: column(b) });
const BA = (b: number, a: number) => requestOf({ b: column(b), a: column(a) });

function run(fn: AnyInferFunc, requests: ReturnType<typeof A>[], spec: Partial<ModelSpec> = {}) {
  return callDecorated(groupByKeys(fn as never), requests, { ...SPEC, ...spec });
}

/** The inputs of each request as text: what a call got. */
function described(requests: readonly { readonly inputs: object }[]): string[] {
  return requests.map(({ inputs }) => Object.entries(inputs).map(([name, tensor]) => `${name}${String((tensor as Tensor).data[0])}`).join()); // prettier-ignore
}

describe('groupByKeys', () => {
  it('leaves no rejected promise to the process where a group has more results than requests', async () => {
    const { result } = run(() => [1, 2].map(() => Promise.reject(new Error('not seen'))), [A(1), AB(1, 2)]);
    expect(result).toHaveLength(2);
    // A rejection that nobody takes would fail this file.
    await new Promise((resolve) => setImmediate(resolve));
  });

  it('calls once for each set of inputs, in the order of the first requests, and puts the results back', () => {
    const calls: string[][] = [];
    const { result } = run(
      (requests) => {
        calls.push(described(requests));
        return requests;
      },
      [AB(1, 2), A(3), BA(4, 5), requestOf({}), A(6)],
    );
    expect(calls).toEqual([['a1,b2', 'b4,a5'], ['a3', 'a6'], ['']]);
    expect(described(result as never)).toEqual(['a1,b2', 'a3', 'b4,a5', '', 'a6']);
  });

  it('hands one set of inputs through, with the very requests and context', () => {
    const requests = [A(1), A(2)];
    const outcome = [{}, {}];
    let seen: unknown;
    const { result } = run((given, context) => ((seen = [given, context.requests]), outcome), requests);
    expect(seen).toEqual([requests, requests]);
    expect(result).toBe(outcome);
  });

  it('fails a request alone whose promise is rejected, also while a later group still computes', async () => {
    const { result } = run(
      (requests) =>
        requests.map(async (request) => {
          const [name] = described([request]);
          if (name === 'a1') throw new TritonError('INVALID_ARG', 'not one');
          await new Promise((resolve) => setImmediate(resolve));
          return request;
        }),
      [A(1), A(2), AB(3, 4)],
    );
    const [first, ...others] = (await result) as unknown[];
    expect(first).toMatchObject({ code: 'INVALID_ARG', message: 'not one' });
    expect(described(others as never)).toEqual(['a2', 'a3,b4']);
  });

  it('gives no requests no call', () => {
    expect(run(() => expect.unreachable(), []).result).toEqual([]);
  });

  it('tells names apart that contain commas', () => {
    const calls: number[] = [];
    run(
      (requests) => (calls.push(requests.length), requests),
      [requestOf({ 'a,b': column(1) }), requestOf({ a: column(1), b: column(1) })],
    );
    expect(calls).toEqual([1, 1]);
  });

  it('gives each group a context with its own requests and signal', () => {
    const [gone, stays] = [A(1, 'x'), A(2, 'y')];
    const users: unknown[] = [];
    const signals: AbortSignal[] = [];
    run(
      (requests, context) => {
        users.push(context.requests.map(({ parameters }) => parameters['user']));
        signals.push(context.signal);
        return requests;
      },
      [gone, AB(1, 2), stays],
    );
    expect(users).toEqual([['x', 'y'], [undefined]]);
    gone.abort();
    expect(signals.map(({ aborted }) => aborted)).toEqual([false, false]);
    stays.abort();
    expect(signals.map(({ aborted }) => aborted)).toEqual([true, false]);
  });

  it('calls asynchronous functions one after the other', async () => {
    let running = 0;
    const { result } = run(
      async (requests) => {
        expect(++running).toBe(1);
        await Promise.resolve();
        running--;
        return requests;
      },
      [A(1), AB(2, 3), A(4)],
    );
    expect(described((await result) as never)).toEqual(['a1', 'a2,b3', 'a4']);
  });

  it('lets batch join what belongs together', () => {
    const sums = batch((({ a, b }: { a: Tensor<'float32'>; b?: Tensor<'float32'> }) => ({
      y: a.map((value, i) => value + (b?.data[i] ?? 0)),
    })) as never);
    const { result } = callDecorated(groupByKeys(sums), [A(1), AB(2, 20), A(3), BA(40, 4)], SPEC);
    expect(result).toEqual([1, 22, 3, 44].map((sum) => ({ y: column(sum) })));
  });

  it('fails only the group that threw, and logs why', async () => {
    const thrower: AnyInferFunc = (requests) => {
      if ('b' in requests[0]!.inputs) throw new Error('no b today');
      return requests;
    };
    const requests = [A(1), AB(2, 3), A(4), AB(5, 6)];
    const failed = expect.objectContaining({ code: 'INTERNAL', message: 'no b today' });
    const sync = run(thrower, requests);
    expect(sync.result).toEqual([requests[0], failed, requests[2], failed]);
    expect(sync.errors).toEqual([expect.stringContaining('the callable failed: Error: no b today')]);
    const { result } = run(async (group, context) => Promise.resolve(thrower(group, context)), requests);
    expect(await result).toEqual([requests[0], failed, requests[2], failed]);
  });

  it('keeps the code of a TritonError, and errors in the place of single requests', () => {
    const refused = new TritonError('INVALID_ARG', 'not that one');
    const { result } = run(
      (requests) => {
        if ('b' in requests[0]!.inputs) throw refused;
        return [requests[0], refused];
      },
      [A(1), A(2), AB(3, 4)],
    );
    expect(result).toEqual([expect.anything(), refused, refused]);
  });

  it.each([
    ['fewer results', (requests: readonly unknown[]) => requests.slice(1), '1 results'],
    ['nothing', () => undefined, 'no list'],
  ])('fails a group that returned %s', (_, fn, got) => {
    const { result } = run(fn, [A(1), A(2), AB(3, 4), AB(5, 6)]);
    const message = `model 'm' returned ${got} for 2 requests of the same inputs, expected one result per request`;
    expect(result).toEqual(Array.from({ length: 4 }, () => expect.objectContaining({ code: 'INTERNAL', message })));
  });

  it('gives each group of a decoupled model steps of its own', () => {
    const { result } = run(
      function* (requests) {
        yield described(requests);
      },
      [A(1), AB(2, 3), A(4)],
      { config: { decoupled: true } },
    );
    expect(RequestGroups.is(result)).toBe(true);
    const { groups } = result as RequestGroups;
    expect(groups.map(({ members }) => members)).toEqual([[0, 2], [1]]);
    expect(groups.map(({ start }) => [...(start() as Iterable<unknown>)])).toEqual([[['a1', 'a4']], [['a2,b3']]]);
  });
});
