// What goes wrong with ONNX models: at load with the reason, at a request for that request only.
import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';

import { describe, expect, it } from 'vitest';

import { onnx, type OnnxOptions } from 'tstriton/onnx';

import { addModel, identityModel, node, onnxModel, tensor, tensorValue } from '../support/onnx-builder.js';
import { inferJson, pendingRequests, startServer } from '../support/start-server.js';
import { temporaryFolder } from '../support/temporary-files.js';

const file = temporaryFolder();
const add = file('add.onnx', addModel());
const ROOT = fileURLToPath(new URL('../..', import.meta.url));

/** Rows of a table by their indices: an index that is out of range fails in onnxruntime. */
const lookup = file(
  'lookup.onnx',
  onnxModel({
    nodes: [node('Gather', ['table', 'index'], ['y'], { axis: 0 })],
    inputs: [tensorValue('index', 'int64', ['batch', 1])],
    outputs: [tensorValue('y', 'float32', ['batch', 1, 2])],
    initializers: [tensor('table', 'float32', [3, 2], Float32Array.of(0, 1, 10, 11, 20, 21))],
  }),
);

function ones(name: string, shape: readonly number[]) {
  return { name, datatype: 'FP32', shape, data: new Array<number>(shape.reduce((a, b) => a * b, 1)).fill(1) };
}

/** A chain of products of one matrix with itself: seconds for one thread, with rows of a few hundred. */
const chain = (length: number) =>
  file(
    'chain.onnx',
    onnxModel({
      nodes: Array.from({ length }, (_, i) =>
        node('MatMul', [i === 0 ? 'x' : `h${i}`, 'x'], [i === length - 1 ? 'y' : `h${i + 1}`]),
      ),
      inputs: [tensorValue('x', 'float32', ['n', 'n'])],
      outputs: [tensorValue('y', 'float32', ['n', 'n'])],
    }),
  );

describe('an ONNX model that computes too long', () => {
  it('is started again when its computation has ended: onnxruntime would take the process with it before', async () => {
    const config = { maxBatchSize: 5600, executionTimeoutMicroseconds: 20_000 };
    await using server = await startServer(
      (triton) => void triton.bind({ ...onnx(chain(600), { threads: 1 }), modelName: 'Chain', config }),
    );
    const ask = (size: number) => inferJson(server.http, 'Chain', [ones('x', [size, size])]);
    const restarts = async () =>
      (await (await fetch(server.metrics)).text()).match(/^tstriton_instance_restarts_total\{.*\} (\d+)$/m)?.[1];
    let answer;
    // A computation that ends by itself within a second of its time does not cost the instance its thread.
    for (let size = 700; (await restarts()) === '0'; size *= 2) {
      expect(await ask(size)).toMatchObject({
        status: 503,
        error: expect.stringContaining('did not answer') as string,
      });
      // It is answered once the computation has ended. On a machine that is busy even a small one may take too long.
      do answer = await ask(1);
      while (answer.status === 503);
    }
    expect(answer).toMatchObject({ status: 200, outputs: [{ data: [1] }] });
  });
});

describe('an ONNX model that cannot be loaded', () => {
  it.each<[string, () => ReturnType<typeof onnx>, RegExp]>([
    [
      'wants an execution provider that is not there',
      () => onnx(add, { executionProviders: ['abacus', 'cpu'] }),
      /^model 'Broken' wants the execution provider 'abacus', but onnxruntime-node [\d.]+ has cpu.* on \w+ \w+/,
    ],
    [
      'has an operator that onnxruntime does not know',
      () =>
        onnx(
          file(
            'operator.onnx',
            onnxModel({
              nodes: [node('Guess', ['x'], ['y'])],
              inputs: [tensorValue('x', 'float32', ['n'])],
              outputs: [tensorValue('y', 'float32', ['n'])],
            }),
          ),
        ),
      /^onnxruntime does not load model 'Broken': .*Guess/,
    ],
    [
      'has session options that onnxruntime refuses',
      () => onnx(add, { sessionOptions: { logSeverityLevel: 99 } }),
      /^onnxruntime does not load model 'Broken': .*(logSeverityLevel|log)/i,
    ],
    [
      'lacks an input that its file has',
      () => ({ ...onnx(add), inputs: [{ name: 'a', dtype: 'float32', shape: [4] }] }),
      /^model 'Broken' declares the inputs a, but its file has a, b$/,
    ],
    [
      'declares an output that its file does not have',
      () => ({ ...onnx(add), outputs: [{ name: 'd', dtype: 'float32', shape: [4] }] }),
      /^model 'Broken' declares the output d, but its file has c$/,
    ],
  ])('says so when it %s, and the others serve', async (_what, broken, reason) => {
    await using server = await startServer((triton) => void triton.bind(onnx(add)));
    server.triton.bind({ ...broken(), modelName: 'Broken' });
    await expect(server.triton.ready('Broken')).rejects.toThrow(reason);
    expect((await inferJson(server.http, 'add', [ones('a', [1, 4]), ones('b', [1, 4])])).status).toBe(200);
  });
});

