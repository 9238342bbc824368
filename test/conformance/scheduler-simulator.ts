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
import type { InferenceStatistics } from '../../src/core/scheduler/statistics.js';
import { tritonFamilies } from '../../src/frontend/metrics/triton-metrics.js';
import { SILENT } from '../../src/core/engine-logger.js';
import type { InflightRequest, ResponseSink } from '../../src/core/response-sink.js';
import { TritonError } from '../../src/errors.js';
import type { CompleteModelConfig } from '../../src/model/complete-model-config.js';
import { completeModelConfig } from '../../src/model/complete-model.js';
import type { InferTensor, ModelInferRequest, ModelInferResponse } from '../../src/model/exchange.js';
import type { DynamicBatcher, ModelConfig, QueuePolicy } from '../../src/model/model-config.js';
import type { Arrival, QueuePolicyJson, SchedulerCase, SchedulerEvent } from './cases.js';
import { refusalOf, type Refusal } from './refusal.js';
import type { Durations, Metrics } from './scheduler-durations.js';

/** What happened, in the form of the recordings. Times are milliseconds from the first arrival. */
export interface SchedulerOutcome {
  /** How the model was refused; undefined when it is served. */
  readonly refused: Refusal | undefined;
  readonly executions: readonly SimulatedExecution[];
  /** By id; the second request of an id is `id#2`. Without those on a stream. */
  readonly answers: Readonly<Record<string, SimulatedAnswer>>;
  /** Messages on the stream in order. */
  readonly stream: readonly { readonly id: string; readonly error: string | undefined; readonly at: number }[];
  /** Requests pending, and states of the server and the model, at the moments that the scenario asks for them. */
  readonly probes: readonly string[];
  readonly statistics: Readonly<Record<string, number>>;
  /** Undefined where the server had ended before it was asked. */
  readonly durations: Durations | undefined;
  readonly metrics: Metrics | undefined;
}

export interface SimulatedExecution {
  readonly start: number;
  readonly end: number;
  /** `id×rows` of each request, with `!` behind where it was cancelled by the end. */
  readonly batch: string;
  /** Counted in the order of their first executions; undefined where there is one, or the recording does not tell. */
  readonly instance: number | undefined;
}

export interface SimulatedAnswer {
  /** `ok`, a code, or `cancelled` by its client. */
  readonly outcome: string;
  readonly text: string | undefined;
  readonly shape: readonly number[] | undefined;
  readonly at: number;
}

/** Long enough for every scenario: the longest execution takes 3 s. */
const LASTS_MS = 7000;
/**
 * Fake milliseconds of a scenario's millisecond. An immediate takes one of the fake ones, which is then nothing: moments
 * are exact.
 */
const SCALE = 1000;
const EXIT_TIMEOUT_SECS = 30;
const CACHE_BYTES = 1 << 20;
const RECORDED_METRICS = /^nv_(inference_(request_success|request_failure|count|exec_count)|cache_num_\w+_per_model)$/;
/** Data of the first arrival that shares its with no other. */
const FIRST_UNIQUE = 1000;

