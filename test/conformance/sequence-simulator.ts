// Plays a scenario of sequences on the engine in simulated time: the configuration as config.pbtxt would give it, requests,
// cancellations and the like at their moments, and a model that keeps a sum for each sequence.
import { vi } from 'vitest';

import type { EngineLogger } from '../../src/core/engine-logger.js';
import { InferenceServer } from '../../src/core/inference-server.js';
import type {
  Execution,
  ExecutionDone,
  ExecutionRequest,
  ModelInstance,
  ResponseStream,
} from '../../src/core/instance/model-instance.js';
import type { InflightRequest, ResponseSink } from '../../src/core/response-sink.js';
import { TritonError } from '../../src/errors.js';
import { type ControlledRow, controlTensor } from '../../src/host/sequence-controls.js';
import type { CompleteControl, CompleteModelConfig } from '../../src/model/complete-model-config.js';
import { completeModelConfig } from '../../src/model/complete-model.js';
import type { InferTensor, ModelInferRequest } from '../../src/model/exchange.js';
import { canonical, type ConfigJson } from '../../src/protocol/config-message.js';
import { sequenceBatchingOf } from '../../src/protocol/sequence-batching-json.js';
import {
  expanded,
  type SequenceArrival,
  type SequenceCase,
  type SequenceEvent,
  type SequenceModel,
  type SequenceOutcome,
} from './sequence-cases.js';

/** Long enough for every scenario. */
const LASTS_MS = 12_000;
/** Fake milliseconds of a scenario's: an immediate takes one of the fake ones, which is then nothing. */
const SCALE = 1000;
const EXIT_TIMEOUT_MS = 30_000;
const DEFAULT_IDLE_MICROSECONDS = 1_000_000;

export async function simulateSequences(testCase: SequenceCase): Promise<SequenceOutcome> {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'setImmediate', 'clearImmediate', 'performance'] });
  try {
    return await new Simulation(testCase).play();
  } finally {
    vi.useRealTimers();
  }
}

/** The model of a scenario, with times that are as many times as long. Throws INVALID_ARG when it cannot be served. */
export function sequenceModel(model: SequenceModel, name = 'm', scale = 1): CompleteModelConfig {
  const { max_batch_size: rows, instances = 1, model_transaction_policy: policy, input = [] } = model;
  const json = canonical({ sequence_batching: expanded(model) }) as unknown as ConfigJson;
  const given = sequenceBatchingOf(json.sequence_batching!, `model '${name}'`, () => 0);
  const { maxSequenceIdleMicroseconds: idle = 0, maxQueueDelayMicroseconds: delay } = given;
  return completeModelConfig(
    {
      modelName: name,
      inputs: {
        x: { dtype: 'int32', shape: input.find((tensor) => tensor.name === 'x')?.dims ?? [1] },
        arrival: { dtype: 'int32', shape: [1] },
      },
      outputs: { y: { dtype: 'int32', shape: [1] } },
      config: {
        ...(rows === 0 ? { batching: false } : { maxBatchSize: rows }),
        decoupled: policy?.decoupled ?? false,
        // The recorded model kept its instance busy while it streamed.
        concurrency: 1,
        sequenceBatching: {
          ...given,
          maxSequenceIdleMicroseconds: (idle || DEFAULT_IDLE_MICROSECONDS) * scale,
          ...(delay !== undefined && { maxQueueDelayMicroseconds: delay * scale }),
        },
      },
    },
    instances,
  );
}

class Simulation {
  readonly #case: SequenceCase;
  readonly #warnings: string[] = [];
  readonly #server: InferenceServer;
  readonly #start = performance.now();
  readonly #executions: { batch: string; start: number; end: number }[] = [];
  readonly #answers: Record<string, { text: string; at: number }> = {};
  readonly #streams: Record<string, string[]> = {};
  readonly #probes: string[] = [];
  readonly #sent = new Map<string, InflightRequest>();
  readonly #instances: SummingInstance[] = [];
  readonly #goneStreams = new Set<string>();
  /** Of each stream, answers that wait for those before them. */
  readonly #turns = new Map<string, { text: string | undefined }[]>();
  #config: CompleteModelConfig;

  constructor(testCase: SequenceCase) {
    this.#case = testCase;
    this.#config = sequenceModel(testCase.config, 'm', SCALE);
    const logger: EngineLogger = {
      error: () => undefined,
      warn: (message) => void this.#warnings.push(message),
      info: () => undefined,
      verbose: () => undefined,
    };
    this.#server = new InferenceServer({ name: 'triton', version: '0', logger, modelControlMode: 'explicit' });
  }

