// Plays a scheduling scenario on the engine in simulated time: requests, cancellations and the like at their moments,
// instances that are busy for as long as the scenario says, and nothing else that takes time. What comes of it is the
// same in every run.
import { vi } from 'vitest';

import type {
  Execution,
  ExecutionDone,
  ExecutionRequest,
  ModelInstance,
  ResponseStream,
} from '../../src/core/instance/model-instance.js';
import { InferenceServer } from '../../src/core/inference-server.js';
import { SILENT } from '../../src/core/engine-logger.js';
import type { InflightRequest, ResponseSink } from '../../src/core/response-sink.js';
import { TritonError } from '../../src/errors.js';
import type { CompleteModelConfig } from '../../src/model/complete-model-config.js';
import { completeModelConfig } from '../../src/model/complete-model.js';
import type { InferTensor, ModelInferRequest, ModelInferResponse } from '../../src/model/exchange.js';
import type { DynamicBatcher, ModelConfig, QueuePolicy } from '../../src/model/model-config.js';
import type { Arrival, QueuePolicyJson, SchedulerCase, SchedulerEvent } from './cases.js';

/** What happened, in the form of the recordings. Times are milliseconds from the first arrival. */
export interface SchedulerOutcome {
  /** False when the model was refused. */
  readonly loads: boolean;
  readonly executions: readonly SimulatedExecution[];
  /** By id; the second request of an id is `id#2`. Without those on a stream. */
  readonly answers: Readonly<Record<string, SimulatedAnswer>>;
  /** Messages on the stream in order. */
  readonly stream: readonly { readonly id: string; readonly error: string | undefined; readonly at: number }[];
  /** Requests pending, and states of the server and the model, at the moments that the scenario asks for them. */
  readonly probes: readonly string[];
  readonly statistics: Readonly<Record<string, number>>;
}

export interface SimulatedExecution {
  readonly start: number;
  readonly end: number;
  /** `id×rows` of each request, with `!` behind where it was cancelled by the end. */
  readonly batch: string;
}

export interface SimulatedAnswer {
  /** `ok`, a code, or `cancelled` by its client. */
  readonly outcome: string;
  readonly text: string | undefined;
  readonly shape: readonly number[] | undefined;
  readonly at: number;
}

/** Long enough for every scenario: the longest execution takes 3 s. */
const LASTS = 7000;
const EXIT_TIMEOUT_SECS = 30;
const CACHE_BYTES = 1 << 20;
/** Data of the first arrival that shares its with no other. */
const FIRST_UNIQUE = 1000;

/** Plays a scenario. Time is faked while it runs. */
export async function simulate(testCase: SchedulerCase): Promise<SchedulerOutcome> {
  let config: CompleteModelConfig;
  try {
    config = modelConfigOf(testCase);
  } catch (error) {
    if (!TritonError.is(error) || error.code !== 'INVALID_ARG') throw error;
    return { loads: false, executions: [], answers: {}, stream: [], probes: [], statistics: {} };
  }
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'setImmediate', 'clearImmediate', 'performance'] });
  try {
    return await new Simulation(testCase, config).play();
  } finally {
    vi.useRealTimers();
  }
}

/** Identifies the request of an arrival, whatever its id. */
interface Sent {
  readonly arrival: Arrival;
  /** Its id, or `id#2`, … */
  readonly name: string;
  readonly inflight: InflightRequest;
}

