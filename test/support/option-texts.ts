// What is written from the table of options: the declaration of `TritonConfig`, and the tables of the reference page.
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

import { format, resolveConfig } from 'prettier';

import { flagOf } from '../../src/config/flags.js';
import { OPTION_GROUPS, type Option, REFUSED_OPTIONS } from '../../src/config/options.js';
import { variableOf } from '../../src/config/read-environment.js';

export const DECLARATION = fileURLToPath(new URL('../../src/config/generated/triton-config.ts', import.meta.url));
export const PAGE = fileURLToPath(new URL('../../docs/configuration.md', import.meta.url));

const GROUPS: Readonly<Record<string, Readonly<Record<string, Option>>>> = OPTION_GROUPS;

function defaultText({ default: value, defaultText }: Option): string {
  if (defaultText !== undefined) return defaultText;
  if (value === undefined || typeof value === 'function') return 'none';
  return typeof value === 'string' ? `\`${value}\`` : String(value);
}

function typeText({ kind }: Option): string {
  if (kind === 'logger') return 'ExternalLogger';
  if (typeof kind === 'string') return kind;
  if ('choices' in kind) return kind.choices.map((choice) => `'${choice}'`).join(' | ');
  return 'separator' in kind ? 'string | readonly string[]' : 'number';
}

/** What a value may be, in words. */
function valueText({ kind, unit }: Option): string {
  if (kind === 'boolean') return 'boolean';
  if (kind === 'string') return 'text';
  if (kind === 'logger') return 'an object';
  if ('choices' in kind) return kind.choices.map((choice) => `\`${choice}\``).join(', ');
  if ('separator' in kind) return `list, \`${kind.separator}\``;
  const [least, most] = kind;
  const range = most === Number.MAX_SAFE_INTEGER ? `from ${least}` : `${least} … ${most}`;
  return unit === undefined ? range : `${range} ${unit}`;
}

function docstring(option: Option): string {
  const unit = option.unit === undefined ? '' : ` In ${option.unit}.`;
  return `${option.effect}${unit} Default: ${defaultText(option)}.`;
}

/** Comments are no business of the formatter's: broken here where its lines end. */
function commentOf(text: string): string {
  if (text.length <= 120 - '  /** . */'.length) return `  /** ${text} */`;
  const lines: string[] = [];
  for (const word of text.split(' ')) {
    const last = lines.at(-1);
    if (last !== undefined && last.length + word.length + 1 <= 120 - '   * '.length)
      lines[lines.length - 1] = `${last} ${word}`;
    else lines.push(word);
  }
  return `  /**\n${lines.map((line) => `   * ${line}`).join('\n')}\n   */`;
}

async function formatted(text: string, filepath: string): Promise<string> {
  return format(text, { ...(await resolveConfig(filepath)), filepath });
}

export async function declaration(): Promise<string> {
  const members = Object.values(GROUPS).flatMap((group) =>
    Object.entries(group).map(
      ([name, option]) => `${commentOf(docstring(option))}\n  readonly ${name}?: ${typeText(option)};`,
    ),
  );
  const text = `// What users may set of a server: Triton's flags in camelCase. Written from the table in options.ts, by its test.

import type { ExternalLogger } from '../../logger.js';

/** Options of a server. Ports: 0 takes any free one, see \`triton.httpPort\`. */
export interface TritonConfig {
${members.join('\n')}
}
`;
  return formatted(text, DECLARATION);
}

/** The page as it is, with the tables anew. */
export async function page(): Promise<string> {
  const [before, , after] = readFileSync(PAGE, 'utf8').split(/(?<=<!-- options -->\n)|(?=<!-- end of options -->)/);
  if (after === undefined) throw new Error(`${PAGE} has no comments around its tables`);
  const tables = Object.entries(GROUPS).map(([group, options]) => {
    const rows = Object.entries(options).map(([name, option]) => {
      const effect = option.effect.replace(/\bdocs\/([\w-]+\.md)/, '[$1]($1)');
      const variable = option.kind === 'logger' ? '' : `\`${variableOf(name)}\``;
      const flag = option.kind === 'logger' ? '' : `\`${flagOf(name)}\``;
      return `| \`${name}\` | ${effect} | ${valueText(option)} | ${defaultText(option)} | ${flag} | ${variable} |`;
    });
    return `### ${group}\n\n| option | effect | value | default | flag | variable |\n| --- | --- | --- | --- | --- | --- |\n${rows.join('\n')}`;
  });
  return formatted(`${before}\n${tables.join('\n\n')}\n\n${refused()}\n\n${after}`, PAGE);
}

function refused(): string {
  const rows = Object.entries(REFUSED_OPTIONS).map(
    ([name, reason]) => `| \`${name}\` | \`${flagOf(name)}\` | ${reason} |`,
  );
  return `### Not served\n\nOptions of Triton's and PyTriton's that are refused by their names, whichever way they are given.\n\n| option | flag | reason |\n| --- | --- | --- |\n${rows.join('\n')}`;
}
