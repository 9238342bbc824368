// Imports a module of the user's in an instance's thread: JavaScript, and TypeScript with the tsx that the program runs
// under, else as Node does where it strips types, else with jiti or tsx, which are optional peers.

import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

import { TritonError } from '../errors.js';

type Module = Readonly<Record<string, unknown>>;

/** What Node says of TypeScript that it does not load: none at all, not with that syntax, not in node_modules. */
const REFUSALS = [
  'ERR_UNKNOWN_FILE_EXTENSION',
  'ERR_UNSUPPORTED_TYPESCRIPT_SYNTAX',
  'ERR_UNSUPPORTED_NODE_MODULES_TYPE_STRIPPING',
];
const TYPESCRIPT_FILE = /\.[cm]?tsx?$/;

/** `tsx` is the URL of its API when the program runs under tsx. */
export async function importModule(url: string, tsx: string | undefined): Promise<Module> {
  const source = sourceOf(url);
  if (tsx !== undefined && TYPESCRIPT_FILE.test(new URL(source).pathname)) {
    ((await import(tsx)) as TsxApi).register();
    return import(source) as Promise<Module>;
  }
  try {
    return (await import(source)) as Module;
  } catch (error) {
    const refused = refusedFile(error, source);
    if (refused === undefined) throw error;
    return importWithHelper(source, refused, error);
  }
}

/** Where there is no JavaScript of that name but TypeScript, that: one URL for the sources and for what is compiled. */
function sourceOf(url: string): string {
  if (existsSync(fileURLToPath(url))) return url;
  const source = url.replace(/\.([cm]?)js(?=$|[?#])/, '.$1ts');
  return existsSync(fileURLToPath(source)) ? source : url;
}

/** The TypeScript that Node did not load, the module's own or what it imports; undefined when that is not what happened. */
function refusedFile(error: unknown, url: string): string | undefined {
  const { code, message } = error as { readonly code?: unknown; readonly message?: unknown };
  if (!REFUSALS.includes(code as string)) return undefined;
  const [, named] = /^Unknown file extension .* for (.*)$/.exec(String(message)) ?? [];
  const file = named ?? new URL(url).pathname;
  return TYPESCRIPT_FILE.test(file) ? file.split(/[/\\]/).at(-1) : undefined;
}

async function importWithHelper(url: string, refused: string, reason: unknown): Promise<Module> {
  const jiti = await importPeer<JitiApi>('jiti');
  if (jiti !== undefined) return jiti.createJiti(url).import(url);
  const tsx = await importPeer<TsxApi>('tsx/esm/api');
  if (tsx !== undefined) {
    tsx.register();
    // Node remembers that it did not load the URL as it was.
    return import(`${url}${url.includes('?') ? '&' : '?'}tsx`) as Promise<Module>;
  }
  throw new TritonError(
    'UNSUPPORTED',
    `this version of Node does not load ${refused}${syntaxOf(reason)}; install jiti or tsx, or compile the module to JavaScript`,
    { cause: reason },
  );
}

/** What Node cannot strip: `: TypeScript enum is not supported in strip-only mode`. */
function syntaxOf(reason: unknown): string {
  const [, syntax] = /^\W*x?\s*(TypeScript .*)$/m.exec((reason as Error).message) ?? [];
  return syntax === undefined ? '' : `: ${syntax}`;
}

/** Its name is a variable, so that whoever compiles or bundles this does not follow it. */
async function importPeer<Api>(name: string): Promise<Api | undefined> {
  return (import(name) as Promise<Api>).catch(() => undefined);
}

interface JitiApi {
  createJiti(parent: string): { import(url: string): Promise<Module> };
}

interface TsxApi {
  register(): unknown;
}
