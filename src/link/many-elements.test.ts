// Answers with so many strings or bytes that writing them takes a while. Other work has its turn meanwhile, whatever happens.
import { setImmediate as turn } from 'node:timers/promises';

import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';

import { wireTensor } from '../../test/support/infer-requests.js';
import {
  type AnyCallable,
  describeResult,
  executionRequest,
  hostCallable,
  type HostedInstance,
  type InstanceKind,
  outcomes,
  Run,
} from '../../test/support/instances.js';
import type { ExecutionResult } from '../core/instance/model-instance.js';
import type { ModelConfig } from '../model/model-config.js';
import { decodeRaw } from '../tensor/raw.js';
import { Tensor } from '../tensor/tensor.js';

const MANY = 100_000;
const X = { x: { dtype: 'float32', shape: [-1] } } as const;
const TEXTS = { y: { dtype: 'string', shape: [-1] }, z: { dtype: 'int32', shape: [-1] } } as const;
const BYTES = { y: { dtype: 'bytes', shape: [-1] } } as const;

const open: HostedInstance[] = [];
// Each look at the clock is a second later. So code that works until a time stops at its next look, on any machine.
beforeEach(() => {
  let now = 0;
  vi.spyOn(performance, 'now').mockImplementation(() => (now += 1000));
});
afterEach(() => {
  vi.restoreAllMocks();
  for (const hosted of open.splice(0)) hosted.close();
});

function host(
  kind: InstanceKind,
  callable: AnyCallable,
  { outputs = TEXTS, config = {} }: { outputs?: typeof TEXTS | typeof BYTES; config?: ModelConfig } = {},
): HostedInstance {
  const hosted = hostCallable(kind, { inputs: X, outputs, config: { maxBatchSize: 8, ...config } }, callable);
  open.push(hosted);
  return hosted;
}

const request = (requestedOutputs: readonly string[] = []) =>
  executionRequest([wireTensor('x', 'float32', Float32Array.of(1), [1, 1])], { requestedOutputs });

function texts(count: number, text = 'text'): string[] {
  return Array.from({ length: count }, (_, i) => `${text} ${i}ü`);
}

/** The strings of the first output. */
function textsOf(result: ExecutionResult | undefined): string[] {
  if (result?.kind !== 'outputs') throw new Error(`no outputs: ${result && describeResult(result)}`);
  return decodeRaw('string', result.outputs[0]!.bytes);
}

