// `groupByKeys` keeps requests with different sets of optional inputs out of one call.

import { logTextOf, TritonError } from '../errors.js';
import { batchFailure } from '../model/batch-failure.js';
import { disownPromises, isPromiseLike } from '../model/awaitable.js';
import type { AnyInferFunc } from '../model/callable-function.js';
import type { InferenceContext, InferenceRequest, InferFunc } from '../model/callable.js';
import { markDecorated } from '../model/decorated.js';
import { withRequests } from '../model/derived-context.js';
import { isolatingFailures } from '../model/isolated-failures.js';
import { RequestGroups } from '../model/steps.js';
import type { Inputs, TensorSpecs, Unchecked } from '../model/tensor-spec.js';
import { callInTurn } from './call-in-turn.js';
import { type AnyMethod, expectContext } from './decorator-parts.js';

/**
 * Calls `fn` once for each set of inputs that requests of a batch have, so that `batch` can join them. Groups are
 * called one after the other in the order of their first requests; a group that fails fails alone. In decoupled
 * models each group has its own steps and its own end. PyTriton's `@group_by_keys`.
 *
 * @example
 * groupByKeys(batch(({ x, scale }) => ({ y: scale === undefined ? x : x.map((value) => value * scale.data[0]!) })))
 */
export function groupByKeys<
  I extends TensorSpecs = TensorSpecs,
  O extends TensorSpecs = TensorSpecs,
  Decoupled extends boolean = Unchecked,
  T = Inputs<I>,
>(fn: InferFunc<I, O, Decoupled, T>, decorated?: undefined): InferFunc<I, O, Decoupled, T>;
/** As a decorator of a method: `@groupByKeys @batch infer(inputs, context) {…}`. */
export function groupByKeys<Method extends AnyMethod>(method: Method, decorated: ClassMethodDecoratorContext): Method;
export function groupByKeys(method: AnyMethod, decorated?: ClassMethodDecoratorContext): AnyInferFunc {
  const fn = method as AnyInferFunc;
  function grouped(this: unknown, requests: readonly InferenceRequest[], context: InferenceContext): unknown {
    const { modelConfig } = expectContext(context, 'groupByKeys');
    const groups = groupsOf(requests);
    if (groups.length <= 1) return requests.length === 0 ? [] : fn.call(this, requests, context);
    const infer: AnyInferFunc = (part, its) => fn.call(this, part, its);
    const isolated = modelConfig.isolateFailures === true ? isolatingFailures(infer) : infer;
    const callGroup = (members: readonly number[]) => {
      const part = members.map((index) => requests[index]!);
      return isolated.call(undefined, part, withRequests(context, part));
    };
    if (modelConfig.decoupled) {
      return new RequestGroups(groups.map((members) => ({ members, start: () => callGroup(members) })));
    }
    const results = callInTurn(groups, (members) => settleGroup(() => callGroup(members), members.length, context));
    return isPromiseLike(results)
      ? results.then((settled) => scatter(settled, groups, requests.length))
      : scatter(results, groups, requests.length);
  }
  return markDecorated(grouped, 'groupByKeys', fn, { decorated });
}

/** The places of the requests that have the same inputs. */
function groupsOf(requests: readonly InferenceRequest[]): number[][] {
  const groups = new Map<string, number[]>();
  requests.forEach((request, index) => {
    const key = JSON.stringify(Object.keys(request.inputs).sort());
    const group = groups.get(key);
    if (group === undefined) groups.set(key, [index]);
    else group.push(index);
  });
  return [...groups.values()];
}

/** The group's results. An error takes the place of each failed request, or of all when the group failed. */
function settleGroup(call: () => unknown, count: number, context: InferenceContext): unknown {
  const failed = (thrown: unknown) => {
    const error = TritonError.from(thrown);
    context.logger.error(`the callable failed: ${logTextOf(error)}`);
    return error;
  };
  const failAll = (thrown: unknown) => {
    const error = batchFailure(failed(thrown), count);
    return Array.from({ length: count }, () => error);
  };
  const check = (results: unknown) => {
    const list = expectList(results, count, context.modelName);
    if (!list.some(isPromiseLike)) return list;
    return Promise.all(list.map((result) => (isPromiseLike(result) ? Promise.resolve(result).catch(failed) : result)));
  };
  try {
    const results = call();
    return isPromiseLike(results) ? Promise.resolve(results).then(check).catch(failAll) : check(results);
  } catch (error) {
    return failAll(error);
  }
}

function expectList(results: unknown, count: number, model: string): readonly unknown[] {
  if (Array.isArray(results) && results.length === count) return results;
  disownPromises(results);
  const got = Array.isArray(results) ? `${results.length} results` : 'no list';
  throw new TritonError(
    'INTERNAL',
    `model '${model}' returned ${got} for ${count} requests of the same inputs, expected one result per request`,
  );
}

function scatter(results: readonly unknown[], groups: readonly (readonly number[])[], count: number): unknown[] {
  const scattered = new Array<unknown>(count);
  groups.forEach((members, group) => {
    members.forEach((index, place) => (scattered[index] = (results[group] as readonly unknown[])[place]));
  });
  return scattered;
}
