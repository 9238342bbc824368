// Gives a callable the server's other models: `context.models.Name.infer(…)`.

import { invalidArg, TritonError } from '../errors.js';
import { checkMembers, expectAtLeast, expectInteger, expectObject, expectString, textOf } from '../checks/check.js';
import { oddElementOf } from '../checks/odd-element.js';
import type { InferTensor } from '../model/exchange.js';
import { isInputList } from '../model/input-list.js';
import type {
  CallableModel,
  CallableModels,
  CallSink,
  ModelCall,
  ModelCaller,
  ModelCallOptions,
} from '../model/model-calls.js';
import { isParameter } from '../model/is-parameter.js';
import type { Parameters } from '../model/parameters.js';
import { foreignTensor } from '../model/tensor-from-value.js';
import type { Urgency } from '../model/urgency.js';
import type { TraceContext } from '../observability/traces.js';
import type { AbortSource } from '../lifecycle/abort-source.js';
import { followSignal } from '../lifecycle/follow-signal.js';
import { type DataOf, type Dtype, dtypeOf, DTYPES, isBytesDtype } from '../tensor/dtype.js';
import { decodeRaw, encodeRaw, rawByteLength, writeRaw } from '../tensor/raw.js';
import { Tensor } from '../tensor/tensor.js';
import { ResponseQueue } from './response-queue.js';

export interface CallingBatch {
  readonly caller: ModelCaller;
  /** The models on whose behalf the batch runs, itself last. */
  readonly callers: readonly string[];
  /** Aborts when the batch's clients are gone. */
  readonly gone: AbortSource;
  /** The urgency of calls that name none of their own. */
  readonly urgency: Urgency;
  /** The trace that a call made now belongs to; undefined where nothing is traced. */
  readonly traceContext: (() => TraceContext | undefined) | undefined;
}

const OPTIONS = ['parameters', 'modelVersion', 'outputs', 'priority', 'timeoutMicroseconds', 'signal'];
const MAX_UINT32 = 2 ** 32 - 1;
/** Smaller inputs share memory. Allocating memory for each takes longer than to copy it again. */
const LEAST_ALONE_BYTES = 4096;
/** Stands for all outputs. */
const ALL: readonly string[] = [];

/** Has a member for any name, because only the server knows which models exist. */
export function hostModels(batch: CallingBatch): CallableModels {
  return new Proxy<Record<string, CallableModel>>(Object.create(null) as Record<string, CallableModel>, {
    get: (_target, name) => (typeof name === 'string' ? hostModel(name, batch) : undefined),
  });
}

function hostModel(modelName: string, batch: CallingBatch): CallableModel {
  return {
    infer: (inputs, options = {}) =>
      new Promise((resolve, reject) => {
        const call = callOf(modelName, { inputs, options, batch });
        make(
          call,
          { batch, signal: options.signal },
          {
            answered: (outputs) => resolve(tensorsOf(outputs)),
            failed: reject,
          },
        );
      }),
    async *stream(inputs, options = {}) {
      const call = callOf(modelName, { inputs, options, batch });
      const responses = new ResponseQueue<readonly InferTensor[]>();
      const cancel = make(
        call,
        { batch, signal: options.signal },
        {
          onResponse: (outputs) => responses.push(outputs),
          answered: () => responses.end(),
          failed: (error) => responses.fail(error),
        },
      );
      try {
        for (let next = await responses.next(); next.done !== true; next = await responses.next()) {
          yield tensorsOf(next.value);
        }
      } finally {
        // The caller has left the loop and wants no more responses.
        responses.close();
        cancel();
      }
    },
  };
}

interface Making {
  readonly batch: CallingBatch;
  /** The call's own signal. */
  readonly signal: AbortSignal | undefined;
}

/** Makes a call that either signal cancels. Returns the function that cancels it. */
function make(call: ModelCall, { batch: { caller, gone }, signal }: Making, sink: CallSink): () => void {
  if (gone.aborted || signal?.aborted === true) {
    sink.failed(new TritonError('CANCELLED', `the call of model '${call.modelName}' was cancelled`));
    return () => undefined;
  }
  let isEnded = false;
  let unfollow: readonly (() => void)[] = [];
  const ends = () => {
    isEnded = true;
    for (const each of unfollow) each();
  };
  const cancel = caller(call, {
    onResponse: sink.onResponse,
    answered: (outputs) => {
      ends();
      sink.answered(outputs);
    },
    failed: (error) => {
      ends();
      sink.failed(error);
    },
  });
  if (!isEnded)
    unfollow = signal === undefined ? [gone.follow(cancel)] : [gone.follow(cancel), followSignal(signal, cancel)];
  return cancel;
}

