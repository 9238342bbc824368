// An instance whose callable runs in the server's own thread (`serverThread: false`): direct calls, no messages.
// It still packs inputs as for another thread. A callable may keep, change and transfer inputs, so they must not lie in
// memory that frontends share. Packing also lays rows together, so that they join without a copy.

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
import type { SequenceEndReason } from '../model/sequence-batching.js';
import type { PacedWork } from '../pacing/paced-work.js';
import { pacedPromise, startPaced } from '../pacing/paced-workers.js';
import type { Parameters } from '../model/parameters.js';
import { decodeBatch, encodeBatch } from './batch-frame.js';
import { CallableHost, type HostServices } from '../host/callable-host.js';
import type { CallableTurns, HostedCallable } from '../host/callable-turns.js';
import { type HostResult, type HostStream, RESCHEDULED } from '../host/host-results.js';
import type { RequestExtras } from './messages.js';
import { sameError } from './result-codec.js';
import {
  type FramedResponse,
  type FramedResult,
  type FramedTensor,
  frameResponse,
  frameResponsePaced,
  hasManyElements,
  haveManyElements,
  ResultFrame,
} from './result-frame.js';

export interface InlineServices extends HostServices {
  /** Allocates the memory of answers. Default: new memory. */
  readonly allocate?: Allocate;
}

export class InlineInstance implements ModelInstance {
  readonly #config: CompleteModelConfig;
  readonly #host: CallableHost;
  readonly #turns: CallableTurns;
  readonly #allocate: Allocate;

  /** Other instances may use the callable too, in turn. */
  constructor(config: CompleteModelConfig, { callable, turns, state }: HostedCallable, services: InlineServices) {
    this.#config = config;
    this.#allocate = services.allocate ?? newMemory;
    this.#host = new CallableHost(config, callable, { ...services, state });
    this.#turns = turns;
  }

  set caller(caller: ModelCaller) {
    this.#host.caller = caller;
  }

  endSequence(serial: number, reason: SequenceEndReason): void {
    this.#host.endSequence(serial, reason);
  }

  execute(batch: readonly ExecutionRequest[], done: ExecutionDone, stream?: ResponseStream): Execution {
    const startedAt = performance.now();
    const encoded = encodeBatch(batch, this.#config);
    const { extras } = encoded;
    const requestedOutputs = extras?.requestedOutputs;
    return this.#turns.begin(decodeBatch(encoded, this.#config, this.#host.joinsRows), {
      execute: (requests) => {
        const computeInput = performance.now() - startedAt;
        return this.#host.execute(
          requests,
          (results, { inferMs, aloneMs }, parameters) => {
            const inferredAt = performance.now();
            const options = { requestedOutputs, parameters, allocate: this.#allocate };
            const answer = (answers: readonly ExecutionResult[]) => {
              this.#turns.end();
              const computeOutput = performance.now() - inferredAt;
              const times = { computeInput, computeInfer: inferMs, computeOutput, computeAlone: aloneMs };
              done(answers, times, this.#host.metrics.take());
            };
            if (haveManyElements(results)) {
              // The callable gets its next batch once its outputs are copied: it may change them from then on.
              startPaced(frameResultsPaced(results, options, this.#config), {
                done: answer,
                failed: (error) => answer(sameError(results.length, TritonError.from(error))),
              });
            } else {
              answer(frameResults(results, options, this.#config));
            }
          },
          {
            stream: stream && this.#hostStream(stream, requestedOutputs),
            callers: extras?.callers,
            traces: extras?.traces,
          },
        );
      },
      failed: (thrown) => {
        const error = TritonError.from(thrown);
        const times = { computeInput: performance.now() - startedAt, computeInfer: 0, computeOutput: 0 };
        batch.forEach((_, index) => stream?.end(index, error));
        done(sameError(batch.length, error), times);
      },
    });
  }

  #hostStream(stream: ResponseStream, requestedOutputs: RequestExtras['requestedOutputs']): HostStream {
    return {
      respond: (index, outputs, more) => {
        const requested = requestedOutputs?.[index];
        const send = ({ places, buffer }: FramedResponse) => {
          const metrics = this.#host.metrics.take();
          if (metrics !== undefined) stream.recordMetrics(metrics);
          return stream.respond(index, tensorsAt(places, buffer, this.#config), more);
        };
        if (!hasManyElements(outputs)) return send(frameResponse(outputs, requested, this.#config));
        return pacedPromise(frameResponsePaced(outputs, requested, this.#config)).then(send);
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
  options: FrameOptions,
  config: CompleteModelConfig,
): readonly ExecutionResult[] {
  try {
    const frame = new ResultFrame(config);
    const framed: FramedResult[] = [];
    for (let i = 0; i < results.length; i++) framed.push(frame.add(results[i]!, options.requestedOutputs?.[i]));
    return resultsAt(framed, frame.write([], options.allocate), { parameters: options.parameters, results }, config);
  } catch (thrown) {
    return sameError(results.length, TritonError.from(thrown));
  }
}

/** Does the same with pauses, for many elements. */
function* frameResultsPaced(
  results: readonly HostResult[],
  options: FrameOptions,
  config: CompleteModelConfig,
): PacedWork<readonly ExecutionResult[]> {
  const frame = new ResultFrame(config);
  const measured = yield* frame.measure(results, options.requestedOutputs);
  const framed = measured.map((result, index) => frame.add(result, options.requestedOutputs?.[index]));
  return resultsAt(
    framed,
    yield* frame.writePaced([], options.allocate),
    { parameters: options.parameters, results },
    config,
  );
}

function resultsAt(
  framed: readonly FramedResult[],
  memory: Buffer,
  { parameters, results }: Pick<FrameOptions, 'parameters'> & { readonly results: readonly HostResult[] },
  config: CompleteModelConfig,
): ExecutionResult[] {
  const buffer = memory.buffer as ArrayBuffer;
  const answers: ExecutionResult[] = [];
  for (let i = 0; i < framed.length; i++) {
    const places = framed[i]!;
    if (results[i] === RESCHEDULED) answers.push({ kind: 'again' });
    else if (TritonError.is(places)) answers.push({ kind: 'error', error: places });
    else {
      const outputs = tensorsAt(places, buffer, config);
      answers.push({
        kind: 'outputs',
        outputs,
        parameters: parameters?.[i],
        memory: framed.length === 1 ? buffer : undefined,
      });
    }
  }
  return answers;
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
