// Checks option values at the border, where callers may have bypassed the types. An unknown name is refused with the
// nearest known one, never ignored.

import { invalidArg } from '../errors.js';
import { tagOf, withArticle } from '../tensor/tag-of.js';
import { Tensor } from '../tensor/tensor.js';
import { nearest } from './nearest.js';

/** Refuses members that are not among the known ones. `placeOf` says where else one belongs, if anywhere. */
export function checkMembers(
  value: unknown,
  known: readonly string[],
  what: string,
  placeOf?: (member: string) => string | undefined,
): void {
  expectObject(value, what);
  for (const member of Object.keys(value)) {
    if (known.includes(member)) continue;
    const suggestion = placeOf?.(member) ?? quoted(nearest(member, known));
    const hint = suggestion === undefined ? `known are ${known.join(', ')}` : `did you mean ${suggestion}?`;
    throw invalidArg(`${what} has an unknown option '${member}'; ${hint}`);
  }
}

function quoted(name: string | undefined): string | undefined {
  return name === undefined ? undefined : `'${name}'`;
}

/** Whether what an object holds are its members. What a Map or a promise holds would be overlooked. */
export function hasMembers(value: unknown): value is object {
  return typeof value === 'object' && value !== null && ['Object', 'Module'].includes(tagOf(value));
}

/** Refuses objects whose options are not members, such as a Map: they would be ignored. */
export function expectObject(value: unknown, what: string, expected = 'an object'): asserts value is object {
  if (hasMembers(value)) return;
  throw invalidArg(`${what} must be ${expected}, got ${kindOf(value)}`);
}

/** Returns the value when it is an integer in the range, both ends included. */
export function expectInteger(value: unknown, least: number, most: number, what: string): number {
  if (typeof value === 'number' && Number.isSafeInteger(value) && value >= least && value <= most) return value;
  // The message names an upper end that nobody comes near only where it is the reason.
  const isOpen = most === Number.MAX_SAFE_INTEGER && !(Number.isInteger(value) && (value as number) > most);
  const range = isOpen ? `an integer >= ${least}` : `an integer from ${least} to ${most}`;
  throw invalidArg(`${what} must be ${range}, got ${textOf(value)}`);
}

/** As {@link expectInteger}, without an upper end. */
export function expectAtLeast(value: unknown, least: number, what: string): number {
  return expectInteger(value, least, Number.MAX_SAFE_INTEGER, what);
}

export function expectString(value: unknown, what: string): string {
  if (typeof value === 'string') return value;
  throw invalidArg(`${what} must be a string, got ${textOf(value)}`);
}

export function expectBoolean(value: unknown, what: string): boolean {
  if (typeof value === 'boolean') return value;
  throw invalidArg(`${what} must be true or false, got ${textOf(value)}`);
}

/** A wrong value for a message: a short value itself, and a description of a long one. */
export function textOf(value: unknown): string {
  if (typeof value === 'string') return JSON.stringify(value);
  if (typeof value === 'object' || typeof value === 'function') return kindOf(value);
  if (typeof value === 'bigint') return `${value}n`;
  return String(value as number | boolean | symbol | undefined);
}

function kindOf(value: unknown): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'a list';
  if (typeof value !== 'object') return typeof value;
  const tag = tagOf(value);
  return tag === 'Object' ? 'an object' : withArticle(tag);
}

/** Describes the kind of a value: `a record`, `a list`, `a Float64Array`, `a Classifier`. */
export function describeValue(value: unknown): string {
  if (value === null || value === undefined) return String(value);
  if (Array.isArray(value)) return 'a list';
  if (typeof value !== 'object') return `a ${typeof value}`;
  if (Tensor.is(value)) return 'a Tensor';
  const tag = tagOf(value);
  return withArticle(tag === 'Object' ? (classOf(value) ?? 'record') : tag);
}

/** The name of an object's class; undefined for an object made by a literal. */
function classOf(value: object): string | undefined {
  const prototype = Object.getPrototypeOf(value) as { readonly constructor?: unknown } | null;
  const made = prototype?.constructor;
  if (prototype === null || Object.getPrototypeOf(prototype) === null || typeof made !== 'function') return undefined;
  return made.name === '' ? undefined : made.name;
}
