// `batch` gives a callable all rows of all requests of a batch as one set of tensors. Most callables use it.

import { invalidArg, misuse, TritonError } from '../errors.js';
import type { LooseTensorFunc } from '../model/bound-model.js';
import type { AnyInferFunc } from '../model/callable-function.js';
import type { InferenceContext, InferenceRequest, InferFunc, TensorFunc } from '../model/callable.js';
import type { CompleteModelConfig } from '../model/complete-model-config.js';
import { markDecorated } from '../model/decorated.js';
import { rowsOf } from '../model/inference-request.js';
import { InferenceResponse } from '../model/inference-response.js';
import { withOutputs } from '../model/response-outputs.js';
import { inFormOf } from '../model/input-list.js';
import { finishResult } from '../model/map-outputs.js';
import { requestedByAny } from '../model/requested-outputs.js';
import { recordOf, type ResolvedRows, resolveOutputs } from '../model/resolve-outputs.js';
import { failureOf } from '../model/row-failures.js';
import type { InputsOrAny, TakenInputs, TensorSpecs, Unchecked } from '../model/tensor-spec.js';
import { concatRows } from '../tensor/concat-rows.js';
import type { Tensor } from '../tensor/tensor.js';
import { type AnyMethod, type AnyTensorFunc, expectContext, type Tensors } from './decorator-parts.js';

/**
 * Joins the rows of all requests of a batch: `fn` gets each input as one tensor of shape `[rows, …declared shape]` and
 * returns outputs with as many rows. Each request gets its own rows back. PyTriton's `@batch`.
 *
 * @example
 * batch(({ a, b }) => ({ sum: a.map((value, i) => value + b.data[i]!) }))
 */
export function batch<
  I extends TensorSpecs = TensorSpecs,
  O extends TensorSpecs = TensorSpecs,
  Decoupled extends boolean = Unchecked,
  T = InputsOrAny<I>,
  Loose = never,
>(
  fn: TensorFunc<I, O, Decoupled, T> | LooseTensorFunc<Loose, T, O, Decoupled>,
  decorated?: undefined,
): InferFunc<I, O, Decoupled, TakenInputs<T>>;
/** As a decorator of a method: `@batch infer(inputs, context) {…}`. */
export function batch<Method extends AnyMethod>(method: Method, decorated: ClassMethodDecoratorContext): Method;
export function batch(fn: AnyMethod, decorated?: ClassMethodDecoratorContext): AnyInferFunc {
  const infer = fn as AnyTensorFunc;
  function batched(this: unknown, requests: readonly InferenceRequest[], context: InferenceContext): unknown {
    const { modelConfig } = expectContext(context, 'batch');
    const rowCounts = requests.map(rowsOf);
    const requestedOutputs = requestedByAny(requests, modelConfig);
    const split = (result: unknown) =>
      requests.every(failureOf)
        ? requests.map(() => undefined)
        : splitOutputs(result, rowCounts, { modelConfig, requestedOutputs, failRow: context.failRow });
    const splitStep = (step: unknown) =>
      InferenceResponse.is(step) ? split(step.outputs).map((outputs) => withOutputs(step, outputs)) : split(step);
    const result = infer.call(this, joinInputs(requests), context);
    return finishResult(result, modelConfig, modelConfig.decoupled ? splitStep : split);
  }
  return markDecorated(batched, 'batch', fn, { decorated });
}

function joinInputs(requests: readonly InferenceRequest[]): Tensors {
  const first = requests[0]!.inputs as Tensors;
  if (requests.length === 1) return first;
  const names = Object.keys(first);
  const joined: Record<string, Tensor> = {};
  for (const name of names) {
    const parts = requests.map((request) => {
      const tensor = (request.inputs as Tensors)[name];
      if (tensor === undefined || Object.keys(request.inputs).length !== names.length) {
        throw invalidArg(
          `cannot batch requests with different sets of inputs: ${names.join(', ')} and ${Object.keys(request.inputs).join(', ')}`,
        );
      }
      return tensor;
    });
    joined[name] = joinedRows(parts, name);
  }
  return inFormOf(first, joined);
}

/** The server joins requests of the same shapes. States may have grown to different sizes. */
function joinedRows(parts: readonly Tensor[], name: string): Tensor {
  try {
    return concatRows(parts);
  } catch (error) {
    throw misuse(`cannot batch input '${name}': ${TritonError.from(error).message}`, { cause: error });
  }
}

interface Splitting extends ResolvedRows {
  readonly modelConfig: CompleteModelConfig;
}

function splitOutputs(result: unknown, rowCounts: readonly number[], { modelConfig, ...rows }: Splitting): Tensors[] {
  let total = 0;
  for (const count of rowCounts) total += count;
  const outputs = resolveOutputs(result, modelConfig, total, rows);
  if (rowCounts.length === 1) return [recordOf(outputs, modelConfig)];
  const parts = outputs.map((tensor) => tensor?.split(rowCounts));
  return rowCounts.map((_, request) =>
    recordOf(
      parts.map((tensors) => tensors?.[request]),
      modelConfig,
    ),
  );
}