describe('an ONNX model in a project of its own', () => {
  /** What a program prints that has this text as its onnxruntime-node; undefined: none. */
  function printed(program: string, runtime: string | undefined): string {
    const project = file(`project-${program}-${runtime?.length ?? 0}`);
    mkdirSync(`${project}/node_modules/tstriton`, { recursive: true });
    for (const part of ['dist', 'package.json'])
      cpSync(`${ROOT}/${part}`, `${project}/node_modules/tstriton/${part}`, { recursive: true });
    cpSync(`${ROOT}/test/fixtures/${program}.js`, `${project}/main.mjs`);
    if (runtime !== undefined) {
      mkdirSync(`${project}/node_modules/onnxruntime-node`);
      writeFileSync(`${project}/node_modules/onnxruntime-node/index.js`, runtime);
    }
    return execFileSync(process.execPath, [`${project}/main.mjs`, add], {
      cwd: dirname(project),
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    });
  }

  it('says what to install when onnxruntime-node is missing', () => {
    expect(printed('bind-onnx', undefined)).toBe(
      "UNAVAILABLE: model 'add' needs the package onnxruntime-node, which is not installed; run ONNXRUNTIME_NODE_INSTALL=skip npm install onnxruntime-node\n",
    );
  });

  it('says which version it needs when onnxruntime-node is too old', () => {
    // What 1.15 has of it.
    expect(printed('bind-onnx', 'exports.InferenceSession = class {};')).toBe(
      "UNAVAILABLE: model 'add' needs onnxruntime-node 1.20 or newer, got an older one\n",
    );
  });

  it('is refused when a client sent it and onnxruntime-node would read any file as its weights', () => {
    const runtime = "exports.env = { versions: { node: '1.23.2' } }; exports.listSupportedBackends = () => [];";
    expect(printed('load-onnx', runtime)).toContain(
      "model 'add' is a client's, which needs onnxruntime-node 1.24 or newer, got 1.23.2: older ones read any file as weights",
    );
  });
});

describe('a request that onnxruntime refuses', () => {
  it('fails with its message, and the next one is answered', async () => {
    // The file leaves open what the weights do not.
    const path = file(
      'matmul.onnx',
      onnxModel({
        nodes: [node('MatMul', ['x', 'w'], ['y'])],
        inputs: [tensorValue('x', 'float32', ['batch', 'features'])],
        outputs: [tensorValue('y', 'float32', ['batch', 1])],
        initializers: [tensor('w', 'float32', [4, 1], Float32Array.of(1, 2, 3, 4))],
      }),
    );
    await using server = await startServer((triton) => void triton.bind(onnx(path)));
    const ask = (features: number) => inferJson(server.http, 'matmul', [ones('x', [1, features])]);
    expect(await ask(3)).toMatchObject({
      status: 500,
      error: expect.stringMatching(/^onnxruntime failed on model 'matmul': .*MatMul/) as unknown,
    });
    expect(await ask(4)).toMatchObject({ status: 200, outputs: [{ name: 'y', shape: [1, 1], data: [10] }] });
  });

  it('does not fail the others of its batch', async () => {
    const options: OnnxOptions = {
      config: { maxBatchSize: 8, batcher: { maxQueueDelayMicroseconds: 100_000, preferredBatchSize: [4] } },
    };
    await using server = await startServer((triton) => void triton.bind(onnx(lookup, options)));
    const ask = (index: number) =>
      inferJson(server.http, 'lookup', [{ name: 'index', datatype: 'INT64', shape: [1, 1], data: [index] }]);
    const answers = await Promise.all([0, 7, 2, 1].map(ask));
    expect(answers.map(({ status }) => status)).toEqual([200, 500, 200, 200]);
    expect(answers[1]!.error).toMatch(/^onnxruntime failed on model 'lookup': .*indices element out of data bounds/);
    expect([0, 2, 3].map((i) => answers[i]!.outputs[0]!.data)).toEqual([
      [0, 1],
      [20, 21],
      [10, 11],
    ]);
    // One batch of four, then one by one.
    const { model_stats } = (await (await fetch(`${server.http}/v2/models/lookup/stats`)).json()) as {
      readonly model_stats: readonly [{ readonly execution_count: number }];
    };
    expect(model_stats[0].execution_count).toBe(5);
  });

  it('is one whose string onnxruntime-node would cut', async () => {
    await using server = await startServer(
      (triton) => void triton.bind(onnx(file('text.onnx', identityModel('string')))),
    );
    const ask = (text: string) =>
      inferJson(server.http, 'text', [{ name: 'x', datatype: 'BYTES', shape: [1, 3], data: ['a', text, 'c'] }]);
    expect(await ask('one\0two')).toMatchObject({
      status: 400,
      error: "element 1 of input 'x' has a character U+0000, at which onnxruntime-node would cut it",
    });
    expect((await ask('b')).outputs[0]!.data).toEqual(['a', 'b', 'c']);
  });

  it('tells of a first dimension that is no batch axis, and how to serve it', async () => {
    const transpose = file(
      'transpose.onnx',
      onnxModel({
        nodes: [node('Transpose', ['x'], ['y'])],
        inputs: [tensorValue('x', 'float32', ['rows', 3])],
        outputs: [tensorValue('y', 'float32', [null, null])],
      }),
    );
    await using server = await startServer((triton) => {
      triton.bind(onnx(transpose));
      triton.bind(onnx(transpose, { modelName: 'whole', config: { batching: false } }));
    });
    expect(await inferJson(server.http, 'transpose', [ones('x', [2, 3])])).toMatchObject({
      status: 500,
      error:
        "output 'y' of model 'transpose' has shape [3,2] for 2 rows: its first dimension is no batch axis; serve the model with config: { batching: false }, or in config.pbtxt max_batch_size: 0 and all dims",
    });
    expect(await inferJson(server.http, 'whole', [ones('x', [2, 3])])).toMatchObject({
      status: 200,
      outputs: [{ shape: [3, 2] }],
    });
  });
});

