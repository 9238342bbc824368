// Lets a user's module import this package where no node_modules has it. That happens in a container, in a global
// installation and with npx: their packages lie in another folder than the module.

import { existsSync } from 'node:fs';
import * as module from 'node:module';

import { TritonError } from '../errors.js';
import { isMissing, resolveSync } from './own-package-hook.js';

const NAMES = [
  'tstriton',
  'tstriton/client',
  'tstriton/client/browser',
  'tstriton/client/shared-memory',
  'tstriton/onnx',
  'tstriton/testing',
];

const { registerHooks, register } = module as unknown as LoaderHooks;
const own = module.createRequire(import.meta.url);
let isOffered = false;

/** Makes imports in this thread find this package where they find no other copy. `url` is the file to import. */
export function offerOwnPackage(url: string): void {
  if (isOffered || findsPackage(url)) return;
  isOffered = true;
  if (registerHooks !== undefined) {
    registerHooks({ resolve: resolveSync });
    return;
  }
  const hook = new URL('./own-package-hook.js', import.meta.url);
  // A package that runs from its sources has the hook only in TypeScript, which no loader thread reads.
  if (existsSync(hook)) register?.(hook);
  offerToRequire();
}

/** The error for a module that this version of Node lets import no other copy than its own; undefined for any other failure. */
export function missingOwnPackage(failure: unknown): TritonError | undefined {
  if (registerHooks !== undefined || register !== undefined) return undefined;
  const { message } = failure as { readonly message?: unknown };
  const [, missing] = /^(Cannot find package 'tstriton' imported from \S+)/.exec(String(message)) ?? [];
  if (missing === undefined) return undefined;
  const wayOut = 'install tstriton beside it, or use Node 20.6 or newer, which imports the copy that serves it';
  return new TritonError('UNSUPPORTED', `${missing}: ${wayOut}; got ${process.versions.node}`, { cause: failure });
}

/** The files behind the names of this package, for loaders that resolve names themselves. */
export function ownPackageAliases(): Readonly<Record<string, string>> {
  return Object.fromEntries(NAMES.map((name) => [name, own.resolve(name)]));
}

export function findsPackage(url: string): boolean {
  try {
    module.createRequire(url).resolve(NAMES[0]!);
    return true;
  } catch {
    return false;
  }
}

/** Before Node 22.15 `require` asks no hook. So this replaces the function that it calls, as tsx does too. */
function offerToRequire(): void {
  const loader = module.Module as unknown as { _resolveFilename: (specifier: string, ...more: unknown[]) => string };
  const resolveFilename = loader._resolveFilename;
  loader._resolveFilename = function (specifier, ...more) {
    try {
      return resolveFilename.call(this, specifier, ...more);
    } catch (error) {
      if (!isMissing(specifier, error)) throw error;
      return own.resolve(specifier);
    }
  };
}

interface LoaderHooks {
  /** In Node from 22.15 and 23.5 on. */
  readonly registerHooks?: (hooks: object) => void;
  /** In Node from 20.6 on. */
  readonly register?: (url: URL) => void;
}
