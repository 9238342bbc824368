// docs/benchmarks.md, and its picture, from the last run of each suite.

import { format } from 'prettier';

import { asWantedToday, distanceOf, verdictOf, wantedOf } from '../goals.js';
import type { Goal } from '../goals.js';
import type { KeptRun } from '../results-file.js';
import { QUIET } from '../run-suite.js';
import { formatFigure } from '../table.js';
import { goalsChart } from './goals-chart.js';

export interface SuiteName {
  readonly name: string;
  readonly about: string;
  readonly rounds?: string | undefined;
}

export type KeptRuns = ReadonlyMap<string, { readonly path: string; readonly run: KeptRun }>;

const PICTURE = 'benchmarks.svg';

/**
 * The files by name, the page first. `explained` is the hand-written text about the remaining distance to the goals.
 */
export async function benchmarksPage(
  suites: readonly SuiteName[],
  runs: KeptRuns,
  explained = '',
): Promise<Readonly<Record<string, string>>> {
  const measured = suites.filter(({ name }) => runs.has(name));
  const missing = suites.filter(({ name }) => !runs.has(name));
  const goals = measured.flatMap(({ name }) =>
    runs.get(name)!.run.goals.map((goal) => ({ suite: name, goal: asWantedToday(goal) })),
  );
  const text = [
    '# Benchmarks',
    '',
    '`npm run bench -- all` measures and writes this page; no figure of a suite is written by hand. [bench/README.md](../bench/README.md) explains the measurements and how to read them.',
    '',
    ...formatMissed(goals),
    ...formatMachines(measured, runs),
    ...formatWarnings(measured, runs),
    ...(missing.length === 0
      ? []
      : ['', 'These suites have no kept run:', '', ...missing.map(({ name, about }) => `- **${name}**: ${about}`)]),
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

interface Measured {
  readonly suite: string;
  readonly goal: Goal;
}

/** What is not reached comes first, with its distance. */
function formatMissed(goals: readonly Measured[]): readonly string[] {
  const missed = goals.filter(({ goal }) => verdictOf(goal) === 'MISSED');
  if (missed.length === 0) return [];
  const rows = missed.map(({ suite, goal }) => {
    const { id, what, got } = goal;
    return [id, what, wantedOf(goal), formatFigure(got), distanceOf(goal), suite];
  });
  return [
    '## Missed goals',
    '',
    `${missed.length} of ${goals.length} goals are missed. The goals are those of today; a run may be older.`,
    '',
    ...markdownTable(['goal', 'what', 'wanted', 'measured', 'is', 'suite'], rows),
    '',
    '## Runs',
    '',
  ];
}

/** What makes figures of these runs worth less. */
function formatWarnings(measured: readonly SuiteName[], runs: KeptRuns): readonly string[] {
  const those = (fits: (run: KeptRun) => boolean): string =>
    measured.flatMap(({ name }) => (fits(runs.get(name)!.run) ? [name] : [])).join(', ');
  const busy = those(({ loadAverage }) => loadAverage.before[0]! > QUIET);
  const changed = those(({ commit }) => commit.endsWith('+'));
  return [
    ...(busy === ''
      ? []
      : [
          '',
          `**The machine was busy when these began**, with a load average above ${QUIET}: ${busy}. A suite that ran just before counts too. Read their ratios and CPU, not their rates.`,
        ]),
    ...(changed === '' ? [] : ['', `A + behind the commit: files differed from it. These are ${changed}.`]),
  ];
}

function formatMachines(measured: readonly SuiteName[], runs: KeptRuns): readonly string[] {
  if (measured.length === 0) return ['No suite has been run.'];
  const head = ['suite', 'run', 'took', 'rounds', 'load average before, after', 'commit', 'samples'];
  const rows = measured.map(({ name, rounds }) => {
    const { path, run } = runs.get(name)!;
    const { date, seconds, timing, loadAverage, commit } = run;
    return [
      `[${name}](#${name})`,
      date.replace('T', ' ').replace('Z', ' UTC'),
      `${seconds} s`,
      rounds ?? `${timing.rounds} of ${timing.seconds} s`,
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

function formatGoalTable(goals: readonly Measured[]): readonly string[] {
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
