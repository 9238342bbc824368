// Triton's L0_client_timeout: deadlines of clients, kept to and told as deadlines. Models answer when a test lets them,
// so that nothing depends on how fast the machine is.
import { status } from '@grpc/grpc-js';
import { describe, expect, it } from 'vitest';

import { stream, type Triton } from 'tstriton';
import { ModelClient } from 'tstriton/client';

import { floatsOf, floatTensor, GrpcService, inferMessage, type InferMessage } from '../support/grpc-client.js';
import { gate, startServer } from '../support/start-server.js';

const FLOATS = { dtype: 'float32', shape: [-1] } as const;
const MODEL = {
  modelName: 'slow',
  inputs: { x: FLOATS },
  outputs: { y: FLOATS },
  config: { batching: false, concurrency: 10 },
} as const;

/** Models that answer once the gate opens; the stream after three answers. */
function bindGated(triton: Triton, opened: Promise<void>): void {
  triton.bind({
    ...MODEL,
    inferFunc: async (requests) => {
      await opened;
      return requests;
    },
  });
  triton.bind({
    ...MODEL,
    modelName: 'slow_stream',
    inferFunc: stream(async function* ({ x }) {
      for (let i = 0; i < 3; i++) yield { y: x };
      await opened;
      yield { y: x };
    }),
    config: { batching: false, decoupled: true },
  });
}

async function startGated() {
  const { open, opened } = gate();
  const server = await startServer((triton) => bindGated(triton, opened));
  return {
    ...server,
    open,
    [Symbol.asyncDispose]: async () => {
      open();
      await server[Symbol.asyncDispose]();
    },
  };
}

const request = (model: string) => inferMessage(model, [floatTensor('x', [1], false)]);

describe('L0_client_timeout', () => {
  it('a deadline before the answer ends the call, one after it does not', async () => {
    await using server = await startGated();
    using service = new GrpcService(server.grpc);
    await service.call('ServerLive');
    const before = performance.now();
    await expect(service.call('ModelInfer', request('slow'), { deadline: Date.now() + 60 })).rejects.toMatchObject({
      code: status.DEADLINE_EXCEEDED,
    });
    // Clocks and timers differ by a millisecond.
    expect(performance.now() - before).toBeGreaterThan(55);
    const answer = service.call<InferMessage>('ModelInfer', request('slow'), { deadline: Date.now() + 60_000 });
    server.open();
    expect(floatsOf(await answer)).toEqual([1]);
  });

  it('a deadline ends a stream, after the answers that came in time', async () => {
    await using server = await startGated();
    using service = new GrpcService(server.grpc);
    await service.call('ServerLive');
    for (let time = 250, came = 0; came < 3; time *= 2) {
      // As long as this machine needs for three answers.
      const answers = service.stream('ModelStreamInfer', { deadline: Date.now() + time }).send(request('slow_stream'));
      expect((await answers.status).code).toBe(status.DEADLINE_EXCEEDED);
      came = answers.messages.length;
      expect(came).toBeLessThanOrEqual(3);
    }
  });

  it('management calls take deadlines, too', async () => {
    await using server = await startGated();
    using service = new GrpcService(server.grpc);
    await service.call('ServerLive');
    const options = { deadline: Date.now() + 60_000 };
    expect(await service.call('ServerReady', {}, options)).toEqual({ ready: true });
    expect(await service.call('ModelReady', { name: 'slow' }, options)).toEqual({ ready: true });
    expect(await service.call('ServerMetadata', {}, options)).toMatchObject({ name: 'triton' });
    expect(await service.call('ModelMetadata', { name: 'slow' }, options)).toMatchObject({ name: 'slow' });
    expect(await service.call('ModelConfig', { name: 'slow' }, options)).toHaveProperty('config');
    expect(await service.call('ModelStatistics', { name: 'slow' }, options)).toHaveProperty('model_stats');
  });

  it('the timeout of the client of the package is the deadline', async () => {
    await using server = await startGated();
    await using hasty = new ModelClient(server.grpc, MODEL, { timeoutMs: 100 });
    await expect(hasty.inferSample({ x: Float32Array.of(1) })).rejects.toMatchObject({ code: 'DEADLINE_EXCEEDED' });
    await using client = new ModelClient(server.grpc, MODEL, { timeoutMs: 60_000 });
    const answer = client.inferSample({ x: Float32Array.of(1) });
    server.open();
    expect((await answer).y!.data).toEqual(Float32Array.of(1));
  });
});
