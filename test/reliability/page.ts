// The part of RELIABILITY.md that is measured: it lies between two markers, and is made of the last run of each check.
import type { Figure } from './check.js';
import { CHECKS } from './checks.js';

export interface Run {
  readonly date: string;
  readonly commit: string;
  readonly form: 'short' | 'full';
  readonly seed: number;
  readonly seconds: number;
  readonly machine: string;
  /** Of the last minute, when it began and when it had ended. */
  readonly load: readonly [number, number];
  readonly figures: readonly Figure[];
}

export type Runs = Readonly<Record<string, Run>>;

const BEGIN = '<!-- measured: npm run reliability -->';
const END = '<!-- /measured -->';

/** The page with these runs in it. */
export function withRuns(page: string, runs: Runs): string {
  const [begin, end] = [page.indexOf(BEGIN), page.indexOf(END)];
  if (begin < 0 || end < begin) throw new Error(`RELIABILITY.md must have ${BEGIN} and ${END}`);
  const sections = Object.keys(CHECKS).flatMap((name) => sectionsOf(name, runs));
  return `${page.slice(0, begin + BEGIN.length)}\n\n${sections.join('\n')}\n${page.slice(end)}`;
}

/** The oldest supported major version of Node. The page has the runs on others beside the runs on this one. */
const USUAL_NODE = '20';

/** The name of a check's run on this version of Node. */
export function nameOfRun(check: string, version: string = process.versions.node): string {
  const [major] = version.split('.');
  return major === USUAL_NODE ? check : `${check} on Node ${major}`;
}

function sectionsOf(check: string, runs: Runs): readonly string[] {
  const others = Object.keys(runs).filter((name) => name.startsWith(`${check} on Node `));
  return [check, ...others.toSorted()].flatMap((name) => {
    const run = runs[name];
    return run === undefined ? [] : [section(name, CHECKS[check]!.about, run)];
  });
}

function section(
  name: string,
  about: string,
  { date, commit, form, seed, seconds, machine, load, figures }: Run,
): string {
  const rows = figures.map(({ what, got, wanted = '', isMet }) => {
    const outcome = isMet === undefined ? '' : isMet ? 'yes' : '**no**';
    return `| ${[what, got, wanted, outcome].map((text) => text.replaceAll('|', '\\|')).join(' | ')} |`;
  });
  return [
    `### ${name}: ${about}`,
    '',
    '| | measured | wanted | met |',
    '| --- | --- | --- | --- |',
    ...rows,
    '',
    `${form} form, ${seconds} s, seed ${seed}, ${date}, commit ${commit}; ${machine}; load average ${load.join(' to ')}.`,
    '',
  ].join('\n');
}
