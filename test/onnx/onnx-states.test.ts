// ONNX networks with states, served: each sequence has its own, whatever batches its requests run in.
import { describe, expect, it } from 'vitest';

import { Tensor, type TritonConfig } from 'tstriton';
import { ModelClient } from 'tstriton/client';
import { onnx, type OnnxOptions } from 'tstriton/onnx';

import { modelRepository } from '../support/model-repository.js';
import { controlledModel, growingModel, layeredModel, lookupModel, totalModel } from '../support/recurrent-onnx.js';
import { startServer, type RunningServer } from '../support/start-server.js';
import { temporaryFolder } from '../support/temporary-files.js';

const file = temporaryFolder();
const HOUR = 3_600_000_000;
const IDLE = { maxSequenceIdleMicroseconds: 60_000_000 };
const MODES = [{ serverThread: true }, { serverThread: false }];

function serve(path: string, options: OnnxOptions, mode: TritonConfig): Promise<RunningServer> {
  return startServer(
    (triton) =>
      void triton.bind(
        onnx(path, { modelName: 'm', ...options, config: { sequenceBatching: IDLE, ...options.config } }),
      ),
    // Some sequences live on: a stop would wait for them.
    { exitTimeoutSecs: 0, ...mode },
  );
}

/** Sends all steps of each sequence in order, the sequences side by side, and gives the values of their answers. */
async function play(url: string, sequences: readonly (readonly (readonly number[])[])[], output = 'y') {
  await using client = new ModelClient(url, 'm');
  return await Promise.all(
    sequences.map(async (steps, index) => {
      const answers: number[][] = [];
      for (const [step, values] of steps.entries()) {
        const sequence = { id: index + 1, start: step === 0, end: step === steps.length - 1 };
        const outputs = await client.inferSample({ x: Float32Array.from(values) }, { sequence });
        answers.push([...(outputs[output]!.data as Float32Array)]);
      }
      return answers;
    }),
  );
}

/** Sequence s sends 1000·s + 1, 1000·s + 2, … and its negative. */
const pairs = (sequences: number, steps: number) =>
  Array.from({ length: sequences }, (_, s) =>
    Array.from({ length: steps }, (__, i) => [1000 * s + i + 1, -1000 * s - i - 1]),
  );

/** The running totals of such values. */
const totals = (sequences: readonly (readonly (readonly number[])[])[], initial = [0, 0]) =>
  sequences.map((steps) => {
    const sums = [...initial];
    return steps.map((values) => values.map((value, i) => (sums[i]! += value)));
  });

async function executions({ http }: RunningServer) {
  const {
    model_stats: [stats],
  } = (await (await fetch(`${http}/v2/models/m/stats`)).json()) as {
    readonly model_stats: readonly { readonly inference_count: number; readonly execution_count: number }[];
  };
  return { requests: stats!.inference_count, batches: stats!.execution_count };
}

