// Loads the module of an instance group, or of a model in a model repository, and finds its callable. The callable is the
// default export. Where the module exports a binding, the callable is the binding's `inferFunc`.

import { fileURLToPath } from 'node:url';

import { invalidArg, TritonError } from '../errors.js';
import type { Awaitable } from '../model/awaitable.js';
import type { Callable } from '../model/callable.js';
import { expectCallable } from '../model/check-callables.js';
import type { ModelConfig } from '../model/model-config.js';
import type { Setup } from '../model/run-setup.js';
import { type SequenceStateSource, sequenceStateSource } from '../model/sequence-state-source.js';
import { importModule } from './import-module.js';

export interface CallableModule {
  readonly callable: Callable;
  readonly setup: Setup | undefined;
  readonly teardown: (() => Awaitable<void>) | undefined;
  /** Makes an object for each sequence: from the exports `state` and `onEnd`, or from the declaration. */
  readonly state: SequenceStateSource | undefined;
  /** The declaration with its callable, where the module exports one. */
  readonly binding: ExportedBinding | undefined;
}

/** Rejects with INVALID_ARG when the module cannot be loaded or has no callable. `tsx`: see `importModule`. */
export async function loadCallableModule(url: string, tsx: string | undefined): Promise<CallableModule> {
  const exported = await importModule(url, tsx).catch(async (error: unknown) => {
    throw await loadFailure(error, url);
  });
  const binding = bindingIn(exported, url);
  const callable = binding === undefined ? exported['default'] : binding.inferFunc;
  if (binding !== undefined) expectCallable(callable, `inferFunc of the model that ${url} exports`);
  else expectDefault(exported, url);
  const { setup = binding?.setup, teardown = binding?.teardown } = exported;
  const declared = (binding as Partial<BoundSequences> | undefined)?.config?.sequenceBatching;
  const state = expectFunction(exported['state'], 'state', url) as SequenceStateSource['create'] | undefined;
  const onEnd = expectFunction(exported['onEnd'], 'onEnd', url) as SequenceStateSource['onEnd'];
  return {
    callable: callable as Callable,
    setup: expectFunction(setup, 'setup', url) as Setup | undefined,
    teardown: expectFunction(teardown, 'teardown', url) as CallableModule['teardown'],
    state: sequenceStateSource(state === undefined ? declared : { state, ...(onEnd && { onEnd }) }),
    binding,
  };
}

async function loadFailure(error: unknown, url: string): Promise<TritonError> {
  const { placeOfSyntaxError } = await import('./syntax-diagnostics.js');
  const place = await placeOfSyntaxError(error, fileURLToPath(url));
  const where = place === undefined ? '' : `, at ${place}`;
  return invalidArg(`cannot load the module ${url}: ${TritonError.from(error).message}${where}`, { cause: error });
}

function expectDefault({ default: main, ...named }: Readonly<Record<string, unknown>>, url: string): void {
  try {
    expectCallable(main, `the default export of ${url}`);
  } catch (error) {
    const names = Object.keys(named).join(', ');
    if (main !== undefined || names === '') throw error;
    throw invalidArg(`${TritonError.from(error).message}; the module exports ${names}`);
  }
}

/** The part of a declaration that is about sequences. */
type BoundSequences = { readonly config: Pick<ModelConfig, 'sequenceBatching'> };

/** The argument of `Triton.bind`, as a module exports it. */
export type ExportedBinding = Readonly<Record<string, unknown>>;

/**
 * The default export, the only other export that is a binding, or the only declaration with the callable that is the default
 * export, or one named `infer` or `inferFunc`: `tstriton serve` takes these too.
 */
function bindingIn(exported: Readonly<Record<string, unknown>>, url: string): ExportedBinding | undefined {
  const { default: main, ...named } = exported;
  if (isBinding(main)) return main;
  if (main === undefined) {
    const bindings = [...new Set(Object.values(named).filter(isBinding))];
    if (bindings.length > 1)
      throw invalidArg(`${url} exports ${bindings.length} models, expected one, or a default export`);
    if (bindings.length > 0) return bindings[0];
  }
  // Of several declarations none is the callable's for sure.
  const [declared, ...others] = new Set(Object.values(named).filter(isDeclaration));
  const inferFunc = main ?? named['inferFunc'] ?? named['infer'];
  return declared && others.length === 0 && inferFunc !== undefined ? { ...declared, inferFunc } : undefined;
}

function isDeclaration(value: unknown): value is ExportedBinding {
  if (typeof value !== 'object' || value === null || isBinding(value)) return false;
  return 'modelName' in value && 'inputs' in value && 'outputs' in value;
}

/** Whether an export is a declaration with its callable, and not the callable alone. */
function isBinding(value: unknown): value is ExportedBinding {
  return typeof value === 'object' && value !== null && 'inferFunc' in value;
}

function expectFunction(value: unknown, name: string, url: string): unknown {
  if (value === undefined || typeof value === 'function') return value;
  throw invalidArg(`the export '${name}' of ${url} must be a function, got ${typeof value}`);
}
