import { describe, expect, it } from 'vitest';

import { Tensor } from '../tensor/tensor.js';
import type { InferenceContext } from './callable.js';
import { withRequests, withRows } from './derived-context.js';
import { HostedRequest } from './inference-request.js';
import type { ModelCallOptions } from './model-calls.js';

/** A context as hosts make it: with getters over private members. */
class Context {
  readonly requests: readonly HostedRequest[];
  readonly #controller = new AbortController();
  readonly logger = { error: () => undefined };

  constructor(requests: readonly HostedRequest[]) {
    this.requests = requests;
  }

  get requestOfRow(): readonly HostedRequest[] {
    return this.requests;
  }

  get modelName(): string {
    return `model of ${this.#controller.signal.aborted}`;
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }
}

const request = () => new HostedRequest({ a: Tensor.from('int8', [[1]]) }, 1, '', undefined);

function derive(whole: Context, requests: readonly HostedRequest[]): InferenceContext {
  return withRequests(whole as unknown as InferenceContext, requests);
}

describe('withRequests', () => {
  it('changes the requests and leaves everything else', () => {
    const requests = [request(), request(), request()];
    const whole = new Context(requests);
    const context = derive(whole, requests.slice(1));
    expect(context.requests).toEqual(requests.slice(1));
    expect(context.modelName).toBe('model of false');
    expect(context.logger).toBe(whole.logger);
    expect(whole.requests).toBe(requests);
  });

  it('may be taken apart', () => {
    const requests = [request(), request()];
    const { requests: own, modelName, signal } = derive(new Context(requests), [requests[0]!]);
    expect([own, modelName, signal]).toEqual([[requests[0]], 'model of false', requests[0]!.signal]);
  });

  it('has the rows of its requests', () => {
    const [first, second] = [{ user: 'a' }, { user: 'b' }].map(
      (parameters) => new HostedRequest({ a: Tensor.from('int8', [[1], [2]]) }, 2, '', parameters),
    );
    const context = derive(new Context([request(), first!, second!]), [second!, first!]);
    expect(context.requestOfRow).toEqual([second, second, first, first]);
    expect(context.rowParameters.map(({ user }) => user)).toEqual(['b', 'b', 'a', 'a']);
    // Made once: callables may look at them for every row.
    expect(context.requestOfRow).toBe(context.requestOfRow);
    expect(context.rowParameters).toBe(context.rowParameters);
  });

  it('has the signal of the whole batch for as many requests', () => {
    const requests = [request(), request()];
    const whole = new Context(requests);
    expect(derive(whole, [...requests]).signal).toBe(whole.signal);
  });

  it('has the signal of a single request', () => {
    const requests = [request(), request()];
    expect(derive(new Context(requests), [requests[1]!]).signal).toBe(requests[1]!.signal);
  });

  it('aborts when all of several requests are gone, also those that were before', () => {
    const requests = [request(), request(), request()];
    const context = derive(new Context(requests), requests.slice(1));
    requests[1]!.abort();
    const { signal } = context;
    expect(context.signal).toBe(signal);
    expect(signal.aborted).toBe(false);
    requests[0]!.abort();
    expect(signal.aborted).toBe(false);
    requests[2]!.abort();
    expect(signal.aborted).toBe(true);
    expect(derive(new Context(requests), requests.slice(1)).signal.aborted).toBe(true);
  });
});

it('calls other models as urgently as the requests of its part, unless a call says otherwise', async () => {
  const requests = [3, 1, 2].map((priority) =>
    Object.assign(request(), { priority, timeoutMicroseconds: priority * 100 }),
  );
  const asked: unknown[] = [];
  const infer = (_: unknown, { priority, timeoutMicroseconds }: ModelCallOptions) => {
    asked.push([priority, timeoutMicroseconds]);
    return Promise.resolve({});
  };
  const whole = Object.assign(new Context(requests), { models: { other: { infer } } }) as unknown as InferenceContext;
  const part = withRequests<unknown>(whole, [requests[0]!, requests[2]!]);
  await part.models['other']!.infer({});
  await part.models['other']!.infer({}, { priority: 7 });
  expect(asked).toEqual([
    [2, 300],
    [7, 300],
  ]);
});

describe('withRows', () => {
  const requests = ['a', 'b', 'c'].map((user) => new HostedRequest({}, 1, '', { user }));
  const whole = new Context(requests) as unknown as InferenceContext;

  it('changes the rows and leaves everything else', () => {
    const context = withRows(whole, [2, 0, 0]);
    expect(context.requestOfRow).toEqual([requests[2], requests[0], requests[0]]);
    expect(context.rowParameters.map(({ user }) => user)).toEqual(['c', 'a', 'a']);
    expect(context.requests).toBe(requests);
    expect(context.modelName).toBe('model of false');
  });

  it('counts in the rows of the context that it is given', () => {
    expect(withRows(withRows(whole, [2, 1]), [1]).requestOfRow).toEqual([requests[1]]);
    const { rowParameters } = withRows(withRequests(whole, requests.slice(1)), [1, 0]);
    expect(rowParameters.map(({ user }) => user)).toEqual(['c', 'b']);
  });
});
