// Checks what `bind` gets as `inferFunc`.

import { TritonError } from '../errors.js';
import type { Callable, ModelObject } from './callable.js';
import type { CompleteModelConfig } from './complete-model-config.js';
import { decoratorOf, innermost } from './decorated.js';

/**
 * The callables as a list, one per instance. With a configuration it also refuses decorators that cannot work
 * with it. Throws INVALID_ARG.
 */
export function checkCallables(
  inferFunc: unknown,
  modelName: unknown,
  config?: CompleteModelConfig,
): readonly Callable[] {
  const what = `inferFunc of model '${String(modelName)}'`;
  const callables: readonly unknown[] = Array.isArray(inferFunc) ? inferFunc : [inferFunc];
  if (callables.length === 0)
    throw new TritonError('INVALID_ARG', `${what} is an empty list, expected at least one callable`);
  for (const callable of callables) {
    if (!isCallable(callable)) {
      const got = callable === null ? 'null' : typeof callable;
      throw new TritonError(
        'INVALID_ARG',
        `${what} must be a function, an object with a method 'infer', or a list of those, got ${got}`,
      );
    }
    if (config !== undefined) checkDecorator(callable, config, what);
  }
  return callables as readonly Callable[];
}

function isCallable(value: unknown): boolean {
  if (typeof value === 'function') return true;
  return (
    typeof value === 'object' && value !== null && typeof (value as { readonly infer?: unknown }).infer === 'function'
  );
}

function checkDecorator(callable: unknown, { maxBatchSize, decoupled }: CompleteModelConfig, what: string): void {
  const infer = typeof callable === 'function' ? callable : (callable as ModelObject).infer;
  const decorator = decoratorOf(infer);
  if (!decoupled && (isGeneratorFunction(innermost(infer)) || decorator === 'stream')) {
    throw new TritonError(
      'INVALID_ARG',
      `${what} is a generator, but the model answers each request once; set config.decoupled: true for any number of answers`,
    );
  }
  if (decorator === 'batch' && maxBatchSize === 0) {
    throw new TritonError(
      'INVALID_ARG',
      `${what} is decorated with batch, but the model has batching: false; use sample or a raw callable`,
    );
  }
  if (decorator === 'sample' && maxBatchSize > 1) {
    throw new TritonError(
      'INVALID_ARG',
      `${what} is decorated with sample, but batches have up to ${maxBatchSize} rows; use batch, or set batching: false or maxBatchSize: 1`,
    );
  }
}

function isGeneratorFunction(value: unknown): boolean {
  if (typeof value !== 'function') return false;
  const tag = Object.prototype.toString.call(value);
  return tag === '[object GeneratorFunction]' || tag === '[object AsyncGeneratorFunction]';
}
