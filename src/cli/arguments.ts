// Parsers of arguments that several commands share, and their messages for wrong ones.

import { createPrivateKey, X509Certificate } from 'node:crypto';
import { readFileSync, statSync } from 'node:fs';

import { InvalidArgumentError } from 'commander';

import { lowerCase } from '../ascii.js';
import { invalidArg, TritonError } from '../errors.js';

export function collect(value: string, before: readonly string[] = []): readonly string[] {
  return [...before, value];
}

export function collectHeader(
  value: string,
  before: Readonly<Record<string, string>> = {},
): Readonly<Record<string, string>> {
  const colon = value.indexOf(':');
  if (colon <= 0) throw new InvalidArgumentError('Expected name:value.');
  const name = value.slice(0, colon);
  if (Object.keys(before).some((other) => lowerCase(other) === lowerCase(name)))
    throw new InvalidArgumentError('The header is given twice, expected once.');
  return { ...before, [name]: value.slice(colon + 1).trim() };
}

/** The entries as an object. Throws INVALID_ARG for a name that comes twice: nobody knows which value counts. `what`: what has names. */
export function recordOf<T>(entries: readonly (readonly [string, T])[], what: string): Readonly<Record<string, T>> {
  const record = Object.fromEntries(entries);
  if (Object.keys(record).length === entries.length) return record;
  const twice = entries.find(([name], index) => entries.findIndex((other) => other[0] === name) < index);
  throw invalidArg(`${what} '${twice![0]}' is given twice, expected once`);
}

function fileText(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    throw new InvalidArgumentError(error instanceof Error ? `${error.message}.` : 'It cannot be read.');
  }
}

/** A file with what `tls` calls `ca` or `cert`, which is read again each time. Node.js takes any text, and then trusts nobody. */
export function certificateFile(path: string): () => string {
  return renewedFile(path, 'certificate', (text) => new X509Certificate(text));
}

/** A file with what `tls` calls `key`, which is read again each time. */
export function keyFile(path: string): () => string {
  return renewedFile(path, 'unencrypted private key', createPrivateKey);
}

function renewedFile(path: string, what: string, parse: (text: string) => unknown): () => string {
  const text = fileText(path);
  try {
    parse(text);
  } catch {
    throw new InvalidArgumentError(`It has no ${what} in PEM form.`);
  }
  // A pipe can be read once.
  return statSync(path).isFile() ? () => readFileSync(path, 'utf8') : () => text;
}

export function positiveInteger(value: string): number {
  if (/^[1-9]\d{0,14}$/.test(value)) return Number(value);
  throw new InvalidArgumentError('Expected an integer above 0.');
}

export function positiveNumber(value: string): number {
  const number = Number(value);
  if (/^[\d.]/.test(value) && number > 0 && number <= 1_000_000) return number;
  throw new InvalidArgumentError('Expected a number of seconds above 0, and at most 1000000.');
}

/** Reports UNSUPPORTED as INVALID_ARG: both mean that the command was called wrongly. */
export function asUsage<T>(read: () => T): T {
  try {
    return read();
  } catch (error) {
    const { code, message } = TritonError.from(error);
    throw code === 'UNSUPPORTED' ? invalidArg(message, { cause: error }) : error;
  }
}