describe.each(MODES)('an ONNX network with a state, %o', (mode) => {
  it('keeps it for each of more sequences than a batch has rows, and clients do not see it', async () => {
    await using server = await serve(file('total.onnx', totalModel()), { state: { h: 'hn' } }, mode);
    const sent = pairs(20, 5);
    expect(await play(server.http, sent)).toEqual(totals(sent));
    expect(await play(server.grpc, sent)).toEqual(totals(sent));
    const { requests, batches } = await executions(server);
    expect(requests).toBe(200);
    expect(batches).toBeLessThan(150);
    const metadata: unknown = await (await fetch(`${server.http}/v2/models/m`)).json();
    expect(metadata).toMatchObject({ inputs: [{ name: 'x' }], outputs: [{ name: 'y' }] });
    expect((metadata as { readonly inputs: unknown[]; readonly outputs: unknown[] }).inputs).toHaveLength(1);
    expect((metadata as { readonly inputs: unknown[]; readonly outputs: unknown[] }).outputs).toHaveLength(1);
  });

  it('has its batch axis behind the layers, begins with what it should, and gets its constants', async () => {
    const initial = new Tensor('float32', Float32Array.of(1, 2, 3, 4, 50, 60), [3, 2]);
    const options = { state: { h: { output: 'hn', initial } }, constants: { sr: 2 }, config: { maxBatchSize: 16 } };
    await using server = await serve(file('layered.onnx', layeredModel()), options, mode);
    const sent = pairs(16, 4);
    const doubled = sent.map((steps) => steps.map((values) => values.map((value) => 2 * value)));
    expect(await play(server.grpc, sent)).toEqual(totals(doubled, [50, 60]));
    const { batches } = await executions(server);
    expect(batches).toBeLessThan(40);
  });

  it('gets a constant with a batch axis once for each row', async () => {
    const path = file('total.onnx', totalModel());
    await using server = await startServer(
      (triton) => void triton.bind(onnx(path, { modelName: 'm', constants: { h: [5, 70] }, outputs: ['y'] })),
      mode,
    );
    await using client = new ModelClient(server.http, 'm');
    const { y } = await client.inferBatch({ x: new Tensor('float32', Float32Array.of(1, 2, 3, 4, 5, 6), [3, 2]) });
    expect([...(y!.data as Float32Array)]).toEqual([6, 72, 8, 74, 10, 76]);
  });

  it('runs together with states of other sizes', async () => {
    const initial = new Tensor('float32', new Float32Array(), [0]);
    // A batch is full with two requests. Without isolation what cannot run together would fail.
    const sequenceBatching = { ...IDLE, maxQueueDelayMicroseconds: HOUR };
    const options: OnnxOptions = {
      state: { past: { output: 'present', initial } },
      config: { isolateFailures: false, maxBatchSize: 2, sequenceBatching },
    };
    await using server = await serve(file('growing.onnx', growingModel()), options, mode);
    await using client = new ModelClient(server.grpc, 'm');
    const send = async (id: string, x: number, start = false) => {
      const { sum } = await client.inferSample({ x: [x] }, { sequence: { id, start } });
      return (sum!.data as Float32Array)[0];
    };
    expect(await Promise.all([send('a', 1, true), send('b', 20, true)])).toEqual([1, 20]);
    expect(await Promise.all([send('a', 2), send('c', 300, true)])).toEqual([3, 300]);
    expect(await Promise.all([send('b', 30), send('a', 3)])).toEqual([50, 6]);
    expect(await Promise.all([send('a', 4), send('c', 400)])).toEqual([10, 700]);
    expect((await executions(server)).requests).toBe(8);
  });

  it('fails only the request that onnxruntime refuses, and leaves all states as they were', async () => {
    await using server = await serve(
      file('lookup.onnx', lookupModel()),
      { state: { h: 'hn' }, config: { maxBatchSize: 8 } },
      mode,
    );
    await using client = new ModelClient(server.grpc, 'm');
    const send = async (id: number, x: number, start = false) => {
      try {
        const { y } = await client.inferSample({ x: BigInt64Array.of(BigInt(x)) }, { sequence: { id, start } });
        return (y!.data as Float32Array)[0];
      } catch (error) {
        return (error as Error).message;
      }
    };
    const ids = [1, 2, 3, 4, 5, 6];
    expect(await Promise.all(ids.map((id) => send(id, id % 3, true)))).toEqual([10, 100, 1, 10, 100, 1]);
    const second = await Promise.all(ids.map((id) => send(id, id === 4 ? 3 : id % 3)));
    expect(second.toSpliced(3, 1)).toEqual([20, 200, 2, 200, 2]);
    expect(second[3]).toMatch(/onnxruntime failed on model 'm': .*out of (data )?bounds/);
    expect(await Promise.all(ids.map((id) => send(id, 1)))).toEqual([30, 210, 12, 20, 210, 12]);
  });

  it('gives no more than the outputs that a client names', async () => {
    await using server = await serve(file('total.onnx', totalModel()), { state: { h: 'hn' } }, mode);
    await using client = new ModelClient(server.http, 'm');
    const ask = (step: number) =>
      client.inferSample({ x: Float32Array.of(step, 1) }, { outputs: ['y'], sequence: { id: 'a', start: step === 1 } });
    expect(Object.keys(await ask(1))).toEqual(['y']);
    expect([...((await ask(2)).y!.data as Float32Array)]).toEqual([3, 2]);
    await expect(
      client.inferSample({ x: Float32Array.of(1, 1) }, { outputs: ['hn'], sequence: { id: 'a' } }),
    ).rejects.toThrow(/'hn'/);
  });

  it('gets the control inputs that the configuration names', async () => {
    const controls = { START: { control: 'START', dtype: 'float32' }, READY: { control: 'READY' } } as const;
    const path = file('controlled.onnx', controlledModel());
    const options = { state: { h: { output: 'hn', initial: 7 } }, config: { sequenceBatching: { ...IDLE, controls } } };
    await using server = await serve(path, options, mode);
    const sent = Array.from({ length: 6 }, (_, s) => Array.from({ length: 4 }, (__, i) => [10 * s + i]));
    // START multiplies what the state begins with by zero.
    expect(await play(server.grpc, sent)).toEqual(totals(sent, [0]));
    await using client = new ModelClient(server.grpc, 'm');
    const { ready } = await client.inferSample({ x: [1] }, { sequence: { id: 50, start: true } });
    expect([...(ready!.data as Int32Array)]).toEqual([1]);
  });

  it('without a batch axis runs each request alone', async () => {
    await using server = await serve(file('single.onnx', totalModel(1)), { state: { h: 'hn' } }, mode);
    const sent = pairs(3, 3);
    await using client = new ModelClient(server.http, 'm');
    const answers = await Promise.all(
      sent.map(async (steps, index) => {
        const own: number[][] = [];
        for (const [step, values] of steps.entries()) {
          const x = new Tensor('float32', Float32Array.from(values), [1, 2]);
          const { y } = await client.inferSample({ x }, { sequence: { id: index + 1, start: step === 0 } });
          own.push([...(y!.data as Float32Array)]);
        }
        return own;
      }),
    );
    expect(answers).toEqual(totals(sent));
  });
});

