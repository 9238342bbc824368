import { describe, expect, it } from 'vitest';

import { type AnyTensorFunc, callDecorated, requestOf, stepsOf } from '../../test/support/decorated-call.js';
import type { InferenceContext, ModelSpec } from '../model/callable.js';
import { RequestStreams } from '../model/steps.js';
import { Tensor } from '../tensor/tensor.js';
import { stream } from './stream.js';

const SPEC: ModelSpec = {
  modelName: 'm',
  inputs: { n: { dtype: 'int32', shape: [1] } },
  outputs: { i: { dtype: 'int32', shape: [1] } },
  config: { decoupled: true },
};

const requests = [1, 2].map((n) => requestOf({ n: Tensor.from('int32', [[n]]) }, { user: `user ${n}` }));

function run(fn: AnyTensorFunc): RequestStreams {
  const { result } = callDecorated(stream(fn as never), requests, SPEC);
  expect(RequestStreams.is(result)).toBe(true);
  return result as RequestStreams;
}

describe('stream', () => {
  it('makes a stream of each request, with its own tensors', () => {
    const { streams } = run(function* ({ n }) {
      for (let i = 0; i < (n!.data[0] as number); i++) yield { i };
    });
    expect(streams.map((start) => stepsOf(start()))).toEqual([[{ i: 0 }], [{ i: 0 }, { i: 1 }]]);
  });

  it('calls nothing before a stream starts', () => {
    let calls = 0;
    const { streams } = run(() => (calls++, []));
    expect(calls).toBe(0);
    streams[1]!();
    expect(calls).toBe(1);
  });

  it('gives each stream its own request and signal, and the rest of the context', () => {
    const contexts: InferenceContext[] = [];
    for (const start of run((_, context) => (contexts.push(context), [])).streams) start();
    expect(contexts.map((context) => context.requests.map(({ parameters }) => parameters['user']))).toEqual([['user 1'], ['user 2']]); // prettier-ignore
    expect(contexts[0]).toMatchObject({ modelName: 'm', modelVersion: 1, modelConfig: { name: 'm', decoupled: true } });
    expect(contexts[0]!.signal).toBe(requests[0]!.signal);
    requests[0]!.abort();
    expect(contexts.map(({ signal }) => signal.aborted)).toEqual([true, false]);
  });

  it('fails only where the stream starts', () => {
    const { streams } = run(({ n }) => {
      if (n!.data[0] === 1) throw new Error('not one');
      return [];
    });
    expect(() => streams[0]!()).toThrow('not one');
    expect(streams[1]!()).toEqual([]);
  });
});
