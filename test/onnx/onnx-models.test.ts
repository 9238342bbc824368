// Models from ONNX files, served: every dtype, networks compared with plain TypeScript, batches across clients.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { Tensor, type Dtype } from 'tstriton';
import { ModelClient } from 'tstriton/client';
import { onnx } from 'tstriton/onnx';

import {
  addModel,
  delimited,
  identityModel,
  integer,
  node,
  onnxModel,
  tensor,
  tensorValue,
  type ElementType,
} from '../support/onnx-builder.js';
import { inferJson, startServer, type RunningServer } from '../support/start-server.js';
import { temporaryFolder } from '../support/temporary-files.js';

const file = temporaryFolder();
const HOUR = 3_600_000_000;

/** Numbers that look random and are the same on every machine. */
function numbers(count: number, scale = 1): Float32Array {
  let state = 1;
  return Float32Array.from({ length: count }, () => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
    return scale * (state / 2 ** 31 - 1);
  });
}

/** `x · w + bias`, row by row; `w` is [inputs, outputs]. */
function dense(x: Float32Array, w: Float32Array, bias: Float32Array): Float32Array {
  const outputs = bias.length;
  const inputs = w.length / outputs;
  const y = new Float32Array((x.length / inputs) * outputs);
  for (let i = 0; i < y.length; i++) {
    const row = Math.floor(i / outputs) * inputs;
    let sum = bias[i % outputs]!;
    for (let k = 0; k < inputs; k++) sum += x[row + k]! * w[k * outputs + (i % outputs)]!;
    y[i] = sum;
  }
  return y;
}

function largestDifference(a: ArrayLike<number>, b: ArrayLike<number>): number {
  expect(a.length).toBe(b.length);
  let largest = 0;
  for (let i = 0; i < a.length; i++) largest = Math.max(largest, Math.abs(a[i]! - b[i]!));
  return largest;
}

const VALUES: readonly (readonly [Dtype, Tensor])[] = [
  ['float32', Tensor.from('float32', [[1.5, -0, Infinity]])],
  ['float64', Tensor.from('float64', [[0.1, Number.MIN_VALUE, -1e300]])],
  ['float16', new Tensor('float16', Uint16Array.of(0x3c00, 0x7e00, 0x8001), [1, 3])],
  ['int8', Tensor.from('int8', [[-128, 0, 127]])],
  ['int16', Tensor.from('int16', [[-32768, 0, 32767]])],
  ['int32', Tensor.from('int32', [[-(2 ** 31), 0, 2 ** 31 - 1]])],
  ['int64', Tensor.from('int64', [[-(2n ** 63n), 0n, 2n ** 63n - 1n]])],
  ['uint8', Tensor.from('uint8', [[0, 1, 255]])],
  ['uint16', Tensor.from('uint16', [[0, 1, 65535]])],
  ['uint32', Tensor.from('uint32', [[0, 1, 2 ** 32 - 1]])],
  ['uint64', Tensor.from('uint64', [[0n, 1n, 2n ** 64n - 1n]])],
  ['bool', Tensor.from('bool', [[true, false, true]])],
  ['string', new Tensor('string', ['', 'Grüße, 世界 🙂', ' a\nb '], [1, 3])],
];

describe('an ONNX model of dtype', () => {
  let server: RunningServer;
  beforeAll(async () => {
    server = await startServer((triton) => {
      for (const [dtype] of VALUES)
        triton.bind(onnx(file(`${dtype}.onnx`, identityModel(dtype as ElementType)), { threads: 1 }));
    });
  });
  afterAll(() => server[Symbol.asyncDispose]());

  it.each(VALUES)('%s keeps every bit', async (dtype, value) => {
    await using client = new ModelClient(server.grpc, dtype);
    // Two rows: what is joined and split is more than one value.
    const x = Tensor.concat([value, value]);
    const { y } = await client.inferBatch({ x });
    expect(dtype === 'string' ? y!.strings() : y!.data).toEqual(x.data);
    expect(y!.shape).toEqual([2, 3]);
  });
});

