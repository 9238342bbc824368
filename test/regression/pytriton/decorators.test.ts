// What PyTriton 0.7.0's decorators do wrong, asked of ours over the wire. The numbers are those of README.md.
import { describe, expect, it } from 'vitest';

import {
  batch,
  constantPadder,
  defineModel,
  fillOptionals,
  firstValue,
  groupByKeys,
  groupByValues,
  padBatch,
  sample,
  Tensor,
  type CallableOf,
  type Triton,
} from 'tstriton';
import { ModelClient } from 'tstriton/client';

import { startServer } from '../../support/start-server.js';

const scale = defineModel({
  modelName: 'Scale',
  inputs: {
    x: { dtype: 'float32', shape: [1] },
    factor: { dtype: 'float32', shape: [1], optional: true },
    label: { dtype: 'bytes', shape: [1], optional: true },
  },
  outputs: { y: { dtype: 'float32', shape: [-1] }, text: { dtype: 'bytes', shape: [1] } },
  config: { maxBatchSize: 8, batcher: { preferredBatchSize: [4] } },
});

/** Serves `scale` by the callable. */
async function serve(inferFunc: CallableOf<typeof scale>) {
  const server = await startServer((triton: Triton) => triton.bind({ ...scale, inferFunc }), { serverThread: false });
  const client = new ModelClient(server.grpc, scale);
  return {
    client,
    [Symbol.asyncDispose]: async () => {
      await client.close();
      await server[Symbol.asyncDispose]();
    },
  };
}

const texts = (rows: number, text = '') => Array.from({ length: rows }, () => [text]);

describe('padBatch', () => {
  it('4: works under batch without the function cutting anything off', async () => {
    const sizes: number[] = [];
    await using served = await serve(
      batch(
        padBatch(({ x }) => {
          sizes.push(x.rowCount);
          return { y: x, text: texts(x.rowCount) };
        }),
      ),
    );
    const { y } = await served.client.inferBatch({ x: [[1], [2], [3]] });
    expect(y!.toNested()).toEqual([[1], [2], [3]]);
    expect(sizes).toEqual([4]);
  });
});

describe('every decorator', () => {
  it('5: takes asynchronous functions', async () => {
    await using served = await serve(
      fillOptionals(
        { factor: 2 },
        groupByKeys(
          batch(
            groupByValues(
              ['factor'],
              padBatch(
                firstValue(['factor'], async ({ x, factor }) => {
                  await Promise.resolve();
                  return { y: x.map((value) => value * factor), text: texts(x.rowCount) };
                }),
              ),
            ),
          ),
        ),
      ),
    );
    const { client } = served;
    expect((await client.inferBatch({ x: [[1], [2]] })).y!.toNested()).toEqual([[2], [4]]);
    const factor = [[3], [5], [3]];
    expect((await client.inferBatch({ x: [[1], [2], [3]], factor })).y!.toNested()).toEqual([[3], [10], [9]]);
  });

  it('8: gives the function the context, at whatever place', async () => {
    const seen: unknown[] = [];
    await using served = await serve(
      groupByKeys(
        batch(
          groupByValues(
            ['x'],
            padBatch(({ x }, context) => {
              seen.push([context.modelName, context.modelConfig.maxBatchSize, context.requests[0]!.parameters['user']]);
              return { y: x, text: texts(x.rowCount) };
            }),
          ),
        ),
      ),
    );
    await served.client.inferBatch({ x: [[1], [2]] }, { parameters: { user: 'me' } });
    expect(seen).toEqual([['Scale', 8, 'me'], ['Scale', 8, 'me']]); // prettier-ignore
  });
});

