// One run of a suite: what it prints, and the file that keeps it.

import { describeMachine, loadAverage } from './machine.js';
import { commitMeasured, writeResults } from './results-file.js';
import type { Suite, SuiteOptions } from './suite.js';

/** One-minute load average before a run. */
export const QUIET = 0.5;

/** Returns the number of errors. */
export async function runSuite(
  name: string,
  run: Suite,
  options: Omit<SuiteOptions, 'print'>,
): Promise<{ readonly errors: number; readonly seconds: number }> {
  const { timing, pinning, connections, only, servers, isQuick } = options;
  const machine = describeMachine();
  const commit = commitMeasured();
  const before = loadAverage();
  console.log(`${machine.cpu}, ${machine.cores} cores, ${machine.platform}, node ${machine.node}, commit ${commit}`);
  console.log(`load average ${before.join(' ')}; ${pinning.note}`);
  if (before[0]! > QUIET) console.log('this machine is busy with other things: read ratios and CPU, not rates');
  console.log(`${timing.rounds} rounds of ${timing.seconds} s each, interleaved; medians, ratios of paired rounds\n`);

  const printed: string[] = [];
  const print = (text: string): void => {
    printed.push(text);
    console.log(text);
  };
  const startedAt = performance.now();
  const { comparisons, errors, goals, figures } = await run({ ...options, print });
  const seconds = Math.round((performance.now() - startedAt) / 1000);
  const after = loadAverage();
  console.log(`\nload average ${after.join(' ')}; ${seconds} s`);
  const report = printed.join('\n');
  const file = await writeResults(name, isQuick, {
    commit,
    machine,
    pinning,
    timing,
    connections,
    only,
    servers,
    loadAverage: { before, after },
    seconds,
    errors,
    report,
    goals,
    comparisons,
    figures,
  });
  console.log(`samples: ${file}`);
  if (errors > 0) console.error(`${errors} errors: these figures are worth nothing`);
  return { errors, seconds };
}
