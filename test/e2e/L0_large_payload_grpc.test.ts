// Triton's L0_large_payload, the part over gRPC: messages of any size both ways, alone and on streams, and the limit.
import { status } from '@grpc/grpc-js';
import { describe, expect, it } from 'vitest';

import { stream, type Triton } from 'tstriton';

import {
  floatsOf,
  floatTensor,
  GrpcService,
  inferMessage,
  type InferMessage,
  type StreamMessage,
} from '../support/grpc-client.js';
import { startServer } from '../support/start-server.js';

const FLOATS = { dtype: 'float32', shape: [-1] } as const;
const MODEL = { inputs: { x: FLOATS }, outputs: { y: FLOATS } } as const;
const COUNT = 10_000_000;

function bind(triton: Triton): void {
  triton.bind({ modelName: 'identity', ...MODEL, inferFunc: (requests) => requests });
  triton.bind({
    modelName: 'twice',
    ...MODEL,
    inferFunc: stream(function* ({ x }) {
      yield { y: x };
      yield { y: x };
    }),
    config: { batching: false, decoupled: true },
  });
}

/** Compared as bytes: ten million numbers are slow to compare one by one. */
function isSame(answer: InferMessage, bytes: Buffer): boolean {
  return answer.raw_output_contents![0]!.equals(bytes);
}

describe.each([{ serverThread: true }, { serverThread: false }])('L0_large_payload over gRPC with %o', (config) => {
  it('40 MB go there and back, alone and on streams', async () => {
    await using server = await startServer(bind, config);
    using service = new GrpcService(server.grpc);
    const tensor = floatTensor(
      'x',
      new Float32Array(COUNT).map((_, i) => i),
    );
    expect(isSame(await service.call<InferMessage>('ModelInfer', inferMessage('identity', [tensor])), tensor.raw)).toBe(
      true,
    );
    const flat = { ...tensor, shape: [COUNT] };
    const answers = service.stream().send(inferMessage('identity', [tensor]), inferMessage('twice', [flat]));
    expect((await answers.end()).code).toBe(status.OK);
    expect(answers.messages).toHaveLength(3);
    for (const message of answers.messages)
      expect(isSame((message as unknown as StreamMessage).infer_response, tensor.raw)).toBe(true);
  });
});

describe('L0_large_payload over gRPC', () => {
  it('compressed messages are limited by what they inflate to', async () => {
    await using server = await startServer(bind, { grpcMaxMessageSize: 1_000_000 });
    using service = new GrpcService(server.grpc, { channel: { 'grpc.default_compression_algorithm': 2 } });
    const fits = inferMessage('identity', [floatTensor('x', new Float32Array(200_000))]);
    expect(floatsOf(await service.call<InferMessage>('ModelInfer', fits))).toHaveLength(200_000);
    // 20 kB on the wire, 20 MB in memory.
    const bomb = inferMessage('identity', [floatTensor('x', new Float32Array(5_000_000))]);
    const refusal = {
      code: status.RESOURCE_EXHAUSTED,
      details: 'Received message larger than max after decompression (max 1000000)',
    };
    await expect(service.call('ModelInfer', bomb)).rejects.toMatchObject(refusal);
    expect(await service.stream().send(bomb).status).toMatchObject(refusal);
    expect(floatsOf(await service.call<InferMessage>('ModelInfer', fits))).toHaveLength(200_000);
  });
});