describe('groupByValues', () => {
  it('6: cuts no strings, with and without a padFn', async () => {
    for (const options of [{}, { padFn: constantPadder(0) }]) {
      await using served = await serve(
        batch(groupByValues(['x'], ({ x }) => ({ y: x, text: texts(x.rowCount, 'x'.repeat(x.data[0]!)) }), options)),
      );
      const { text } = await served.client.inferBatch({ x: [[2], [3], [1]] });
      expect(text!.strings()).toEqual(['xx', 'xxx', 'x']);
    }
  });

  it('6: puts no zeros where a group returned nothing', async () => {
    const some = ({ x }: { readonly x: Tensor<'float32'> }) =>
      x.data[0] === 1 ? { y: x } : { y: x, text: texts(x.rowCount) };
    await using served = await serve(batch(groupByValues(['x'], some as never)));
    await expect(served.client.inferBatch({ x: [[1], [2]] })).rejects.toMatchObject({
      code: 'INTERNAL',
      message: expect.stringContaining("output 'text' of model 'Scale' is missing for 1 of 2 groups"),
    });
  });

  it('6: repeats no row for a group that returned too few', async () => {
    await using served = await serve(
      batch(groupByValues(['factor'], ({ x }) => ({ y: x.slice(0, 1), text: texts(x.rowCount) }))),
    );
    const inputs = { x: [[1], [2], [3]], factor: [[1], [1], [2]] };
    await expect(served.client.inferBatch(inputs)).rejects.toThrow("output 'y' of model 'Scale' has shape [1,1]");
  });
});

describe('fillOptionals', () => {
  it('7: fills inputs of bytes', async () => {
    await using served = await serve(
      fillOptionals(
        { label: 'none' },
        batch(({ x, label }) => ({ y: x, text: label })),
      ),
    );
    const { client } = served;
    expect((await client.inferBatch({ x: [[1], [2]] })).text!.strings()).toEqual(['none', 'none']);
    const label = [[Uint8Array.of(0, 255)]];
    expect((await client.inferBatch({ x: [[1]], label })).text!.data).toEqual([Uint8Array.of(0, 255)]);
  });
});

describe('firstValue', () => {
  it('takes rows of several strings that are equal for equal', async () => {
    const pairs = defineModel({
      modelName: 'Pairs',
      inputs: { pair: { dtype: 'string', shape: [2] } },
      outputs: { joined: { dtype: 'string', shape: [1] } },
    });
    const join = batch<typeof pairs.inputs, typeof pairs.outputs, false>(
      firstValue(['pair'], ({ pair }, { requests }) => ({
        joined: texts(requests[0]!.inputs.pair.rowCount, pair.data.join('+')),
      })),
    );
    await using server = await startServer((triton) => triton.bind({ ...pairs, inferFunc: join }));
    await using client = new ModelClient(server.http, pairs);
    expect((await client.inferBatch({ pair: [['a', 'b'], ['a', 'b']] })).joined!.strings()).toEqual(['a+b', 'a+b']); // prettier-ignore
    await expect(client.inferBatch({ pair: [['a', 'b'], ['a', 'c']] })).rejects.toMatchObject({ code: 'INVALID_ARG' }); // prettier-ignore
  });
});

describe('sample', () => {
  it('is refused where it would answer one of several requests', async () => {
    const bind = (triton: Triton) => triton.bind({ ...scale, inferFunc: sample(({ x }) => ({ y: x, text: [''] })) });
    await expect(startServer(bind)).rejects.toThrow('is decorated with sample, but batches have up to 8 rows');
  });
});

describe('a group of groupByKeys that fails', () => {
  it('gives no other request its results, or its failure', async () => {
    // Two sets of inputs never share a batch here; what PyTriton does with them is shown on the decorator itself.
    const failing = groupByKeys<typeof scale.inputs, typeof scale.outputs, false>((requests) => {
      if ('factor' in requests[0]!.inputs) throw new Error('no factor today');
      return requests.map(({ inputs }) => ({ y: inputs.x, text: [['']] }));
    });
    const request = (inputs: object) => ({ inputs, parameters: {}, id: '', signal: new AbortController().signal });
    const x = Tensor.from('float32', [[1]]);
    const logged: string[] = [];
    const context = { modelName: 'Scale', modelConfig: { decoupled: false }, requests: [], logger: { error: (line: string) => logged.push(line) } }; // prettier-ignore
    const requests = [request({ x }), request({ x, factor: x }), request({ x })];
    const results = await failing(requests as never, context as never);
    expect(results).toEqual([{ y: x, text: [['']] }, expect.objectContaining({ message: 'no factor today' }), { y: x, text: [['']] }]); // prettier-ignore
    expect(logged).toHaveLength(1);
  });
});