/** Plays a scenario. Time is faked while it runs. */
export async function simulate(testCase: SchedulerCase): Promise<SchedulerOutcome> {
  let config: CompleteModelConfig;
  try {
    config = modelConfigOf(testCase, SCALE);
  } catch (error) {
    const nothing = { executions: [], answers: {}, stream: [], probes: [], statistics: {} };
    return { refused: refusalOf(error), ...nothing, durations: undefined, metrics: undefined };
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
  readonly #instances: ModelInstance[] = [];
  /** Requests on a stream whose answers were not sent yet. */
  readonly #streamed: { id: string; error: string | undefined; done: boolean }[] = [];

  constructor(testCase: SchedulerCase, config: CompleteModelConfig) {
    this.#case = testCase;
    this.#config = config;
  }

  get #now(): number {
    return scenarioMs(performance.now() - this.#start);
  }

  async play(): Promise<SchedulerOutcome> {
    const { name, version, instanceCount } = this.#config;
    const open = () => ({
      instances: Array.from({ length: instanceCount }, () => new SimulatedInstance(this.#config, this)),
    });
    this.#server.models.bind({ config: this.#config, open });
    await this.#server.models.loadVersion(name, version);
    this.#server.started();
    const { statistics } = this.#server.repository.get(name, '');
    for (const arrival of this.#case.arrivals) after(arrival.at_ms, () => this.#send(arrival));
    for (const event of this.#case.events ?? []) after(event.at_ms, () => this.#happen(event));
    await vi.advanceTimersByTimeAsync(LASTS_MS * SCALE);
    const report = statistics.report(name, String(version));
    return {
      refused: undefined,
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
      durations: {
        success: scenarioMs(report.success.ns / 1e6),
        fail: scenarioMs(report.fail.ns / 1e6),
        queue: scenarioMs(report.queue.ns / 1e6),
        compute_infer: scenarioMs(report.computeInfer.ns / 1e6),
      },
      metrics: this.#metrics(statistics),
    };
  }

  /** As the metrics port shows them, under the recorded names. */
  #metrics(statistics: InferenceStatistics): Metrics {
    const model = { config: this.#config, statistics, inflight: 0, instances: 1 };
    const { cache } = this.#server;
    const options = { counterLatencies: true, histogramLatencies: false };
    const families = tritonFamilies({ models: [model], cache }, undefined, options);
    const series = families.flatMap((family) =>
      family.type === 'counter' && RECORDED_METRICS.test(family.name)
        ? family.series.map(({ labels, value }): [string, number] => {
            const reason = labels.find(([label]) => label === 'reason')?.[1];
            return [family.name + (reason === undefined ? '' : `{reason=${reason}}`), value];
          })
        : [],
    );
    return Object.fromEntries(series);
  }

  /** The arrival that a request of an execution comes from. */
  arrivalOf({ inputs, id }: ExecutionRequest): Arrival {
    const value = new Float32Array(inputs[1]!.bytes.buffer)[0]!;
    return this.#case.arrivals.find((arrival, index) =>
      arrival.data === undefined ? FIRST_UNIQUE + index === value : arrival.id === id,
    )!;
  }

  executed(by: ModelInstance, execution: Omit<SimulatedExecution, 'instance'>): void {
    if (!this.#instances.includes(by)) this.#instances.push(by);
    const instance = this.#config.instanceCount > 1 ? this.#instances.indexOf(by) : undefined;
    this.#executions.push({ ...execution, instance });
  }

  ended(start: number, cancelled: readonly number[]): void {
    const index = this.#executions.findIndex((execution) => execution.start === start && execution.end === -1);
    const execution = this.#executions[index]!;
    const marked = execution.batch.split(' ').map((request, at) => (cancelled.includes(at) ? `${request}!` : request));
    this.#executions[index] = { ...execution, end: this.#now, batch: marked.join(' ') };
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
    const { rows, length = 2, data, priority = 0, timeout_us: timeout = 0 } = arrival;
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
      timeoutMicroseconds: timeout * SCALE,
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
    if (event.index) {
      this.#probes.push(...models.index(false).map(({ state, reason }) => `index ${state} ${reason}`.trimEnd()));
    }
    if (event.ready) {
      const { live } = this.#server;
      this.#probes.push(`live ${live}, ready ${this.#server.isReady()}, model ${this.#server.isModelReady(name, '')}`);
    }
    if (event.sigterm) {
      void this.#server.drain();
      after(exitTimeoutSecs(this.#case) * 1000, () => this.#server.stop());
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
    simulation.executed(this, {
      start,
      end: -1,
      batch: batch.map(({ id }, index) => `${id}×${rows(index)}`).join(' '),
    });
    const runMs = Math.max(...arrivals.map(({ run_ms }) => run_ms));
    const failure = (index: number) =>
      arrivals[index]!.fails ? new TritonError('INTERNAL', 'asked to fail') : undefined;
    const outputs = (index: number): InferTensor[] => [{ ...batch[index]!.inputs[0]!, name: 'y' }];
    after(runMs, () => {
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
        { computeInput: 0, computeInfer: runMs * SCALE, computeOutput: 0 },
      );
    });
    return { cancel: (index) => void cancelled.push(index) };
  }
}

/** The model of a scenario, with times that are `scale` times as long. Throws INVALID_ARG when it cannot be served. */
export function modelConfigOf({ config, name }: SchedulerCase, scale = 1): CompleteModelConfig {
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
      batcher: batcher === undefined ? null : batcherOf(batcher, scale),
    };
  }
}

type BatcherJson = NonNullable<SchedulerCase['config']['dynamic_batching']>;

function batcherOf(json: BatcherJson, scale: number): DynamicBatcher {
  return {
    ...member('preferredBatchSize', json.preferred_batch_size),
    ...member('maxQueueDelayMicroseconds', scaled(json.max_queue_delay_microseconds, scale)),
    ...member('preserveOrdering', json.preserve_ordering),
    ...member('priorityLevels', json.priority_levels),
    ...member('defaultPriorityLevel', json.default_priority_level),
    ...member('defaultQueuePolicy', json.default_queue_policy && policyOf(json.default_queue_policy, scale)),
    priorityQueuePolicy: Object.fromEntries(
      Object.entries(json.priority_queue_policy ?? {}).map(([level, policy]) => [level, policyOf(policy, scale)]),
    ),
  };
}

function policyOf(json: QueuePolicyJson, scale: number): QueuePolicy {
  return {
    ...member('timeoutAction', json.timeout_action),
    ...member('defaultTimeoutMicroseconds', scaled(json.default_timeout_microseconds, scale)),
    ...member('allowTimeoutOverride', json.allow_timeout_override),
    ...member('maxQueueSize', json.max_queue_size),
  };
}

function member<K extends string, V>(name: K, value: V | undefined): Partial<Record<K, V>> {
  return value === undefined ? {} : ({ [name]: value } as Record<K, V>);
}

function after(milliseconds: number, happen: () => void): void {
  setTimeout(happen, milliseconds * SCALE);
}

/** Milliseconds of the scenario. */
function scenarioMs(fakeMilliseconds: number): number {
  return Math.round(fakeMilliseconds / SCALE);
}

function scaled(microseconds: number | undefined, scale: number): number | undefined {
  return microseconds === undefined ? undefined : microseconds * scale;
}

function exitTimeoutSecs({ server_args: args = [] }: SchedulerCase): number {
  const given = args.find((argument) => argument.startsWith('--exit-timeout-secs='));
  return given === undefined ? EXIT_TIMEOUT_SECS : Number(given.split('=')[1]);
}
