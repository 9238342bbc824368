// `padBatch` is for models that are fast at certain batch sizes, such as compiled ones.

import type { InferenceContext, TensorFunc } from '../model/callable.js';
import type { CompleteModelConfig } from '../model/complete-model-config.js';
import { markDecorated } from '../model/decorated.js';
import { withRows } from '../model/derived-context.js';
import { inFormOf } from '../model/input-list.js';
import { finishResult } from '../model/map-outputs.js';
import type { InputsOrAny, TensorSpecs, Unchecked } from '../model/tensor-spec.js';
import { type AnyMethod, type AnyTensorFunc, expectContext, outputsByName, type Tensors } from './decorator-parts.js';
import { repeatLastRow } from './rows.js';

/**
 * Repeats the last row up to the next preferred batch size, or to the maximum where no preferred size is large enough.
 * It removes the outputs of the added rows: `fn` returns as many rows as it gets. Added rows have no sequence, and so no state.
 * PyTriton's `@pad_batch`.
 *
 * @example
 * batch(padBatch(({ image }) => compiled.run(image)))
 */
export function padBatch<
  I extends TensorSpecs = TensorSpecs,
  O extends TensorSpecs = TensorSpecs,
  Decoupled extends boolean = Unchecked,
  T = InputsOrAny<I>,
>(fn: TensorFunc<I, O, Decoupled, T>, decorated?: undefined): TensorFunc<I, O, Decoupled, T>;
/** As a decorator of a method: `@batch @padBatch infer(inputs, context) {…}`. */
export function padBatch<Method extends AnyMethod>(method: Method, decorated: ClassMethodDecoratorContext): Method;
export function padBatch(fn: AnyMethod, decorated?: ClassMethodDecoratorContext): AnyMethod {
  const infer = fn as AnyTensorFunc;
  function padding(this: unknown, inputs: Tensors, context: InferenceContext): unknown {
    const { modelConfig } = expectContext(context, 'padBatch');
    const rows = Object.values(inputs)[0]?.rowCount ?? 0;
    const size = paddedSize(rows, modelConfig);
    if (rows === 0 || size === rows) return infer.call(this, inputs, context);
    const padded = Object.fromEntries(
      Object.entries(inputs).map(([name, tensor]) => [name, repeatLastRow(tensor, size)]),
    );
    const places = Array.from({ length: size }, (_, row) => Math.min(row, rows - 1));
    const whole = withRows(context, places);
    const result = infer.call(this, inFormOf(inputs, padded), whole);
    return finishResult(result, modelConfig, (outputs) => trim(outputs, { rows, size, context: whole }));
  }
  return markDecorated(padding, 'padBatch', fn, { decorated });
}

/** The smallest preferred size that holds all rows, or else the maximum. */
function paddedSize(rows: number, { dynamicBatching, maxBatchSize }: CompleteModelConfig): number {
  const fitting = [...(dynamicBatching?.preferredBatchSize ?? []), maxBatchSize].filter((size) => size >= rows);
  return fitting.length === 0 ? rows : Math.min(...fitting);
}

interface Padding {
  readonly rows: number;
  readonly size: number;
  /** With the added rows. */
  readonly context: InferenceContext;
}

function trim(result: unknown, { rows, size, context }: Padding): Tensors {
  const outputs = outputsByName(result, size, context);
  return Object.fromEntries(Object.entries(outputs).map(([name, tensor]) => [name, tensor.slice(0, rows)]));
}