  get now(): number {
    return Math.round((performance.now() - this.#start) / SCALE);
  }

  async play(): Promise<SequenceOutcome> {
    this.#bind(this.#config);
    await this.#server.models.loadVersion('m', 1);
    this.#server.started();
    const { statistics } = this.#server.repository.get('m', '');
    for (const arrival of this.#case.arrivals) after(arrival.at_ms, () => this.#send(arrival));
    for (const event of this.#case.events ?? []) after(event.at_ms, () => this.#happen(event));
    await vi.advanceTimersByTimeAsync(LASTS_MS * SCALE);
    const report = statistics.report('m', '1');
    const counts: Record<string, number> = {
      inference_count: report.inferenceCount,
      execution_count: report.executionCount,
      success_count: report.success.count,
      queue_count: report.queue.count,
      fail_count: report.fail.count,
      ...Object.fromEntries(
        report.batchStats.map((batch) => [`batch_size_${batch.batchSize}`, batch.computeInfer.count]),
      ),
    };
    for (const [reason, count] of Object.entries(statistics.failures))
      if (count > 0) counts[`failed ${reason}`] = count;
    return {
      executions: [...this.#executions].sort((a, b) => a.start - b.start),
      answers: this.#answers,
      streams: this.#streams,
      probes: this.#probes,
      warnings: [...new Set(this.#warnings)].filter((line) => line.includes('conflict')),
      counts,
    };
  }

  #bind(config: CompleteModelConfig): void {
    this.#server.models.bind({ config, open: () => this.#open(config) });
  }

  #open(config: CompleteModelConfig) {
    return { instances: Array.from({ length: config.instanceCount }, () => new SummingInstance(config, this)) };
  }

  arrivalOf({ inputs }: ExecutionRequest): SequenceArrival {
    return this.#case.arrivals[new Int32Array(inputs[1]!.bytes.slice().buffer)[0]!]!;
  }

  began(instance: SummingInstance, batch: string): { batch: string; start: number; end: number } {
    let number = this.#instances.indexOf(instance);
    if (number < 0) number = this.#instances.push(instance) - 1;
    const severally = (this.#case.config.instances ?? 1) > 1 ? ` on ${number + 1}` : '';
    const execution = { batch: `${batch}${severally}`, start: this.now, end: -1 };
    this.#executions.push(execution);
    return execution;
  }

  #send(arrival: SequenceArrival): void {
    const { via, id } = arrival;
    const sink = via === 'grpc' || via === 'http' ? this.#sink(id) : this.#streamSink(via, id);
    this.#sent.set(id, this.#server.infer(this.#requestOf(arrival), sink));
  }

  #sink(id: string): ResponseSink {
    const answer = (text: string) => void (this.#answers[id] ??= { text, at: this.now });
    return {
      respond: ({ outputs }) => answer(`ok ${sumIn(outputs)}`),
      complete: () => answer('ok'),
      fail: ({ code, message }) => answer(message === '' ? code : `${code} ${message}`),
    };
  }

  /** As the gRPC frontend does: in the order of the requests, but for decoupled models. */
  #streamSink(stream: string, id: string): ResponseSink {
    const sent = (this.#streams[stream] ??= []);
    const turns = this.#turns.get(stream) ?? [];
    this.#turns.set(stream, turns);
    const turn = { text: undefined as string | undefined };
    if (!this.#config.decoupled) turns.push(turn);
    const answer = (text: string) => {
      // Nothing is sent to a client that is gone.
      if (this.#goneStreams.has(stream)) return;
      if (this.#config.decoupled) return void sent.push(`${id} ${text}`);
      turn.text = `${id} ${text}`;
      while (turns[0]?.text !== undefined) sent.push(turns.shift()!.text!);
    };
    return {
      respond: ({ outputs }) => answer(`ok ${sumIn(outputs)}`),
      complete: () => undefined,
      fail: ({ message }) => answer(message === '' ? 'error' : `error ${message}`),
    };
  }

  #requestOf(arrival: SequenceArrival): ModelInferRequest {
    const { id, seq = 0, start = false, end = false, x = 1, length = 1, rows = 1, timeout_us: timeout = 0 } = arrival;
    const batched = this.#config.maxBatchSize > 0;
    const tensor = (name: string, value: number, width: number): InferTensor => ({
      name,
      datatype: 'INT32',
      shape: batched ? [rows, width] : [width],
      bytes: new Uint8Array(new Int32Array((batched ? rows : 1) * width).fill(value).buffer),
    });
    const isOfSequence = seq !== 0 || start || end;
    return {
      modelName: 'm',
      modelVersion: '',
      id,
      parameters: undefined,
      inputs: [tensor('x', x, length), tensor('arrival', this.#case.arrivals.indexOf(arrival), 1)],
      outputs: [],
      priority: arrival.priority ?? 0,
      timeoutMicroseconds: timeout * SCALE,
      ...(isOfSequence && { sequence: { id: seq, start, end } }),
    };
  }

  #happen(event: SequenceEvent): void {
    const { models, repository } = this.#server;
    if (event.cancel !== undefined) this.#cancel(event.cancel);
    if (event.cancel_stream !== undefined) {
      this.#goneStreams.add(event.cancel_stream);
      for (const { id, via } of this.#case.arrivals) {
        if (via !== event.cancel_stream) continue;
        this.#sent.get(id)?.cancel();
      }
    }
    if (event.pending) this.#probes.push(`pending ${repository.get('m', '').statistics.pending}`);
    if (event.unload) models.unload('m');
    if (event.load !== undefined) {
      this.#config = sequenceModel(event.load, 'm', SCALE);
      const config = this.#config;
      void models.replace({ config, open: () => this.#open(config) });
    }
    if (event.index) {
      this.#probes.push(...models.index(false).map(({ state, reason }) => `index ${state} ${reason}`.trimEnd()));
    }
    if (event.sigterm) {
      void this.#server.finishSequences();
      after(EXIT_TIMEOUT_MS, () => this.#server.stop());
    }
  }

  #cancel(id: string): void {
    if (this.#answers[id] !== undefined) return;
    this.#answers[id] = { text: 'cancelled', at: this.now };
    this.#sent.get(id)?.cancel();
  }
}

class SummingInstance implements ModelInstance {
  readonly #config: CompleteModelConfig;
  readonly #simulation: Simulation;
  readonly #sums = new Map<unknown, number>();

  constructor(config: CompleteModelConfig, simulation: Simulation) {
    this.#config = config;
    this.#simulation = simulation;
  }

  execute(batch: readonly ExecutionRequest[], done: ExecutionDone, stream?: ResponseStream): Execution {
    const simulation = this.#simulation;
    const arrivals = batch.map((request) => simulation.arrivalOf(request));
    const execution = simulation.began(this, this.#describe(batch));
    const cancelled: string[] = [];
    const runMs = Math.max(...arrivals.map(({ run_ms: ms }) => ms));
    after(runMs, () => {
      execution.end = simulation.now;
      if (cancelled.length > 0) execution.batch += ` cancelled ${cancelled.join()}`;
      const raised = arrivals.some(({ raise }) => raise);
      const results = batch.map((request, index) => {
        const { fails = false, x = 1, answers = 1, steps = 1 } = arrivals[index]!;
        const { id, start } = request.sequence!;
        const sum = (start ? 0 : (this.#sums.get(id) ?? 0)) + x * (arrivals[index]!.length ?? 1);
        if (!raised) this.#sums.set(id, sum);
        const again = this.#config.sequenceBatching!.iterative && sum < steps;
        if ((fails && !again) || raised)
          return { kind: 'error', error: new TritonError('INTERNAL', 'asked to fail') } as const;
        const shape = this.#config.maxBatchSize > 0 ? [1, 1] : [1];
        const outputs = [
          { name: 'y', datatype: 'INT32', shape, bytes: new Uint8Array(Int32Array.of(sum).buffer) } as const,
        ];
        if (stream !== undefined) for (let i = 0; i < answers; i++) void stream.respond(index, outputs, undefined);
        return again ? ({ kind: 'again' } as const) : ({ kind: 'outputs', outputs, parameters: undefined } as const);
      });
      if (stream !== undefined) {
        results.forEach((result, index) => {
          if (result.kind !== 'again') stream.end(index, result.kind === 'error' ? result.error : undefined);
        });
      }
      done(results, { computeInput: 0, computeInfer: runMs * SCALE, computeOutput: 0 });
    });
    return { cancel: (index) => void cancelled.push(batch[index]!.id) };
  }

  /** With its empty slots. */
  #describe(batch: readonly ExecutionRequest[]): string {
    const { strategy, controls } = this.#config.sequenceBatching!;
    const rows: string[] = [];
    for (const { id, sequence, live } of batch) {
      while (strategy !== 'oldest' && rows.length < live!.slot) rows.push('-');
      rows.push(`${id} ${controlsOf(controls, { sequence, serial: live!.serial })}`);
    }
    return rows.join(' | ');
  }
}

/** As the recordings have them: the flags that are true of those that the model has, and the id as its input has it. */
function controlsOf(controls: readonly CompleteControl[], row: ControlledRow): string {
  const valueOf = (kind: CompleteControl['control']) => {
    const control = controls.find((each) => each.control === kind);
    return control && controlTensor(control, row, true).data[0];
  };
  const flags = controls
    .filter(({ control, falseTrue }) => control !== 'CORRID' && Number(valueOf(control)) === falseTrue[1])
    .map(({ control }) => control[0])
    .sort((a, b) => 'SER'.indexOf(a!) - 'SER'.indexOf(b!));
  return `${flags.join('')} ${String(valueOf('CORRID') ?? row.sequence!.id)}`;
}

function sumIn(outputs: readonly InferTensor[]): number {
  return new Int32Array(outputs[0]!.bytes.slice().buffer)[0]!;
}

function after(milliseconds: number, happen: () => void): void {
  setTimeout(happen, milliseconds * SCALE);
}
