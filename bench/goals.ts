// The figures that the project wants to reach, each beside what a run has measured.

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
