import { expect, it } from 'vitest';

import { CATEGORIES } from '../restricted-features.js';
import { CATEGORY_OF } from './endpoint-categories.js';

it('every category has an endpoint', () => {
  expect(new Set(Object.values(CATEGORY_OF))).toEqual(new Set(CATEGORIES));
});
