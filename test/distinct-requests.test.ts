// Loads send requests that all differ: an answer that belongs to another request would pass unseen among ones that are alike.
import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

import { expect, it } from 'vitest';

import { answerOf, distinctRequest, expectOwnAnswer, type DistinctRequest } from './support/distinct-requests.js';
import { questionOf } from './support/matrix/question.js';
import { ALL_MODELS } from './support/matrix/way.js';
import { SEED } from './support/seed.js';

const CHECKS = fileURLToPath(new URL('reliability/checks', import.meta.url));

function answered({ x, options: { parameters } }: DistinctRequest) {
  return { x: { data: answerOf({ inputs: { x: { data: x } }, parameters }).x } };
}

it('no two requests of a load are alike, and neighbours differ in size', () => {
  const requests = Array.from({ length: 2000 }, (_, number) => distinctRequest(number));
  const texts = requests.map(({ x, options }) => `${x.join()} ${JSON.stringify(options)}`);
  expect(new Set(texts).size).toBe(requests.length);
  const sizes = requests.map(({ x, options: { requestId } }) => `${x.length} ${requestId.length}`);
  expect(sizes.filter((size, i) => size === sizes[i + 1])).toEqual([]);
});

it('a request takes its own answer, and no other, nor one with a wrong value', () => {
  for (const number of [0, 1, 60, 999]) {
    const request = distinctRequest(number);
    expectOwnAnswer(request, answered(request));
    const another = distinctRequest(number + 1, request.x.length);
    expect(() => expectOwnAnswer(request, answered(another))).toThrow(`request ${number} got`);
    const spoilt = answered(request);
    spoilt.x.data[request.x.length - 1]!++;
    expect(() => expectOwnAnswer(request, spoilt)).toThrow(`request ${number} got`);
    // The values are its own, and the parameters those of another.
    const { parameters } = another.options;
    expect(() =>
      expectOwnAnswer(request, answered({ ...request, options: { ...request.options, parameters } })),
    ).toThrow(`request ${number} got`);
  }
});

it('no two questions of the matrix are alike, and the same seed asks the same', () => {
  const questions = (seed: number) =>
    Array.from({ length: 500 }, (_, number) =>
      JSON.stringify(questionOf(seed, number, { models: ALL_MODELS, mostBytes: 5000 })),
    );
  expect(new Set(questions(SEED)).size).toBe(500);
  expect(questions(SEED)).toEqual(questions(SEED));
  expect(questions(SEED)).not.toEqual(questions(SEED + 1));
});

it('the loads of the reliability checks ask by that generator alone', () => {
  const asking = readdirSync(CHECKS).filter((name) =>
    /infer(Sample|Batch)\(/.test(readFileSync(`${CHECKS}/${name}`, 'utf8')),
  );
  // The check of cancellations has one request at a time; that of rolling restarts numbers its own, up to 50 MB.
  expect(asking.sort()).toEqual(['cancellation.ts', 'roll.ts', 'served.ts']);
});
