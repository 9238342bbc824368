// A hook of Node's module loader, for imports of this package that find no node_modules with it. They get the package that
// runs the server. Node 20 runs the hook in a thread of its own.

import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';

const OWN = /^tstriton(\/|$)/;
/** The package finds itself by its own name. */
const SELF = import.meta.url;

interface Resolved {
  readonly url: string;
  readonly shortCircuit: true;
}

type Context = { readonly parentURL?: string | undefined };

/** Whether an import of this package failed because the package was not found. */
export function isMissing(specifier: string, error: unknown): boolean {
  const { code } = error as { readonly code?: unknown };
  return OWN.test(specifier) && (code === 'ERR_MODULE_NOT_FOUND' || code === 'MODULE_NOT_FOUND');
}

/** Called by Node for each import and each `require`, where hooks are synchronous. */
export function resolveSync<R>(
  specifier: string,
  context: Context,
  next: (specifier: string, context: Context) => R,
): R | Resolved {
  try {
    return next(specifier, context);
  } catch (error) {
    if (!isMissing(specifier, error)) throw error;
    // For `require` Node heeds no other parent than the module's own.
    return { url: pathToFileURL(createRequire(SELF).resolve(specifier)).href, shortCircuit: true };
  }
}

/** Called by Node for each import, where hooks have a thread. */
export async function resolve<R>(
  specifier: string,
  context: Context,
  next: (specifier: string, context: Context) => Promise<R>,
): Promise<R> {
  try {
    return await next(specifier, context);
  } catch (error) {
    if (!isMissing(specifier, error)) throw error;
    return next(specifier, { ...context, parentURL: SELF });
  }
}
