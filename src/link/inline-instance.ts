// An instance whose callable runs in the server's own thread (`serverThread: false`): direct calls, no messages.
// Inputs are packed as for another thread all the same: a callable may keep, change and transfer them, so they
// must not lie in memory that frontends share, and rows that lie together join without a copy.

import type {
  Execution,
  ExecutionDone,
  ExecutionRequest,
  ExecutionResult,
  ModelInstance,
} from '../core/instance/model-instance.js';
import { TritonError } from '../errors.js';
import type { Callable, Logger } from '../model/callable.js';
import type { CompleteModelConfig } from '../model/complete-model-config.js';
import type { InferTensor } from '../model/exchange.js';
import { decodeBatch, encodeBatch } from './batch-frame.js';
import { CallableHost, type HostResult } from './callable-host.js';
import type { RequestExtras } from './messages.js';
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
    const { buffers, extras } = encodeBatch(batch, this.#config);
    const requests = decodeBatch(buffers, extras, this.#config);
    const requestedOutputs = extras?.requestedOutputs;
    const computeInput = performance.now() - startedAt;
    return this.#host.execute(requests, (results, computeInfer) => {
      const inferredAt = performance.now();
      const answers = frameResults(results, requestedOutputs, this.#config);
      done(answers, { computeInput, computeInfer, computeOutput: performance.now() - inferredAt });
    });
  }
}

const ALL: readonly string[] = [];

function frameResults(
  results: readonly HostResult[],
  requestedOutputs: RequestExtras['requestedOutputs'],
  config: CompleteModelConfig,
): ExecutionResult[] {
  try {
    const frame = new ResultFrame(config);
    const framed = results.map((result, index) => frame.add(result, requestedOutputs?.[index] ?? ALL));
    const { buffer } = frame.write();
    return framed.map((places) => {
      if (TritonError.is(places)) return { kind: 'error', error: places };
      const outputs: InferTensor[] = [];
      for (let i = 0; i < places.length; i++) {
        const { output, shape, offset, byteLength } = places[i]!;
        const { name, datatype } = config.outputs[output]!;
        // The callable may change its shape as well as its data.
        outputs.push({ name, datatype, shape: shape.slice(), bytes: new Uint8Array(buffer, offset, byteLength) });
      }
      return { kind: 'outputs', outputs };
    });
  } catch (thrown) {
    const error = TritonError.from(thrown);
    return results.map(() => ({ kind: 'error', error }));
  }
}
