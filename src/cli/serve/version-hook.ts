// A hook of Node's module loader, which loads each version of a served file anew, with all that it imports. The files of a
// version carry its number in the query of their URLs, so Node takes them for other modules. Packages stay as they are.
// Node 20 runs the hook in a thread of its own, so the hook reports the loaded files through a port.

import type { MessagePort } from 'node:worker_threads';

interface HookData {
  readonly port: MessagePort;
  /** The folder of this package, which is loaded once. */
  readonly root: string;
}

interface Resolved {
  readonly url: string;
}

type Context = { readonly parentURL?: string | undefined };

// The last one: tsx takes the query off a URL before it asks the next hook, and adds it to what that hook has decided.
const VERSION = /[?&]tstriton=(\d+)(?!.*[?&]tstriton=)/;

/** Decides the URLs; one for each way of running it. */
export class VersionHook {
  readonly #root: string;
  readonly #loaded: (url: string) => void;
  /** Of the version that was loaded last: what helpers import for it has no other parent. */
  #latest: number | undefined;

  constructor(root: string, loaded: (url: string) => void) {
    this.#root = root;
    this.#loaded = loaded;
  }

  versioned<R extends Resolved>(resolved: R, { parentURL = '' }: Context): R {
    const { url } = resolved;
    if (!url.startsWith('file:') || url.includes('/node_modules/') || url.startsWith(this.#root)) return resolved;
    const [, own] = VERSION.exec(url) ?? [];
    const known = own ?? VERSION.exec(parentURL)?.[1];
    // A late import of the version before changes nothing.
    if (known !== undefined) this.#latest = Math.max(Number(known), this.#latest ?? 0);
    const version = known ?? this.#latest;
    if (version === undefined) return resolved;
    this.#loaded(url);
    return own === undefined ? { ...resolved, url: withVersion(url, version) } : resolved;
  }
}

export function withVersion(url: string, version: number | string): string {
  return `${url}${url.includes('?') ? '&' : '?'}tstriton=${version}`;
}

let hook: VersionHook | undefined;

/** Called by Node. */
export function initialize({ port, root }: HookData): void {
  hook = new VersionHook(root, (url) => port.postMessage(url));
}

/** Called by Node for each import. */
export async function resolve<R extends Resolved>(
  specifier: string,
  context: Context,
  next: (specifier: string, context: Context) => Promise<R>,
): Promise<R> {
  const resolved = await next(specifier, context);
  return hook === undefined ? resolved : hook.versioned(resolved, context);
}
