import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { AnswerOrder } from './answer-order.js';

describe('AnswerOrder', () => {
  it('holds an answer back until all earlier requests have theirs', () => {
    const order = new AnswerOrder();
    const [a, b, c] = [{}, {}, {}];
    for (const request of [a, b, c]) order.takeTurn(request);
    const given: string[] = [];
    order.answer(c, () => given.push('c'));
    order.answer(b, () => given.push('b'));
    expect(given).toEqual([]);
    order.answer(a, () => given.push('a'));
    expect(given).toEqual(['a', 'b', 'c']);
  });

  it('leaves a request that takes its turn again in its place', () => {
    const order = new AnswerOrder();
    const [a, b] = [{}, {}];
    for (const request of [a, b, a]) order.takeTurn(request);
    const given: string[] = [];
    order.answer(a, () => given.push('a'));
    order.answer(b, () => given.push('b'));
    expect(given).toEqual(['a', 'b']);
  });

  it('answers a request that took no turn at once', () => {
    const order = new AnswerOrder();
    order.takeTurn({});
    const given: string[] = [];
    order.answer({}, () => given.push('refused'));
    expect(given).toEqual(['refused']);
  });

  it('goes on correctly when an answer leads to another one', () => {
    const order = new AnswerOrder();
    const [a, b, c] = [{}, {}, {}];
    for (const request of [a, b, c]) order.takeTurn(request);
    const given: string[] = [];
    order.answer(c, () => given.push('c'));
    order.answer(a, () => {
      given.push('a');
      order.answer(b, () => given.push('b'));
    });
    expect(given).toEqual(['a', 'b', 'c']);
  });

  it('gives the answers in the order of the turns, each once, whatever order they come in', () => {
    fc.assert(
      fc.property(
        fc.nat({ max: 60 }).chain((count) => fc.shuffledSubarray([...new Array(count).keys()], { minLength: count })),
        (finished) => {
          const order = new AnswerOrder();
          const requests = finished.map((_, index) => ({ index }));
          for (const request of requests) order.takeTurn(request);
          const given: number[] = [];
          for (const index of finished) order.answer(requests[index]!, () => given.push(index));
          expect(given).toEqual(requests.map(({ index }) => index));
        },
      ),
    );
  });
});
