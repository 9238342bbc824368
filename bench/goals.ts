// The figures that the project wants to reach, each beside what a run has measured. What is wanted has its one home here, so that
// a page made of older runs judges them by the goals of today.

import { formatFigure } from './table.js';

export interface Goal {
  /** As the project's list of targets names it. */
  readonly id: string;
  /** What is measured, with its unit. */
  readonly what: string;
  readonly got: number;
  readonly bound: 'at least' | 'at most';
  readonly target: number;
  /** What is to be reached beyond the target. */
  readonly stretch?: number | undefined;
}

interface Wanted {
  readonly id: string;
  /** Where a goal's bounds differ by what is measured: the words that tell. The first entry that fits holds. */
  readonly when?: RegExp;
  readonly bound: Goal['bound'];
  readonly target: number;
  readonly stretch?: number;
}

/** The words for the wires in what is measured. Bounds that differ by wire are told by them. */
export const WIRE_TITLES = { 'http-json': 'HTTP JSON', 'http-binary': 'HTTP binary', grpc: 'gRPC' } as const;

const INLINE = /serverThread: false/;

/** The project's list of targets. Goals that only one suite has, a part's budget say, are the suite's own. */
const WANTED: readonly Wanted[] = [
  { id: 'P1', bound: 'at least', target: 4, stretch: 7 },
  { id: 'P2', bound: 'at least', target: 4, stretch: 7 },
  { id: 'P3', bound: 'at most', target: 1, stretch: 0.7 },
  { id: 'P4', bound: 'at least', target: 0.85, stretch: 1.1 },
  { id: 'P5', bound: 'at least', target: 0.7, stretch: 1 },
  { id: 'P6', when: INLINE, bound: 'at most', target: 1.3, stretch: 1.1 },
  { id: 'P6', bound: 'at most', target: 1.8, stretch: 1.5 },
  { id: 'P7', when: INLINE, bound: 'at most', target: 1.3, stretch: 1 },
  { id: 'P7', bound: 'at most', target: 1, stretch: 0.8 },
  { id: 'P8', bound: 'at most', target: 6, stretch: 4 },
  { id: 'P9', when: INLINE, bound: 'at least', target: 92, stretch: 98 },
  { id: 'P9', bound: 'at least', target: 95, stretch: 98 },
  { id: 'P10', when: /responses\/s/, bound: 'at least', target: 250_000, stretch: 400_000 },
  { id: 'P10', when: /first ms/, bound: 'at most', target: 2 },
  { id: 'P10', when: /health/, bound: 'at most', target: 1.5, stretch: 0.7 },
  { id: 'P11', bound: 'at most', target: 3, stretch: 1 },
  { id: 'P12', bound: 'at least', target: 1.85, stretch: 1.95 },
  { id: 'P13', bound: 'at most', target: 35, stretch: 20 },
  { id: 'P14', when: /import/, bound: 'at most', target: 40, stretch: 25 },
  { id: 'P14', bound: 'at most', target: 60, stretch: 30 },
  { id: 'P15', when: /req\/s/, bound: 'at least', target: 25, stretch: 40 },
  { id: 'P15', when: /p50/, bound: 'at most', target: 1 / 12, stretch: 1 / 20 },
  { id: 'P15', when: /CPU/, bound: 'at most', target: 1 / 25, stretch: 1 / 40 },
  { id: 'P16', bound: 'at most', target: 1.2 },
  { id: 'P17', when: /HTTP/, bound: 'at least', target: 1.6, stretch: 2 },
  { id: 'P17', when: /gRPC/, bound: 'at least', target: 2, stretch: 3 },
  { id: 'P18', when: /req\/s/, bound: 'at least', target: 4.5, stretch: 8 },
  { id: 'P18', when: /p50/, bound: 'at most', target: 0.65, stretch: 0.5 },
  { id: 'P19', bound: 'at most', target: 90, stretch: 75 },
  { id: 'P21', bound: 'at least', target: 0.85, stretch: 0.95 },
  { id: 'P22', when: /Triton's core/, bound: 'at least', target: 1.2, stretch: 2 },
  { id: 'P22', when: /PyTriton/, bound: 'at least', target: 20, stretch: 40 },
  { id: 'P22', when: INLINE, bound: 'at least', target: 0.9, stretch: 1 },
  { id: 'P22', bound: 'at least', target: 0.75, stretch: 0.9 },
  { id: 'P23', bound: 'at least', target: 0.7, stretch: 0.9 },
  { id: 'P24', when: /bytes/, bound: 'at most', target: 1000 },
  { id: 'P24', bound: 'at most', target: 1.3, stretch: 1.1 },
  { id: 'P25', when: INLINE, bound: 'at least', target: 0.7, stretch: 0.9 },
  { id: 'P25', bound: 'at least', target: 0.5, stretch: 0.7 },
  { id: 'page', bound: 'at most', target: 1 },
  { id: 'chat', bound: 'at least', target: 100_000 },
  { id: 'remote', bound: 'at least', target: 0.7 },
  { id: 'R3', bound: 'at most', target: 1.2 },
];

function wantedFor(id: string, what: string): Wanted | undefined {
  return WANTED.find((one) => one.id === id && (one.when?.test(what) ?? true));
}

/** A figure beside the target of this name. */
export function goalFor(id: string, what: string, got: number): Goal {
  const wanted = wantedFor(id, what);
  if (!wanted) throw new Error(`no target is named ${id} and fits '${what}'`);
  return { id, what, got, bound: wanted.bound, target: wanted.target, stretch: wanted.stretch };
}

/** The same figure beside what is wanted today, whatever was wanted when it was measured. */
export function asWantedToday(goal: Goal): Goal {
  return wantedFor(goal.id, goal.what) === undefined ? goal : goalFor(goal.id, goal.what, goal.got);
}

/** How far a missed figure is from its goal, in words. */
export function distanceOf({ got, bound, target }: Goal): string {
  if (bound === 'at least') return `${formatFigure((100 * got) / target)} % of it`;
  return target > 0 ? `${formatFigure(got / target)} times it` : `${formatFigure(got)} more`;
}

export type Verdict = 'better' | 'met' | 'MISSED';

export function verdictOf({ got, bound, target, stretch }: Goal): Verdict {
  const reaches = (limit: number): boolean => (bound === 'at most' ? got <= limit : got >= limit);
  if (stretch !== undefined && reaches(stretch)) return 'better';
  return reaches(target) ? 'met' : 'MISSED';
}

export function wantedOf({ bound, target, stretch }: Goal): string {
  return `${bound} ${shortFigure(target)}${stretch === undefined ? '' : `, better ${shortFigure(stretch)}`}`;
}

export function formatGoals(goals: readonly Goal[]): string {
  if (goals.length === 0) return 'Goals: none of them was measured in this run';
  const lines = goals.map((goal) => {
    const { id, what, got } = goal;
    return `  ${verdictOf(goal).padEnd(6)}  ${id.padEnd(4)}  ${what}, ${wantedOf(goal)}: ${formatFigure(got)}`;
  });
  return ['Goals', ...lines].join('\n');
}

/** Bounds are short numbers: 0.85, 30 and 100000 as they are written. */
function shortFigure(value: number): string {
  return String(Math.round(value * 1e4) / 1e4);
}
