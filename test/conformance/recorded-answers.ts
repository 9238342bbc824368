// The page on recorded answers: what agrees with them, and the rules that cover the rest with the number of cases that each
// covers. Each section is held against the replays of its own test; no answer is replayed for the page alone.
import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect } from 'vitest';

import type { Replays } from './replays.js';
import { totals, type RuleCount } from './rules.js';

const PAGE = fileURLToPath(new URL('../../docs/recorded-answers.md', import.meta.url));

/** The sections in their order. */
export const SECTIONS = [
  'HTTP',
  'Metrics',
  'gRPC',
  '`bind`',
  'Decorators',
  'Outputs',
  'Life cycle',
  'Scheduling',
] as const;
export type Section = (typeof SECTIONS)[number];

export const INTRODUCTION = `# Recorded answers

What Triton 2.51.0 and PyTriton 0.7.0 answered, case by case, replayed against TSTriton, and every difference as a named
rule with its reason. Written by the tests that replay them: \`npx vitest run --project conformance --no-file-parallelism -u\`.
`;

/** What the page tells of a section, and what the replays found; with `vitest -u` the page is made to tell it. */
export function told(
  section: Section,
  replays: Replays,
): { readonly page: string | undefined; readonly found: string } {
  const found = sectionMarkdown(section, replays);
  const { introduction, sections } = readPage();
  if (expect.getState().snapshotState.snapshotUpdateState === 'all' && sections.get(section) !== found) {
    sections.set(section, found);
    const known = SECTIONS.flatMap((title) => sections.get(title) ?? []);
    writeFileSync(PAGE, [introduction, ...known].join('\n'));
  }
  return { page: sections.get(section), found };
}

/** What stands before the first section, and the sections by their titles. */
export function readPage() {
  const [introduction = '', ...parts] = readFileSync(PAGE, 'utf8').split(/\n(?=### )/);
  const sections = new Map(parts.map((part) => [part.slice('### '.length, part.indexOf('\n')), part]));
  return { introduction, sections };
}

function sectionMarkdown(title: Section, replays: Replays): string {
  const all = Object.values(replays);
  const sum = (of: 'cases' | 'identical') => all.reduce((total, replay) => total + replay[of], 0);
  // Of the rules that several sections share, those that this one needs.
  const rules = totals(all).filter(({ cases }) => cases > 0);
  return [
    `### ${title}`,
    '',
    `${sum('identical')} of ${sum('cases')} recorded answers are the same, times apart. The others differ by these rules:`,
    '',
    ...tableMarkdown(
      'On purpose',
      rules.filter(({ until }) => until === undefined),
    ),
    ...tableMarkdown(
      'Not served yet',
      rules.filter(({ until }) => until !== undefined),
    ),
  ].join('\n');
}

function tableMarkdown(title: string, rules: readonly RuleCount[]): readonly string[] {
  if (rules.length === 0) return [];
  const rows = rules.map(({ name, reason, until, cases }) => {
    const why = until === undefined ? reason : `${reason} Issue ${until}.`;
    return `| ${name} | ${why.replaceAll('|', '\\|')} | ${cases} |`;
  });
  return [`| ${title} | Why | Cases |`, '|---|---|---:|', ...rows, ''];
}
