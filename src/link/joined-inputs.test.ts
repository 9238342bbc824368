import { describe, expect, it } from 'vitest';

import { describeResult } from '../../test/support/instances.js';
import type { ExecutionRequest } from '../core/instance/model-instance.js';
import { batch } from '../callables/batch.js';
import { hostedCallable } from '../host/callable-turns.js';
import { completeModelConfig } from '../model/complete-model.js';
import type { Callable, InferenceContext } from '../model/callable.js';
import { HostedRequest } from '../model/inference-request.js';
import type { PacedWork } from '../pacing/paced-work.js';
import { lieTogether } from '../tensor/concat-rows.js';
import { Tensor } from '../tensor/tensor.js';
import { InlineInstance } from './inline-instance.js';
import { joinInputs, LONG_JOIN_BYTES } from './joined-inputs.js';

const CONFIG = completeModelConfig(
  {
    modelName: 'm',
    inputs: {
      x: { dtype: 'float32', shape: [-1] },
      k: { dtype: 'int32', shape: [1], optional: true },
      text: { dtype: 'string', shape: [1], optional: true },
    },
    outputs: { y: { dtype: 'float32', shape: [1] } },
    config: { maxBatchSize: 8 },
  },
  1,
);

const WIDTH = LONG_JOIN_BYTES / 4 / 4 + 1;

/** So many rows of which each has a value of its own. */
function rowsOf(value: number, rows: number, width = WIDTH): Tensor {
  const data = new Float32Array(rows * width);
  for (let row = 0; row < rows; row++) data.fill(value + row / 8, row * width, (row + 1) * width);
  return new Tensor('float32', data, [rows, width]);
}

const requestOf = (inputs: Readonly<Record<string, Tensor>>) => new HostedRequest({ ...inputs }, inputs['x']!.rowCount, '', undefined); // prettier-ignore

function bytesOf({ data }: Tensor): Buffer {
  const { buffer, byteOffset, byteLength } = data as Float32Array;
  return Buffer.from(buffer as ArrayBuffer, byteOffset, byteLength);
}

/** How often the work paused. */
function pausesOf(work: PacedWork<void>): number {
  let pauses = 0;
  while (work.next().done !== true) pauses++;
  return pauses;
}

describe('joinInputs', () => {
  it('has the rows of large inputs one after the other, and pauses meanwhile', () => {
    const inputs = [1, 2, 3].map((value) => ({ x: rowsOf(value, value), k: Tensor.from('int32', Array(value).fill([value])) })); // prettier-ignore
    const requests = inputs.map(requestOf);
    // No more than a megabyte is copied without a look at the pace.
    expect(pausesOf(joinInputs(requests, CONFIG))).toBeGreaterThan((6 * WIDTH * 4) / 2 ** 22);
    const joined = requests.map((request) => request.inputs['x']!);
    expect(lieTogether(joined)).toBe(true);
    joined.forEach((tensor, index) => {
      expect(tensor.shape).toEqual(inputs[index]!.x.shape);
      expect(bytesOf(tensor).equals(bytesOf(inputs[index]!.x))).toBe(true);
    });
    // What is small is joined by who needs it.
    requests.forEach((request, index) => expect(request.inputs['k']).toBe(inputs[index]!.k));
  });

  it('leaves alone what is small, is there already, has text, or does not fit together', () => {
    const whole = rowsOf(1, 6);
    const texts = [1, 2].map((value) => ({
      x: rowsOf(value, 1, 1),
      text: new Tensor('string', ['a'.repeat(20_000_000)], [1, 1]),
    }));
    const cases = [
      [{ x: rowsOf(1, 9) }],
      [{ x: rowsOf(1, 1, 3) }, { x: rowsOf(2, 2, 3) }],
      [{ x: whole.slice(0, 2) }, { x: whole.slice(2, 6) }],
      [{ x: rowsOf(1, 4) }, { x: rowsOf(2, 4, WIDTH + 1) }],
      texts,
    ];
    for (const inputs of cases) {
      const requests = inputs.map(requestOf);
      expect(pausesOf(joinInputs(requests, CONFIG))).toBe(0);
      requests.forEach((request, index) => expect(request.inputs['x']).toBe(inputs[index]!.x));
    }
  });
});

describe('a batch of large requests', () => {
  const requests = [2, 1, 3].map((rows, index): ExecutionRequest => {
    const tensor = rowsOf(index + 1, rows);
    const bytes = new Uint8Array((tensor.data as Float32Array).buffer as ArrayBuffer);
    const { shape } = tensor;
    const x = { name: 'x', datatype: 'FP32', shape, bytes } as const;
    return { id: '', parameters: undefined, inputs: [x, undefined, undefined], rows, memory: [bytes.buffer], requestedOutputs: [] }; // prettier-ignore
  });

  async function run(callable: unknown) {
    const logger = { error: () => undefined, verbose: () => undefined, warn: () => undefined, info: () => undefined };
    const instance = new InlineInstance(CONFIG, hostedCallable(callable as Callable, 1), { logger });
    let isDone = false;
    const ended = new Promise<readonly unknown[]>((resolve) => {
      instance.execute(requests, (results) => {
        isDone = true;
        resolve(results.map((result) => (result.kind === 'outputs' ? [...new Float32Array(result.outputs[0]!.bytes.slice().buffer)] : describeResult(result)))); // prettier-ignore
      });
    });
    return { isDoneAtOnce: isDone, outcome: await ended };
  }

  it('is joined with pauses for batch, which copies nothing', async () => {
    let isView: boolean | undefined;
    const callable = batch(({ x }: { readonly x: Tensor<'float32'> }, { requests: given }: InferenceContext) => {
      isView = given.every(({ inputs }) => (inputs as { x: Tensor<'float32'> }).x.data.buffer === x.data.buffer);
      return { y: x.rows().map((row) => [row.data.at(-1)!]) };
    });
    const { isDoneAtOnce, outcome } = await run(callable);
    expect(isView).toBe(true);
    expect(isDoneAtOnce).toBe(false);
    expect(outcome).toEqual([[1, 1.125], [2], [3, 3.125, 3.25]]);
  });

  it('is not joined for a callable that wants requests', async () => {
    const callable = (given: readonly { readonly inputs: { readonly x: Tensor<'float32'> } }[]) => given.map(({ inputs: { x } }) => ({ y: x.rows().map((row) => [row.data[0]!]) })); // prettier-ignore
    expect(await run(callable)).toEqual({ isDoneAtOnce: true, outcome: [[1, 1.125], [2], [3, 3.125, 3.25]] });
  });
});
