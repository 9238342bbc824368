// Many live sequences on one model: their memory, how punctually idle ones end, and what they cost others.

import { chosen } from '../chosen.js';
import { formatGoals, goalFor, type Goal } from '../goals.js';
import { measureLiveSequences } from '../live-sequences.js';
import { loadAverage } from '../machine.js';
import type { SuiteOptions, SuiteResult } from '../suite.js';
import { formatFigure, formatTable } from '../table.js';

const ROWS = ['live'];
const SERVERS = ['inline'];
const SEQUENCES = 100_000;
const QUICK_SEQUENCES = 3000;

export async function runLiveSequences({ isQuick, only, servers, print }: SuiteOptions): Promise<SuiteResult> {
  chosen(ROWS, only, '--only');
  chosen(SERVERS, servers, '--servers');
  const report = await measureLiveSequences(isQuick ? QUICK_SEQUENCES : SEQUENCES);
  const { sequences, bytesPerSequence, lateMs, timerLateMs, others } = report;
  const slower = others.beside / others.alone;
  const figures: readonly (readonly [string, number])[] = [
    ['bytes for each', bytesPerSequence],
    ['ms late, average', lateMs.average],
    ['ms late, most', lateMs.most],
    ['ms late, a bare timer on average', timerLateMs],
    ['us of CPU, another request without them', others.alone],
    ['the same beside them', others.beside],
  ];
  const rows = figures.map(([name, figure]) => [name, formatFigure(figure)]);
  print(`Live sequences with a small state\n${formatTable([`${sequences} live sequences`, 'measured'], rows)}`);
  const goals: readonly Goal[] = [
    goalFor('P24', 'bytes for each live sequence', bytesPerSequence),
    {
      id: 'idle',
      what: 'ms that idle sequences end late, on average',
      got: lateMs.average,
      bound: 'at most',
      target: 2,
    },
    { id: 'beside', what: 'CPU of other requests beside them, x alone', got: slower, bound: 'at most', target: 1.1 },
  ];
  print(formatGoals(goals));
  return { comparisons: [], goals, errors: 0, figures: { loadAverage: loadAverage(), report } };
}
