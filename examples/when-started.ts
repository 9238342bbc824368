// What the examples begin with when they are started, and not imported by another one or by a test.
import { argv, stderr } from 'node:process';
import { pathToFileURL } from 'node:url';

import { TritonError } from 'tstriton';

/** Runs `main` if `url` is the program's own module. What people can mend is told in one line, without a stack. */
export async function whenStarted(url: string, main: () => Promise<void>): Promise<void> {
  if (url !== pathToFileURL(argv[1] ?? '').href) return;
  try {
    await main();
  } catch (error) {
    const line = remedy(error);
    if (line === undefined) throw error;
    stderr.write(`${line}\n`);
    process.exitCode = 1;
  }
}

/** Undefined for faults of the example itself. */
function remedy(error: unknown): string | undefined {
  if (!(error instanceof Error)) return undefined;
  const { code } = error as NodeJS.ErrnoException;
  const missing = /^Cannot find (?:package|module) '([^']+)'/.exec(error.message)?.[1];
  if (missing !== undefined)
    return `the package ${packageOf(missing)} is not installed; run npm install ${packageOf(missing)}`;
  if (!TritonError.is(error)) return code === undefined ? undefined : error.message;
  if (/already in use/.test(error.message)) {
    const variable = /httpPort|grpcPort|metricsPort/.exec(error.message)?.[0].replace('Port', '_PORT').toUpperCase();
    return `${error.message}: TSTRITON_CONFIG_${variable ?? 'HTTP_PORT'}=0 node ${argv[1]}`;
  }
  return error.message;
}

/** `@scope/name/file` belongs to the package `@scope/name`. */
function packageOf(specifier: string): string {
  return specifier.split('/', specifier.startsWith('@') ? 2 : 1).join('/');
}
