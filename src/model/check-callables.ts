// Checks the `inferFunc` of `bind`.

import { invalidArg, TritonError } from '../errors.js';
import { functionOf, isNamedMethod, methodNames, type NamedMethod } from './callable-function.js';
import type { Callable } from './callable.js';
import { checkMembers, describeValue } from '../checks/check.js';
import type { CompleteModelConfig } from './complete-model-config.js';
import { type DecoratorName, DECORATORS, type Level, type Mark, marksOf } from './decorated.js';
import { type InstanceGroup, isInstanceGroup } from './instance-group.js';
import { nearest } from '../checks/nearest.js';

const KINDS_BOUND =
  "a function, an object with a method 'infer', { object, method }, an instanceGroup, or a list of those";

/**
 * The callables as a list, one per instance. With a configuration it also refuses decorators that cannot work
 * with it. Throws INVALID_ARG.
 */
export function checkCallables(
  inferFunc: unknown,
  modelName: unknown,
  config?: CompleteModelConfig,
): readonly (Callable | InstanceGroup)[] {
  const what = `inferFunc of model '${String(modelName)}'`;
  const callables: readonly unknown[] = Array.isArray(inferFunc) ? inferFunc : [inferFunc];
  if (callables.length === 0) throw invalidArg(`${what} is an empty list, expected at least one callable`);
  for (const callable of callables) {
    if (isInstanceGroup(callable)) continue;
    const fn = expectCallable(callable, what, KINDS_BOUND);
    refuseHooks(callable, what);
    if (config !== undefined) checkDecorators(fn, config, what);
  }
  return callables as readonly (Callable | InstanceGroup)[];
}

/** Refuses a model without `inferFunc` that has its callable under another name, such as `inferFn` or `infer_func`. */
export function refuseMisspeltCallable(model: { readonly modelName?: unknown; readonly inferFunc?: unknown }): void {
  if (model.inferFunc !== undefined) return;
  const name = Object.entries(model).find(
    ([key, value]) => !HOOKS.includes(key) && functionOf(value) !== undefined,
  )?.[0];
  if (name === undefined) return;
  throw invalidArg(`model '${String(model.modelName)}' has an unknown option '${name}'; did you mean 'inferFunc'?`);
}

const HOOKS = ['setup', 'teardown'];

/**
 * Refuses own functions `setup` and `teardown`, which nothing would call. Methods of classes may be for the user to
 * call.
 */
function refuseHooks(callable: unknown, what: string): void {
  if (typeof callable !== 'object' || callable === null) return;
  const hook = HOOKS.find((name) => typeof Object.getOwnPropertyDescriptor(callable, name)?.value === 'function'); // prettier-ignore
  if (hook === undefined) return;
  throw invalidArg(
    `${what} has a ${hook} of its own, which would not be called; give bind a ${hook}, beside inferFunc`,
  );
}

const KINDS = "a function, an object with a method 'infer', or { object, method }";

/** The function of a callable. Throws INVALID_ARG, naming the value as `what`, for any other value. */
export function expectCallable(callable: unknown, what: string, kinds: string = KINDS): unknown {
  const named = isNamedMethod(callable);
  if (named) checkMembers(callable, ['object', 'method'], what);
  const fn = functionOf(callable);
  if (fn !== undefined) {
    if (!isClass(fn)) return fn;
    throw invalidArg(`${what} is the class ${fn.name}, expected an object of it, as new ${fn.name}() is`);
  }
  if (named) throw invalidArg(`${what} ${missingMethod(callable)}`);
  const got = callable === null ? 'null' : typeof callable;
  throw invalidArg(`${what} must be ${kinds}, got ${got}`);
}

/** A class is a function too, which cannot be called. */
function isClass(fn: object): boolean {
  return /^class\b/.test(Function.prototype.toString.call(fn));
}

function missingMethod({ object, method }: NamedMethod): string {
  const isObject = (typeof object === 'object' && object !== null) || typeof object === 'function';
  if (!isObject) return `names a method of ${describeValue(object)}, expected an object`;
  if (typeof method !== 'string') return `names a method by ${describeValue(method)}, expected a string`;
  const names = methodNames(object);
  const hint = nearest(method, names);
  const known = hint === undefined ? `it has ${names.join(', ') || 'none'}` : `did you mean '${hint}'?`;
  return `names a method '${method}' that ${describeValue(object)} does not have; ${known}`;
}

