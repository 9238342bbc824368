// Loads the module of an instance group and finds its callable in it.

import { TritonError } from '../errors.js';
import type { Awaitable } from '../model/awaitable.js';
import type { Callable } from '../model/callable.js';
import type { SetupContext } from '../model/setup-context.js';
import { importModule } from './import-module.js';

export interface CallableModule {
  readonly callable: Callable;
  readonly setup: ((context: SetupContext) => Awaitable<void>) | undefined;
  readonly teardown: (() => Awaitable<void>) | undefined;
}

/** Rejects with INVALID_ARG when the module cannot be loaded or has no callable. `tsx`: see `importModule`. */
export async function loadCallableModule(url: string, tsx: string | undefined): Promise<CallableModule> {
  const exported = await importModule(url, tsx).catch((error: unknown) => {
    throw new TritonError('INVALID_ARG', `cannot load the module ${url}: ${TritonError.from(error).message}`, {
      cause: error,
    });
  });
  const { default: callable, setup, teardown } = exported;
  const isObject =
    typeof callable === 'object' && callable !== null && typeof (callable as { infer?: unknown }).infer === 'function';
  if (typeof callable !== 'function' && !isObject) {
    const message = `the default export of ${url} must be a function or an object with a method 'infer', got ${callable === null ? 'null' : typeof callable}`;
    throw new TritonError('INVALID_ARG', message);
  }
  return {
    callable: callable as Callable,
    setup: expectFunction(setup, 'setup', url) as CallableModule['setup'],
    teardown: expectFunction(teardown, 'teardown', url) as CallableModule['teardown'],
  };
}

function expectFunction(value: unknown, name: string, url: string): unknown {
  if (value === undefined || typeof value === 'function') return value;
  throw new TritonError('INVALID_ARG', `the export '${name}' of ${url} must be a function, got ${typeof value}`);
}
