// Where a syntax error of a module is. Node tells neither the file nor the line of one in JavaScript, so it is asked to check the file
// once more.

import { execFile } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { promisify } from 'node:util';

/** What Node says of a syntax error in the file, or in one that it imports; undefined for other errors, and where it finds none. */
export async function syntaxDiagnostics(error: unknown, file: string): Promise<string | undefined> {
  if (!(error instanceof SyntaxError)) return undefined;
  return namesFile(error.stack?.split('\n    at ')[0]) ?? check(file);
}

/** `file:line` of a syntax error; undefined as above. */
export async function placeOfSyntaxError(error: unknown, file: string): Promise<string | undefined> {
  const diagnostics = await syntaxDiagnostics(error, file);
  return diagnostics && PLACE.exec(diagnostics)?.[0];
}

const PLACE = /^(file:|\/|[A-Z]:\\).*:\d+$/m;

function namesFile(text: string | undefined): string | undefined {
  return text !== undefined && PLACE.test(text) ? text : undefined;
}

/** What `node --check` says of the file, or of files that it imports by a relative path. */
async function check(file: string, seen: Set<string> = new Set()): Promise<string | undefined> {
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
    const found = await check(imported, seen);
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
