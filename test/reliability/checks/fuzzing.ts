// Every decoder of `npm run fuzz` (R5).
import { fuzz } from '../../fuzz/fuzz-target.js';
import { TARGETS } from '../../fuzz/targets.js';
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