class Simulation {
  readonly #case: SchedulerCase;
  readonly #config: CompleteModelConfig;
  readonly #server = new InferenceServer({
    name: 'triton',
    version: '0',
    logger: SILENT,
    modelControlMode: 'explicit',
    responseCacheByteSize: CACHE_BYTES,
  });
  readonly #start = performance.now();
  readonly #executions: SimulatedExecution[] = [];
  readonly #answers: Record<string, SimulatedAnswer> = {};
  readonly #stream: { id: string; error: string | undefined; at: number }[] = [];
  readonly #probes: string[] = [];
  readonly #sent: Sent[] = [];
  /** Requests on a stream whose answers were not sent yet. */
  readonly #streamed: { id: string; error: string | undefined; done: boolean }[] = [];

  constructor(testCase: SchedulerCase, config: CompleteModelConfig) {
    this.#case = testCase;
    this.#config = config;
  }

  get #now(): number {
    return performance.now() - this.#start;
  }

  async play(): Promise<SchedulerOutcome> {
    const { name, version, instanceCount } = this.#config;
    const open = () => Array.from({ length: instanceCount }, () => new SimulatedInstance(this.#config, this));
    this.#server.models.bind({ config: this.#config, open });
    await this.#server.models.loadVersion(name, version);
    this.#server.started();
    const { statistics } = this.#server.repository.get(name, '');
    for (const arrival of this.#case.arrivals) setTimeout(() => this.#send(arrival), arrival.at_ms);
    for (const event of this.#case.events ?? []) setTimeout(() => this.#happen(event), event.at_ms);
    await vi.advanceTimersByTimeAsync(LASTS);
    const report = statistics.report(name, String(version));
    return {
      loads: true,
      executions: this.#executions,
      answers: this.#answers,
      stream: this.#stream,
      probes: this.#probes,
      statistics: {
        inference_count: report.inferenceCount,
        execution_count: report.executionCount,
        success_count: report.success.count,
        fail_count: report.fail.count,
        queue_count: report.queue.count,
        compute_input_count: report.computeInput.count,
        compute_infer_count: report.computeInfer.count,
        compute_output_count: report.computeOutput.count,
        cache_hit_count: report.cacheHit.count,
        cache_miss_count: report.cacheMiss.count,
        ...Object.fromEntries(
          report.batchStats.map(({ batchSize, computeInfer }) => [`batch_size_${batchSize}`, computeInfer.count]),
        ),
      },
    };
  }

  /** The arrival that a request of an execution comes from. */
  arrivalOf({ inputs, id }: ExecutionRequest): Arrival {
    const value = new Float32Array(inputs[1]!.bytes.buffer)[0]!;
    return this.#case.arrivals.find((arrival, index) =>
      arrival.data === undefined ? FIRST_UNIQUE + index === value : arrival.id === id,
    )!;
  }

  executed(execution: SimulatedExecution): void {
    this.#executions.push(execution);
  }

  ended(start: number, cancelled: readonly number[]): void {
    const index = this.#executions.findIndex((execution) => execution.start === start && execution.end === -1);
    const { batch } = this.#executions[index]!;
    const marked = batch.split(' ').map((request, at) => (cancelled.includes(at) ? `${request}!` : request));
    this.#executions[index] = { start, end: this.#now, batch: marked.join(' ') };
  }

  get now(): number {
    return this.#now;
  }

  #send(arrival: Arrival): void {
    const same = this.#sent.filter(({ arrival: { id } }) => id === arrival.id).length;
    const name = same === 0 ? arrival.id : `${arrival.id}#${same + 1}`;
    const sink = arrival.via === 'stream' ? this.#streamSink(arrival.id) : this.#sink(name);
    const inflight = this.#server.infer(this.#requestOf(arrival), sink);
    this.#sent.push({ arrival, name, inflight });
  }

  #sink(name: string): ResponseSink {
    const answer = (outcome: string, text: string | undefined, shape?: readonly number[]) => {
      this.#answers[name] ??= { outcome, text, shape, at: this.#now };
    };
    return {
      respond: ({ outputs }: ModelInferResponse) => answer('ok', undefined, outputs[0]?.shape),
      complete: () => answer('ok', undefined),
      fail: ({ code, message }) => answer(code, message),
    };
  }

  // As the gRPC frontend does: in the order of the requests, but for decoupled models.
  #streamSink(id: string): ResponseSink {
    const place = { id, error: undefined as string | undefined, done: false };
    const message = (error?: string) => void this.#stream.push({ id, error, at: this.#now });
    const { decoupled } = this.#config;
    if (!decoupled) this.#streamed.push(place);
    const settle = (error: string | undefined) => {
      place.error = error;
      place.done = true;
      for (let first = this.#streamed[0]; first?.done; first = this.#streamed[0]) {
        this.#streamed.shift();
        this.#stream.push({ id: first.id, error: first.error, at: this.#now });
      }
    };
    return {
      respond: () => (decoupled ? message() : settle(undefined)),
      complete: () => undefined,
      fail: (error) => (decoupled ? message(error.message) : settle(error.message)),
    };
  }

  #requestOf(arrival: Arrival): ModelInferRequest {
    const { rows, length = 2, data, priority = 0, timeout_us: timeoutMicroseconds = 0 } = arrival;
    const batched = this.#config.maxBatchSize > 0;
    const tensor = (name: string, value: number, width: number): InferTensor => {
      const shape = batched ? [rows, width] : [width];
      const bytes = new Uint8Array(new Float32Array((batched ? rows : 1) * width).fill(value).buffer);
      return { name, datatype: 'FP32', shape, bytes };
    };
    const value = data ?? FIRST_UNIQUE + this.#case.arrivals.indexOf(arrival);
    const inputs = [tensor('x', value, length), tensor('arrival', value, 1)];
    if (arrival.optional_input) inputs.push(tensor('z', 0, 1));
    return {
      modelName: this.#config.name,
      modelVersion: '',
      id: arrival.id,
      parameters: arrival.custom_parameter === undefined ? undefined : { custom: arrival.custom_parameter },
      inputs,
      outputs: [],
      priority,
      timeoutMicroseconds,
    };
  }

  #happen(event: SchedulerEvent): void {
    const { models, repository } = this.#server;
    const { name } = this.#config;
    if (event.cancel !== undefined) this.#cancel(event.cancel);
    if (event.cancel_stream) {
      // Nothing is sent to a client that is gone.
      this.#streamed.length = 0;
      for (const { arrival, inflight } of this.#sent) if (arrival.via === 'stream') inflight.cancel();
      this.#stream.length = 0;
    }
    if (event.pending) this.#probes.push(`pending ${repository.get(name, '').statistics.pending}`);
    if (event.unload) models.unload(name);
    if (event.load) void models.load(name);
    if (event.index)
      this.#probes.push(
        `index ${models
          .index(false)
          .map(({ state }) => state)
          .join()}`,
      );
    if (event.ready) {
      const { live } = this.#server;
      this.#probes.push(`live ${live}, ready ${this.#server.isReady()}, model ${this.#server.isModelReady(name, '')}`);
    }
    if (event.sigterm) {
      void this.#server.drain();
      setTimeout(() => this.#server.stop(), exitTimeoutSecs(this.#case) * 1000);
    }
  }

  #cancel(id: string): void {
    const sent = this.#sent.find(({ name }) => name === id);
    if (sent === undefined || this.#answers[id] !== undefined) return;
    this.#answers[id] = { outcome: 'cancelled', text: undefined, shape: undefined, at: this.#now };
    sent.inflight.cancel();
  }
}

