import { describe, expect, expectTypeOf, it } from 'vitest';

import { ModelClient } from '../client/model-client.js';
import { ServerClient } from '../client/server/server-client.js';
import { TritonError } from '../errors.js';
import { defineModel } from '../model/callable.js';
import type { Tensor } from '../tensor/tensor.js';
import { mockModel } from './mock-model.js';

const addSub = defineModel({
  modelName: 'AddSub',
  inputs: { a: { dtype: 'float32', shape: [-1] }, b: { dtype: 'float32', shape: [-1] } },
  outputs: { add: { dtype: 'float32', shape: [-1] }, sub: { dtype: 'float32', shape: [-1] } },
  config: { maxBatchSize: 2 },
});
const tokens = defineModel({
  modelName: 'Tokens',
  inputs: { prompt: { dtype: 'string', shape: [1] } },
  outputs: { token: { dtype: 'string', shape: [1] } },
  config: { decoupled: true, batching: false },
});

describe('a mock of a model', () => {
  it('answers what the test says, and remembers what it was asked', async () => {
    await using mock = mockModel(addSub, ({ inputs: { a } }) => ({ add: a, sub: [[7]] }));
    await using client = new ModelClient(mock, addSub, { headers: { 'x-a': 'b' } });
    const { add, sub } = await client.inferSample({ a: [1], b: [2] }, { requestId: '7', parameters: { user: 'me' } });
    expect([add!.toNested(), sub!.toNested()]).toEqual([[1], [7]]);
    expectTypeOf(mock.requests[0]!.inputs.b).toEqualTypeOf<Tensor<'float32'>>();
    expect(mock.requests[0]!.inputs.b.toNested()).toEqual([[2]]);
    expect(mock.requests[0]).toMatchObject({ id: '7', parameters: { user: 'me' } });
    mock.answer = () => Promise.reject(new TritonError('UNAVAILABLE', 'busy'));
    await expect(client.inferBatch({ a: [[1]], b: [[2]] })).rejects.toMatchObject({
      code: 'UNAVAILABLE',
      message: 'busy',
    });
    expect(mock.requests).toHaveLength(2);
  });

  it('checks inputs and outputs as ever', async () => {
    await using mock = mockModel(addSub, () => ({ add: [[1], [2]], sub: [[1]] }));
    await using client = new ModelClient(mock, addSub);
    await expect(client.inferSample({ a: [1] } as never)).rejects.toMatchObject({ code: 'INVALID_ARG' });
    await expect(client.inferBatch({ a: [[1], [2], [3]], b: [[1], [2], [3]] })).rejects.toThrow(
      'batch-size must be <= 2',
    );
    expect(mock.requests).toHaveLength(0);
    await expect(client.inferSample({ a: [1], b: [2] })).rejects.toMatchObject({ code: 'INTERNAL' });
    expect(() => mockModel({ ...addSub, modelName: 'a/b' }, () => [])).toThrow('Model name can only contain');
  });

  it('answers many requests at a time, each with its own', async () => {
    let release!: () => void;
    const all = new Promise<void>((resolve) => (release = resolve));
    await using mock = mockModel(addSub, async ({ inputs: { a } }) => {
      if (mock.requests.length === 50) release();
      await all;
      return { add: a, sub: a };
    });
    await using client = new ModelClient(mock, 'AddSub');
    const values = Array.from({ length: 50 }, (_, i) => i);
    const answers = await Promise.all(values.map((value) => client.inferSample({ a: [value], b: [0] })));
    expect(answers.map(({ add }) => add!.data[0])).toEqual(values);
  });

  it('streams what the test yields, until the loop is left', async () => {
    const events: string[] = [];
    await using mock = mockModel(tokens, function* ({ inputs: { prompt } }) {
      try {
        for (let i = 0; ; i++) yield { token: [`${prompt.data[0]}${i}`] };
      } finally {
        events.push('left');
      }
    });
    await using client = new ModelClient(mock, tokens);
    const seen: unknown[] = [];
    for await (const { token } of client.streamSample({ prompt: ['a'] })) if (seen.push(token!.data[0]) === 3) break;
    expect(seen).toEqual(['a0', 'a1', 'a2']);
    await expect.poll(() => events).toEqual(['left']);
    mock.answer = () => [{ token: ['x'] }];
    seen.length = 0;
    for await (const { token } of client.streamSample({ prompt: ['a'] })) seen.push(token!.data[0]);
    expect(seen).toEqual(['x']);
  });

  it('is a server too, and unavailable once it is closed', async () => {
    const mock = mockModel(addSub, (request) => request);
    await using server = new ServerClient(mock);
    expect(await server.isModelReady('AddSub')).toBe(true);
    expect((await server.modelConfig('AddSub')).maxBatchSize).toBe(2);
    await mock.close();
    await mock.close();
    await using client = new ModelClient(mock, addSub, { retry: false });
    await expect(client.inferSample({ a: [1], b: [2] })).rejects.toMatchObject({ code: 'UNAVAILABLE' });
  });
});
