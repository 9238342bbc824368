import { expect, it } from 'vitest';
import { WatchedCases } from './watched-cases.js';

const CASES = [
  { name: 'one', answer: { status: 200, texts: ['a', 'b'] }, note: null },
  { name: 'two', answer: { status: 500, texts: [] } },
];

function unread(read: (testCase: (typeof CASES)[number]) => void): Record<string, number> {
  const watched = new WatchedCases(CASES);
  watched.cases.forEach(read);
  return Object.fromEntries([...watched.unread()].map(([member, cases]) => [member, cases.size]));
}

it('counts the cases whose members nobody read, and of what was not read at all names the outermost', () => {
  expect(unread(({ name }) => name)).toEqual({ answer: 2 });
});

it('takes for read what was taken out, not what it was taken from', () => {
  expect(unread(({ name, answer }) => [name, answer.status])).toEqual({ 'answer.texts': 2 });
});

it('takes all for read that is written as JSON', () => {
  expect(unread((testCase) => JSON.stringify(testCase))).toEqual({});
});
