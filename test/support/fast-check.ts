/* oxlint-disable import/no-default-export -- as the package has it */
// What `import fc from 'fast-check'` means in tests, as vitest.config.ts has it: the package, with the seed of the run.
import { createRequire } from 'node:module';

import type { default as FastCheck } from 'fast-check';

import { SEED } from './seed.js';

const fc = createRequire(import.meta.url)('fast-check') as typeof FastCheck;
fc.configureGlobal({ seed: SEED });

export default fc;
