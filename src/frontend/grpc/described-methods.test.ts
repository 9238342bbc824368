import { create, type DescMessage, fromBinary, type MessageShape, toBinary } from '@bufbuild/protobuf';
import { describe, expect, it } from 'vitest';

import { controlledCore } from '../../../test/support/controlled-core.js';
import { TritonError } from '../../errors.js';
import type { CompleteDynamicBatcher, CompleteQueuePolicy } from '../../model/complete-batcher.js';
import type { CompleteModelConfig } from '../../model/complete-model-config.js';
import {
  ModelConfigResponseSchema,
  ModelMetadataResponseSchema,
  ModelReadyRequestSchema,
  ModelReadyResponseSchema,
  ModelStatisticsResponseSchema,
  ServerLiveResponseSchema,
  ServerMetadataResponseSchema,
  ServerReadyResponseSchema,
} from '../../../test/support/generated/grpc_service_pb.js';
import {
  HealthCheckResponse_ServingStatus,
  HealthCheckResponseSchema,
} from '../../../test/support/generated/health_pb.js';
import { DataType } from '../../../test/support/generated/model_config_pb.js';
import type { ServedCore } from '../served-core.js';
import { metadataMethods } from './described-methods.js';
import { callHead } from './grpc-call.js';
import { healthMethods } from './health-methods.js';
import type { UnaryMethod } from './unary-call.js';

const SERVICE = '/inference.GRPCInferenceService/';

const config: CompleteModelConfig = {
  name: 'm',
  version: 1,
  inputs: [{ name: 'x', dtype: 'string', datatype: 'BYTES', shape: [-1], optional: true }],
  outputs: [{ name: 'y', dtype: 'float32', datatype: 'FP32', shape: [-1, 4], optional: false }],
  maxBatchSize: 8,
  dynamicBatching: undefined,
  instanceCount: 2,
  concurrency: 1,
  decoupled: false,
  responseCache: false,
  strict: false,
};

const duration = (count: number) => ({ count, ns: count * 1_000_000_000 });

function coreWith(changes: Partial<ServedCore> = {}): ServedCore {
  const known = (name: string): CompleteModelConfig => {
    if (name !== 'm') throw new TritonError('NOT_FOUND', `Request for unknown model: '${name}' is not found`);
    return config;
  };
  return {
    name: 'my server',
    version: '1.2.3',
    extensions: ['statistics', 'parameters'],
    routes: new Map(),
    exiting: false,
    isReady: () => true,
    isModelReady: (name, version) => name === 'm' && version === '1',
    live: true,
    resolve: (name) => ({ config: known(name), load: 1, isServed: true }),
    modelMetadata: (name, version) => ({ config: known(name), versions: version === '' ? ['1', '3'] : [version] }),
    statistics: () => [],
    traces: false,
    refused: () => undefined,
    ...controlledCore(),
    onStateChange: () => () => undefined,
    infer() {
      throw new Error('not asked for here');
    },
    ...changes,
  };
}

const NO_HEADERS = callHead({ path: '', header: () => undefined, rawHeaders: [] });

function unaryMethod(server: ServedCore, path: string): UnaryMethod {
  const methods: Readonly<Record<string, UnaryMethod>> = { ...healthMethods(server), ...metadataMethods(server) };
  return methods[path.slice(path.lastIndexOf('/') + 1)]!;
}

/** Calls a method with `{ name, version }` and decodes its answer. */
function ask<Schema extends DescMessage>(
  core: ServedCore,
  path: string,
  { schema, name = '', version = '' }: { readonly schema: Schema; readonly name?: string; readonly version?: string },
): MessageShape<Schema> {
  const method = unaryMethod(core, path);
  const request = toBinary(ModelReadyRequestSchema, create(ModelReadyRequestSchema, { name, version }));
  const frames: Buffer[] = [];
  const answer = {
    succeed: (frame: readonly Uint8Array[]) => void frames.push(Buffer.concat(frame)),
    fail(error: TritonError) {
      throw error;
    },
  };
  method.serve(Buffer.from(request), answer, NO_HEADERS);
  expect(frames).toHaveLength(1);
  expect(frames[0]!.readUInt32BE(1)).toBe(frames[0]!.length - 5);
  return fromBinary(schema, frames[0]!.subarray(5));
}