describe.each<InstanceKind>(['inline', 'port'])('An answer with many elements (%s)', (kind) => {
  it('lets others have their turn while it is written', async () => {
    const long = host(kind, () => [{ y: [texts(MANY)] }]);
    const short = host(kind, () => [{ y: [['short']] }]);
    const order: string[] = [];
    const large = new Run(long.instance, [request()]).ended.then(({ results }) => {
      order.push('long');
      return textsOf(results[0]);
    });
    const small = new Run(short.instance, [request()]).ended.then(() => order.push('short'));
    const [got] = await Promise.all([large, small]);
    expect(got).toEqual(texts(MANY));
    expect(order).toEqual(['short', 'long']);
  });

  it('lets others have their turn as well when many requests of a batch have a few each', async () => {
    const { instance } = host(kind, (requests) =>
      requests.map((_, index) => (index === 3 ? new Error('no') : { y: [texts(4000, `of ${index}`)], z: [[index]] })),
    );
    let others = false;
    setImmediate(() => (others = true));
    const run = new Run(
      instance,
      Array.from({ length: 8 }, () => request()),
    );
    const { results } = await run.ended;
    expect(others).toBe(true);
    const seen = results.map((result) => (result.kind === 'error' ? [result.error.message] : textsOf(result)));
    expect(seen).toEqual(seen.map((_, index) => (index === 3 ? ['no'] : texts(4000, `of ${index}`))));
  });

  it('has what the callable gave, whatever the callable does with its lists and numbers meanwhile', async () => {
    const list = texts(MANY);
    const numbers = Int32Array.of(1, 2);
    const { instance } = host(kind, () => {
      setImmediate(() => {
        list.fill('changed');
        list.length = 5;
        numbers.fill(0);
      });
      return [{ y: new Tensor('string', list, [1, MANY]), z: numbers }];
    });
    const { results } = await new Run(instance, [request()]).ended;
    expect(textsOf(results[0])).toEqual(texts(MANY));
    expect(results[0]).toMatchObject({ outputs: [{}, { bytes: new Uint8Array(Int32Array.of(1, 2).buffer) }] });
  });

  it('fails when elements of bytes are not what they were when they were counted', async () => {
    const elements = Array.from({ length: MANY }, () => new Uint8Array(3));
    const { instance } = host(
      kind,
      () => {
        setImmediate(() =>
          structuredClone(elements[MANY - 1], { transfer: [elements[MANY - 1]!.buffer as ArrayBuffer] }),
        );
        return [{ y: [elements] }];
      },
      { outputs: BYTES },
    );
    expect(await outcomes(instance, [request()])).toEqual([
      "INTERNAL an output of model 'm' has elements that are not what they were when it was returned; was a buffer transferred?",
    ]);
    const again = host(kind, () => [{ y: [elements.slice(1, -1)] }], { outputs: BYTES });
    const { results } = await new Run(again.instance, [request()]).ended;
    expect(results[0]).toMatchObject({ outputs: [{ shape: [1, MANY - 2] }] });
  });

  it('lets others have their turn while very many numbers are written, and fails when they are taken away', async () => {
    const numbers = new Int32Array(6 << 20).fill(7);
    numbers[numbers.length - 1] = 8;
    const long = host(kind, () => [{ z: new Tensor('int32', numbers, [1, numbers.length]) }]);
    const short = host(kind, () => [{ y: [['short']] }]);
    const order: string[] = [];
    const large = new Run(long.instance, [request()]).ended.then(({ results }) => {
      order.push('long');
      return results[0];
    });
    const small = new Run(short.instance, [request()]).ended.then(() => order.push('short'));
    const [result] = await Promise.all([large, small]);
    if (result?.kind !== 'outputs') throw new Error(`no outputs: ${result && describeResult(result)}`);
    expect(Buffer.compare(result.outputs[0]!.bytes, new Uint8Array(numbers.buffer))).toBe(0);
    expect(order).toEqual(['short', 'long']);
    const run = new Run(
      host(kind, () => {
        setImmediate(() => structuredClone(numbers, { transfer: [numbers.buffer] }));
        return [{ z: new Tensor('int32', numbers, [1, numbers.length]) }];
      }).instance,
      [request()],
    );
    const { results } = await run.ended;
    expect(results[0]).toMatchObject({ kind: 'error', error: { code: 'INTERNAL' } });
  });

  it('keeps its callable until it is written: a list may be used for the next batch', async () => {
    const list = texts(MANY);
    let calls = 0;
    const { instance } = host(kind, () => {
      list.fill(`call ${calls++}`);
      return [{ y: new Tensor('string', list, [1, MANY]) }];
    });
    const runs = [0, 1, 2].map(() => new Run(instance, [request()]));
    for (const [index, run] of runs.entries()) {
      const { results } = await run.ended;
      expect(new Set(textsOf(results[0]))).toEqual(new Set([`call ${index}`]));
    }
  });

  it('ends once when its client goes away meanwhile, and its instance goes on', async () => {
    const { instance } = host(kind, (requests) => requests.map(() => ({ y: [texts(MANY)] })));
    const run = new Run(instance, [request()]);
    await turn();
    run.execution.cancel(0);
    await run.ended;
    await outcomes(instance, [request()]);
    expect(run.done).toBe(1);
  });

  it('has only the outputs that were asked for', async () => {
    const { instance } = host(kind, () => [{ y: [texts(MANY)], z: [[7]] }]);
    const { results } = await new Run(instance, [request(['z'])]).ended;
    expect(results[0]).toMatchObject({ outputs: [{ name: 'z', shape: [1, 1] }] });
  });

  describe('of a stream', () => {
    const config = { decoupled: true };

    /** Runs a batch of this many requests, and returns the results of each, in order. */
    async function streamed(hosted: HostedInstance, count: number): Promise<{ order: number[]; texts: string[][][] }> {
      const order: number[] = [];
      const got: string[][][] = Array.from({ length: count }, () => []);
      await new Promise<void>((resolve, reject) => {
        hosted.instance.execute(
          Array.from({ length: count }, () => request()),
          (results) => {
            const failed = results.find((result) => result.kind === 'error');
            if (failed === undefined) resolve();
            else reject(failed.error);
          },
          {
            respond(index, outputs) {
              order.push(index);
              got[index]!.push(decodeRaw('string', outputs[0]!.bytes));
            },
            end: (_, error) => error && reject(error),
            recordMetrics: () => undefined,
          },
        );
      });
      return { order, texts: got };
    }

    it('comes in order, and the generator goes on when it is written', async () => {
      const list = texts(MANY);
      const hosted = host(
        kind,
        function* () {
          yield [{ y: new Tensor('string', list, [1, MANY]) }];
          list.fill('next');
          yield [{ y: [['a few']] }];
          yield [{ y: new Tensor('string', list, [1, MANY]) }];
        },
        { config },
      );
      const { texts: got } = await streamed(hosted, 1);
      expect(got[0]!.map((answer) => [answer.length, answer[0], answer.at(-1)])).toEqual([
        [MANY, 'text 0ü', `text ${MANY - 1}ü`],
        [1, 'a few', 'a few'],
        [MANY, 'next', 'next'],
      ]);
    });

    it('lets the next stream have its turn', async () => {
      const long = host(
        kind,
        async function* () {
          yield [{ y: [texts(MANY)] }];
        },
        { config },
      );
      const short = host(
        kind,
        async function* () {
          yield [{ y: [['short']] }];
        },
        { config },
      );
      const order: string[] = [];
      await Promise.all([
        streamed(long, 1).then(() => order.push('long')),
        streamed(short, 1).then(() => order.push('short')),
      ]);
      expect(order).toEqual(['short', 'long']);
    });

    it('fails with the batch when another answer of the same step cannot be sent', async () => {
      const tensor = new Tensor('int32', Int32Array.of(1), [1, 1]);
      structuredClone(tensor.data, { transfer: [tensor.data.buffer as ArrayBuffer] });
      const hosted = host(
        kind,
        function* () {
          yield [{ y: [texts(MANY)] }, { z: tensor }];
        },
        { config },
      );
      await expect(streamed(hosted, 2)).rejects.toThrow('was its buffer transferred?');
    });
  });
});
