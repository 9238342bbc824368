// `groupByValues` is for functions that compute with one value of an input at a time, such as a language.

import { textOf } from '../checks/check.js';
import { invalidArg, logTextOf, TritonError } from '../errors.js';
import { batchFailure } from '../model/batch-failure.js';
import { disownPromises, isPromiseLike } from '../model/awaitable.js';
import type { InferenceContext, TensorFunc } from '../model/callable.js';
import type { CompleteModelConfig } from '../model/complete-model-config.js';
import { markDecorated } from '../model/decorated.js';
import { withRows } from '../model/derived-context.js';
import { inFormOf } from '../model/input-list.js';
import { requestedByAny } from '../model/requested-outputs.js';
import { haveAllFailed } from '../model/row-failures.js';
import { asSteps, mapSteps, zipSteps } from '../model/steps.js';
import type { InputName, InputsOrAny, TensorSpecs, Unchecked } from '../model/tensor-spec.js';
import { formatShape, sameShape } from '../tensor/shape.js';
import { Tensor } from '../tensor/tensor.js';
import { callInTurn } from './call-in-turn.js';
import type { GroupOutputs, PadFunc } from './constant-padder.js';
import {
  type AnyMethod,
  type AnyTensorFunc,
  aroundFunctionOrMethod,
  expectContext,
  expectInput,
  expectNames,
  type MethodDecorator,
  outputsByName,
  type Tensors,
} from './decorator-parts.js';
import { GroupStates } from './group-states.js';
import { rowKeys } from './row-values.js';
import { scatterRows, takeRows } from './rows.js';

export interface GroupByValuesOptions {
  /** Makes the outputs of the groups equal in shape: `constantPadder(0)`, or a function of your own. */
  readonly padFn?: PadFunc;
}

/**
 * Calls `fn` once for each value of the named inputs, with the rows that have this value. Each row gets its own result
 * back. Groups run one after the other in the order of their first rows. When a group fails, the requests that have
 * rows in it fail. In decoupled models a step of the result is one step of every group. PyTriton's `@group_by_values`.
 *
 * @example
 * ```ts
 * batch(groupByValues(['language'], firstValue(['language'], ({ text, language }) => translate(text, language))))
 * // On a method:
 * @batch @groupByValues(['language']) infer({ text, language }: { text: Tensor; language: Tensor }) {…}
 * ```
 */
export function groupByValues<
  I extends TensorSpecs = TensorSpecs,
  O extends TensorSpecs = TensorSpecs,
  Decoupled extends boolean = Unchecked,
  T = InputsOrAny<I>,
>(
  names: readonly InputName<I>[],
  fn: TensorFunc<I, O, Decoupled, T>,
  options?: GroupByValuesOptions,
): TensorFunc<I, O, Decoupled, T>;
/** As a decorator of a method: `@groupByValues(['language']) infer(inputs, context) {…}`. */
export function groupByValues(names: readonly string[], options?: GroupByValuesOptions): MethodDecorator;
export function groupByValues(
  names: readonly string[],
  fn?: AnyMethod | GroupByValuesOptions,
  options: GroupByValuesOptions = {},
): AnyMethod {
  expectNames(names, 'groupByValues');
  return aroundFunctionOrMethod(
    (method, given, decorated) => groupedBy(names, method, { ...given, decorated }),
    fn,
    options,
  );
}

interface GroupOptions extends GroupByValuesOptions {
  readonly decorated: ClassMethodDecoratorContext | undefined;
}

function groupedBy(names: readonly string[], fn: AnyMethod, { padFn, decorated }: GroupOptions): AnyMethod {
  if (padFn !== undefined && typeof padFn !== 'function')
    throw invalidArg(`padFn of groupByValues must be a function, got ${textOf(padFn)}`);
  const infer = fn as AnyTensorFunc;
  function grouped(this: unknown, inputs: Tensors, context: InferenceContext): unknown {
    const { modelConfig } = expectContext(context, 'groupByValues');
    const groups = groupsOf(names.flatMap((name) => inputs[name] ?? []));
    if (groups.length <= 1) return infer.call(this, inputs, context);
    const parts = groups.map((rows) => ({ rows, context: withRows(context, rows) }));
    const states = new GroupStates(inputs, groups, modelConfig);
    const results = callInTurn(parts, (part) => {
      const call = () => infer.call(this, rowsOfInputs(inputs, part.rows), part.context);
      return modelConfig.decoupled || modelConfig.isolateFailures === true ? call() : settleGroup(call, part.context);
    });
    const join = (outputs: readonly unknown[]) => {
      try {
        return joinGroups(outputs, parts, { padFn, context, states });
      } catch (error) {
        // Those of one group are refused; nobody looks at the others.
        disownPromises(outputs, 3);
        throw error;
      }
    };
    const finish = (settled: readonly unknown[]) => {
      if (!modelConfig.decoupled) return join(settled);
      return mapSteps(
        zipSteps(settled.map(asSteps), () => unevenSteps(modelConfig)),
        join,
      );
    };
    return isPromiseLike(results) ? results.then(finish) : finish(results);
  }
  return markDecorated(grouped, 'groupByValues', fn, {
    decorated,
    check: (config) => {
      for (const name of names) expectInput(name, config, 'groupByValues');
    },
  });
}

