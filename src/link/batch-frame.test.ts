import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { wireTensor } from '../../test/support/infer-requests.js';
import { executionRequest } from '../../test/support/instances.js';
import type { ExecutionRequest } from '../core/instance/model-instance.js';
import { completeModelConfig } from '../model/complete-model.js';
import type { InferTensor } from '../model/exchange.js';
import type { HostedRequest } from '../model/inference-request.js';
import { finishPaced } from '../pacing/paced-work.js';
import { concatRows } from '../tensor/concat-rows.js';
import { DTYPES, type DataOf, type Dtype } from '../tensor/dtype.js';
import { Tensor } from '../tensor/tensor.js';
import { decodeBatch, encodeBatch } from './batch-frame.js';

const FLOATS = completeModelConfig(
  {
    modelName: 'm',
    inputs: { a: { dtype: 'float32', shape: [-1] }, b: { dtype: 'float64', shape: [-1] } },
    outputs: {},
  },
  1,
);

function float32s(name: string, ...values: number[]): InferTensor {
  return wireTensor(name, 'float32', Float32Array.from(values), [1, values.length]);
}

function float64s(name: string, ...values: number[]): InferTensor {
  return wireTensor(name, 'float64', Float64Array.from(values), [1, values.length]);
}

function roundTrip(batch: readonly ExecutionRequest[], config = FLOATS): readonly HostedRequest[] {
  const { buffers, extras } = encodeBatch(batch, config);
  return finishPaced(decodeBatch({ buffers, extras }, config, false));
}

/** This many values are worth handing over. */
const LARGE = 1_100_000;

/** A request whose inputs are views of one body, as a frontend reads it. `before` bytes of other things come first. */
function requestInBody(values: number, before: number): ExecutionRequest {
  const body = new ArrayBuffer(before + values * 12);
  const a = {
    name: 'a',
    datatype: 'FP32',
    shape: [1, values],
    bytes: new Uint8Array(body, before, values * 4),
  } as const;
  const b = {
    name: 'b',
    datatype: 'FP64',
    shape: [1, values],
    bytes: new Uint8Array(body, before + values * 4, values * 8),
  } as const;
  a.bytes.set(new Uint8Array(Float32Array.from({ length: values }, (_, i) => i).buffer));
  b.bytes.set(new Uint8Array(Float64Array.from({ length: values }, (_, i) => -i).buffer));
  return executionRequest([a, b], { memory: [body] });
}

const DTYPE_NAMES = Object.keys(DTYPES) as Dtype[];

function dataOf(dtype: Dtype, length: number): fc.Arbitrary<DataOf[Dtype]> {
  if (dtype === 'string') return fc.array(fc.string({ unit: 'grapheme' }), { minLength: length, maxLength: length });
  if (dtype === 'bytes') return fc.array(fc.uint8Array({ maxLength: 9 }), { minLength: length, maxLength: length });
  const { array, byteSize } = DTYPES[dtype];
  const size = length * byteSize;
  return fc
    .uint8Array({ minLength: size, maxLength: size })
    .map((bytes) => new (array as Uint8ArrayConstructor)(bytes.slice().buffer) as DataOf[Dtype]);
}

/** A model and a batch for it: any datatypes, shapes, rows, and optional inputs that some requests leave out. */
const modelAndBatch = fc
  .array(fc.record({ dtype: fc.constantFrom(...DTYPE_NAMES), rank: fc.nat({ max: 2 }) }), {
    minLength: 1,
    maxLength: 4,
  })
  .chain((inputs) => {
    const tensor = (index: number, rows: number) =>
      fc.array(fc.nat({ max: 3 }), { minLength: inputs[index]!.rank, maxLength: inputs[index]!.rank }).chain((dims) => {
        const shape = [rows, ...dims];
        const { dtype } = inputs[index]!;
        return dataOf(
          dtype,
          shape.reduce((count, dim) => count * dim, 1),
        ).map((data) => new Tensor(dtype, data as never, shape));
      });
    const request = fc
      .integer({ min: 1, max: 3 })
      .chain((rows) =>
        fc.tuple(fc.constant(rows), ...inputs.map((_, index) => fc.option(tensor(index, rows), { nil: undefined }))),
      );
    return fc.tuple(fc.constant(inputs), fc.array(request, { minLength: 1, maxLength: 5 }));
  });

