// The models that a module exports: what `bind` takes, or declarations of `defineModel` with the callable that the module has for
// them. Exports that are neither are the module's own business.

import { expectObject } from '../../checks/check.js';
import { invalidArg } from '../../errors.js';
import type { BoundModel } from '../../model/bound-model.js';
import { functionOf } from '../../model/callable-function.js';
import { refuseMisspeltCallable } from '../../model/check-callables.js';
import { instanceGroup } from '../../model/instance-group.js';
import type { TensorSpecs } from '../../model/tensor-spec.js';

export type ServedModel = BoundModel<TensorSpecs, TensorSpecs, boolean>;

type Exports = Readonly<Record<string, unknown>>;
type Declared = Omit<ServedModel, 'inferFunc'>;

export interface ModuleFile {
  /** As messages call it. */
  readonly name: string;
  /** A `file:` URL. */
  readonly url: string;
  /** Undefined: the callable runs in the thread of its module. */
  readonly instances: number | undefined;
}

/** Names of exports that are the callable of the module's declaration. */
const CALLABLES = ['default', 'inferFunc', 'infer'] as const;

const EXPECTED =
  'expected what triton.bind takes, a list of that, a declaration of defineModel with the callable as default export, or a function named bind…';

/** Rejects with INVALID_ARG when there is none, or when it is not clear what belongs together, and with what the module's functions throw. */
export async function modelsOf(exported: Exports, file: ModuleFile): Promise<readonly ServedModel[]> {
  const declarations = [...new Set(Object.values(exported).flatMap(declarationsIn))];
  const bound = [...declarations.filter(isBound), ...(await boundByFunctions(exported))];
  const names = new Set(bound.map(({ modelName }) => modelName));
  const bare = declarations.filter((declared) => !isBound(declared) && !names.has(declared.modelName));
  const callable = CALLABLES.find((name) => !isDeclared(exported[name]) && functionOf(exported[name]) !== undefined);
  const models =
    callable === undefined || bare.length === 0 ? bound : [...bound, paired(bare, callable, exported, file)];
  if (models.length > 0 && file.instances !== undefined && bound.length > 0) {
    throw invalidArg(
      `--instances is for ONNX files and modules whose default export is the callable; ${file.name} says itself how many instances '${bound[0]!.modelName}' has`,
    );
  }
  if (models.length > 0) return models;
  const [first] = bare;
  if (first !== undefined) {
    refuseMisspeltCallable(first);
    throw invalidArg(`${file.name} declares model '${first.modelName}' without a callable, ${EXPECTED}`);
  }
  const found = Object.keys(exported).join(', ') || 'nothing';
  throw invalidArg(`${file.name} exports no model, ${EXPECTED}; it exports ${found}`);
}

/** In an export, a list of models, or the record that is a CommonJS module. */
function declarationsIn(value: unknown): readonly Declared[] {
  if (isDeclared(value)) return [value];
  if (Array.isArray(value)) return value.filter(isDeclared);
  const isPlain = typeof value === 'object' && value !== null && Object.getPrototypeOf(value) === Object.prototype;
  return isPlain ? Object.values(value).filter(isDeclared) : [];
}

// One that lacks something or has it under another name is a declaration too: `bind` tells what is wrong with it.
function isDeclared(value: unknown): value is Declared {
  if (typeof value !== 'object' || value === null || !('modelName' in value)) return false;
  return 'inputs' in value || 'outputs' in value || 'inferFunc' in value;
}

function isBound(declared: Declared): declared is ServedModel {
  return 'inferFunc' in declared;
}

/** What `export function bindAddSub(triton)` binds, also after it has awaited something. */
async function boundByFunctions(exported: Exports): Promise<readonly ServedModel[]> {
  const models: ServedModel[] = [];
  const binder = {
    bind(model: ServedModel) {
      expectObject(model, 'a model');
      models.push(model);
      return binder;
    },
  };
  for (const [name, value] of Object.entries(exported)) {
    if (typeof value === 'function' && /^bind($|[A-Z])/.test(name))
      await (value as (triton: unknown) => unknown)(binder);
  }
  return models;
}

function paired(bare: readonly Declared[], callable: string, exported: Exports, file: ModuleFile): ServedModel {
  if (bare.length > 1) {
    const names = bare.map(({ modelName }) => `'${modelName}'`).join(', ');
    throw invalidArg(
      `${file.name} has one callable, its export '${callable}', for the models ${names}; export each with its inferFunc`,
    );
  }
  const declared = bare[0]!;
  if (file.instances !== undefined && callable === 'default') {
    return { ...declared, inferFunc: instanceGroup(file.url, { count: file.instances }) };
  }
  const { setup, teardown } = exported;
  return {
    ...declared,
    inferFunc: exported[callable] as ServedModel['inferFunc'],
    ...(setup !== undefined && { setup: setup as NonNullable<ServedModel['setup']> }),
    ...(teardown !== undefined && { teardown: teardown as NonNullable<ServedModel['teardown']> }),
  };
}
