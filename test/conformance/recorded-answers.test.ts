import { expect, it } from 'vitest';

import { INTRODUCTION, readPage, SECTIONS } from './recorded-answers.js';

it('has a section for each of the replays, in order', () => {
  const { introduction, sections } = readPage();
  expect(introduction).toBe(INTRODUCTION);
  expect([...sections.keys()]).toEqual([...SECTIONS]);
});