describe('while onnxruntime computes', () => {
  /** Takes some tenths of a second on one thread. */
  function heavyModel(): string {
    const size = 640;
    const steps = 32;
    return file(
      'heavy.onnx',
      onnxModel({
        nodes: Array.from({ length: steps }, (_, i) =>
          node('MatMul', [`x${i}`, 'w'], [i === steps - 1 ? 'y' : `x${i + 1}`]),
        ),
        inputs: [tensorValue('x0', 'float32', [size, size])],
        outputs: [tensorValue('y', 'float32', [size, size])],
        initializers: [tensor('w', 'float32', [size, size], new Float32Array(size * size))],
      }),
    );
  }

  function askHeavy(http: string): Promise<Response> {
    const size = 640;
    const header = JSON.stringify({
      inputs: [
        { name: 'x0', datatype: 'FP32', shape: [size, size], parameters: { binary_data_size: size * size * 4 } },
      ],
      parameters: { binary_data_output: true },
    });
    return fetch(`${http}/v2/models/heavy/infer`, {
      method: 'POST',
      headers: { 'inference-header-content-length': String(header.length) },
      body: Buffer.concat([Buffer.from(header), Buffer.alloc(size * size * 4)]),
    });
  }

  it.each([{ serverThread: true }, { serverThread: false }])(
    'health checks are answered meanwhile (%o)',
    async (options) => {
      await using server = await startServer((triton) => void triton.bind(onnx(heavyModel(), { threads: 1 })), options);
      const metrics = async () => (await fetch(server.metrics)).text();
      const oneWaits = async () => pendingRequests(await metrics()) === 1;
      // While the first of two is computed the second waits: it does before a health check and after it. Where this thread is
      // slower than the computation, there is another one.
      for (let meanwhile = false; !meanwhile;) {
        const answers = [askHeavy(server.http), askHeavy(server.http)];
        let over = false;
        const all = Promise.all(answers).finally(() => (over = true));
        while (!over && !(await oneWaits()));
        expect((await fetch(`${server.http}/v2/health/ready`)).status).toBe(200);
        meanwhile = await oneWaits();
        for (const answer of await all) {
          expect(answer.status).toBe(200);
          await answer.arrayBuffer();
        }
      }
    },
  );

  it('stop waits for the answers, and the thread is gone then', async () => {
    await using server = await startServer((triton) => void triton.bind(onnx(heavyModel(), { threads: 1 })));
    const answers = [askHeavy(server.http), askHeavy(server.http)];
    const arrived = async () => {
      const text = await (await fetch(server.metrics)).text();
      const begun = text.matchAll(/^tstriton_batches_total\{.*\} (\d+)$/gm);
      return pendingRequests(text) + Array.from(begun, ([, count]) => Number(count)).reduce((sum, one) => sum + one, 0);
    };
    await expect.poll(arrived).toBe(2);
    await server.triton.stop();
    for (const answer of await Promise.all(answers)) {
      expect(answer.status).toBe(200);
      await answer.arrayBuffer();
    }
  });
});
