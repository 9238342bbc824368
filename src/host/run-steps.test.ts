// Groups of requests, each with steps of its own; what streams.test.ts does not reach through `stream` and `batch`.

import { describe, expect, it } from 'vitest';

import { TritonError } from '../errors.js';
import { HostedRequest } from '../model/inference-request.js';
import { type RequestGroup, RequestGroups, RequestStreams } from '../model/steps.js';
import { runSteps } from './run-steps.js';

const requests = () => Array.from({ length: 3 }, () => new HostedRequest({}, 1, '', undefined));

/** Runs groups or streams over three requests: what each was answered, and how it ended. */
async function run(given: readonly RequestGroup[] | RequestStreams, batch = requests()) {
  const answers: unknown[][] = batch.map(() => []);
  const ends: unknown[] = batch.map(() => 'open');
  await runSteps(RequestStreams.is(given) ? given : new RequestGroups(given), {
    requests: batch,
    model: 'm',
    resolve: (result, index) => ({
      outcome: TritonError.is(result) ? result : ([result, index] as never),
      more: undefined,
    }),
    failAll: (thrown, indices) => indices.map(() => TritonError.from(thrown)),
    stream: {
      respond: (index, outputs) => void answers[index]!.push(outputs),
      end: (index, error) => {
        expect(ends[index]).toBe('open');
        ends[index] = error?.message;
      },
    },
  });
  return { answers, ends };
}

describe('groups of requests', () => {
  it('answer their own members, each group until it ends', async () => {
    const { answers, ends } = await run([
      {
        members: [2, 0],
        start: function* () {
          yield ['a', 'b'];
          yield [undefined, 'c'];
        },
      },
      {
        members: [1],
        start: async function* () {
          yield ['d'];
          yield await Promise.resolve(['e']);
        },
      },
    ]);
    expect(answers).toEqual([[['b', 0], ['c', 0]], [['d', 1], ['e', 1]], [['a', 2]]]); // prettier-ignore
    expect(ends).toEqual([undefined, undefined, undefined]);
  });

  it('fail alone, those members that have not ended', async () => {
    const failing = function* () {
      yield [new TritonError('INVALID_ARG', 'not you'), 'a'];
      throw new Error('no more');
    };
    const { answers, ends } = await run([
      { members: [0, 2], start: failing },
      { members: [1], start: () => [['b']].values() },
    ]);
    expect(answers).toEqual([[], [['b', 1]], [['a', 2]]]);
    expect(ends).toEqual(['not you', undefined, 'no more']);
  });

  it('fail when they do not start', async () => {
    const { ends } = await run([
      { members: [0], start: () => Promise.reject(new Error('not today')) },
      { members: [1], start: () => [] },
      { members: [2], start: () => [['a']].values() },
    ]);
    expect(ends).toEqual([
      'not today',
      "model 'm' returned 0 results for 1 requests, expected one result per request",
      undefined,
    ]);
  });

  it('may be streams of their members', async () => {
    const { answers, ends } = await run([
      { members: [2, 1], start: () => new RequestStreams([() => ['a', 'b'].values(), () => ['c'].values()]) },
      { members: [0], start: () => new RequestGroups([{ members: [0], start: () => [['d']].values() }]) },
    ]);
    expect(answers).toEqual([[['d', 0]], [['c', 1]], [['a', 2], ['b', 2]]]); // prettier-ignore
    expect(ends).toEqual([undefined, undefined, undefined]);
  });

  it('end once, though a generator fails when it is left', async () => {
    const fail = () => {
      throw new Error('it was left');
    };
    const left = function* () {
      try {
        yield new TritonError('INVALID_ARG', 'not you');
      } finally {
        fail();
      }
    };
    const leftLater = async function* () {
      yield* left();
    };
    const { ends } = await run(new RequestStreams([left, leftLater]));
    expect(ends).toEqual(['not you', 'not you', 'open']);
  });

  it('stop when their clients are gone, and not before', async () => {
    const batch = requests();
    let steps = 0;
    const endless = async function* () {
      for (;;) {
        steps++;
        yield ['a', 'b'];
        batch[steps === 1 ? 0 : 1]!.abort();
      }
    };
    const { answers, ends } = await run([{ members: [0, 1], start: endless }, { members: [2], start: () => [['c']].values() }], batch); // prettier-ignore
    expect(answers).toEqual([[['a', 0]], [['b', 1], ['b', 1]], [['c', 2]]]); // prettier-ignore
    expect(ends).toEqual([undefined, undefined, undefined]);
  });

  it('leave the event loop to others, however fast they step', async () => {
    const batch = requests();
    setImmediate(() => batch.forEach((request) => request.abort()));
    let endedItself = false;
    const busy = function* () {
      for (let step = 0; step < 5_000_000; step++) yield [undefined, undefined, undefined];
      endedItself = true;
    };
    const { ends } = await run([{ members: [0, 1, 2], start: busy }], batch);
    expect(ends).toEqual([undefined, undefined, undefined]);
    expect(endedItself).toBe(false);
  });
});
