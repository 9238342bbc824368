// Each way in which a request can end: what its client is told, and whether the statistics count it. A request that was
// accepted is counted once, as a success or a failure; one that was refused is not counted, and its text tells so.

import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';

import { inferRequest, RecordingSink, wireTensor } from '../../test/support/infer-requests.js';
import { ManualSource } from '../../test/support/manual-source.js';
import { isRefusal } from '../../test/support/random-life/refusals.js';
import { fakeTime, ManualInstance, pass, TIMES } from '../../test/support/scheduler-harness.js';
import { READING } from '../../test/support/standstill.js';
import { InferenceServer } from '../core/inference-server.js';
import { TritonError } from '../errors.js';
import { completeModelConfig } from '../model/complete-model.js';
import type { ModelInferRequest } from '../model/exchange.js';
import type { ModelConfig } from '../model/model-config.js';
import { instanceLoss } from '../observability/traces.js';
import { ServedModel } from './served-model.js';

const LOGGER = { error: () => undefined, warn: () => undefined, info: () => undefined, verbose: () => undefined };

beforeEach(() => {
  fakeTime();
});

afterEach(() => {
  vi.useRealTimers();
});

/** A server with one model of one instance. */
class OneModel {
  readonly server = new InferenceServer({
    name: 'triton',
    version: '1',
    logger: LOGGER,
    modelControlMode: 'explicit',
    responseCacheByteSize: 1 << 20,
  });
  readonly instance = new ManualInstance();
  readonly source = new ManualSource(this.instance);
  readonly served: ServedModel;
  /** All requests, in the order in which they were sent. */
  readonly sent: RecordingSink[] = [];

  constructor(config: ModelConfig) {
    const { server } = this;
    const tensor = { dtype: 'float32', shape: [1] } as const;
    const spec = { modelName: 'm', inputs: { x: tensor }, outputs: { y: tensor }, config };
    const surroundings = { caller: {} as never, openings: new Set<never>(), isEnding: false, isOwnerBlocked: false };
    this.served = new ServedModel(completeModelConfig(spec, 1), this.source, surroundings);
    server.models.bind(this.served);
    server.started();
  }

  send(given: Partial<ModelInferRequest> = {}): void {
    const sink = new RecordingSink();
    this.sent.push(sink);
    const x = wireTensor('x', 'float32', Float32Array.of(1), [1, 1]);
    sink.request = this.server.infer(inferRequest({ inputs: [x], ...given }), sink);
  }

  /** Sends a request that waits behind another one, which runs. */
  sendBehind(): void {
    this.send();
    pass();
    this.send();
  }

  /** The instance ends, and the requests that it was working on with it. */
  die(): void {
    this.source.lose(this.instance);
    this.fail(instanceLoss("an instance of model 'm' ended while it was working on the request"));
  }

  fail(error: TritonError): void {
    const { batch, done } = this.instance.last;
    done(
      batch.map(() => ({ kind: 'error', error })),
      TIMES,
    );
  }
}

interface End {
  readonly how: string;
  readonly config?: ModelConfig;
  /** Brings the request that is sent last to its end. */
  readonly end: (one: OneModel) => void | Promise<void>;
  readonly told: string;
}

const STOPPING = 'Server is stopping, scheduler for model has stopped accepting new inference requests';
const ONE = { maxBatchSize: 1 } as const;

