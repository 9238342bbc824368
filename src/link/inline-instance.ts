// An instance whose callable runs in the server's own thread (`serverThread: false`): direct calls, no messages.

import { TritonError } from '../errors.js';
import type { Execution, ExecutionDone, ExecutionRequest, ModelInstance } from '../core/instance/model-instance.js';
import type { Callable, Logger } from '../model/callable.js';
import type { CompleteModelConfig } from '../model/complete-model-config.js';
import { HostedRequest } from '../model/inference-request.js';
import { decodeRaw } from '../tensor/raw.js';
import { Tensor } from '../tensor/tensor.js';
import { CallableHost, type HostResult } from './callable-host.js';
import { ResultFrame } from './result-frame.js';

export class InlineInstance implements ModelInstance {
  readonly #config: CompleteModelConfig;
  readonly #host: CallableHost;

  constructor(config: CompleteModelConfig, callable: Callable, logger: Logger) {
    this.#config = config;
    this.#host = new CallableHost(config, callable, logger);
  }

  execute(batch: readonly ExecutionRequest[], done: ExecutionDone): Execution {
    const startedAt = performance.now();
    const requests = batch.map((request) => hostRequest(request, this.#config));
    const computeInput = performance.now() - startedAt;
    return this.#host.execute(requests, (results, computeInfer) => {
      const inferredAt = performance.now();
      const answers = frameResults(results, batch, this.#config);
      done(answers, { computeInput, computeInfer, computeOutput: performance.now() - inferredAt });
    });
  }
}

function hostRequest(request: ExecutionRequest, config: CompleteModelConfig): HostedRequest {
  const inputs: Record<string, Tensor> = {};
  for (let i = 0; i < config.inputs.length; i++) {
    const input = request.inputs[i];
    const spec = config.inputs[i]!;
    if (input !== undefined) inputs[spec.name] = new Tensor(spec.dtype, decodeRaw(spec.dtype, input.bytes), input.shape);
  }
  return new HostedRequest(inputs, request.rows, request.id, request.parameters);
}

function frameResults(results: readonly HostResult[], batch: readonly ExecutionRequest[], config: CompleteModelConfig) {
  const frame = new ResultFrame();
  const places = results.map((result, index) =>
    TritonError.is(result) ? undefined : frame.add(result, config, batch[index]!.requestedOutputs),
  );
  const buffer = frame.write();
  return results.map((result, index) => {
    if (TritonError.is(result)) return { kind: 'error', error: result } as const;
    const outputs = places[index]!.map(({ output, shape, offset, byteLength }) => {
      const { name, datatype } = config.outputs[output]!;
      return { name, datatype, shape, bytes: buffer.subarray(offset, offset + byteLength) };
    });
    return { kind: 'outputs', outputs } as const;
  });
}
