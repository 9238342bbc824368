// Runs a batch that failed again, one request at a time, so that only those requests fail that are the reason: for models
// that ask for it with `isolateFailures`. A callable may change its inputs, so requests are copied before the first run.

import { logTextOf, TritonError, TritonUnrecoverableError } from '../errors.js';
import type { DataOf, Dtype } from '../tensor/dtype.js';
import { Tensor } from '../tensor/tensor.js';
import { isPromiseLike } from './awaitable.js';
import type { AnyInferFunc } from './callable-function.js';
import type { InferenceContext, InferenceRequest } from './callable.js';
import { withRequests } from './derived-context.js';
import { withInputs } from './inference-request.js';
import { failureOf } from './row-failures.js';

/** Is called when request `index` has run alone for so many milliseconds. */
export type RanAlone = (index: number, milliseconds: number) => void;

const LEAVES_INPUTS = Symbol.for('tstriton.leavesInputs');

/** Marks a function that does not change its inputs: nothing has to be copied for another run. */
export function leavingInputs<F extends object>(infer: F): F {
  return Object.defineProperty(infer, LEAVES_INPUTS, { value: true });
}

/** `callable` is what `infer` calls, with its mark. */
export function isolatingFailures(
  infer: AnyInferFunc,
  callable: unknown = infer,
): (...call: [...Parameters<AnyInferFunc>, ranAlone?: RanAlone]) => unknown {
  const copies = !(LEAVES_INPUTS in Object(callable));
  return (requests, context, ranAlone) => {
    if (requests.length <= 1) return infer.call(undefined, requests, context);
    const kept = copies ? requests.map(copyOf) : requests;
    const again = (thrown: unknown) => {
      if (TritonUnrecoverableError.is(thrown)) throw thrown;
      const text = `a batch of ${kept.length} requests failed and runs again one by one: ${TritonError.from(thrown).message}`;
      context.logger.verbose(1, text);
      return runAlone(infer, kept, { context, ranAlone });
    };
    try {
      const result = infer.call(undefined, requests, context);
      return isPromiseLike(result) ? Promise.resolve(result).catch(again) : result;
    } catch (error) {
      return again(error);
    }
  };
}

interface AloneRun {
  readonly context: InferenceContext;
  readonly ranAlone: RanAlone | undefined;
}

/** One request after the other, as an instance works on one batch at a time. */
async function runAlone(
  infer: AnyInferFunc,
  requests: readonly InferenceRequest[],
  { context, ranAlone }: AloneRun,
): Promise<unknown[]> {
  const results: unknown[] = [];
  for (const [index, request] of requests.entries()) {
    if (request.signal.aborted || failureOf(request) !== undefined) {
      results.push(CANCELLED);
      continue;
    }
    const startedAt = performance.now();
    try {
      const alone = withRequests(context, [request]) as InferenceContext;
      results.push(await onlyResult(await infer.call(undefined, alone.requests, alone), context.modelName));
    } catch (thrown) {
      if (TritonUnrecoverableError.is(thrown)) throw thrown;
      const error = TritonError.from(thrown);
      context.logger.error(`the callable failed: ${logTextOf(error)}`);
      results.push(error);
    }
    ranAlone?.(index, performance.now() - startedAt);
  }
  return results;
}

/** Nobody gets it: the client is gone, or the request has a failure of its own. */
const CANCELLED = new TritonError('CANCELLED', '');

function onlyResult(results: unknown, model: string): unknown {
  if (Array.isArray(results) && results.length === 1) return results[0];
  const got = Array.isArray(results) ? `${results.length} results` : 'no list';
  throw new TritonError(
    'INTERNAL',
    `model '${model}' returned ${got} for one request, expected a list with one result`,
  );
}

function copyOf(request: InferenceRequest): InferenceRequest {
  const inputs = Object.entries(request.inputs as Readonly<Record<string, Tensor>>);
  return withInputs(
    request,
    Object.fromEntries(
      inputs.map(([name, { dtype, data, shape }]) => [name, new Tensor(dtype, copyOfData(data), [...shape])]),
    ),
  ) as InferenceRequest;
}

function copyOfData(data: DataOf[Dtype]): DataOf[Dtype] {
  if (!Array.isArray(data)) return data.slice() as DataOf[Dtype];
  const elements: readonly (string | Uint8Array)[] = data;
  return elements.map((element) => (typeof element === 'string' ? element : new Uint8Array(element))) as DataOf[Dtype];
}