describe('the server', () => {
  it('is live and ready', () => {
    expect(ask(coreWith(), `${SERVICE}ServerLive`, { schema: ServerLiveResponseSchema }).live).toBe(true);
    expect(ask(coreWith(), `${SERVICE}ServerReady`, { schema: ServerReadyResponseSchema }).ready).toBe(true);
  });

  it('may be live without being ready', () => {
    const core = coreWith({ isReady: () => false });
    expect(ask(core, `${SERVICE}ServerLive`, { schema: ServerLiveResponseSchema }).live).toBe(true);
    expect(ask(core, `${SERVICE}ServerReady`, { schema: ServerReadyResponseSchema }).ready).toBe(false);
  });

  it.each(['ServerLive', 'ServerReady'])('refuses %s while it is exiting', (name) => {
    const core = coreWith({ exiting: true });
    const exiting = expect.objectContaining({ code: 'UNAVAILABLE', message: 'Server exiting' });
    expect(() => ask(core, SERVICE + name, { schema: ServerReadyResponseSchema })).toThrow(exiting);
  });

  it('tells its name, version and extensions', () => {
    expect(ask(coreWith(), `${SERVICE}ServerMetadata`, { schema: ServerMetadataResponseSchema })).toMatchObject({
      name: 'my server',
      version: '1.2.3',
      extensions: ['statistics', 'parameters'],
    });
  });

  it.each([
    [true, HealthCheckResponse_ServingStatus.SERVING],
    [false, HealthCheckResponse_ServingStatus.NOT_SERVING],
  ])('has a health that follows its readiness: %s', (ready, status) => {
    const core = coreWith({ isReady: () => ready });
    const answer = ask(core, '/grpc.health.v1.Health/Check', { schema: HealthCheckResponseSchema, name: 'anything' });
    expect(answer.status).toBe(status);
  });
});