function checkDecorators(infer: unknown, config: CompleteModelConfig, what: string): void {
  const marks = marksOf(infer);
  const innermost = marks.at(-1)?.inner ?? infer;
  if (!config.decoupled && (isGeneratorFunction(innermost) || marks.some(({ decorator }) => decorator === 'stream'))) {
    throw invalidArg(
      `${what} is a generator, but the model answers each request once; set config.decoupled: true for any number of answers`,
    );
  }
  let level: Level = 'requests';
  let around: DecoratorName | undefined;
  for (const mark of marks) {
    const { outside, inside } = DECORATORS[mark.decorator];
    if (outside !== level) throw invalidArg(`${what}: ${misplaced(mark.decorator, level, around)}`);
    checkMark(mark, marks, { config, what });
    level = inside;
    around = mark.decorator;
  }
  if (level === 'requests') refuseTensors(innermost, config, what);
}

/** Refuses a function that takes inputs by name though nothing hands it tensors: a list of requests has no such members. */
function refuseTensors(fn: unknown, { inputs, decoupled, maxBatchSize }: CompleteModelConfig, what: string): void {
  const source = typeof fn === 'function' ? Function.prototype.toString.call(fn) : '';
  const [, members = ''] = /^(?:async\b)?[\s*]*(?:function\b)?[\s*]*[\w$]*\s*\(\s*\{([^{}]*)\}/.exec(source) ?? [];
  const names = members.split(',').map((member) => member.split(/[:=]/)[0]!.trim());
  if (!names.some((taken) => !(taken in []) && inputs.some(({ name }) => name === taken))) return;
  const decorator = decoupled ? 'stream' : maxBatchSize === 0 ? 'sample' : 'batch';
  throw invalidArg(
    `${what} takes { ${names.filter((name) => name !== '').join(', ')} }, but gets a list of requests; ${decorator} makes a callable of a function of tensors`,
  );
}

function misplaced(decorator: DecoratorName, level: Level, around: DecoratorName | undefined): string {
  if (level === 'requests') return `${decorator} takes tensors; put it inside batch or stream`;
  if (level === 'values') return `firstValue must be the innermost decorator, but ${decorator} is inside it`;
  if (DECORATORS[decorator].inside === 'tensors') {
    return `there is another one of batch, sample and stream around ${decorator}; leave one of them out`;
  }
  return `${decorator} takes requests; put it outside ${String(around)}`;
}

interface Bound {
  readonly config: CompleteModelConfig;
  readonly what: string;
}

function checkMark({ decorator, check }: Mark, marks: readonly Mark[], { config, what }: Bound): void {
  const { maxBatchSize } = config;
  const decorated = `${what} is decorated with ${decorator}`;
  if (decorator === 'batch' && maxBatchSize === 0) {
    throw invalidArg(`${decorated}, but the model has batching: false; use sample or a raw callable`);
  }
  if (decorator === 'sample' && maxBatchSize > 1) {
    throw invalidArg(
      `${decorated}, but batches have up to ${maxBatchSize} rows; use batch, or set batching: false or maxBatchSize: 1`,
    );
  }
  if (DECORATORS[decorator].outside === 'tensors') {
    if (maxBatchSize === 0)
      throw invalidArg(`${decorated}, which needs a batch axis, but the model has batching: false`);
    if (marks.some((mark) => mark.decorator === 'sample')) {
      throw invalidArg(`${decorated}, which needs a batch axis, but sample takes it off; use batch`);
    }
  }
  try {
    check?.(config);
  } catch (error) {
    throw invalidArg(`${what}: ${TritonError.from(error).message}`, { cause: error });
  }
}

function isGeneratorFunction(value: unknown): boolean {
  if (typeof value !== 'function') return false;
  const tag = Object.prototype.toString.call(value);
  return tag === '[object GeneratorFunction]' || tag === '[object AsyncGeneratorFunction]';
}
