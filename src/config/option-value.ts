// The kinds of values that options of the server have: checked when they are given as values, parsed when they come as
// text from the environment. Messages name the option or variable, the value got and the value expected.

import { invalidArg } from '../errors.js';
import type { ExternalLogger } from '../logger.js';
import { expectBoolean, expectInteger } from '../checks/check.js';

export type OptionKind =
  | 'boolean'
  | 'string'
  /** An object: no text stands for it. */
  | 'logger'
  | readonly [least: number, most: number]
  | { readonly choices: readonly string[] }
  /** A list of strings, or one string; in text the separator is between them. */
  | { readonly separator: string };

/** What users write for an option of a kind. */
export type GivenValue<K extends OptionKind> = K extends 'boolean'
  ? boolean
  : K extends 'string'
    ? string
    : K extends 'logger'
      ? ExternalLogger
      : K extends { readonly choices: readonly (infer Choice)[] }
        ? Choice
        : K extends { readonly separator: string }
          ? string | readonly string[]
          : number;

/** Throws INVALID_ARG. */
export function checkOption(kind: OptionKind, value: unknown, what: string): void {
  if (kind === 'boolean') expectBoolean(value, what);
  else if (kind === 'string') expectString(value, what);
  else if (kind === 'logger') expectLogger(value, what);
  else if ('separator' in kind) expectStrings(value, what);
  else if ('choices' in kind) expectChoice(value, kind.choices, what);
  else expectInteger(value, kind[0], kind[1], what);
}

/** Throws INVALID_ARG. */
export function parseOption(kind: OptionKind, text: string, variable: string): unknown {
  if (kind === 'boolean') return parseBoolean(text, variable);
  if (kind === 'string') return expectString(text, variable);
  if (kind === 'logger')
    throw invalidArg(`${variable}: a logger is an object, which only new Triton({ logger }) takes`);
  if ('separator' in kind) {
    const parts = text.split(kind.separator).map((part) => part.trim());
    return text.trim() === '' ? [] : expectStrings(parts, variable);
  }
  if ('choices' in kind) return expectChoice(text.trim(), kind.choices, variable);
  if (!/^-?[0-9]+$/.test(text.trim())) throw invalidArg(`${variable} must be an integer, got ${JSON.stringify(text)}`);
  return expectInteger(Number(text.trim()), kind[0], kind[1], variable);
}

export function isList(kind: OptionKind): boolean {
  return typeof kind === 'object' && 'separator' in kind;
}

/** One of a list that has a variable for each: whatever is in it, separators too. Throws INVALID_ARG. */
export function parseListEntry(text: string, variable: string): string {
  return expectString(text.trim(), variable);
}

const LOGGER_METHODS = ['debug', 'info', 'warn', 'error'] as const;

function expectLogger(value: unknown, what: string): void {
  const given = Object(value) as Readonly<Record<string, unknown>>;
  const missing = LOGGER_METHODS.filter((name) => typeof given[name] !== 'function');
  if (missing.length === 0) return;
  throw invalidArg(
    `${what} must be an object with the methods ${LOGGER_METHODS.join(', ')}, got ${typeof value} without ${missing.join(', ')}`,
  );
}

function expectString(value: unknown, what: string): string {
  if (typeof value === 'string' && value !== '') return value;
  const got = value === '' ? "''" : typeof value;
  throw invalidArg(`${what} must be a non-empty string, got ${got}`);
}

function expectStrings(value: unknown, what: string): unknown {
  for (const entry of Array.isArray(value) ? value : [value]) {
    if (typeof entry === 'string' && entry !== '') continue;
    const got = entry === '' ? "''" : typeof entry;
    throw invalidArg(`${what} must be a list of non-empty strings, got ${got}`);
  }
  return value;
}

function expectChoice(value: unknown, choices: readonly string[], what: string): string {
  const found = choices.find((choice) => choice === value);
  if (found !== undefined) return found;
  const expected = choices.map((choice) => `'${choice}'`).join(' or ');
  throw invalidArg(`${what} must be ${expected}, got ${JSON.stringify(value)}`);
}

const BOOLEANS: Readonly<Record<string, boolean>> = {
  true: true,
  on: true,
  yes: true,
  1: true,
  false: false,
  off: false,
  no: false,
  0: false,
};

function parseBoolean(text: string, variable: string): boolean {
  const key = text.trim().toLowerCase();
  if (Object.hasOwn(BOOLEANS, key)) return BOOLEANS[key]!;
  throw invalidArg(`${variable} must be true or false (or on, off, yes, no, 1, 0), got ${JSON.stringify(text)}`);
}

/** An option of which there may be one or several. */
export function listOf(value: string | readonly string[] | undefined): readonly string[] {
  return value === undefined ? [] : typeof value === 'string' ? [value] : value;
}
