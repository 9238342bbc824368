// Four projects: `unit` and `conformance` are quick, `docs` runs what the documents claim, `system` is the rest of test/.
// Tests outside src import the package by its own name, that is the build in dist.
import { availableParallelism } from 'node:os';
import { fileURLToPath } from 'node:url';

import { defineConfig } from 'vitest/config';

import { POLL_MILLISECONDS, TEST_MILLISECONDS, WAIT_MILLISECONDS } from './test/support/waiting.js';

const TEST_FOLDERS_WITH_OWN_PROJECT = ['test/conformance/**', 'test/docs/**'];

const RUN_FOLDER = 'test/support/run-folder.ts';

interface ProjectOptions {
  readonly exclude?: string[];
  readonly globalSetup?: string;
  /** Whether each file has a process of its own. */
  readonly isolate: boolean;
  /** Projects run one after the other, for only files of one project that follow each other share a process. */
  readonly sequence: { readonly groupOrder: number };
}

function project(name: string, include: string[], { exclude = [], ...more }: ProjectOptions) {
  return {
    extends: true as const,
    test: { name, include, exclude: ['**/node_modules/**', 'test/types/**', ...exclude], ...more },
  };
}

export default defineConfig({
  // Node 20 parses no `using` declarations.
  oxc: { target: 'es2022' },
  resolve: { alias: { 'fast-check': fileURLToPath(new URL('test/support/fast-check.ts', import.meta.url)) } },
  test: {
    environment: 'node',
    server: { deps: { external: [/\/dist\/.*\.js$/] } },
    pool: 'forks',
    // Long tests mostly wait: for a time to pass, or for another process.
    maxWorkers: Math.ceil(1.5 * availableParallelism()),
    setupFiles: ['open-resources', 'patience', 'equal-bytes'].map((name) => `test/support/${name}.ts`),
    testTimeout: TEST_MILLISECONDS,
    hookTimeout: TEST_MILLISECONDS,
    teardownTimeout: WAIT_MILLISECONDS,
    expect: { poll: { timeout: WAIT_MILLISECONDS, interval: POLL_MILLISECONDS } },
    dangerouslyIgnoreUnhandledErrors: false,
    restoreMocks: true,
    unstubEnvs: true,
    unstubGlobals: true,
    reporters: ['default'],
    coverage: {
      provider: 'v8',
      include: ['src/**/*.ts'],
      exclude: ['src/**/*.test.ts', 'src/protocol/protobuf/generated/**'],
      reporter: ['text', 'json-summary'],
      reportsDirectory: 'coverage',
    },
    projects: [
      project('unit', ['src/**/*.test.ts', 'page/**/*.test.ts', 'test/*.test.ts'], {
        isolate: false,
        sequence: { groupOrder: 0 },
      }),
      project('conformance', ['test/conformance/**/*.test.ts'], { isolate: true, sequence: { groupOrder: 1 } }),
      project('docs', ['test/docs/**/*.test.ts'], {
        globalSetup: RUN_FOLDER,
        isolate: true,
        sequence: { groupOrder: 1 },
      }),
      project('system', ['test/*/**/*.test.ts'], {
        exclude: TEST_FOLDERS_WITH_OWN_PROJECT,
        globalSetup: RUN_FOLDER,
        isolate: true,
        sequence: { groupOrder: 1 },
      }),
    ],
  },
});
