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
  const sections = Object.keys(CHECKS).flatMap((name) => (runs[name] === undefined ? [] : [section(name, runs[name])]));
  return `${page.slice(0, begin + BEGIN.length)}\n\n${sections.join('\n')}\n${page.slice(end)}`;
}

function section(name: string, { date, commit, form, seed, seconds, machine, load, figures }: Run): string {
  const rows = figures.map(({ what, got, wanted = '', isMet }) => {
    const outcome = isMet === undefined ? '' : isMet ? 'yes' : '**no**';
    return `| ${[what, got, wanted, outcome].map((text) => text.replaceAll('|', '\\|')).join(' | ')} |`;
  });
  return [
    `### ${name}: ${CHECKS[name]!.about}`,
    '',
    '| | measured | wanted | met |',
    '| --- | --- | --- | --- |',
    ...rows,
    '',
    `${form} form, ${seconds} s, seed ${seed}, ${date}, commit ${commit}; ${machine}; load average ${load.join(' to ')}.`,
    '',
  ].join('\n');
}
