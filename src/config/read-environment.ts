// Options in variables of the environment. Unknown variables cause a warning; they are never ignored.

import { invalidArg } from '../errors.js';
import type { TritonConfig } from './generated/triton-config.js';
import { isList, parseListEntry, parseOption } from './option-value.js';
import { isOption, nearestOption, type Option, OPTIONS, refuseUnsupported } from './options.js';

export type Environment = Readonly<Record<string, string | undefined>>;

// The later prefix wins.
const PREFIXES = ['PYTRITON_TRITON_CONFIG_', 'TSTRITON_CONFIG_'];
/** What remains of the prefix where people leave its middle out: nothing reads these variables. */
const SHORT_PREFIX = 'TSTRITON_';

/** Throws INVALID_ARG or UNSUPPORTED naming the variable. */
export function readEnvironment(environment: Environment): {
  readonly values: TritonConfig;
  readonly warnings: readonly string[];
} {
  const values: Record<string, unknown> = {};
  const warnings: string[] = [];
  for (const prefix of PREFIXES) {
    const lists = new Map<keyof TritonConfig, ListEntry[]>();
    for (const [variable, text] of Object.entries(environment)) {
      if (text === undefined || !variable.startsWith(prefix)) continue;
      const { name, index } = optionOf(variable.slice(prefix.length));
      refuseUnsupported(name, variable);
      if (isOption(name) && index === undefined) {
        values[name] = parseOption(OPTIONS[name].kind, text, variable);
      } else if (isOption(name) && index !== undefined && isList(OPTIONS[name].kind)) {
        const entry = { index, value: parseListEntry(text, variable), variable };
        lists.set(name, [...(lists.get(name) ?? []), entry]);
      } else {
        const hint = nearestOption(name);
        warnings.push(
          `unknown environment variable ${variable}${hint === undefined ? '' : `, did you mean ${prefix}${variableOf(hint)}?`}`,
        );
      }
    }
    for (const [name, entries] of lists) values[name] = joinList(entries, environment);
  }
  for (const [variable, text] of Object.entries(environment)) {
    if (text === undefined || !isShortened(variable, text)) continue;
    const meant = `TSTRITON_CONFIG_${variable.slice(SHORT_PREFIX.length)}`;
    warnings.push(`unknown environment variable ${variable}, did you mean ${meant}?`);
  }
  return { values: values as TritonConfig, warnings };
}

function isShortened(variable: string, text: string): boolean {
  if (!variable.startsWith(SHORT_PREFIX)) return false;
  const { name } = optionOf(variable.slice(SHORT_PREFIX.length));
  // The token of clients has such a name. Kubernetes sets TSTRITON_HTTP_PORT=tcp://… for a Service `tstriton-http`.
  return isOption(name) && name !== 'accessToken' && !text.includes('://');
}

/** One of a list that has a variable for each, as `…_METRICS_CONFIG_0`. */
interface ListEntry {
  readonly index: number;
  readonly value: string;
  readonly variable: string;
}

/** In the order of their numbers, of which some may be missing. */
function joinList(entries: readonly ListEntry[], environment: Environment): readonly string[] {
  const { variable } = entries[0]!;
  const whole = variable.slice(0, variable.lastIndexOf('_'));
  if (environment[whole] !== undefined) {
    throw invalidArg(`${whole} and ${variable} are both set, expected one variable or numbered ones`);
  }
  return [...entries].sort((a, b) => a.index - b.index).map(({ value }) => value);
}

function optionOf(suffix: string): { readonly name: string; readonly index: number | undefined } {
  const [, list, digits] = /^(.+)_(0|[1-9][0-9]*)$/.exec(suffix) ?? [];
  const name = (list ?? suffix).toLowerCase().replace(/_([a-z0-9])/g, (_, letter: string) => letter.toUpperCase());
  const aliased = Object.entries<Option>(OPTIONS).find(([, { alias }]) => alias === name)?.[0];
  return { name: aliased ?? name, index: digits === undefined ? undefined : Number(digits) };
}

/** The option's variable, after its prefix. */
export function variableOf(option: string): string {
  return option.replace(/[A-Z]/g, (letter) => `_${letter}`).toUpperCase();
}
