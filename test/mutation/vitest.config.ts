// The unit tests as mutation testing runs them: those of one group, in one process, one file after the other.
import { defineConfig } from 'vitest/config';

import shared from '../../vitest.config.js';
import { GROUPS } from './groups.js';

const { projects: _, ...test } = shared.test!;

export default defineConfig({
  ...shared,
  test: { ...test, include: [...GROUPS[process.env['MUTATION_GROUP']!]!.tests], isolate: false, reporters: [] },
});
