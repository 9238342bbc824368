// Every decoder of `npm run fuzz`, and every connection (R5).
import { fuzz } from '../../fuzz/fuzz-target.js';
import { runFuzzedTest } from '../../fuzz/run-fuzzed-test.js';
import { FUZZED_TESTS, TARGETS, type FuzzedTest } from '../../fuzz/targets.js';
import { watchForHangs } from '../../fuzz/watch.js';
import { plain, type Check } from '../check.js';

export const fuzzing: Check = {
  about: 'decoders on right and spoilt bytes, against independent ones',
  run({ seed, isFull }) {
    using _watch = watchForHangs();
    const runs = isFull ? 1_000_000 : 100_000;
    return Promise.resolve(
      Object.entries(TARGETS).map(([name, target]) => {
        const { accepted, slowestMs } = fuzz(target, seed, runs);
        return plain(
          name,
          `${runs} inputs, ${accepted} taken for good, 0 findings, slowest ${slowestMs.toFixed(0)} ms`,
        );
      }),
    );
  },
};

/** The most runs of one process: some of the tests keep what they sent. */
const RUNS_OF_A_PROCESS = 20_000;

function fuzzingTest(test: FuzzedTest): Check {
  return {
    about: `fuzzing, ${test.about}`,
    async run({ seed, isFull }) {
      const [, perRun] = Object.entries(test.inputs)[0]!;
      const wanted = Math.ceil((isFull ? 1_000_000 : 100_000) / perRun);
      for (let runs = 0; runs < wanted; runs += RUNS_OF_A_PROCESS) {
        await runFuzzedTest(test, { seed: seed + runs, runs: Math.min(RUNS_OF_A_PROCESS, wanted - runs) });
      }
      return Object.entries(test.inputs).map(([what, count]) => plain(what, `${wanted * count} inputs, 0 findings`));
    },
  };
}

/** By the name of the test. The check fails at the first finding. */
export const fuzzingTests: Readonly<Record<string, Check>> = Object.fromEntries(
  Object.entries(FUZZED_TESTS).map(([name, test]) => [`fuzz-${name}`, fuzzingTest(test)]),
);
