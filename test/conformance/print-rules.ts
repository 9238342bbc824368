// The rules as Markdown with the number of cases that each covers, for the page on protocol support.
import {
  replayBindFile,
  replayGrpcFiles,
  replayHttpFiles,
  replayMetricsFile,
  replaySchedulerFile,
  type Replays,
} from './replays.js';
import { replayDecoratorFile, replayLifecycleFiles, replayValidationFile } from './pytriton-replays.js';
import { totals, type RuleCount } from './rules.js';

/** Replays everything and tells what agrees and which rules cover the rest: a table for each protocol. */
export async function rulesMarkdown(): Promise<string> {
  const sections = [
    ['HTTP', await replayHttpFiles()],
    ['Metrics', await replayMetricsFile()],
    ['gRPC', await replayGrpcFiles()],
    ['`bind`', await replayBindFile()],
    ['Decorators', await replayDecoratorFile()],
    ['Outputs', await replayValidationFile()],
    ['Life cycle', await replayLifecycleFiles()],
    ['Scheduling', await replaySchedulerFile()],
  ] as const;
  return sections.map(([title, replays]) => sectionMarkdown(title, replays)).join('\n');
}

function sectionMarkdown(title: string, replays: Replays): string {
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