describe('encodeBatch and decodeBatch', () => {
  it('bring every tensor of every datatype across as it was', () => {
    fc.assert(
      fc.property(modelAndBatch, ([inputs, requests]) => {
        const specs = inputs.map(({ dtype, rank }) => ({
          dtype,
          shape: new Array<number>(rank).fill(-1),
          optional: true,
        }));
        const config = completeModelConfig({ modelName: 'm', inputs: specs, outputs: {} }, 1);
        const batch = requests.map(([rows, ...tensors]) =>
          executionRequest(
            tensors.map(
              (tensor, index) => tensor && wireTensor(`INPUT_${index + 1}`, tensor.dtype, tensor.data, tensor.shape),
            ),
            { rows },
          ),
        );
        const crossed = roundTrip(batch, config).map((request) => [
          request.rows,
          ...specs.map((_, index) => request.inputs[`INPUT_${index + 1}`]),
        ]);
        // Bits, not numbers: NaNs have many.
        const bits = (value: unknown) =>
          value instanceof Tensor && ArrayBuffer.isView(value.data)
            ? [
                value.dtype,
                value.shape,
                Buffer.from(value.data.buffer, value.data.byteOffset, value.data.byteLength).toString('hex'),
              ]
            : value;
        expect(crossed.map((request) => request.map(bits))).toEqual(requests.map((request) => request.map(bits)));
      }),
    );
  });

  it('lays the rows of one input one after the other, so that joining them copies nothing', () => {
    const requests = roundTrip([
      executionRequest([float32s('a', 1, 2), float64s('b', 3)]),
      executionRequest([float32s('a', 4, 5), float64s('b', 6)]),
    ]);
    const [first, second] = requests.map(({ inputs }) => inputs['a'] as Tensor<'float32'>);
    const joined = concatRows([first!, second!]);
    expect(joined.data).toEqual(Float32Array.of(1, 2, 4, 5));
    expect(joined.data.buffer).toBe(first!.data.buffer);
  });

  it('gives every tensor a place where its type may begin, whatever comes before', () => {
    const config = completeModelConfig(
      {
        modelName: 'm',
        inputs: { text: { dtype: 'bytes', shape: [1] }, x: { dtype: 'float64', shape: [1] } },
        outputs: {},
      },
      1,
    );
    const text = wireTensor('text', 'bytes', [Uint8Array.of(1, 2, 3)], [1, 1]);
    const requests = roundTrip(
      [executionRequest([text, float64s('x', 0.5)]), executionRequest([text, float64s('x', 0.25)])],
      config,
    );
    const [first, second] = requests.map(({ inputs }) => (inputs['x'] as Tensor<'float64'>).data);
    expect([first![0], second![0], first!.byteOffset % 8]).toEqual([0.5, 0.25, 0]);
    expect(second!.buffer).toBe(first!.buffer);
  });

  it('copies small requests, so that the memory they came in may be shared', () => {
    const pooled = Buffer.from('................');
    const a: InferTensor = { name: 'a', datatype: 'FP32', shape: [1, 1], bytes: pooled.subarray(1, 5) };
    const b: InferTensor = { name: 'b', datatype: 'FP64', shape: [1, 1], bytes: pooled.subarray(5, 13) };
    const [request] = roundTrip([executionRequest([a, b])]);
    const data = request!.inputs['a']!.data as Float32Array;
    const before = data[0];
    pooled.fill(0);
    expect(data[0]).toBe(before);
    expect(data.buffer).not.toBe(pooled.buffer);
  });

  it('hands over what is large of a request and copies the rest', () => {
    const large = wireTensor(
      'a',
      'float32',
      Float32Array.from({ length: LARGE }, (_, i) => i),
      [1, LARGE],
    );
    const memory = [large.bytes.buffer as ArrayBuffer, new ArrayBuffer(8)];
    const { buffers, extras } = encodeBatch([executionRequest([large, float64s('b', 7)], { memory })], FLOATS);
    expect(buffers).toHaveLength(2);
    expect(buffers[1]).toBe(memory[0]);
    const [request] = finishPaced(decodeBatch({ buffers, extras }, FLOATS, false));
    const { a, b } = request!.inputs as Record<string, Tensor>;
    expect([a!.data[LARGE - 1], b!.data[0]]).toEqual([LARGE - 1, 7]);
  });

  it('copies a small part of large memory', () => {
    const { buffers } = encodeBatch([requestInBody(10, 8 * LARGE)], FLOATS);
    expect(buffers).toHaveLength(1);
  });

  it('copies what nobody said to be its own', () => {
    const { buffers } = encodeBatch([{ ...requestInBody(LARGE, 0), memory: undefined }], FLOATS);
    expect(buffers).toHaveLength(1);
  });

  it.each([
    ['aligned', 8],
    ['misaligned', 13],
  ])('hands large memory over whole, %s', (_, before) => {
    const small = executionRequest([float32s('a', 1), float64s('b', 2)]);
    const large = requestInBody(LARGE, before);
    const { buffers, extras } = encodeBatch([small, large, small], FLOATS);
    expect(buffers).toHaveLength(2);
    expect(buffers[1]).toBe(large.memory![0]);
    expect(buffers[0]!.byteLength).toBeLessThan(1000);
    const requests = finishPaced(decodeBatch({ buffers, extras }, FLOATS, false));
    const { a, b } = requests[1]!.inputs as Record<string, Tensor>;
    expect([a!.shape, a!.data[LARGE - 1], b!.data[LARGE - 1]]).toEqual([[1, LARGE], LARGE - 1, 1 - LARGE]);
    expect([requests[0]!.inputs['a']!.data[0], requests[2]!.inputs['b']!.data[0]]).toEqual([1, 2]);
  });

  it('sends ids, parameters and requested outputs along only where there are any', () => {
    const plain = executionRequest([float32s('a', 1), float64s('b', 2)]);
    expect(encodeBatch([plain, plain], FLOATS).extras).toBeUndefined();
    const batch = [plain, { ...plain, id: '7', parameters: { top_k: 3 } }, { ...plain, requestedOutputs: ['y'] }];
    expect(encodeBatch(batch, FLOATS).extras).toEqual({
      ids: ['', '7', ''],
      parameters: [undefined, { top_k: 3 }, undefined],
      requestedOutputs: [[], [], ['y']],
    });
    expect(roundTrip(batch).map(({ id, parameters }) => [id, parameters])).toEqual([
      ['', {}],
      ['7', { top_k: 3 }],
      ['', {}],
    ]);
  });

  it('sends sequences along only where there are any', () => {
    const plain = executionRequest([float32s('a', 1), float64s('b', 2)]);
    const sequence = { id: 2n ** 64n - 1n, start: true, end: false };
    const batch = [plain, { ...plain, sequence }];
    expect(encodeBatch(batch, FLOATS).extras).toEqual({ sequences: [undefined, sequence] });
    expect(roundTrip(batch).map((request) => request.sequence)).toEqual([undefined, sequence]);
  });

  it('bring a model without inputs across', () => {
    const config = completeModelConfig({ modelName: 'm', inputs: {}, outputs: {} }, 1);
    expect(
      roundTrip([executionRequest([]), executionRequest([])], config).map(({ inputs, rows }) => [inputs, rows]),
    ).toEqual([
      [{}, 1],
      [{}, 1],
    ]);
  });
});

