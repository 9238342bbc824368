// Imports a user's module, JavaScript or TypeScript, in an instance's thread. TypeScript is read with the tsx that the
// program runs under, else by Node where it strips types, else with jiti or tsx, which are optional peers.

import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { basename } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

import { TritonError } from '../errors.js';
import { importFrom } from './import-from.js';
import { missingModuleType, missingModuleTypeUnderTsx } from './module-type.js';
import { findsPackage, missingOwnPackage, offerOwnPackage, ownPackageAliases } from './own-package.js';
import { tsxApiOf } from './running-tsx.js';

type Module = Readonly<Record<string, unknown>>;

/** Node's codes for TypeScript that it does not load: none at all, not with that syntax, not in node_modules. */
const REFUSALS = [
  'ERR_UNKNOWN_FILE_EXTENSION',
  'ERR_UNSUPPORTED_TYPESCRIPT_SYNTAX',
  'ERR_UNSUPPORTED_NODE_MODULES_TYPE_STRIPPING',
];
const TYPESCRIPT_FILE = /\.[cm]?tsx?$/;

/**
 * Imports a module. `tsx` is the URL of tsx's API when the program runs under tsx. Rejects with INVALID_ARG for an ES
 * module that is not declared as one, and with UNSUPPORTED for TypeScript that nothing here loads. An error that the
 * module throws passes through.
 */
export async function importModule(url: string, tsx: string | undefined): Promise<Module> {
  const source = sourceOf(url);
  const imported = await importSource(source, tsx).catch((error: unknown) => {
    // A module may throw anything.
    if (!(error instanceof Error)) throw error;
    throw missingModuleType(error, source) ?? missingOwnPackage(error) ?? error;
  });
  return exportsOf(imported);
}

/** Of a CommonJS module all exports are the default one. What was compiled to it says so, and has a default export of its own. */
function exportsOf(imported: Module): Module {
  const main = imported['default'];
  return typeof main === 'object' && main !== null && '__esModule' in main ? (main as Module) : imported;
}

async function importSource(source: string, tsx: string | undefined): Promise<Module> {
  offerOwnPackage(source);
  if (tsx !== undefined && TYPESCRIPT_FILE.test(new URL(source).pathname)) {
    ((await importFrom(tsx)) as TsxApi).register();
    return importFrom<Module>(source);
  }
  try {
    return await importFrom<Module>(source);
  } catch (error) {
    const refusal = error instanceof Error ? refusalOf(error, source) : undefined;
    if (refusal === undefined) throw error;
    return importWithHelper(source, refusal, error);
  }
}

/** Returns the TypeScript file where the JavaScript of that name is missing: one URL serves the sources and the compiled code. */
function sourceOf(url: string): string {
  if (existsSync(fileURLToPath(url))) return url;
  const source = url.replace(/\.([cm]?)js(?=$|[?#])/, '.$1ts');
  return existsSync(fileURLToPath(source)) ? source : url;
}

/** Why Node did not load TypeScript: the module, or a file that it imports. Undefined when Node failed otherwise. */
function refusalOf(error: unknown, url: string): string | undefined {
  const missing = typeScriptBehind(error);
  if (missing !== undefined) {
    const { js, ts } = missing;
    return `there is no ${js}, but ${ts}, and Node does not take the one for the other; name ${ts} in the import, or`;
  }
  const refused = refusedFile(error, url);
  return refused === undefined ? undefined : `this version of Node does not load ${refused}${syntaxOf(error)};`;
}

/** TypeScript imports `./lib.ts` as `./lib.js` or `./lib`, which Node takes at its word. */
function typeScriptBehind(error: unknown): { readonly js: string; readonly ts: string } | undefined {
  const { code, message } = error as { readonly code?: unknown; readonly message?: unknown };
  if (code !== 'ERR_MODULE_NOT_FOUND') return undefined;
  const [, path] = /^Cannot find module '(.*)' imported from /.exec(String(message)) ?? [];
  if (path === undefined) return undefined;
  const sources = [path.replace(/\.([cm]?)js$/, '.$1ts'), `${path}.ts`];
  const source = sources.find((each) => each !== path && existsSync(each));
  if (source === undefined) return undefined;
  return { js: basename(path), ts: basename(source) };
}

/** Undefined when Node failed otherwise. */
function refusedFile(error: unknown, url: string): string | undefined {
  const { code, message } = error as { readonly code?: unknown; readonly message?: unknown };
  if (!REFUSALS.includes(code as string)) return undefined;
  const [, named] = /^Unknown file extension .* for (.*)$/.exec(String(message)) ?? [];
  const file = named ?? fileURLToPath(url);
  return TYPESCRIPT_FILE.test(file) ? file.split(/[/\\]/).at(-1) : undefined;
}

async function importWithHelper(url: string, refusal: string, reason: unknown): Promise<Module> {
  const jiti = await importPeer<JitiApi>('jiti', url);
  if (jiti !== undefined) {
    const alias = findsPackage(url) ? {} : ownPackageAliases();
    return jiti.createJiti(url, { alias }).import(url);
  }
  const tsx = await importPeer<TsxApi>('tsx/esm/api', url);
  if (tsx !== undefined) {
    tsx.register();
    // Adds a query, because Node remembers that it did not load the plain URL.
    return importFrom<Module>(`${url}${url.includes('?') ? '&' : '?'}tsx`).catch((error: unknown) => {
      throw missingModuleTypeUnderTsx(error, url) ?? error;
    });
  }
  throw new TritonError('UNSUPPORTED', `${refusal} install jiti or tsx, or compile the module to JavaScript`, {
    cause: reason,
  });
}

/** The syntax that Node cannot strip: `: TypeScript enum is not supported in strip-only mode`. */
function syntaxOf(reason: unknown): string {
  const [, syntax] = /^\W*x?\s*(TypeScript .*)$/m.exec((reason as Error).message) ?? [];
  return syntax === undefined ? '' : `: ${syntax}`;
}

/** Imports an optional peer from beside this package, or from where the module itself would find it. */
async function importPeer<Api>(name: 'jiti' | 'tsx/esm/api', url: string): Promise<Api | undefined> {
  const besideModule = async () => {
    const require = createRequire(url);
    return importFrom<Api>(name === 'jiti' ? pathToFileURL(require.resolve(name)).href : tsxApiOf(require));
  };
  return importFrom<Api>(name)
    .catch(besideModule)
    .catch(() => undefined);
}

interface JitiApi {
  createJiti(
    parent: string,
    options: { readonly alias: Readonly<Record<string, string>> },
  ): { import(url: string): Promise<Module> };
}

interface TsxApi {
  register(): unknown;
}
