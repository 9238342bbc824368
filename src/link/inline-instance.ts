// An instance whose callable runs in the server's own thread (`serverThread: false`): direct calls, no messages.
// Inputs are packed as for another thread all the same: a callable may keep, change and transfer them, so they
// must not lie in memory that frontends share, and rows that lie together join without a copy.

import type {
  Execution,
  ExecutionDone,
  ExecutionRequest,
  ExecutionResult,
  ModelInstance,
  ResponseStream,
} from '../core/instance/model-instance.js';
import { TritonError } from '../errors.js';
import type { CompleteModelConfig } from '../model/complete-model-config.js';
import { type Allocate, type InferTensor, newMemory } from '../model/exchange.js';
import type { ModelCaller } from '../model/model-calls.js';
import type { Parameters } from '../model/parameters.js';
import { decodeBatch, encodeBatch } from './batch-frame.js';
import { CallableHost, type HostServices } from '../host/callable-host.js';
import type { CallableTurns, HostedCallable } from '../host/callable-turns.js';
import type { HostResult, HostStream } from '../host/host-results.js';
import type { RequestExtras } from './messages.js';
import { ResultFrame, type FramedTensor } from './result-frame.js';
import { whenUnpacked } from './unpacked-execution.js';

export interface InlineServices extends HostServices {
  /** Gives the memory of answers. Default: new memory. */
  readonly allocate?: Allocate;
}

export class InlineInstance implements ModelInstance {
  readonly #config: CompleteModelConfig;
  readonly #host: CallableHost;
  readonly #turns: CallableTurns;
  readonly #allocate: Allocate;

  /** Others may ask the callable too, in turn. */
  constructor(config: CompleteModelConfig, { callable, turns }: HostedCallable, services: InlineServices) {
    this.#config = config;
    this.#allocate = services.allocate ?? newMemory;
    this.#host = new CallableHost(config, callable, services);
    this.#turns = turns;
  }

  set caller(caller: ModelCaller) {
    this.#host.caller = caller;
  }

  execute(batch: readonly ExecutionRequest[], done: ExecutionDone, stream?: ResponseStream): Execution {
    const startedAt = performance.now();
    const { buffers, extras } = encodeBatch(batch, this.#config);
    const requestedOutputs = extras?.requestedOutputs;
    return whenUnpacked(decodeBatch(buffers, extras, this.#config), {
      done: (requests) => {
        const computeInput = performance.now() - startedAt;
        return this.#turns.begin((ended) =>
          this.#host.execute(
            requests,
            (results, computeInfer, parameters) => {
              ended();
              const inferredAt = performance.now();
              const answers = frameResults(
                results,
                { requestedOutputs, parameters, allocate: this.#allocate },
                this.#config,
              );
              const times = { computeInput, computeInfer, computeOutput: performance.now() - inferredAt };
              done(answers, times, this.#host.metrics.take());
            },
            {
              stream: stream && this.#hostStream(stream, requestedOutputs),
              callers: extras?.callers,
              traces: extras?.traces,
            },
          ),
        );
      },
      failed: (thrown) => {
        const error = TritonError.from(thrown);
        const times = { computeInput: performance.now() - startedAt, computeInfer: 0, computeOutput: 0 };
        batch.forEach((_, index) => stream?.end(index, error));
        done(
          batch.map(() => ({ kind: 'error', error })),
          times,
        );
      },
    });
  }

  #hostStream(stream: ResponseStream, requestedOutputs: RequestExtras['requestedOutputs']): HostStream {
    return {
      respond: (index, outputs, parameters) => {
        const frame = new ResultFrame(this.#config);
        const places = frame.add(outputs, requestedOutputs?.[index]);
        // Thrown like an error of the callable's own: the data is not what it was made with.
        if (TritonError.is(places)) throw places;
        const metrics = this.#host.metrics.take();
        if (metrics !== undefined) stream.recordMetrics(metrics);
        return stream.respond(index, tensorsAt(places, frame.write().buffer as ArrayBuffer, this.#config), parameters);
      },
      end: (index, error) => stream.end(index, error),
    };
  }
}

interface FrameOptions {
  readonly requestedOutputs: RequestExtras['requestedOutputs'];
  readonly parameters: readonly (Parameters | undefined)[] | undefined;
  readonly allocate: Allocate;
}

function frameResults(
  results: readonly HostResult[],
  { requestedOutputs, parameters, allocate }: FrameOptions,
  config: CompleteModelConfig,
): ExecutionResult[] {
  try {
    const frame = new ResultFrame(config);
    const framed = results.map((result, index) => frame.add(result, requestedOutputs?.[index]));
    const buffer = frame.write([], allocate).buffer as ArrayBuffer;
    return framed.map((places, index) =>
      TritonError.is(places)
        ? { kind: 'error', error: places }
        : {
            kind: 'outputs',
            outputs: tensorsAt(places, buffer, config),
            parameters: parameters?.[index],
            memory: framed.length === 1 ? buffer : undefined,
          },
    );
  } catch (thrown) {
    const error = TritonError.from(thrown);
    return results.map(() => ({ kind: 'error', error }));
  }
}

function tensorsAt(places: readonly FramedTensor[], buffer: ArrayBuffer, config: CompleteModelConfig): InferTensor[] {
  const tensors: InferTensor[] = [];
  for (let i = 0; i < places.length; i++) {
    const { output, shape, offset, byteLength } = places[i]!;
    const { name, datatype } = config.outputs[output]!;
    // The callable may change its shape as well as its data.
    tensors.push({ name, datatype, shape: shape.slice(), bytes: new Uint8Array(buffer, offset, byteLength) });
  }
  return tensors;
}
