// Drives a BatchScheduler by hand: instances that end their batches when the test says so, and a log of answers.
import { vi } from 'vitest';

import { SILENT, type EngineLogger } from '../../src/core/engine-logger.js';
import { PendingRequest } from '../../src/core/scheduler/pending-request.js';
import type {
  AheadExecution,
  Execution,
  ExecutionDone,
  ExecutionRequest,
  ExecutionTimes,
  ModelInstance,
  ResponseStream,
} from '../../src/core/instance/model-instance.js';
import type { ResponseSink } from '../../src/core/response-sink.js';
import { BatchRunner } from '../../src/core/scheduler/batch-runner.js';
import { makeScheduler } from '../../src/core/scheduler/make-scheduler.js';
import { RequestOutcomes } from '../../src/core/scheduler/request-outcomes.js';
import type { Scheduler } from '../../src/core/scheduler/scheduler.js';
import { SchedulerLog } from '../../src/core/scheduler/scheduler-log.js';
import { InferenceStatistics } from '../../src/core/scheduler/statistics.js';
import { TritonError } from '../../src/errors.js';
import { completeModelConfig } from '../../src/model/complete-model.js';
import type { InferTensor } from '../../src/model/exchange.js';
import type { ModelConfig } from '../../src/model/model-config.js';
import type { TensorSpecs } from '../../src/model/tensor-spec.js';

export const TIMES = { computeInput: 1, computeInfer: 2, computeOutput: 3 };

/** A batch that an instance works on until the test ends it. */
export class ManualExecution implements Execution {
  readonly batch: readonly ExecutionRequest[];
  readonly done: ExecutionDone;
  /** Of a decoupled model. */
  readonly stream: ResponseStream | undefined;
  readonly cancelled: number[] = [];

  constructor(batch: readonly ExecutionRequest[], done: ExecutionDone, stream?: ResponseStream) {
    this.batch = batch;
    this.done = done;
    this.stream = stream;
  }

  get ids(): string {
    return this.batch.map(({ id }) => id).join('');
  }

  cancel(index: number): void {
    this.cancelled.push(index);
  }

  /** Answers all; the requests whose ids are in `failing` with an error. */
  finish(failing = '', times: ExecutionTimes = TIMES): void {
    const failure = { kind: 'error', error: new TritonError('INTERNAL', 'asked to fail') } as const;
    const answer = { kind: 'outputs', outputs: [], parameters: undefined } as const;
    this.done(
      this.batch.map(({ id }) => (failing.includes(id) && id !== '' ? failure : answer)),
      times,
    );
  }
}

export class ManualInstance implements ModelInstance {
  readonly executions: ManualExecution[] = [];
  /** Computes at once, as a synchronous callable in the server's thread does. */
  readonly synchronous: boolean;
  readonly inOtherThread: boolean;
  /** Told when it is gone. */
  onClosed?: (() => void) | undefined;

  constructor(synchronous = false, inOtherThread = false) {
    this.synchronous = synchronous;
    this.inOtherThread = inOtherThread;
  }

  get last(): ManualExecution {
    return this.executions.at(-1)!;
  }

  get batches(): string[] {
    return this.executions.map(({ ids }) => ids);
  }

  execute(batch: readonly ExecutionRequest[], done: ExecutionDone, stream?: ResponseStream): Execution {
    const execution = new ManualExecution(batch, done, stream);
    this.executions.push(execution);
    if (this.synchronous) execution.finish();
    return execution;
  }
}

/** An instance that may be given batches ahead; it begins them when the test says so. */
export class AheadInstance extends ManualInstance {
  /** Batches that were handed over ahead and neither begun nor taken back. */
  readonly ahead: ManualExecution[] = [];

  constructor() {
    super(false, true);
  }

  executeAhead(batch: readonly ExecutionRequest[], done: ExecutionDone): AheadExecution {
    const execution = new ManualExecution(batch, done);
    this.ahead.push(execution);
    return {
      cancel: (index) => execution.cancel(index),
      takeBack: () => {
        const at = this.ahead.indexOf(execution);
        if (at >= 0) this.ahead.splice(at, 1);
        return at >= 0;
      },
    };
  }

  /** Ends the batch that runs, after so many milliseconds, and begins the next one. */
  finish(milliseconds: number): void {
    const { last } = this;
    this.begin();
    last.finish('', { computeInput: 0, computeInfer: milliseconds, computeOutput: 0 });
  }

  /** Begins the next batch, which the scheduler does not see. */
  begin(): void {
    const next = this.ahead.shift();
    if (next !== undefined) this.executions.push(next);
  }

  get idsAhead(): string {
    return this.ahead.map(({ ids }) => ids).join(' ');
  }
}

interface Sent {
  readonly rows?: number;
  readonly priority?: number;
  readonly timeoutMicroseconds?: number;
  readonly inputs?: readonly (InferTensor | undefined)[];
  readonly sink?: ResponseSink;
}

/** A scheduler with instances and a log of what became of its requests. */
export class SchedulerHarness {
  readonly statistics = new InferenceStatistics();
  /** Instances come, go and stop here. */
  readonly scheduler: BatchRunner;
  readonly #scheduler: Scheduler;
  readonly instances: ModelInstance[];
  /** `a ok`, `b CANCELLED`, …, in the order of the answers. */
  readonly answers: string[] = [];
  readonly ended: string[] = [];

  constructor(
    config: ModelConfig,
    instances: ModelInstance[] = [new ManualInstance()],
    inputs: TensorSpecs = {},
    logger: EngineLogger = SILENT,
  ) {
    const spec = { modelName: 'm', inputs, outputs: {}, config: { maxBatchSize: 4, ...config } };
    const complete = completeModelConfig(spec, instances.length);
    const log = new SchedulerLog(complete, logger);
    const outcomes = new RequestOutcomes(complete, { statistics: this.statistics, log });
    const parts = { config: complete, statistics: this.statistics, outcomes, log };
    this.scheduler = new BatchRunner(parts);
    this.#scheduler = makeScheduler(parts, this.scheduler);
    this.instances = instances;
    for (const instance of instances) this.scheduler.addInstance(instance);
  }

  send(id: string, { rows = 1, priority = 0, timeoutMicroseconds = 0, inputs = [], sink }: Sent = {}): PendingRequest {
    const request = new PendingRequest(
      {
        modelName: 'm',
        modelVersion: '',
        id,
        parameters: undefined,
        inputs: [],
        outputs: [],
        priority,
        timeoutMicroseconds,
      },
      { inputs, rows },
      {
        owner: {
          cancelled: (gone) => this.#scheduler.cancelled(gone),
          ended: (over) => this.ended.push(over.id),
        },
        sink: sink ?? {
          respond: (response, final) => void this.answers.push(`${response.id} ${final ? 'ok' : 'answer'}`),
          complete: () => void this.answers.push(`${id} complete`),
          fail: ({ code, message }) => void this.answers.push(`${id} ${code}${message && ` ${message}`}`),
        },
        now: performance.now(),
      },
    );
    this.#scheduler.enqueue(request);
    return request;
  }

  sendAll(ids: string): PendingRequest[] {
    return Array.from(ids, (id) => this.send(id));
  }
}

/** Fakes the clock and all that waits on it. */
export function fakeTime(): void {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'setImmediate', 'clearImmediate', 'performance'] });
}

/** Lets immediates run, and timers that are due within so many milliseconds. */
export function pass(milliseconds = 0): void {
  vi.advanceTimersByTime(milliseconds);
}
