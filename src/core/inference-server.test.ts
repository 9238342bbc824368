import { describe, expect, it } from 'vitest';

import { inferRequest, RecordingSink, wireTensor } from '../../test/support/infer-requests.js';
import { ManualInstance } from '../../test/support/scheduler-harness.js';
import { completeModelConfig } from '../model/complete-model.js';
import type { ModelConfig } from '../model/model-config.js';
import type { ModelInferRequest } from '../model/exchange.js';
import { InferenceServer } from './inference-server.js';

const LOGGER = { error: () => undefined, warn: () => undefined, info: () => undefined, verbose: () => undefined };

function startServer(): InferenceServer {
  const server = new InferenceServer({ name: 'triton', version: '1.2.3', logger: LOGGER });
  server.started();
  return server;
}

/** Loads a model with one float32 input; the instance is ended by hand. */
function load(server: InferenceServer, modelName = 'm', modelVersion = 1, config: ModelConfig = {}): ManualInstance {
  const tensor = { dtype: 'float32', shape: [1] } as const;
  const entry = server.repository.add(
    completeModelConfig({ modelName, modelVersion, inputs: { x: tensor }, outputs: { y: tensor }, config }, 1),
  );
  const instance = new ManualInstance();
  entry.serve({ instances: [instance] });
  return instance;
}

function send(server: InferenceServer, given: Partial<ModelInferRequest> = {}): RecordingSink {
  const sink = new RecordingSink();
  const x = wireTensor('x', 'float32', Float32Array.of(1), [1, 1]);
  sink.request = server.infer(inferRequest({ inputs: [x], ...given }), sink);
  return sink;
}

/** The scheduler decides at the end of a turn of the event loop. */
function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

describe('InferenceServer', () => {
  it('is live at once, and ready when it has started and every model is', () => {
    const server = new InferenceServer({ name: 'triton', version: '1.2.3', logger: LOGGER });
    expect([server.live, server.exiting, server.isReady()]).toEqual([true, false, false]);
    server.started();
    expect(server.isReady()).toBe(true);
    load(server);
    const other = server.repository.add(completeModelConfig({ modelName: 'n', inputs: {}, outputs: {} }, 1));
    expect(server.isReady()).toBe(false);
    other.serve({ instances: [new ManualInstance()] });
    expect(server.isReady()).toBe(true);
  });

  it('is not ready, rather than without the model, before everything is bound', () => {
    const server = new InferenceServer({ name: 'triton', version: '1.2.3', logger: LOGGER });
    const notReady = expect.objectContaining({ code: 'UNAVAILABLE', message: 'Server not ready' }) as Error;
    expect(() => server.resolve('m', '')).toThrow(notReady);
    expect(() => server.modelMetadata('m', '')).toThrow(notReady);
    expect(send(server, { modelName: 'm' }).error).toMatchObject({ code: 'UNAVAILABLE', message: 'Server not ready' });
    server.started();
    expect(() => server.resolve('m', '')).toThrow(expect.objectContaining({ code: 'NOT_FOUND' }) as Error);
  });

  it('tells whether a model is ready, and refuses malformed versions only', () => {
    const server = startServer();
    load(server, 'm', 3);
    expect(server.isModelReady('m', '')).toBe(true);
    expect(server.isModelReady('m', '3')).toBe(true);
    expect(server.isModelReady('m', '0')).toBe(false);
    expect(server.isModelReady('m', '4')).toBe(false);
    expect(server.isModelReady('nope', '')).toBe(false);
    expect(() => server.isModelReady('nope', 'x')).toThrow("version string 'x'");
  });

  it('reports the configuration of the latest version and all ready versions, or of the one asked for', () => {
    const server = startServer();
    load(server, 'm', 1);
    load(server, 'm', 2);
    expect(server.modelMetadata('m', '')).toMatchObject({ config: { version: 2 }, versions: ['1', '2'] });
    expect(server.modelMetadata('m', '1')).toMatchObject({ config: { version: 1 }, versions: ['1'] });
    expect(server.resolve('m', '1').config.version).toBe(1);
    expect(() => server.resolve('m', '3')).toThrow("Request for unknown model: 'm' version 3 is not found");
  });

  it('runs a request on the load that it was completed for, though a later version came meanwhile', async () => {
    const server = startServer();
    const first = load(server, 'm', 1);
    const resolved = server.resolve('m', '');
    const second = load(server, 'm', 2);
    const x = wireTensor('x', 'float32', Float32Array.of(1), [1, 1]);
    server.infer(inferRequest({ inputs: [x] }), new RecordingSink(), resolved.load);
    await turn();
    expect([first.executions.length, second.executions.length, resolved.isServed]).toEqual([1, 0, true]);
  });

  it('serves a load no more once it is replaced, unloaded or not ready', () => {
    const server = startServer();
    load(server);
    const first = server.resolve('m', '');
    const instance = load(server);
    const second = server.resolve('m', '');
    expect([first.isServed, second.isServed]).toEqual([false, true]);
    server.repository.find('m', 1)!.model.removeInstance(instance);
    expect(second.isServed).toBe(false);
    server.repository.find('m', 1)!.model.addInstance(instance);
    expect(second.isServed).toBe(true);
    server.repository.remove('m', 1);
    expect(second.isServed).toBe(false);
  });

  it('runs a request and answers it with the version that ran it', async () => {
    const server = startServer();
    const instance = load(server, 'm', 5);
    const sink = send(server, { id: '7' });
    await turn();
    instance.last.finish();
    expect(sink.response).toEqual({ modelName: 'm', modelVersion: '5', id: '7', parameters: undefined, outputs: [] });
    sink.request!.cancel();
    expect(sink.ends).toBe(1);
  });

  it('never throws: what is wrong with a request goes to its sink', () => {
    const server = startServer();
    load(server);
    expect(send(server, { modelName: 'nope' }).outcome).toBe(
      "NOT_FOUND Request for unknown model: 'nope' is not found",
    );
    expect(send(server, { modelVersion: '-1' }).outcome).toContain('INVALID_ARG invalid model version');
    expect(send(server, { inputs: [] }).outcome).toContain(
      'INVALID_ARG [request id: <id_unknown>] expected 1 inputs but got 0',
    );
    const refused = send(server, { outputs: ['nope'] });
    refused.request!.cancel();
    expect([refused.ends, refused.outcome]).toEqual([
      1,
      "INVALID_ARG unexpected inference output 'nope' for model 'm'",
    ]);
    expect(server.statistics('m', '')[0]).toMatchObject({ success: { count: 0 }, fail: { count: 0 } });
  });

  it('cancels a request whose client is gone', () => {
    const server = startServer();
    load(server);
    const sink = send(server);
    sink.request!.cancel();
    sink.request!.cancel();
    expect([sink.ends, sink.outcome]).toEqual([1, 'CANCELLED ']);
  });
});