class SimulatedInstance implements ModelInstance {
  readonly #decoupled: boolean;
  readonly #batched: boolean;
  readonly #simulation: Simulation;

  constructor({ decoupled, maxBatchSize }: CompleteModelConfig, simulation: Simulation) {
    this.#decoupled = decoupled;
    this.#batched = maxBatchSize > 0;
    this.#simulation = simulation;
  }

  execute(batch: readonly ExecutionRequest[], done: ExecutionDone, stream?: ResponseStream): Execution {
    const simulation = this.#simulation;
    const start = simulation.now;
    const arrivals = batch.map((request) => simulation.arrivalOf(request));
    const cancelled: number[] = [];
    const rows = (index: number) => (this.#batched ? arrivals[index]!.rows : 0);
    simulation.executed({ start, end: -1, batch: batch.map(({ id }, index) => `${id}×${rows(index)}`).join(' ') });
    const runMs = Math.max(...arrivals.map(({ run_ms }) => run_ms));
    const failure = (index: number) =>
      arrivals[index]!.fails ? new TritonError('INTERNAL', 'asked to fail') : undefined;
    const outputs = (index: number): InferTensor[] => [{ ...batch[index]!.inputs[0]!, name: 'y' }];
    setTimeout(() => {
      simulation.ended(start, cancelled);
      if (this.#decoupled) {
        batch.forEach((_, index) => failure(index) ?? stream!.respond(index, outputs(index), undefined));
        batch.forEach((_, index) => {
          if (failure(index) === undefined) void stream!.respond(index, outputs(index), undefined);
          stream!.end(index, failure(index));
        });
      }
      done(
        batch.map((_, index) => {
          const error = failure(index);
          if (error !== undefined) return { kind: 'error', error };
          return { kind: 'outputs', outputs: this.#decoupled ? [] : outputs(index), parameters: undefined };
        }),
        { computeInput: 0, computeInfer: runMs, computeOutput: 0 },
      );
    }, runMs);
    return { cancel: (index) => void cancelled.push(index) };
  }
}

/** The model of a scenario. Throws INVALID_ARG when it cannot be served. */
export function modelConfigOf({ config, name }: SchedulerCase): CompleteModelConfig {
  const { max_batch_size: rows, instances = 1, dims = [2], decoupled = false, optional = false } = config;
  const tensor = (shape: readonly number[]) => ({ dtype: 'float32', shape }) as const;
  return completeModelConfig(
    {
      modelName: name,
      inputs: { x: tensor(dims), arrival: tensor([1]), ...(optional ? { z: { ...tensor([1]), optional } } : {}) },
      outputs: { y: tensor(dims) },
      // The recorded model kept its instance busy while it streamed.
      config: { ...batchingOf(config), concurrency: 1, decoupled, responseCache: config.response_cache ?? false },
    },
    instances,
  );

  function batchingOf({ dynamic_batching: batcher }: SchedulerCase['config']): ModelConfig {
    return {
      ...(rows === 0 ? { batching: false } : { maxBatchSize: rows }),
      batcher: batcher === undefined ? null : batcherOf(batcher),
    };
  }
}

function batcherOf(json: NonNullable<SchedulerCase['config']['dynamic_batching']>): DynamicBatcher {
  return {
    ...member('preferredBatchSize', json.preferred_batch_size),
    ...member('maxQueueDelayMicroseconds', json.max_queue_delay_microseconds),
    ...member('preserveOrdering', json.preserve_ordering),
    ...member('priorityLevels', json.priority_levels),
    ...member('defaultPriorityLevel', json.default_priority_level),
    ...member('defaultQueuePolicy', json.default_queue_policy && policyOf(json.default_queue_policy)),
    priorityQueuePolicy: Object.fromEntries(
      Object.entries(json.priority_queue_policy ?? {}).map(([level, policy]) => [level, policyOf(policy)]),
    ),
  };
}

function policyOf(json: QueuePolicyJson): QueuePolicy {
  return {
    ...member('timeoutAction', json.timeout_action),
    ...member('defaultTimeoutMicroseconds', json.default_timeout_microseconds),
    ...member('allowTimeoutOverride', json.allow_timeout_override),
    ...member('maxQueueSize', json.max_queue_size),
  };
}

function member<K extends string, V>(name: K, value: V | undefined): Partial<Record<K, V>> {
  return value === undefined ? {} : ({ [name]: value } as Record<K, V>);
}

function exitTimeoutSecs({ server_args: args = [] }: SchedulerCase): number {
  const given = args.find((argument) => argument.startsWith('--exit-timeout-secs='));
  return given === undefined ? EXIT_TIMEOUT_SECS : Number(given.split('=')[1]);
}