describe.each(MODES)('an ONNX network in a repository, whose configuration names a state, %o', (mode) => {
  const state = (more = '') => `state { input_name: "h" output_name: "hn" data_type: TYPE_FP32 dims: [ 2 ] ${more} }`;
  const batching = (more = '', strategy = 'oldest { max_candidate_sequences: 32 }') =>
    `sequence_batching { max_sequence_idle_microseconds: 60000000 ${strategy} ${more} }`;
  const tensors = `input { name: "x" data_type: TYPE_FP32 dims: [ 2 ] } output { name: "y" data_type: TYPE_FP32 dims: [ 2 ] }`;
  const bytes = (...values: number[]) => new Uint8Array(Float32Array.from(values).buffer);

  it.each([
    ['completed from its file', `max_batch_size: 8 ${batching(state())}`, [0, 0]],
    ['with all of its tensors', `max_batch_size: 8 ${tensors} ${batching(state())}`, [0, 0]],
    ['in slots', `max_batch_size: 32 ${tensors} ${batching(state(), 'direct { }')}`, [0, 0]],
    [
      'that begins with a file',
      `max_batch_size: 8 ${tensors} ${batching(
        state('initial_state { name: "begin" data_type: TYPE_FP32 dims: [ 2 ] data_file: "begin.bin" }'),
      )}`,
      [5, -3],
    ],
  ])('keeps it for each sequence, %s', async (_, config, initial) => {
    const { path } = modelRepository({
      'm/1/model.onnx': totalModel(),
      'm/config.pbtxt': config,
      'm/initial_state/begin.bin': bytes(5, -3),
    });
    await using server = await startServer(() => undefined, { modelRepository: path, ...mode });
    const sent = pairs(20, 4);
    expect(await play(server.grpc, sent)).toEqual(totals(sent, initial));
    const served: unknown = await (await fetch(`${server.http}/v2/models/m/config`)).json();
    expect(served).toMatchObject({
      backend: 'onnxruntime',
      input: [{ name: 'x' }],
      output: [{ name: 'y' }],
      sequence_batching: { state: [{ input_name: 'h', output_name: 'hn', dims: [2] }] },
    });
  });

  it('gives clients the next state where it is declared as an output too, as Triton documents', async () => {
    const shown = `${tensors} output { name: "hn" data_type: TYPE_FP32 dims: [ 2 ] }`;
    const { path } = modelRepository({
      'm/1/model.onnx': totalModel(),
      'm/config.pbtxt': `max_batch_size: 8 ${shown} ${batching(state())}`,
    });
    await using server = await startServer(() => undefined, { modelRepository: path, ...mode });
    const sent = pairs(20, 4);
    expect(await play(server.grpc, sent, 'hn')).toEqual(totals(sent));
    expect(await play(server.http, sent, 'y')).toEqual(totals(sent));
  });

  it('refuses a state that is not the file’s', async () => {
    const refusalOf = async (own: string) => {
      const { path } = modelRepository({
        'm/1/model.onnx': totalModel(),
        'm/config.pbtxt': `max_batch_size: 8 ${batching(own)}`,
      });
      return startServer(() => undefined, { modelRepository: path, ...mode }).then(
        (server) => server[Symbol.asyncDispose](),
        (error: unknown) => (error as Error).message,
      );
    };
    expect(await refusalOf(state().replace('"h"', '"g"'))).toMatch(
      /state names the input 'g', which .*model.onnx does not have; its inputs are x, h, its outputs are y, hn/,
    );
    expect(await refusalOf(state().replace('[ 2 ]', '[ 3 ]'))).toMatch(
      /state 'h' of .*model.onnx is float32 of shape \[2\] without a batch axis, but is declared as float32 of shape \[3\]/,
    );
    expect(await refusalOf(state().replace('FP32', 'INT32'))).toMatch(/but is declared as int32 of shape \[2\]/);
  });
});
