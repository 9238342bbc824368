// Loads the module of an instance group, or of a model in a model repository, and finds its callable in it: its default
// export, or that of the binding which is its default export.

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
  /** The default export, where it is a declaration with its callable. */
  readonly binding: ExportedBinding | undefined;
}

/** Rejects with INVALID_ARG when the module cannot be loaded or has no callable. `tsx`: see `importModule`. */
export async function loadCallableModule(url: string, tsx: string | undefined): Promise<CallableModule> {
  const exported = await importModule(url, tsx).catch((error: unknown) => {
    throw invalidArg(`cannot load the module ${url}: ${TritonError.from(error).message}`, {
      cause: error,
    });
  });
  const { default: main } = exported;
  const binding = isBinding(main) ? main : undefined;
  const callable = binding === undefined ? main : binding.inferFunc;
  expectCallable(callable, `${binding === undefined ? '' : 'inferFunc of '}the default export of ${url}`);
  const { setup = binding?.setup, teardown = binding?.teardown } = exported;
  return {
    callable: callable as Callable,
    setup: expectFunction(setup, 'setup', url) as Setup | undefined,
    teardown: expectFunction(teardown, 'teardown', url) as CallableModule['teardown'],
    binding,
  };
}

/** What `Triton.bind` takes, as a module exports it. */
export type ExportedBinding = Readonly<Record<string, unknown>>;

/** Whether an export is a declaration with its callable, and not the callable alone. */
function isBinding(value: unknown): value is ExportedBinding {
  return typeof value === 'object' && value !== null && 'inferFunc' in value;
}

function expectFunction(value: unknown, name: string, url: string): unknown {
  if (value === undefined || typeof value === 'function') return value;
  throw invalidArg(`the export '${name}' of ${url} must be a function, got ${typeof value}`);
}