describe('a model from an ONNX file', () => {
  it.each([{ serverThread: true }, { serverThread: false }])('is bound in one line with %o', async (options) => {
    const path = file('add.onnx', addModel());
    await using server = await startServer((triton) => void triton.bind(onnx(path, { modelName: 'Add' })), options);
    for (const url of [server.http, server.grpc]) {
      await using client = new ModelClient(url, 'Add');
      const { c } = await client.inferSample({ a: Float32Array.of(1, 2, 3, 4), b: Float32Array.of(10, 20, 30, 40) });
      expect(c!.data).toEqual(Float32Array.of(11, 22, 33, 44));
    }
    const config: unknown = await (await fetch(`${server.http}/v2/models/Add/config`)).json();
    expect(config).toMatchObject({
      max_batch_size: 4,
      input: [{ name: 'a', data_type: 'TYPE_FP32', dims: [4] }, { name: 'b' }],
    });
  });

  it('takes its name when it is bound, too', async () => {
    const path = file('add.onnx', addModel());
    await using server = await startServer(
      (triton) => void triton.bind({ ...onnx(path, { count: 2 }), modelName: 'Sum' }),
    );
    await using client = new ModelClient(server.http, 'Sum');
    const ask = async (value: number) => {
      const x = new Float32Array(4).fill(value);
      const { c } = await client.inferSample({ a: x, b: x });
      return c!.data[0];
    };
    expect(await Promise.all([1, 2, 3, 4].map(ask))).toEqual([2, 4, 6, 8]);
  });

  it('runs a network of a million weights as plain TypeScript does', async () => {
    const sizes = [256, 1024, 640, 64] as const;
    const layers = [0, 1, 2].map((i) => ({
      weights: numbers(sizes[i]! * sizes[i + 1]!, 0.1),
      bias: numbers(sizes[i + 1]!),
      shape: [sizes[i]!, sizes[i + 1]!],
    }));
    const path = file(
      'mlp.onnx',
      onnxModel({
        nodes: layers.flatMap((_, i) => [
          node('MatMul', [i === 0 ? 'x' : `h${i}`, `w${i}`], [`m${i}`]),
          node('Add', [`m${i}`, `b${i}`], [i === 2 ? 'y' : `s${i}`]),
          ...(i === 2 ? [] : [node('Relu', [`s${i}`], [`h${i + 1}`])]),
        ]),
        inputs: [tensorValue('x', 'float32', ['batch', sizes[0]])],
        outputs: [tensorValue('y', 'float32', ['batch', sizes[3]])],
        initializers: layers.flatMap(({ weights, bias, shape }, i) => [
          tensor(`w${i}`, 'float32', shape, weights),
          tensor(`b${i}`, 'float32', [bias.length], bias),
        ]),
      }),
    );
    expect(layers.reduce((sum, { weights, bias }) => sum + weights.length + bias.length, 0)).toBeGreaterThan(950_000);
    const rows = 3;
    const x = numbers(rows * sizes[0]);
    const expected = layers.reduce((h, { weights, bias }, i) => {
      const y = dense(h, weights, bias);
      return i === 2 ? y : y.map((value) => Math.max(0, value));
    }, x);
    await using server = await startServer((triton) => void triton.bind(onnx(path)));
    await using client = new ModelClient(server.http, 'mlp');
    const { y } = await client.inferBatch({ x: new Tensor('float32', x, [rows, sizes[0]]) });
    expect(y!.shape).toEqual([rows, sizes[3]]);
    expect(largestDifference(y!.data as Float32Array, expected)).toBeLessThan(1e-3);
    expect(Math.max(...expected)).toBeGreaterThan(1);
  });

  it('runs a small convolutional network as plain TypeScript does', async () => {
    const [channels, size, filters] = [2, 6, 3];
    const kernel = numbers(filters * channels * 9);
    const path = file(
      'conv.onnx',
      onnxModel({
        nodes: [
          node('Conv', ['image', 'kernel'], ['maps'], { kernel_shape: [3, 3], pads: [1, 1, 1, 1] }),
          node('Relu', ['maps'], ['active']),
          node('GlobalAveragePool', ['active'], ['means']),
          node('Flatten', ['means'], ['features'], { axis: 1 }),
        ],
        inputs: [tensorValue('image', 'float32', ['batch', channels, size, size])],
        outputs: [tensorValue('features', 'float32', ['batch', filters])],
        initializers: [tensor('kernel', 'float32', [filters, channels, 3, 3], kernel)],
      }),
    );
    const image = numbers(2 * channels * size * size);
    const at = (row: number, c: number, y: number, x: number) =>
      y < 0 || x < 0 || y >= size || x >= size ? 0 : image[((row * channels + c) * size + y) * size + x]!;
    const expected = Array.from({ length: 2 * filters }, (_, i) => {
      const [row, filter] = [Math.floor(i / filters), i % filters];
      let mean = 0;
      for (let y = 0; y < size; y++) {
        for (let x = 0; x < size; x++) {
          let sum = 0;
          for (let c = 0; c < channels; c++) {
            for (let k = 0; k < 9; k++)
              sum += at(row, c, y + Math.floor(k / 3) - 1, x + (k % 3) - 1) * kernel[(filter * channels + c) * 9 + k]!;
          }
          mean += Math.max(0, sum) / size ** 2;
        }
      }
      return mean;
    });
    await using server = await startServer((triton) => void triton.bind(onnx(path)));
    await using client = new ModelClient(server.grpc, 'conv');
    const { features } = await client.inferBatch({ image: new Tensor('float32', image, [2, channels, size, size]) });
    expect(largestDifference(features!.data as Float32Array, expected)).toBeLessThan(1e-5);
  });

  it('gives every client of a batch its own rows', async () => {
    const path = file('add.onnx', addModel());
    await using server = await startServer(
      (triton) =>
        // 48 rows come in all: a batch is full when the last of them is there.
        void triton.bind(onnx(path, { config: { maxBatchSize: 48, batcher: { maxQueueDelayMicroseconds: HOUR } } })),
    );
    const clients = [server.http, server.grpc].map((url) => new ModelClient(url, 'add'));
    try {
      const asked = Array.from({ length: 24 }, (_, i) => ({ rows: 1 + (i % 3), first: 100 * i }));
      const answers = await Promise.all(
        asked.map(async ({ rows, first }, i) => {
          const a = Float32Array.from({ length: rows * 4 }, (_, k) => first + k);
          const b = a.map((value) => -2 * value);
          const { c } = await clients[i % 2]!.inferBatch({
            a: new Tensor('float32', a, [rows, 4]),
            b: new Tensor('float32', b, [rows, 4]),
          });
          return { c: [...(c!.data as Float32Array)], a: [...a] };
        }),
      );
      // The answers are -a: every value tells whose row it came from.
      for (const { a, c } of answers) expect(c).toEqual(a.map((value) => (value === 0 ? 0 : -value)));
      const { model_stats } = (await (await fetch(`${server.http}/v2/models/add/stats`)).json()) as {
        readonly model_stats: readonly [{ readonly inference_count: number; readonly execution_count: number }];
      };
      expect(model_stats[0]).toMatchObject({ inference_count: 48, execution_count: 1 });
    } finally {
      await Promise.all(clients.map((client) => client.close()));
    }
  });

  it('serves a model without a batch axis as it is', async () => {
    const path = file('fixed.onnx', addModel([2, 2]));
    await using server = await startServer((triton) => void triton.bind(onnx(path)));
    const one = (name: string) => ({ name, datatype: 'FP32', shape: [2, 2], data: [1, 2, 3, 4] });
    const { outputs } = await inferJson(server.http, 'fixed', [one('a'), one('b')]);
    expect(outputs).toEqual([{ name: 'c', datatype: 'FP32', shape: [2, 2], data: [2, 4, 6, 8] }]);
  });

  it('finds weights in a file beside it', async () => {
    // TensorProto.external_data: { location: 'weights.bin' }, data_location EXTERNAL.
    const entry = Buffer.concat([delimited(1, 'location'), delimited(2, 'weights.bin')]);
    const external = Buffer.concat([
      integer(1, 3),
      integer(2, 1),
      delimited(8, 'w'),
      delimited(13, entry),
      integer(14, 1),
    ]);
    file('weights.bin', Buffer.from(Float32Array.of(1, 2, 3).buffer));
    const path = file(
      'external.onnx',
      onnxModel({
        nodes: [node('Add', ['x', 'w'], ['y'])],
        inputs: [tensorValue('x', 'float32', ['batch', 3])],
        outputs: [tensorValue('y', 'float32', ['batch', 3])],
        initializers: [external],
      }),
    );
    await using server = await startServer((triton) => void triton.bind(onnx(path)));
    await using client = new ModelClient(server.http, 'external');
    const { y } = await client.inferSample({ x: Float32Array.of(10, 10, 10) });
    expect(y!.data).toEqual(Float32Array.of(11, 12, 13));
  });
});
