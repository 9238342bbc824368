// Runs a model's callable on one request as a server does, for tests of callables. Inputs and outputs are as a client has
// them. Every check of the server's runs in between, without a server.

import { checkSequence, type SequenceOptions } from '../client/infer-options.js';
import { decodeOutputs } from '../client/tensors/decode-outputs.js';
import { encodeInputs, type InferKind } from '../client/tensors/encode-inputs.js';

import type { ClientInputs, ClientOutputs, OutputName } from '../client/tensors/input-values.js';
import type { ResponseSink } from '../core/response-sink.js';
import { TritonError } from '../errors.js';
import { ResponseQueue } from '../host/response-queue.js';
import type { BoundModel } from '../model/bound-model.js';
import { checkMembers, expectObject } from '../checks/check.js';
import type { CompleteModelConfig } from '../model/complete-model-config.js';
import type { InferTensor, ModelInferRequest } from '../model/exchange.js';
import type { Logger } from '../observability/logger.js';
import type { Parameters } from '../model/parameters.js';
import type { TensorSpecs } from '../model/tensor-spec.js';
import { TestedModels, type TestedModel } from './tested-models.js';

export interface CallOptions<Output extends string = string> {
  /** Tensors have the batch axis first, in and out, as with `inferBatch`. Default false: one sample, as with `inferSample`. */
  readonly batch?: boolean;
  /** What the callable finds in `request.parameters`. */
  readonly parameters?: Parameters;
  /** What the callable finds in `request.id`. */
  readonly requestId?: string;
  /** What the callable finds in `request.sequence`. */
  readonly sequence?: SequenceOptions;
  /** The outputs to ask for. Default: all. */
  readonly outputs?: readonly Output[];
  /** Cancels the request, as a client that goes away does. */
  readonly signal?: AbortSignal;
  /** Other models, which the callable may call: as they are bound. */
  readonly models?: readonly TestedModel[];
  /** Takes the log's entries. Default: nobody. */
  readonly logger?: Logger;
}

/** The result of a call: outputs, or the responses of a decoupled model as they arrive. */
export type CallResult<
  O extends TensorSpecs,
  Decoupled extends boolean,
  Strict extends boolean,
  Output extends OutputName<O>,
> = Decoupled extends true
  ? AsyncGenerator<Pick<ClientOutputs<O, Strict>, Output>, void, undefined>
  : Promise<Pick<ClientOutputs<O, Strict>, Output>>;

const OPTIONS = ['batch', 'parameters', 'requestId', 'sequence', 'outputs', 'signal', 'models', 'logger'];
const SILENT: Logger = {
  error: () => undefined,
  warn: () => undefined,
  info: () => undefined,
  verbose: () => undefined,
};

/**
 * Runs the callable of `model`, the first where there is a list, on one request. Inputs are checked as a client and a
 * server check them, outputs as a server does. `setup` runs before and `teardown` after. Of a decoupled model the
 * responses come one by one, and a loop that is left ends the generator.
 *
 * Rejects with what a client would get, and the error that was thrown as its cause; with INVALID_ARG for a model that
 * `bind` refuses.
 *
 * @example
 * const { y } = await call({ ...double, inferFunc: batch(({ x }) => ({ y: x.map((v) => 2 * v) })) }, { x: [1, 2] });
 * expect(y.toNested()).toEqual([2, 4]);
 */
export function call<
  const I extends TensorSpecs,
  const O extends TensorSpecs,
  const Decoupled extends boolean = false,
  const Strict extends boolean = false,
  const Method extends string = string,
  Loose = never,
  Output extends OutputName<O> = OutputName<O>,
>(
  model: BoundModel<I, O, Decoupled, Method, Loose> & { readonly strict?: Strict },
  inputs: ClientInputs<NoInfer<I>>,
  options: CallOptions<Output> = {},
): CallResult<O, Decoupled, Strict, Output> {
  expectObject(model, 'a model');
  const asked = { model: model as unknown as TestedModel, inputs, options };
  const result = model.config?.decoupled === true ? callStream(asked) : callOnce(asked);
  return result as unknown as CallResult<O, Decoupled, Strict, Output>;
}

interface Asked {
  readonly model: TestedModel;
  readonly inputs: unknown;
  readonly options: CallOptions;
}

type Outputs = ReturnType<typeof decodeOutputs>;

/** Of a model that answers once. */
async function callOnce(asked: Asked): Promise<Outputs> {
  for await (const outputs of callStream(asked)) return outputs;
  throw new TritonError('INTERNAL', `model '${asked.model.modelName}' gave no answer`);
}

async function* callStream({ model, inputs, options }: Asked): AsyncGenerator<Outputs, void, undefined> {
  checkMembers(options, OPTIONS, 'call');
  const { batch = false, models = [], logger = SILENT, signal } = options;
  const kind: InferKind = batch ? 'batch' : 'sample';
  const engine = new TestedModels(logger);
  const responses = new ResponseQueue<readonly InferTensor[]>();
  let cancel = (): void => undefined;
  try {
    for (const other of models) await engine.add(other);
    const config = await engine.add(model);
    const request = requestOf(config, encodeInputs(inputs, config, kind), options);
    const inflight = engine.infer(request, sinkTo(responses, config));
    cancel = () => inflight.cancel();
    signal?.addEventListener('abort', cancel);
    if (signal?.aborted === true) cancel();
    for (let next = await responses.next(); next.done !== true; next = await responses.next()) {
      yield decodeOutputs(next.value, config, kind);
    }
  } finally {
    signal?.removeEventListener('abort', cancel);
    responses.close();
    cancel();
    // A cancelled request may never end, so nothing waits for it.
    await engine.close(signal?.aborted !== true);
  }
}

function requestOf(
  { name, version }: CompleteModelConfig,
  inputs: readonly InferTensor[],
  { parameters, requestId = '', sequence, outputs = [] }: CallOptions,
): ModelInferRequest {
  return {
    modelName: name,
    modelVersion: String(version),
    id: requestId,
    parameters,
    inputs,
    outputs,
    priority: 0,
    timeoutMicroseconds: 0,
    sequence: sequence === undefined ? undefined : checkSequence(sequence, parameters),
  };
}

function sinkTo(responses: ResponseQueue<readonly InferTensor[]>, { name }: CompleteModelConfig): ResponseSink {
  return {
    respond: ({ outputs }, final) => {
      const slow = responses.push(outputs);
      if (final) responses.end();
      return slow;
    },
    complete: () => responses.end(),
    fail: (error) => {
      // The error of a client that is gone has no message.
      const isMute = error.code === 'CANCELLED' && error.message === '';
      responses.fail(isMute ? new TritonError('CANCELLED', `the call of model '${name}' was cancelled`) : error);
    },
  };
}
