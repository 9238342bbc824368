// Imports the current text of a file, any number of times, and knows the files that belonged to it.

import * as module from 'node:module';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { MessageChannel } from 'node:worker_threads';

import { invalidArg } from '../../errors.js';
import { importModule } from '../../host/import-module.js';
import { runningTsx } from '../../host/running-tsx.js';
import { VersionHook, withVersion } from './version-hook.js';

type Module = Readonly<Record<string, unknown>>;

/** The folder of this package: `dist`, or where it was checked out. */
const ROOT = new URL('../../', import.meta.url).href;

export class VersionedImports {
  /** Files that were imported, of all versions. */
  readonly files = new Set<string>();
  #version = 0;
  readonly #onFile: (path: string) => void;

  /** Calls `onFile` once for each file. A process has only one VersionedImports: Node's hooks stay. */
  constructor(onFile: (path: string) => void) {
    this.#onFile = onFile;
    this.#register();
  }

  async import(path: string): Promise<Module> {
    const before = this.#forget();
    try {
      return await importModule(withVersion(pathToFileURL(path).href, ++this.#version), runningTsx());
    } finally {
      this.#add(path);
      // What helpers and `require` have loaded, which no hook of Node 20 sees.
      for (const file of cachedFiles()) if (!before.has(file)) this.#add(file);
    }
  }

  #add(path: string): void {
    if (this.files.has(path)) return;
    this.files.add(path);
    this.#onFile(path);
  }

  /** CommonJS and jiti keep modules by path. Returns the other files that they still keep. */
  #forget(): ReadonlySet<string> {
    const { cache } = module.createRequire(import.meta.url);
    for (const file of cachedFiles()) if (this.files.has(file)) delete cache[file];
    return new Set(cachedFiles());
  }

  #register(): void {
    const loaded = (url: string) => this.#add(fileURLToPath(url));
    const { registerHooks } = module as unknown as { readonly registerHooks?: (hooks: object) => void };
    if (registerHooks !== undefined) {
      const hook = new VersionHook(ROOT, loaded);
      registerHooks({
        resolve: (specifier: string, context: object, next: (specifier: string, context: object) => { url: string }) =>
          hook.versioned(next(specifier, context), context),
      });
      return;
    }
    // Node 20 before 20.6 has none of the two.
    if (typeof module.register !== 'function') {
      throw invalidArg(`--watch needs Node 20.6 or newer, got ${process.versions.node}`);
    }
    const { port1, port2 } = new MessageChannel();
    port1.on('message', loaded).unref();
    module.register(new URL('./version-hook.js', import.meta.url), {
      data: { port: port2, root: ROOT },
      transferList: [port2],
    });
  }
}

function cachedFiles(): readonly string[] {
  return Object.keys(module.createRequire(import.meta.url).cache).filter(
    (file) => !/[/\\]node_modules[/\\]/.test(file),
  );
}
