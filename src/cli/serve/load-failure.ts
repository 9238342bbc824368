// The message for a module that does not load: the compiler's diagnostics, with file and line.

import { relative } from 'node:path';
import { inspect } from 'node:util';

import { TritonError } from '../../errors.js';
import { syntaxDiagnostics } from '../../host/syntax-diagnostics.js';

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
  return new LoadFailure(file, (await syntaxDiagnostics(error, file)) ?? diagnosticsOf(error), error);
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