describe('unpacking many elements', () => {
  const pausesFor = (dtype: 'bytes' | 'string', elements: readonly string[]) => {
    const config = completeModelConfig({ modelName: 'm', inputs: { x: { dtype, shape: [-1] } }, outputs: {} }, 1);
    const data = dtype === 'string' ? [...elements] : elements.map((element) => new TextEncoder().encode(element));
    const x = wireTensor('x', dtype, data as DataOf[typeof dtype], [1, elements.length]);
    const { buffers, extras } = encodeBatch([executionRequest([x])], config);
    const work = decodeBatch({ buffers, extras }, config, false);
    let pauses = 0;
    for (;;) {
      const step = work.next();
      if (step.done === true) {
        return {
          pauses,
          data: (step.value[0]!.inputs['x'] as Tensor<'bytes' | 'string'>).data as (Uint8Array | string)[],
        };
      }
      pauses++;
    }
  };

  it.each(['bytes', 'string'] as const)('of %s pauses as often as they are many, and has them all', (dtype) => {
    const elements = Array.from({ length: 50_000 }, (_, i) => `é${i}`);
    const { pauses, data } = pausesFor(dtype, elements);
    expect(pauses).toBeGreaterThanOrEqual(elements.length / 2048);
    expect(data.map((element) => (typeof element === 'string' ? element : Buffer.from(element).toString()))).toEqual(
      elements,
    );
  });

  it('pauses for long ones, too', () => {
    const long = Array.from({ length: 64 }, () => 'x'.repeat(100_000));
    expect(pausesFor('string', [...long, ...long, ...long, ...long, ...long]).pauses).toBeGreaterThan(0);
  });

  it('does few at once', () => {
    expect(pausesFor('string', ['a', 'b']).pauses).toBe(0);
  });

  it('copy large numbers that are not aligned with pauses', () => {
    const values = 4 << 20;
    const { buffers, extras } = encodeBatch([requestInBody(values, 1)], FLOATS);
    const work = decodeBatch({ buffers, extras }, FLOATS, false);
    let pauses = 0;
    let step = work.next();
    for (; step.done !== true; step = work.next()) pauses++;
    // No more than a megabyte is copied without a look at the pace.
    expect(pauses).toBe((values * 12) >> 20);
    const [request] = step.value;
    const { a, b } = request!.inputs as { a: Tensor<'float32'>; b: Tensor<'float64'> };
    expect([a.data.length, a.data.at(-1), b.data.length, b.data.at(-1)]).toEqual([
      values,
      values - 1,
      values,
      1 - values,
    ]);
  });
});