describe('InferenceServer and statistics', () => {
  it('reports every ready version, those of a model, or one', async () => {
    const server = startServer();
    const instance = load(server, 'b', 1);
    load(server, 'b', 2);
    load(server, 'a', 1);
    send(server, { modelName: 'b', modelVersion: '1' });
    await turn();
    const before = Date.now();
    instance.last.finish();
    const names = (name: string, version: string) =>
      server.statistics(name, version).map((entry) => `${entry.name}:${entry.version}`);
    expect(names('', '')).toEqual(['a:1', 'b:1', 'b:2']);
    expect(names('b', '')).toEqual(['b:1', 'b:2']);
    expect(names('b', '2')).toEqual(['b:2']);
    const [ran, idle] = server.statistics('b', '');
    expect(ran).toMatchObject({ inferenceCount: 1, executionCount: 1, success: { count: 1 }, queue: { count: 1 } });
    expect(ran!.lastInference).toBeGreaterThanOrEqual(before);
    expect(idle).toMatchObject({ lastInference: 0, executionCount: 0, batchStats: [] });
    expect(
      server.repository
        .loadedModels()
        .map(({ config, statistics }) => [config.name, config.version, statistics.executionCount]),
    ).toEqual([
      ['a', 1, 0],
      ['b', 1, 1],
      ['b', 2, 0],
    ]);
  });

  it.each([
    ['nope', '', "requested model 'nope' is not available"],
    ['nope', '1', "requested model 'nope' is not available"],
    ['m', '2', "requested model version is not available for model 'm'"],
    [
      'm',
      'x',
      "failed to get model version from specified version string 'x' (details: stol), version should be an integral value > 0",
    ],
    ['loading', '', "requested model 'loading' is not available"],
  ])("refuses model %j version %j in Triton's words", (name, version, message) => {
    const server = startServer();
    load(server);
    server.repository.add(completeModelConfig({ modelName: 'loading', inputs: {}, outputs: {} }, 1));
    expect(() => server.statistics(name, version)).toThrow(expect.objectContaining({ code: 'INVALID_ARG', message }));
  });
});

describe('InferenceServer and its end', () => {
  it('finishes what it has accepted, takes no more, and tells when all is over', async () => {
    const server = startServer();
    const instance = load(server);
    const [running, queued] = [send(server), send(server)];
    await turn();
    let drained = false;
    const draining = server.drain().then(() => (drained = true));
    expect([server.live, server.exiting, server.isReady(), server.isModelReady('m', '')]).toEqual([
      false,
      true,
      false,
      false,
    ]);
    expect(send(server, { id: '9' }).outcome).toBe(
      'UNAVAILABLE [request id: 9] Server is stopping, scheduler for model has stopped accepting new inference requests',
    );
    expect(send(server, { modelName: 'nope' }).outcome).toContain('NOT_FOUND');
    expect(drained).toBe(false);
    instance.last.finish();
    await draining;
    expect([running.outcome, queued.outcome]).toEqual(['ok', 'ok']);
  });

  it('takes no request for a model that comes while it stops', async () => {
    const server = startServer();
    await server.drain();
    load(server);
    expect(send(server).outcome).toContain('UNAVAILABLE');
  });

  it('fails what is left when it stops, which ends the draining too', async () => {
    const server = startServer();
    load(server, 'm', 1, { maxBatchSize: 1 });
    load(server, 'n');
    const sinks = [send(server), send(server), send(server, { modelName: 'n' })];
    await turn();
    const draining = server.drain();
    server.stop();
    await draining;
    expect(sinks.map(({ outcome }) => outcome)).toEqual(new Array(3).fill('UNAVAILABLE Server exiting'));
    server.stop();
    expect(sinks.map(({ ends }) => ends)).toEqual([1, 1, 1]);
  });

  it('drains at once when nothing is under way', async () => {
    const server = startServer();
    load(server);
    await server.drain();
    expect(server.exiting).toBe(true);
  });
});
