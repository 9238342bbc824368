// What a callable has of the server's other models: `context.models.Name.infer(…)`.

import { TritonError } from '../errors.js';
import { checkMembers, expectObject } from '../model/check.js';
import type { InferTensor } from '../model/exchange.js';
import { isInputList } from '../model/input-list.js';
import type { CallableModel, CallableModels, ModelCall, ModelCaller, ModelCallOptions } from '../model/model-calls.js';
import { foreignTensor } from '../model/tensor-from-value.js';
import type { TraceContext } from '../model/traces.js';
import { withSignals } from '../model/with-signals.js';
import { dtypeOf, DTYPES } from '../tensor/dtype.js';
import { decodeRaw, encodeRaw } from '../tensor/raw.js';
import { Tensor } from '../tensor/tensor.js';
import { ResponseQueue } from './response-queue.js';

export interface CallingBatch {
  readonly caller: ModelCaller;
  /** The models on whose behalf the batch runs, itself last. */
  readonly callers: readonly string[];
  /** Aborts when the batch's clients are gone. */
  readonly signal: AbortSignal;
  /** The trace that a call made now belongs to; undefined where nothing is traced. */
  readonly traceContext: (() => TraceContext | undefined) | undefined;
}

const OPTIONS = ['parameters', 'modelVersion', 'outputs', 'signal'];

/** Any name is there: whether the model exists is for the server to say. */
export function hostModels(batch: CallingBatch): CallableModels {
  return new Proxy<Record<string, CallableModel>>(Object.create(null) as Record<string, CallableModel>, {
    get: (_target, name) => (typeof name === 'string' ? hostModel(name, batch) : undefined),
  });
}

function hostModel(modelName: string, batch: CallingBatch): CallableModel {
  return {
    async infer(inputs, options = {}) {
      const call = callOf(modelName, { inputs, options, batch });
      const signals = [batch.signal, options.signal];
      return tensorsOf(await withSignals(signals, (signal) => batch.caller(call, { signal })));
    },
    async *stream(inputs, options = {}) {
      const call = callOf(modelName, { inputs, options, batch });
      const responses = new ResponseQueue<readonly InferTensor[]>();
      const left = new AbortController();
      const signals = [batch.signal, options.signal, left.signal];
      const onResponse = (outputs: readonly InferTensor[]) => responses.push(outputs);
      withSignals(signals, (signal) => batch.caller(call, { signal, onResponse })).then(
        () => responses.end(),
        (error: unknown) => responses.fail(error),
      );
      try {
        for (let next = await responses.next(); next.done !== true; next = await responses.next()) {
          yield tensorsOf(next.value);
        }
      } finally {
        // Whoever leaves the loop wants no more.
        responses.close();
        left.abort();
      }
    },
  };
}

interface Asked {
  readonly inputs: Readonly<Record<string, Tensor>>;
  readonly options: ModelCallOptions;
  readonly batch: CallingBatch;
}

function callOf(modelName: string, { inputs, options, batch }: Asked): ModelCall {
  if (!isInputList(inputs)) expectObject(inputs, `inputs for model '${modelName}'`);
  checkMembers(options, OPTIONS, `a call of model '${modelName}'`);
  const tensors = Object.entries<unknown>(inputs).map(([name, tensor]) => {
    const { dtype, data, shape } = asTensor(tensor, `input '${name}' for model '${modelName}'`);
    // A copy: the caller may go on changing its tensor.
    return { name, datatype: DTYPES[dtype].datatype, shape: [...shape], bytes: encodeRaw(dtype, data) };
  });
  return {
    modelName,
    modelVersion: options.modelVersion === undefined ? '' : String(options.modelVersion),
    parameters: options.parameters,
    inputs: tensors,
    outputs: options.outputs ?? [],
    callers: batch.callers,
    traceContext: batch.traceContext?.(),
  };
}

function asTensor(value: unknown, what: string): Tensor {
  if (Tensor.is(value)) return value;
  const foreign = foreignTensor(value, what);
  if (foreign !== undefined) return foreign;
  throw new TritonError('INVALID_ARG', `${what} must be a Tensor, got ${typeof value}`);
}

function tensorsOf(outputs: readonly InferTensor[]): Readonly<Record<string, Tensor>> {
  return Object.fromEntries(
    outputs.map(({ name, datatype, shape, bytes }) => {
      const dtype = dtypeOf(datatype);
      return [name, new Tensor(dtype, decodeRaw(dtype, bytes), shape)];
    }),
  );
}
