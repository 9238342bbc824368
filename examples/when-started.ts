// What the examples begin with when they are started, and not imported by another one or by a test.
import { argv, stderr } from 'node:process';
import { pathToFileURL } from 'node:url';

import { TritonError } from 'tstriton';

/**
 * Runs `main` if `url` is the program's own module. What people can mend is told in one line, without a stack. `otherPort`: arguments
 * with another port, where the port of the server is an argument.
 */
export async function whenStarted(url: string, main: () => Promise<void>, otherPort?: string): Promise<void> {
  if (url !== pathToFileURL(argv[1] ?? '').href) return;
  try {
    await main();
  } catch (error) {
    const line = remedy(error, otherPort);
    if (line === undefined) throw error;
    stderr.write(`${line}\n`);
    process.exitCode = 1;
  }
}

/** Undefined for faults of the example itself. */
function remedy(error: unknown, otherPort: string | undefined): string | undefined {
  if (!(error instanceof Error)) return undefined;
  const { code } = error as NodeJS.ErrnoException;
  const missing = /^Cannot find (?:package|module) '([^']+)'/.exec(error.message)?.[1];
  if (missing !== undefined)
    return `the package ${packageOf(missing)} is not installed; run npm install ${packageOf(missing)}`;
  if (isRefused(error)) {
    const what = TritonError.is(error) ? error.message : 'connection refused';
    return `${what}; start the server of the example first, or give its address as an argument`;
  }
  if (code === 'EADDRINUSE') return `${error.message}; give another port as an argument`;
  if (!TritonError.is(error)) return code === undefined ? undefined : error.message;
  const option = /already in use; choose another (\w+)/.exec(error.message)?.[1];
  if (option === undefined) return error.message;
  if (otherPort !== undefined) return `${error.message}: node ${argv[1]} ${otherPort}`;
  const variable = option.replace(/[A-Z]/g, (letter) => `_${letter}`).toUpperCase();
  return `${error.message}: TSTRITON_CONFIG_${variable}=0 node ${argv[1]}`;
}

/** True when nothing listens at the address, whichever client found that out. */
function isRefused(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  return (error as NodeJS.ErrnoException).code === 'ECONNREFUSED' || isRefused(error.cause);
}

/** `@scope/name/file` belongs to the package `@scope/name`. */
function packageOf(specifier: string): string {
  return specifier.split('/', specifier.startsWith('@') ? 2 : 1).join('/');
}
