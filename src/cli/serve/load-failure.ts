// The message for a module that does not load: the compiler's diagnostics, with file and line. Node tells neither for a
// syntax error in JavaScript, so it is asked to check the file once more.

import { execFile } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { relative } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { inspect, promisify } from 'node:util';

import { TritonError } from '../../errors.js';

interface LoadedModule {
  readonly file: string;
  readonly url: string;
}

/** A module that did not load; `diagnostics` are lines for its author. */
export class LoadFailure extends TritonError {
  readonly diagnostics: string;

  constructor(file: string, diagnostics: string, cause: unknown) {
    super('INTERNAL', `${relative(process.cwd(), file)} does not load`, { cause });
    this.diagnostics = diagnostics;
  }
}

/** A LoadFailure; what this package says itself of the module needs no more diagnostics. */
export async function loadFailure(error: unknown, { file }: LoadedModule): Promise<TritonError> {
  if (error instanceof TritonError) return error;
  const told = diagnosticsOf(error);
  if (error instanceof SyntaxError && !namesFile(told)) {
    const checked = await syntaxDiagnostics(file);
    if (checked !== undefined) return new LoadFailure(file, checked, error);
  }
  return new LoadFailure(file, told, error);
}

function namesFile(text: string): boolean {
  return /^(file:|\/|[A-Z]:\\).*:\d+$/m.test(text.split('\n    at ')[0] ?? '');
}

/** The error with the lines of its stack that are the user's. */
function diagnosticsOf(error: unknown): string {
  if (!(error instanceof Error)) return `it threw ${inspect(error)}`;
  const text = error.stack ?? `${error.name}: ${error.message}`;
  const lines = text
    .split('\n')
    .filter((line) => !/^ +at .*(node:|[/\\]node_modules[/\\]|host[/\\]import-module\.)/.test(line));
  return lines.join('\n').trimEnd();
}

/** What `node --check` says of the file, or of files that it imports by a relative path. */
async function syntaxDiagnostics(file: string, seen: Set<string> = new Set()): Promise<string | undefined> {
  if (seen.has(file) || seen.size > 200 || !/\.[cm]?js$/.test(file) || !existsSync(file)) return undefined;
  seen.add(file);
  try {
    await promisify(execFile)(process.execPath, ['--check', file], { timeout: 10_000 });
  } catch (error) {
    const { stderr } = error as { readonly stderr?: unknown };
    if (typeof stderr === 'string' && stderr !== '') return trimmed(stderr);
    return undefined;
  }
  for (const imported of importsOf(file)) {
    const found = await syntaxDiagnostics(imported, seen);
    if (found !== undefined) return found;
  }
  return undefined;
}

function trimmed(stderr: string): string {
  return stderr.split(/\n\s+at |\n\nNode\.js/)[0]!.trimEnd();
}

function importsOf(file: string): readonly string[] {
  const text = readFileSync(file, 'utf8');
  const base = pathToFileURL(file);
  return Array.from(text.matchAll(/(?:from|import)\s*\(?\s*(['"])(\.{1,2}\/[^'"]+)\1/g), ([, , path]) =>
    fileURLToPath(new URL(path!, base)),
  );
}
