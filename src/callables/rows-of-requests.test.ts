// Which request each row belongs to, under every decorator and every order of them: rows never get the parameters of
// another user.

import { describe, expect, it } from 'vitest';

import { allSteps, callDecorated, requestOf, type Tensors } from '../../test/support/decorated-call.js';
import type { InferenceContext, ModelSpec } from '../model/callable.js';
import { RequestStreams } from '../model/steps.js';
import { Tensor } from '../tensor/tensor.js';
import { batch } from './batch.js';
import { fillOptionals } from './fill-optionals.js';
import { firstValue } from './first-value.js';
import { groupByKeys } from './group-by-keys.js';
import { groupByValues } from './group-by-values.js';
import { padBatch } from './pad-batch.js';
import { sample } from './sample.js';
import { stream } from './stream.js';

const SPEC: ModelSpec = {
  modelName: 'm',
  inputs: {
    user: { dtype: 'int32', shape: [1] },
    k: { dtype: 'int32', shape: [1] },
    o: { dtype: 'int32', shape: [1], optional: true },
  },
  outputs: { user: { dtype: 'int32', shape: [1] } },
  config: { maxBatchSize: 8, batcher: { preferredBatchSize: [8] } },
};

const column = (values: readonly number[]) => Tensor.from('int32', values.map((value) => [value])); // prettier-ignore

/** A request of a user, whose number is in each of its rows; `keys` has one entry per row. */
const of = (user: number, keys: readonly number[], more: Tensors = {}) =>
  requestOf({ user: column(keys.map(() => user)), k: column(keys), ...more }, { user });

const REQUESTS = () => [of(1, [5, 6]), of(2, [6]), of(3, [5, 5, 6])];

/** Answers the user of each row as the context tells it, and checks it against the row. */
function answer({ user }: Tensors, { requestOfRow, rowParameters }: InferenceContext) {
  const rows = [...(user!.data as Int32Array)];
  expect(requestOfRow.map(({ parameters }) => parameters['user'])).toEqual(rows);
  expect(rowParameters.map((parameters) => parameters['user'])).toEqual(rows);
  return { user: column(rowParameters.map((parameters) => parameters['user'] as number)) };
}

const around = (decorator: unknown, fn: unknown) => (decorator as (fn: unknown) => never)(fn);
const grouped = (fn: unknown) => groupByValues(['k'] as never, fn as never);
const first = (fn: unknown) => firstValue(['k'] as never, fn as never, { strict: false });

const DECORATED: Readonly<Record<string, unknown>> = {
  batch: around(batch, answer),
  'batch, groupByValues': around(batch, grouped(answer)),
  'batch, padBatch': around(batch, around(padBatch, answer)),
  'batch, firstValue': around(batch, first(answer)),
  'batch, groupByValues, padBatch, firstValue': around(batch, grouped(around(padBatch, first(answer)))),
  'batch, padBatch, groupByValues': around(batch, around(padBatch, grouped(answer))),
  'batch, groupByValues, groupByValues': around(batch, grouped(groupByValues(['user'] as never, answer as never))),
  'groupByKeys, batch, groupByValues': around(groupByKeys, around(batch, grouped(answer))),
  'fillOptionals, batch': fillOptionals({ o: 7 } as never, around(batch, answer)),
};

describe('the rows of requests', () => {
  it.each(Object.keys(DECORATED))('keep their users under %s', (name) => {
    const requests = REQUESTS();
    const { result } = callDecorated(DECORATED[name], requests, SPEC);
    const users = (result as { readonly user: Tensor }[]).map(({ user }) => [...(user.data as Int32Array)]);
    expect(users).toEqual([[1, 1], [2], [3, 3, 3]]);
  });

  it('keep their users when requests have different inputs', () => {
    const requests = [of(1, [5], { o: column([1]) }), of(2, [6, 7]), of(3, [5], { o: column([2]) })];
    for (const callable of [
      around(groupByKeys, around(batch, answer)),
      fillOptionals({ o: 7 } as never, around(batch, grouped(answer))),
      fillOptionals({ o: 7 } as never, around(groupByKeys, around(batch, around(padBatch, answer)))),
    ]) {
      const { result } = callDecorated(callable, requests, SPEC);
      expect((result as { readonly user: Tensor }[]).map(({ user }) => [...(user.data as Int32Array)])).toEqual([[1], [2, 2], [3]]); // prettier-ignore
    }
  });

  it('are those of one request under stream and sample', async () => {
    const answered = async (result: unknown) => {
      const steps = await Promise.all((result as RequestStreams).streams.map(async (start) => allSteps(await start())));
      return steps.length;
    };
    const generator = async function* (inputs: Tensors, context: InferenceContext) {
      yield answer(inputs, context);
    };
    const config = { ...SPEC.config, decoupled: true };
    for (const callable of [around(stream, generator), around(stream, grouped(generator))]) {
      const { result } = callDecorated(callable, REQUESTS(), { ...SPEC, config });
      expect(RequestStreams.is(result)).toBe(true);
      expect(await answered(result)).toBe(3);
    }
    for (const alone of [{ maxBatchSize: 1 }, { batching: false }]) {
      const requests = [
        alone.batching === false
          ? requestOf({ user: Tensor.from('int32', [4]), k: Tensor.from('int32', [1]) }, { user: 4 })
          : of(4, [1]),
      ];
      let seen: unknown;
      const callable = around(sample, ({ user }: Tensors, { rowParameters, requestOfRow }: InferenceContext) => {
        seen = [rowParameters, requestOfRow];
        return { user };
      });
      callDecorated(callable, requests, { ...SPEC, config: alone });
      expect(seen).toEqual([[{ user: 4 }], requests]);
    }
  });

  it('are there for raw callables too', () => {
    const requests = REQUESTS();
    const raw = (given: readonly unknown[], { requestOfRow }: InferenceContext) => {
      expect(requestOfRow).toEqual([0, 0, 1, 2, 2, 2].map((index) => requests[index]));
      return given;
    };
    callDecorated(raw, requests, SPEC);
    expect.assertions(1);
  });
});