const ENDS: readonly End[] = [
  {
    how: 'an answer',
    end: (one) => {
      one.send();
      pass();
      one.instance.last.finish();
    },
    told: 'ok',
  },
  {
    how: 'an answer from the cache',
    config: { responseCache: true },
    end: (one) => {
      one.send();
      pass();
      one.instance.last.finish();
      one.send();
    },
    told: 'ok',
  },
  {
    how: 'the error of its callable',
    end: (one) => {
      one.send();
      pass();
      one.fail(new TritonError('INTERNAL', 'asked to fail'));
    },
    told: 'INTERNAL asked to fail',
  },
  {
    how: 'the end of its instance',
    end: (one) => {
      one.send();
      pass();
      one.die();
    },
    told: "UNAVAILABLE an instance of model 'm' ended while it was working on the request",
  },
  {
    how: 'a callable that takes too long',
    config: { executionTimeoutMicroseconds: 50_000 },
    end: (one) => {
      one.send();
      pass();
      pass(60);
    },
    told: "UNAVAILABLE model 'm' did not answer within its executionTimeoutMicroseconds of 50000",
  },
  {
    how: 'its client, while it waits',
    config: ONE,
    end: (one) => {
      one.sendBehind();
      one.sent.at(-1)!.request!.cancel();
    },
    told: 'CANCELLED ',
  },
  {
    how: 'its client, while it runs',
    end: (one) => {
      one.send();
      pass();
      one.sent.at(-1)!.request!.cancel();
    },
    told: 'CANCELLED ',
  },
  {
    how: 'waiting too long',
    config: { maxBatchSize: 1, batcher: { defaultQueuePolicy: { defaultTimeoutMicroseconds: 100_000 } } },
    end: (one) => {
      one.sendBehind();
      pass();
      pass(100);
    },
    told: 'UNAVAILABLE Request timeout expired',
  },
  {
    how: 'the end of the last instance, which does not come back',
    config: ONE,
    end: (one) => {
      one.sendBehind();
      one.die();
      pass(1000 + READING);
    },
    told: "UNAVAILABLE model 'm' is not ready: all instances ended while the request waited",
  },
  {
    how: 'the end of the last instance, which does not come back, after its model was replaced',
    config: ONE,
    end: async (one) => {
      one.sendBehind();
      one.die();
      const replaced = one.server.models.replace({
        config: one.served.config,
        open: () => ({ instances: [new ManualInstance()] }),
      });
      // The old model is left to itself in between.
      await new Promise((resolve) => process.nextTick(resolve));
      pass(1000 + READING);
      await replaced;
    },
    told: "UNAVAILABLE model 'm' is not ready: all instances ended while the request waited",
  },
  {
    how: 'the end of the server, while it waits',
    config: ONE,
    end: (one) => {
      one.sendBehind();
      one.server.stop();
    },
    told: 'UNAVAILABLE Server exiting',
  },
  {
    how: 'the end of the server, after the one whose answer it was to share',
    config: { maxBatchSize: 1, responseCache: true },
    end: (one) => {
      one.send();
      one.send();
      one.server.stop();
    },
    told: 'UNAVAILABLE Server exiting',
  },
  {
    how: 'a full queue',
    config: { maxBatchSize: 1, batcher: { defaultQueuePolicy: { maxQueueSize: 1 } } },
    end: (one) => {
      one.sendBehind();
      one.send();
    },
    told: 'UNAVAILABLE [request id: <id_unknown>] Exceeds maximum queue size',
  },
  {
    how: 'too many rows',
    config: { maxBatchSize: 2 },
    end: (one) => one.send({ inputs: [wireTensor('x', 'float32', new Float32Array(3), [3, 1])] }),
    told: "INVALID_ARG [request id: <id_unknown>] inference request batch-size must be <= 2 for 'm'",
  },
  {
    how: 'a name that no model has',
    end: (one) => one.send({ modelName: 'n' }),
    told: "NOT_FOUND Request for unknown model: 'n' is not found",
  },
  {
    how: 'a version that no model has',
    end: (one) => one.send({ modelVersion: '2' }),
    told: "NOT_FOUND Request for unknown model: 'm' version 2 is not found",
  },
  {
    how: 'an unloaded model',
    end: (one) => {
      one.server.models.unload('m');
      one.send();
    },
    told: "NOT_FOUND Request for unknown model: 'm' has no available versions",
  },
  {
    how: 'an unloaded version',
    end: (one) => {
      one.server.models.unload('m');
      one.send({ modelVersion: '1' });
    },
    told: "UNAVAILABLE Request for unknown model: 'm' version 1 is not at ready state",
  },
  {
    how: 'a model without instances',
    end: (one) => {
      one.source.lose(one.instance);
      one.send();
    },
    told: "UNAVAILABLE model 'm' is not ready: all instances have ended",
  },
  {
    how: 'a server that stops',
    end: (one) => {
      void one.server.drain();
      one.send();
    },
    told: `UNAVAILABLE [request id: <id_unknown>] ${STOPPING}`,
  },
  {
    how: 'a model that takes no more requests',
    end: (one) => {
      void one.server.repository.get('m', '').drain();
      one.send();
    },
    told: `UNAVAILABLE [request id: <id_unknown>] ${STOPPING}`,
  },
];

describe('a request', () => {
  it.each(ENDS)('that is ended by $how is told so, and counted unless it was refused', async (given) => {
    const one = new OneModel(given.config ?? {});
    await one.server.models.load('m');
    const { statistics } = one.server.repository.get('m', '');
    await given.end(one);
    expect(one.sent.at(-1)!.outcome).toBe(given.told);
    const ended = one.sent.map(({ outcome }) => outcome).filter((outcome) => outcome !== undefined);
    const answered = ended.filter((outcome) => outcome === 'ok');
    const failed = ended.filter((outcome) => outcome !== 'ok' && !isRefusal(outcome));
    expect([statistics.success.count, statistics.fail.count]).toEqual([answered.length, failed.length]);
    expect(one.sent.every(({ ends }) => ends <= 1)).toBe(true);
    one.server.stop();
  });
});
