// The decorators share these parts: types that fit any model, and checks of their arguments and of the inputs that they
// name.

import { expectObject, textOf } from '../checks/check.js';
import { invalidArg } from '../errors.js';
import type { InferenceContext } from '../model/callable.js';
import type { CompleteModelConfig, CompleteTensorSpec } from '../model/complete-model-config.js';
import type { DecoratorName } from '../model/decorated.js';
import { nearest } from '../checks/nearest.js';
import { requestedByAny } from '../model/requested-outputs.js';
import { recordOf, resolveOutputs } from '../model/resolve-outputs.js';
import { haveAllFailed } from '../model/row-failures.js';
import type { TensorSpecs } from '../model/tensor-spec.js';
import type { Tensor } from '../tensor/tensor.js';

/** Tensors by name. */
export type Tensors = Readonly<Record<string, Tensor>>;

/** A function of tensors, whatever its model. */
export type AnyTensorFunc = (this: unknown, inputs: Tensors, context: InferenceContext) => unknown;

/** A decorated method. To the compiler it keeps the type that it is written with. */
export type AnyMethod = (...args: never) => unknown;

/** What a decorator with arguments is on a method: `@firstValue(['temperature']) infer(inputs) {…}`. */
export type MethodDecorator = <Method extends AnyMethod>(
  method: Method,
  decorated: ClassMethodDecoratorContext,
) => Method;

/** `decorate` around the function that was given; where there is none, for the method that it stands on. */
export function aroundFunctionOrMethod<Options extends object>(
  decorate: (fn: AnyMethod, options: Options, decorated?: ClassMethodDecoratorContext) => object,
  given: AnyMethod | Options | undefined,
  options: Options,
): never {
  const isOptions = given === undefined || (typeof given === 'object' && given !== null);
  expectObject(isOptions ? (given ?? options) : options, 'options of a decorator');
  const decorator = isOptions
    ? (method: AnyMethod, decorated: ClassMethodDecoratorContext) => decorate(method, given ?? options, decorated)
    : decorate(given, options);
  return decorator as never;
}

/**
 * The outputs of a result by name, of so many rows; none where every row has failed. Next states may be missing, because only outputs
 * that clients ask for must be there. `config`: of a callable that sees other axes than the model has.
 */
export function outputsByName(
  result: unknown,
  rows: number,
  context: InferenceContext,
  config: CompleteModelConfig = context.modelConfig,
): Record<string, Tensor> {
  if (haveAllFailed(context)) return {};
  const requestedOutputs = requestedByAny(context.requests, config);
  return recordOf(resolveOutputs(result, config, rows, { requestedOutputs, failRow: context.failRow }), config);
}

/** The context that a decorated function got. Throws INVALID_ARG when there is none, as in a unit test that calls it. */
export function expectContext<I extends TensorSpecs>(
  context: InferenceContext<I> | undefined,
  decorator: DecoratorName,
): InferenceContext<I> {
  if ((context as Partial<InferenceContext> | null | undefined)?.modelConfig !== undefined) return context!;
  throw invalidArg(
    `${decorator} was called without a context: it needs the one that a server gives; in a test, call the callable with ` +
      "call(model, inputs) of 'tstriton/testing'",
  );
}

/** Refuses anything but a list of names: the letters of a single name would be taken for names. */
export function expectNames(names: unknown, decorator: DecoratorName): asserts names is readonly string[] {
  if (Array.isArray(names)) return;
  throw invalidArg(`${decorator} takes a list of input names, such as ['temperature'], got ${textOf(names)}`);
}

/** The declaration of the input that a decorator names. Throws INVALID_ARG when the model has no such input. */
export function expectInput(
  name: string,
  { name: model, inputs }: CompleteModelConfig,
  decorator: string,
): CompleteTensorSpec {
  const spec = inputs.find((input) => input.name === name);
  if (spec !== undefined) return spec;
  const names = inputs.map((input) => input.name);
  const hint = nearest(name, names);
  throw invalidArg(
    `${decorator} names an input '${name}' that model '${model}' does not have; ` +
      (hint === undefined ? `it has ${names.join(', ') || 'none'}` : `did you mean '${hint}'?`),
  );
}
