// Loads the module of an instance group: JavaScript always, TypeScript where this Node can, or with jiti.

import { TritonError } from '../errors.js';
import type { Awaitable } from '../model/awaitable.js';
import type { Callable } from '../model/callable.js';
import { expectCallable } from '../model/check-callables.js';
import type { Setup } from '../model/run-setup.js';

export interface CallableModule {
  readonly callable: Callable;
  readonly setup: Setup | undefined;
  readonly teardown: (() => Awaitable<void>) | undefined;
}

/** Rejects with INVALID_ARG when the module cannot be loaded or has no callable. */
export async function loadCallableModule(url: string): Promise<CallableModule> {
  const exported = await importModule(url).catch((error: unknown) => {
    throw new TritonError('INVALID_ARG', `cannot load the module ${url}: ${TritonError.from(error).message}`, {
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
  throw new TritonError('INVALID_ARG', `the export '${name}' of ${url} must be a function, got ${typeof value}`);
}

async function importModule(url: string): Promise<Record<string, unknown>> {
  try {
    return (await import(url)) as Record<string, unknown>;
  } catch (error) {
    if ((error as { readonly code?: unknown }).code !== 'ERR_UNKNOWN_FILE_EXTENSION') throw error;
    return (await importWithJiti(url, error)) as Record<string, unknown>;
  }
}

async function importWithJiti(url: string, unknownExtension: unknown): Promise<unknown> {
  // An optional peer: its name must not be followed by whoever compiles or bundles this.
  const name = 'jiti';
  const jiti = (await import(name).catch(() => undefined)) as JitiModule | undefined;
  if (jiti === undefined) {
    const message = `this version of Node does not load ${new URL(url).pathname.split('/').at(-1)}; install jiti, or compile the module to JavaScript`;
    throw new TritonError('UNSUPPORTED', message, { cause: unknownExtension });
  }
  return jiti.createJiti(url).import(url);
}

interface JitiModule {
  createJiti(parent: string): { import(url: string): Promise<unknown> };
}
