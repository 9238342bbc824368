// docs/benchmarks.md, and its picture, of the last run of each suite that was run.

import { format } from 'prettier';

import { verdictOf, wantedOf } from '../goals.js';
import type { Goal } from '../goals.js';
import type { KeptRun } from '../run-suite.js';
import { formatFigure } from '../table.js';
import { goalsChart } from './goals-chart.js';

export interface SuiteName {
  readonly name: string;
  readonly about: string;
}

export type KeptRuns = ReadonlyMap<string, { readonly path: string; readonly run: KeptRun }>;

const PICTURE = 'benchmarks.svg';

/** The files by name, the page first. `explained`: what was written by hand of the distance that is left. */
export async function benchmarksPage(
  suites: readonly SuiteName[],
  runs: KeptRuns,
  explained = '',
): Promise<Readonly<Record<string, string>>> {
  const measured = suites.filter(({ name }) => runs.has(name));
  const missing = suites.filter(({ name }) => !runs.has(name));
  const goals = measured.flatMap(({ name }) => runs.get(name)!.run.goals.map((goal) => ({ suite: name, goal })));
  const text = [
    '# Benchmarks',
    '',
    '`npm run bench -- all` measures and writes this page; no figure of a suite is written by hand. [bench/README.md](../bench/README.md) tells what is measured and how to read it.',
    '',
    ...formatMachines(measured, runs),
    ...(missing.length === 0
      ? []
      : ['', `Not run: ${missing.map(({ name, about }) => `**${name}** (${about})`).join('; ')}.`]),
    '',
    ...formatGoalTable(goals),
    explained,
    ...measured.flatMap((suite) => formatRun(suite, runs.get(suite.name)!)),
  ].join('\n');
  const page = await format(text, { parser: 'markdown', printWidth: 120 });
  return goals.length === 0
    ? { 'benchmarks.md': page }
    : { 'benchmarks.md': page, [PICTURE]: goalsChart(goals.map(({ goal }) => goal)) };
}

function formatMachines(measured: readonly SuiteName[], runs: KeptRuns): readonly string[] {
  if (measured.length === 0) return ['No suite has been run.'];
  const head = ['suite', 'run', 'took', 'rounds', 'load average before, after', 'commit', 'samples'];
  const rows = measured.map(({ name }) => {
    const { path, run } = runs.get(name)!;
    const { date, seconds, timing, loadAverage, commit } = run;
    return [
      `[${name}](#${name})`,
      date.replace('T', ' ').replace('Z', ' UTC'),
      `${seconds} s`,
      `${timing.rounds} of ${timing.seconds} s`,
      `${loadAverage.before[0]}, ${loadAverage.after[0]}`,
      commit,
      `[samples](../${path})`,
    ];
  });
  // One line a machine: suites may have been run on several.
  const machines = new Map<string, string[]>();
  for (const { name } of measured) {
    const { machine, pinning } = runs.get(name)!.run;
    const memory = `${(machine.memoryBytes / 2 ** 30).toFixed(0)} GiB`;
    const line = `${machine.cpu}, ${machine.cores} cores, ${memory}, ${machine.platform}, Node ${machine.node}; ${pinning.note}`;
    machines.set(line, [...(machines.get(line) ?? []), name]);
  }
  const lines = [...machines].map(([line, names]) => (machines.size === 1 ? line : `${names.join(', ')}: ${line}`));
  return [...lines.flatMap((line) => [`${line}.`, '']), ...markdownTable(head, rows)];
}

function formatGoalTable(goals: readonly { readonly suite: string; readonly goal: Goal }[]): readonly string[] {
  if (goals.length === 0) return [];
  const met = goals.filter(({ goal }) => verdictOf(goal) !== 'MISSED').length;
  const rows = goals.map(({ suite, goal }) => {
    const verdict = verdictOf(goal);
    const { id, what, got } = goal;
    return [id, what, wantedOf(goal), formatFigure(got), verdict === 'MISSED' ? '**missed**' : verdict, suite];
  });
  return [
    '## Goals',
    '',
    `${met} of ${goals.length} are met.`,
    '',
    `![Each figure beside its goal](${PICTURE})`,
    '',
    ...markdownTable(['goal', 'what', 'wanted', 'measured', '', 'suite'], rows),
    '',
  ];
}

function formatRun({ name, about }: SuiteName, { run }: { readonly run: KeptRun }): readonly string[] {
  const errors = run.errors === 0 ? [] : [`**${run.errors} errors: these figures are worth nothing.**`, ''];
  // The goals have their own table.
  const report = run.report.replace(/\n*^Goals\b[\s\S]*$/m, '').trimEnd();
  return [
    '',
    `## ${name}`,
    '',
    `${about[0]!.toUpperCase()}${about.slice(1)}.`,
    '',
    ...errors,
    '```text',
    report,
    '```',
  ];
}

function markdownTable(head: readonly string[], rows: readonly (readonly string[])[]): readonly string[] {
  const line = (cells: readonly string[]): string =>
    `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`;
  return [line(head), line(head.map(() => '---')), ...rows.map(line)];
}
