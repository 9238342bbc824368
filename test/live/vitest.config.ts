// The comparison with a running Triton is no part of `npm test`: it needs a server that npm does not bring.
import { defineConfig } from 'vitest/config';

export default defineConfig({
  oxc: { target: 'es2022' },
  test: { include: ['test/live/*.live.ts'], testTimeout: 120_000, hookTimeout: 120_000 },
});