describe('a model', () => {
  it.each([
    ['m', '1', true],
    ['m', '2', false],
    ['nosuch', '', false],
  ])('%s of version "%s" is ready: %s', (name, version, ready) => {
    const schema = ModelReadyResponseSchema;
    expect(ask(coreWith(), `${SERVICE}ModelReady`, { schema, name, version }).ready).toBe(ready);
  });

  it('has metadata with the batch dimension', () => {
    expect(
      ask(coreWith(), `${SERVICE}ModelMetadata`, { schema: ModelMetadataResponseSchema, name: 'm' }),
    ).toMatchObject({
      name: 'm',
      versions: ['1', '3'],
      platform: 'tstriton',
      inputs: [{ name: 'x', datatype: 'BYTES', shape: [-1n, -1n] }],
      outputs: [{ name: 'y', datatype: 'FP32', shape: [-1n, -1n, 4n] }],
    });
  });

  it('without batching has metadata with the shapes as declared, of the version asked for', () => {
    const core = coreWith({
      modelMetadata: (_, version) => ({ config: { ...config, maxBatchSize: 0 }, versions: [version] }),
    });
    const schema = ModelMetadataResponseSchema;
    expect(ask(core, `${SERVICE}ModelMetadata`, { schema, name: 'm', version: '3' })).toMatchObject({
      versions: ['3'],
      inputs: [{ shape: [-1n] }],
      outputs: [{ shape: [-1n, 4n] }],
    });
  });

  it('has a configuration', () => {
    const { config: given } = ask(coreWith(), `${SERVICE}ModelConfig`, {
      schema: ModelConfigResponseSchema,
      name: 'm',
    });
    expect(given).toMatchObject({
      name: 'm',
      maxBatchSize: 8,
      input: [{ name: 'x', dataType: DataType.TYPE_STRING, dims: [-1n], optional: true }],
      output: [{ name: 'y', dataType: DataType.TYPE_FP32, dims: [-1n, 4n] }],
      instanceGroup: [{ count: 2 }],
    });
  });

  it('has a configuration with all of its dynamic batcher', () => {
    const queuePolicy: CompleteQueuePolicy = {
      timeoutAction: 'DELAY',
      defaultTimeoutMicroseconds: 5000,
      allowTimeoutOverride: true,
      maxQueueSize: 10,
    };
    const dynamicBatching: CompleteDynamicBatcher = {
      preferredBatchSize: [2, 8],
      maxQueueDelayMicroseconds: 100,
      preserveOrdering: false,
      priorityLevels: 3,
      defaultPriorityLevel: 2,
      defaultQueuePolicy: queuePolicy,
      priorityQueuePolicy: { 1: { ...queuePolicy, timeoutAction: 'REJECT' } },
    };
    const core = coreWith({ resolve: () => ({ config: { ...config, dynamicBatching }, load: 1, isServed: true }) });
    const { config: given } = ask(core, `${SERVICE}ModelConfig`, { schema: ModelConfigResponseSchema, name: 'm' });
    const policy = {
      timeoutAction: 1,
      defaultTimeoutMicroseconds: 5000n,
      allowTimeoutOverride: true,
      maxQueueSize: 10,
    };
    expect(given!.schedulingChoice).toMatchObject({
      case: 'dynamicBatching',
      value: {
        preferredBatchSize: [2, 8],
        maxQueueDelayMicroseconds: 100n,
        preserveOrdering: false,
        priorityLevels: 3n,
        defaultPriorityLevel: 2n,
        defaultQueuePolicy: policy,
        priorityQueuePolicy: { 1: { ...policy, timeoutAction: 0 } },
      },
    });
  });

  it('has statistics', () => {
    const response = {
      computeInfer: duration(1),
      computeOutput: duration(2),
      success: duration(3),
      fail: duration(4),
      emptyResponse: duration(5),
      cancel: duration(6),
    };
    const model = {
      name: 'm',
      version: '1',
      lastInference: 1_700_000_000_000,
      inferenceCount: 6,
      executionCount: 2,
      success: duration(3),
      fail: duration(1),
      queue: duration(4),
      computeInput: duration(5),
      computeInfer: duration(6),
      computeOutput: duration(7),
      cacheHit: duration(8),
      cacheMiss: duration(9),
      responseStats: [response, { ...response, fail: duration(7) }],
      batchStats: [{ batchSize: 3, computeInput: duration(1), computeInfer: duration(2), computeOutput: duration(3) }],
    };
    const message = (count: bigint) => ({ count, ns: count * 1_000_000_000n });
    const core = coreWith({ statistics: () => [model] });
    const { modelStats } = ask(core, `${SERVICE}ModelStatistics`, { schema: ModelStatisticsResponseSchema });
    expect(modelStats).toMatchObject([
      {
        name: 'm',
        version: '1',
        lastInference: 1_700_000_000_000n,
        inferenceCount: 6n,
        executionCount: 2n,
        inferenceStats: {
          success: message(3n),
          fail: message(1n),
          queue: message(4n),
          computeInput: message(5n),
          computeInfer: message(6n),
          computeOutput: message(7n),
          cacheHit: message(8n),
          cacheMiss: message(9n),
        },
        responseStats: {
          0: {
            computeInfer: message(1n),
            computeOutput: message(2n),
            success: message(3n),
            fail: message(4n),
            emptyResponse: message(5n),
            cancel: message(6n),
          },
          1: { computeInfer: message(1n), fail: message(7n) },
        },
        batchStats: [
          { batchSize: 3n, computeInput: message(1n), computeInfer: message(2n), computeOutput: message(3n) },
        ],
      },
    ]);
  });

  it.each(['ModelMetadata', 'ModelConfig'])('that nobody knows has no %s', (method) => {
    const schema = ModelConfigResponseSchema;
    const notFound = expect.objectContaining({
      code: 'NOT_FOUND',
      message: "Request for unknown model: 'no' is not found",
    });
    expect(() => ask(coreWith(), SERVICE + method, { schema, name: 'no' })).toThrow(notFound);
  });
});

describe('a request', () => {
  const serve = (method: string, bytes: Buffer): Buffer[] => {
    const frames: Buffer[] = [];
    const fail = (error: TritonError) => {
      throw error;
    };
    const answer = { succeed: (frame: readonly Uint8Array[]) => void frames.push(Buffer.concat(frame)), fail };
    unaryMethod(coreWith(), SERVICE + method).serve(bytes, answer, NO_HEADERS);
    return frames;
  };

  it.each([
    ['that is no message', Buffer.from([0xff, 0xff, 0xff])],
    ['that is cut', Buffer.from([10, 5, 97])],
    ['with a name that is not UTF-8', Buffer.from([10, 1, 0xff])],
  ])('%s cannot be parsed', (_, bytes) => {
    expect(() => serve('ModelReady', bytes)).toThrow(
      expect.objectContaining({ code: 'INTERNAL', message: 'Unable to parse request' }),
    );
  });

  it('may have unknown fields, and a known one of another wire type', () => {
    expect(serve('ServerLive', Buffer.from('7a03616263', 'hex'))).toEqual([Buffer.from('00000000020801', 'hex')]);
    expect(serve('ModelReady', Buffer.from([8, 1]))).toEqual([Buffer.alloc(5)]);
  });
});
