// The rules as Markdown with the number of cases that each covers, for the page on recorded answers.
import { FAMILIES } from './families.js';
import type { Replays } from './replays.js';
import { totals, type RuleCount } from './rules.js';

/**
 * What agrees and which rules cover the rest: a table for each family. It follows from the recordings and the rules; that
 * our answers are what the rules say is what the replays assert.
 */
export async function rulesMarkdown(): Promise<string> {
  const sections: string[] = [];
  for (const { title, predict } of FAMILIES) sections.push(sectionMarkdown(title, await predict()));
  return sections.join('\n');
}

function sectionMarkdown(title: string, replays: Replays): string {
  const all = Object.values(replays);
  const sum = (of: 'cases' | 'identical') => all.reduce((total, replay) => total + replay[of], 0);
  const rules = totals(all);
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
      'Until something changes',
      rules.filter(({ until }) => until !== undefined),
    ),
  ].join('\n');
}

function tableMarkdown(title: string, rules: readonly RuleCount[]): readonly string[] {
  if (rules.length === 0) return [];
  const rows = rules.map(({ name, reason, until, excuses, covers }) => {
    const more = [
      ...(excuses === undefined ? [] : [`Not compared: ${excuses}.`]),
      ...(until === undefined ? [] : [`Until ${until}.`]),
    ];
    return `| ${name} | ${[reason, ...more].join(' ').replaceAll('|', '\\|')} | ${covers.length} |`;
  });
  return [`| ${title} | Why | Cases |`, '|---|---|---:|', ...rows, ''];
}
