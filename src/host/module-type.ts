// Finds ES modules whose package.json does not declare them, and explains the failure. Node reads such a file as CommonJS,
// and its error is then about Node's internals or about the syntax.

import { existsSync, readFileSync } from 'node:fs';
import { dirname, extname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { invalidArg, type TritonError } from '../errors.js';

const OUTCRIES = [
  /Cannot require\(\) ES Module (.+?) (?:because|in a cycle)/,
  /require\(\) of ES Module (.+?) from /,
  /Cannot use import statement outside a module/,
  /Unexpected token 'export'/,
];
const READ_AS_THE_PACKAGE_SAYS = ['.ts', '.js', '.tsx', '.jsx'];

/** The error for the author of the module at `url`; undefined for any other failure. */
export function missingModuleType(failure: unknown, url: string): TritonError | undefined {
  const { message } = failure as { readonly message?: unknown };
  const found = OUTCRIES.map((outcry) => outcry.exec(String(message))).find((match) => match !== null);
  return found === undefined ? undefined : undeclared(failure, found[1] ?? fileURLToPath(url));
}

/**
 * The same for TypeScript that is imported with tsx, which leaves CommonJS unread: Node stops at its syntax, or misses the
 * file of an import.
 */
export function missingModuleTypeUnderTsx(failure: unknown, url: string): TritonError | undefined {
  const { code, message } = failure as { readonly code?: unknown; readonly message?: unknown };
  const unread =
    failure instanceof SyntaxError ||
    (code === 'MODULE_NOT_FOUND' && /^Cannot find module '[./]/.test(String(message)));
  return unread ? undeclared(failure, fileURLToPath(url)) : undefined;
}

function undeclared(failure: unknown, file: string): TritonError | undefined {
  const extension = extname(file);
  const manifest = nearestManifest(dirname(file));
  if (!READ_AS_THE_PACKAGE_SAYS.includes(extension) || manifest?.type === 'module') return undefined;
  const renamed = `${file.slice(0, -extension.length)}.m${extension.slice(1)}`;
  const wayOut =
    manifest === undefined
      ? `write {"type":"module"} to ${join(dirname(file), 'package.json')}`
      : `set "type": "module" in ${manifest.path}`;
  return invalidArg(`${file} is an ES module, but no package.json says so: ${wayOut}, or name the file ${renamed}`, {
    cause: failure,
  });
}

interface Manifest {
  readonly path: string;
  readonly type: unknown;
}

/** The package.json that Node follows. */
function nearestManifest(folder: string): Manifest | undefined {
  const path = join(folder, 'package.json');
  if (existsSync(path)) return { path, type: typeIn(path) };
  const above = dirname(folder);
  return above === folder ? undefined : nearestManifest(above);
}

function typeIn(path: string): unknown {
  try {
    return (JSON.parse(readFileSync(path, 'utf8')) as { readonly type?: unknown } | null)?.type;
  } catch {
    return undefined;
  }
}