interface Asked {
  readonly inputs: Readonly<Record<string, Tensor>>;
  readonly options: ModelCallOptions;
  readonly batch: CallingBatch;
}

/** Builds a call. Throws INTERNAL for an invalid one: a mistake of the calling model, not of its client. */
function callOf(modelName: string, asked: Asked): ModelCall {
  try {
    return readCall(modelName, asked);
  } catch (thrown) {
    const { message } = TritonError.from(thrown);
    throw new TritonError('INTERNAL', message, { cause: thrown });
  }
}

function readCall(modelName: string, { inputs, options, batch }: Asked): ModelCall {
  if (!isInputList(inputs)) expectObject(inputs, `inputs for model '${modelName}'`);
  const where = `a call of model '${modelName}'`;
  checkMembers(options, OPTIONS, where);
  const tensors = Object.entries<unknown>(inputs).map(([name, tensor]) => {
    const { dtype, data, shape } = asTensor(tensor, `input '${name}' for model '${modelName}'`);
    return { name, datatype: DTYPES[dtype].datatype, shape: shape.slice(), bytes: copyOf(dtype, data) };
  });
  return {
    modelName,
    modelVersion: options.modelVersion === undefined ? '' : String(options.modelVersion),
    parameters: checkedParameters(options.parameters, where),
    inputs: tensors,
    outputs: checkedOutputs(options.outputs, where),
    priority: expectInteger(options.priority ?? batch.urgency.priority, 0, MAX_UINT32, `priority of ${where}`),
    timeoutMicroseconds: expectAtLeast(
      options.timeoutMicroseconds ?? batch.urgency.timeoutMicroseconds,
      0,
      `timeoutMicroseconds of ${where}`,
    ),
    callers: batch.callers,
    traceContext: batch.traceContext?.(),
  };
}

function checkedParameters(parameters: Parameters | undefined, where: string): Parameters | undefined {
  if (parameters === undefined) return undefined;
  expectObject(parameters, `parameters of ${where}`);
  for (const [name, value] of Object.entries<unknown>(parameters)) {
    if (!isParameter(value))
      throw invalidArg(
        `parameter '${name}' of ${where} must be a string, a boolean, a number or a bigint of 64 bits, got ${textOf(value)}`,
      );
  }
  return parameters;
}

function checkedOutputs(names: readonly string[] = ALL, where: string): readonly string[] {
  if (!Array.isArray(names)) throw invalidArg(`outputs of ${where} must be a list of names, got ${textOf(names)}`);
  for (const name of names) expectString(name, `a name in outputs of ${where}`);
  return names;
}

/** A copy, because the caller may go on changing its tensor. */
function copyOf(dtype: Dtype, data: DataOf[Dtype]): Uint8Array {
  const length = rawByteLength(dtype, data);
  if (length >= LEAST_ALONE_BYTES) return encodeRaw(dtype, data);
  // Of Node's pool.
  const bytes = Buffer.allocUnsafe(length);
  writeRaw(dtype, data, bytes, 0);
  return bytes;
}

function asTensor(value: unknown, what: string): Tensor<Dtype> {
  const tensor = Tensor.is(value) ? value : foreignTensor(value, what);
  if (tensor === undefined) throw invalidArg(`${what} must be a Tensor, got ${typeof value}`);
  const fault = isBytesDtype(tensor.dtype) ? oddElementOf(tensor) : undefined;
  if (fault !== undefined) throw invalidArg(`${what} ${fault}`);
  return tensor;
}

function tensorsOf(outputs: readonly InferTensor[]): Readonly<Record<string, Tensor>> {
  const tensors: Record<string, Tensor> = {};
  for (const { name, datatype, shape, bytes } of outputs) {
    const dtype = dtypeOf(datatype);
    tensors[name] = new Tensor(dtype, decodeRaw(dtype, bytes), shape);
  }
  return tensors;
}
