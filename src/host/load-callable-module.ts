// Loads the module of an instance group and finds its callable in it.

import { invalidArg, TritonError } from '../errors.js';
import type { Awaitable } from '../model/awaitable.js';
import type { Callable } from '../model/callable.js';
import { expectCallable } from '../model/check-callables.js';
import type { Setup } from '../model/run-setup.js';
import { importModule } from './import-module.js';

export interface CallableModule {
  readonly callable: Callable;
  readonly setup: Setup | undefined;
  readonly teardown: (() => Awaitable<void>) | undefined;
}

/** Rejects with INVALID_ARG when the module cannot be loaded or has no callable. `tsx`: see `importModule`. */
export async function loadCallableModule(url: string, tsx: string | undefined): Promise<CallableModule> {
  const exported = await importModule(url, tsx).catch((error: unknown) => {
    throw invalidArg(`cannot load the module ${url}: ${TritonError.from(error).message}`, {
      cause: error,
    });
  });
  const { default: callable, setup, teardown } = exported;
  expectCallable(callable, `the default export of ${url}`);
  return {
    callable: callable as Callable,
    setup: expectFunction(setup, 'setup', url) as Setup | undefined,
    teardown: expectFunction(teardown, 'teardown', url) as CallableModule['teardown'],
  };
}

function expectFunction(value: unknown, name: string, url: string): unknown {
  if (value === undefined || typeof value === 'function') return value;
  throw invalidArg(`the export '${name}' of ${url} must be a function, got ${typeof value}`);
}
