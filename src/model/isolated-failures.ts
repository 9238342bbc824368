// Runs a failed batch again, one request at a time, so that only the faulty requests fail. Models ask for it with
// `isolateFailures`. A callable may change its inputs, so requests are copied before the first run.

import { TritonError, TritonUnrecoverableError } from '../errors.js';
import type { DataOf, Dtype } from '../tensor/dtype.js';
import { Tensor } from '../tensor/tensor.js';
import { disownPromises, isPromiseLike } from './awaitable.js';
import type { AnyInferFunc } from './callable-function.js';
import type { InferenceContext, InferenceRequest } from './callable.js';
import { withRequests } from './derived-context.js';
import { withInputs } from './inference-request.js';
import { copyPaced } from '../pacing/paced-bytes.js';
import { finishPaced, Pace, type PacedWork } from '../pacing/paced-work.js';
import { pacedPromise } from '../pacing/paced-workers.js';
import { logFailure } from './log-failure.js';
import { rescheduleRequest } from './reschedule.js';
import { failureOf } from './row-failures.js';

/** Called when request `index` has run alone, with the milliseconds that it took. */
export type RanAlone = (index: number, milliseconds: number) => void;

const LEAVES_INPUTS = Symbol.for('tstriton.leavesInputs');

/** Marks a function that does not change its inputs, so that another run needs no copies. */
export function leavingInputs<F extends object>(infer: F): F {
  return Object.defineProperty(infer, LEAVES_INPUTS, { value: true });
}

/** `callable` is the callable behind `infer`, with its mark. */
export function isolatingFailures(
  infer: AnyInferFunc,
  callable: unknown = infer,
): (...call: [...Parameters<AnyInferFunc>, ranAlone?: RanAlone]) => unknown {
  const copies = !(LEAVES_INPUTS in Object(callable));
  return (requests, context, ranAlone) => {
    if (requests.length <= 1) return infer.call(undefined, requests, context);
    const run = (kept: readonly InferenceRequest[]) => runBatch(infer, requests, kept, { context, ranAlone });
    if (!copies) return run(requests);
    const copying = copiesOf(requests);
    return areLong(requests) ? pacedPromise(copying).then(run) : run(finishPaced(copying));
  };
}

/** Runs the batch, and when it fails, runs the copies of its requests. */
function runBatch(
  infer: AnyInferFunc,
  requests: readonly InferenceRequest[],
  copies: readonly InferenceRequest[],
  run: AloneRun,
): unknown {
  const again = (thrown: unknown) => {
    if (TritonUnrecoverableError.is(thrown)) throw thrown;
    const text = `a batch of ${copies.length} requests failed and runs again one by one: ${TritonError.from(thrown).message}`;
    run.context.logger.verbose(1, text);
    return runAlone(infer, copies, run);
  };
  try {
    const result = infer.call(undefined, requests, run.context);
    return isPromiseLike(result) ? Promise.resolve(result).catch(again) : result;
  } catch (error) {
    return again(error);
  }
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
    // The run that failed may have asked for it.
    rescheduleRequest(request, false);
    try {
      const alone = withRequests(context, [request]) as InferenceContext;
      results.push(await onlyResult(await infer.call(undefined, alone.requests, alone), context.modelName));
    } catch (thrown) {
      if (TritonUnrecoverableError.is(thrown)) throw thrown;
      const error = TritonError.from(thrown);
      logFailure(context.logger, error);
      results.push(error);
    }
    ranAlone?.(index, performance.now() - startedAt);
  }
  return results;
}

/** No client reads this error: the client is gone, or the request has a failure of its own. */
const CANCELLED = new TritonError('CANCELLED', '');

function onlyResult(results: unknown, model: string): unknown {
  if (Array.isArray(results) && results.length === 1) return results[0];
  disownPromises(results);
  const got = Array.isArray(results) ? `${results.length} results` : 'no list';
  throw new TritonError(
    'INTERNAL',
    `model '${model}' returned ${got} for one request, expected a list with one result`,
  );
}

type Tensors = Readonly<Record<string, Tensor>>;

/** A shorter copy takes no time that matters. */
const LONG_COPY_BYTES = 16 * 1024 * 1024;

function areLong(requests: readonly InferenceRequest[]): boolean {
  let bytes = 0;
  for (const { inputs } of requests) {
    for (const { data } of Object.values(inputs as Tensors)) if (ArrayBuffer.isView(data)) bytes += data.byteLength;
  }
  return bytes > LONG_COPY_BYTES;
}

function* copiesOf(requests: readonly InferenceRequest[]): PacedWork<InferenceRequest[]> {
  const pace = new Pace();
  const copies: InferenceRequest[] = [];
  for (const request of requests) {
    const inputs: Record<string, Tensor> = {};
    for (const [name, { dtype, data, shape }] of Object.entries(request.inputs as Tensors)) {
      inputs[name] = new Tensor(dtype, yield* copyOf(data, pace), [...shape]);
    }
    copies.push(withInputs(request, inputs) as InferenceRequest);
  }
  return copies;
}

function* copyOf(data: DataOf[Dtype], pace: Pace): PacedWork<DataOf[Dtype]> {
  if (Array.isArray(data)) {
    const elements: readonly (string | Uint8Array)[] = data;
    return elements.map((element) => (typeof element === 'string' ? element : new Uint8Array(element))) as typeof data;
  }
  const copy = new (data.constructor as Uint8ArrayConstructor)(data.length);
  yield* copyPaced(bytesOf(data), bytesOf(copy), 0, pace);
  return copy as typeof data;
}

function bytesOf({ buffer, byteOffset, byteLength }: ArrayBufferView): Uint8Array {
  return new Uint8Array(buffer, byteOffset, byteLength);
}
