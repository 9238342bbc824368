// Triton's L0_client_timeout: deadlines of clients, kept to in time and told as deadlines.
import { setTimeout as delay } from 'node:timers/promises';

import { status } from '@grpc/grpc-js';
import { describe, expect, it } from 'vitest';

import { stream, type Triton } from 'tstriton';
import { ModelClient } from 'tstriton/client';

import { floatsOf, floatTensor, GrpcService, inferMessage, type InferMessage } from '../support/grpc-client.js';
import { startServer } from '../support/start-server.js';

const FLOATS = { dtype: 'float32', shape: [-1] } as const;
const MODEL = {
  modelName: 'slow',
  inputs: { x: FLOATS },
  outputs: { y: FLOATS },
  config: { batching: false, concurrency: 10 },
} as const;

function bind(triton: Triton): void {
  triton.bind({
    ...MODEL,
    inferFunc: async (requests) => {
      await delay(300);
      return requests;
    },
  });
  triton.bind({
    ...MODEL,
    modelName: 'slow_stream',
    inferFunc: stream(async function* ({ x }) {
      for (let i = 0; i < 100; i++) {
        yield { y: x };
        await delay(20);
      }
    }),
    config: { batching: false, decoupled: true },
  });
}

const request = (model: string) => inferMessage(model, [floatTensor('x', [1], false)]);

describe('L0_client_timeout', () => {
  it('a deadline before the answer ends the call, one after it does not', async () => {
    await using server = await startServer(bind);
    using service = new GrpcService(server.grpc);
    await service.call('ServerLive');
    const before = performance.now();
    await expect(service.call('ModelInfer', request('slow'), { deadline: Date.now() + 60 })).rejects.toMatchObject({
      code: status.DEADLINE_EXCEEDED,
    });
    expect(performance.now() - before).toBeLessThan(280);
    const answer = await service.call<InferMessage>('ModelInfer', request('slow'), { deadline: Date.now() + 10_000 });
    expect(floatsOf(answer)).toEqual([1]);
  });

  it('a deadline ends a stream, after the answers that came in time', async () => {
    await using server = await startServer(bind);
    using service = new GrpcService(server.grpc);
    await service.call('ServerLive');
    const answers = service.stream('ModelStreamInfer', { deadline: Date.now() + 500 }).send(request('slow_stream'));
    expect((await answers.status).code).toBe(status.DEADLINE_EXCEEDED);
    expect(answers.messages.length).toBeGreaterThan(2);
    expect(answers.messages.length).toBeLessThan(40);
  });

  it('management calls take deadlines, too', async () => {
    await using server = await startServer(bind);
    using service = new GrpcService(server.grpc);
    await service.call('ServerLive');
    const options = { deadline: Date.now() + 5000 };
    expect(await service.call('ServerReady', {}, options)).toEqual({ ready: true });
    expect(await service.call('ModelReady', { name: 'slow' }, options)).toEqual({ ready: true });
    expect(await service.call('ServerMetadata', {}, options)).toMatchObject({ name: 'triton' });
    expect(await service.call('ModelMetadata', { name: 'slow' }, options)).toMatchObject({ name: 'slow' });
    expect(await service.call('ModelConfig', { name: 'slow' }, options)).toHaveProperty('config');
    expect(await service.call('ModelStatistics', { name: 'slow' }, options)).toHaveProperty('model_stats');
  });

  it('the timeout of the client of the package is the deadline', async () => {
    await using server = await startServer(bind);
    await using client = new ModelClient(server.grpc, MODEL, { timeoutMs: 5000 });
    await client.inferSample({ x: Float32Array.of(1) });
    await using hasty = new ModelClient(server.grpc, MODEL, { timeoutMs: 100 });
    await expect(hasty.inferSample({ x: Float32Array.of(1) })).rejects.toMatchObject({ code: 'UNAVAILABLE' });
  });
});
