// A hook of Node's module loader, which has each version of a served file loaded anew with all that it imports: the files of a
// version carry its number in the query of their URLs, and with it they are other modules to Node. Packages stay as they are.
// Node 20 runs it in a thread of its own, which is why it tells by a port what was loaded.

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

const VERSION = /[?&]tstriton=(\d+)/;

/** Decides the URLs; one for each way of running it. */
export class VersionHook {
  readonly #root: string;
  readonly #loaded: (url: string) => void;
  /** Of the version that was loaded last: what helpers import for it has no other parent. */
  #latest: string | undefined;

  constructor(root: string, loaded: (url: string) => void) {
    this.#root = root;
    this.#loaded = loaded;
  }

  versioned<R extends Resolved>(resolved: R, { parentURL = '' }: Context): R {
    const { url } = resolved;
    if (!url.startsWith('file:') || url.includes('/node_modules/') || url.startsWith(this.#root)) return resolved;
    const [, own] = VERSION.exec(url) ?? [];
    if (own !== undefined) this.#latest = own;
    const version = own ?? VERSION.exec(parentURL)?.[1] ?? this.#latest;
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