/** The rows grouped by equal values; an empty list when no input is named. */
function groupsOf(keyed: readonly Tensor[]): number[][] {
  const groups = new Map<unknown, number[]>();
  rowKeys(keyed).forEach((key, row) => {
    const group = groups.get(key);
    if (group === undefined) groups.set(key, [row]);
    else group.push(row);
  });
  return [...groups.values()];
}

function rowsOfInputs(inputs: Tensors, rows: readonly number[]): Tensors {
  const taken = Object.fromEntries(Object.entries(inputs).map(([name, tensor]) => [name, takeRows(tensor, rows)]));
  return inFormOf(inputs, taken);
}

/** Fails all rows of a group that fails. */
function settleGroup(call: () => unknown, context: InferenceContext): unknown {
  const { requestOfRow } = context;
  if (haveAllFailed(context)) return undefined;
  const failed = (thrown: unknown) => {
    const error = TritonError.from(thrown);
    context.logger.error(`the callable failed: ${logTextOf(error)}`);
    const told = batchFailure(error, new Set(requestOfRow).size);
    for (const row of requestOfRow.keys()) context.failRow(row, told);
  };
  try {
    const result = call();
    return isPromiseLike(result) ? Promise.resolve(result).catch(failed) : result;
  } catch (error) {
    return failed(error);
  }
}

function unevenSteps({ name }: CompleteModelConfig): TritonError {
  return new TritonError(
    'INTERNAL',
    `groupByValues: the groups of model '${name}' yielded different numbers of steps, expected as many of each; use stream for requests that end on their own`,
  );
}

/** The rows of a group, by their places, and its context. */
interface Group {
  readonly rows: readonly number[];
  readonly context: InferenceContext;
}

interface Joining {
  readonly padFn: PadFunc | undefined;
  readonly context: InferenceContext;
  readonly states: GroupStates;
}

function joinGroups(results: readonly unknown[], all: readonly Group[], { padFn, context, states }: Joining): Tensors {
  const { modelConfig } = context;
  const requestedOutputs = requestedByAny(context.requests, modelConfig);
  const outputs = results.map((result, index) => outputsByName(result, all[index]!.rows.length, all[index]!.context));
  states.complete(outputs);
  const failed = all.filter((group) => haveAllFailed(group.context));
  const groups = all.filter((group) => !failed.includes(group));
  const given = outputs.filter((_, index) => groups.includes(all[index]!));
  const padded = padFn === undefined || groups.length === 0 ? given : checkPadded(padFn(given), groups);
  const joined: Record<string, Tensor> = {};
  for (const { name } of modelConfig.outputs) {
    const parts = padded.flatMap((outputs) => outputs[name] ?? []);
    if (parts.length === 0) continue;
    if (parts.length < groups.length && !requestedOutputs.includes(name)) continue;
    const what = `output '${name}' of model '${modelConfig.name}'`;
    if (parts.length < groups.length) {
      throw new TritonError(
        'INTERNAL',
        `groupByValues: ${what} is missing for ${groups.length - parts.length} of ${groups.length} groups`,
      );
    }
    const alike = inOneForm(parts);
    const other = alike.find((part) => !sameShape(part.shape.slice(1), alike[0]!.shape.slice(1)));
    if (other !== undefined) {
      const [a, b] = [alike[0]!, other].map((part) => formatShape(part.shape.slice(1)));
      const hint =
        padFn === undefined ? 'give a padFn, constantPadder(0) for example' : 'padFn did not make them equal';
      throw new TritonError('INTERNAL', `groupByValues: ${what} has rows of shape ${a} and ${b}; ${hint}`);
    }
    // Failed rows keep their places, as copies of another row.
    const fillers = failed.map(({ rows }) => takeRows(alike[0]!, Array<number>(rows.length).fill(0)));
    joined[name] = scatterRows(
      [...alike, ...fillers],
      [...groups, ...failed].map(({ rows }) => rows),
    );
  }
  return joined;
}

/** Checks the result of the user's padFn like outputs. */
function checkPadded(padded: unknown, groups: readonly Group[]): readonly GroupOutputs[] {
  if (Array.isArray(padded) && padded.length === groups.length) {
    return padded.map((outputs, index) => outputsByName(outputs, groups[index]!.rows.length, groups[index]!.context));
  }
  const got = Array.isArray(padded) ? `${padded.length} records` : typeof padded;
  throw new TritonError(
    'INTERNAL',
    `padFn must return a list of ${groups.length} records of outputs, one per group, got ${got}`,
  );
}

/** Strings and bytes are one datatype: where groups differ, all become bytes. */
function inOneForm(parts: readonly Tensor[]): readonly Tensor[] {
  if (parts.every(({ dtype }) => dtype === parts[0]!.dtype)) return parts;
  const encoder = new TextEncoder();
  return parts.map((part) =>
    part.dtype === 'string'
      ? new Tensor(
          'bytes',
          (part.data as string[]).map((text) => encoder.encode(text)),
          part.shape,
        )
      : part,
  );
}
