// Our client and `tstriton gen` against servers that are not ours, live: NVIDIA's tritonserver, MLServer and KServe's Python
// server, each where its environment is named.
import { execFileSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';

import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { defineModel, ModelClient, ServerClient } from 'tstriton/client';
import { SharedMemory } from 'tstriton/client/shared-memory';

import { ADD_SUB, startKserve, startMlserver, type PythonServer } from './start-python-server.js';
import { startTriton, type LiveTriton } from './start-triton.js';

const CLI = fileURLToPath(new URL('../../dist/cli/main.js', import.meta.url));
const { TRITON_ENVIRONMENT, MLSERVER_ENVIRONMENT, KSERVE_ENVIRONMENT } = process.env;

const A = [[1, 2, 3]];
const B = [[10, 20, 30]];
const SUMS = { add: [[11, 22, 33]], sub: [[-9, -18, -27]] };

const nested = (outputs: Readonly<Record<string, { toNested(): unknown } | undefined>>) =>
  Object.fromEntries(Object.entries(outputs).map(([name, tensor]) => [name, tensor?.toNested()]));

const tensor = { dtype: 'float32', shape: [3] } as const;
const addSub = (modelName: string) =>
  defineModel({ modelName, inputs: { a: tensor, b: tensor }, outputs: { add: tensor, sub: tensor } });

/** The module that `tstriton gen` writes. */
function generate(url: string, model: string): string {
  return execFileSync(process.execPath, [CLI, 'gen', url, '--model', model], { encoding: 'utf8' });
}

describe.runIf(TRITON_ENVIRONMENT !== undefined)("NVIDIA's tritonserver", () => {
  let triton: LiveTriton;
  const url = (protocol: string) =>
    protocol === 'http' ? `http://127.0.0.1:${triton.port}` : `grpc://127.0.0.1:${triton.grpcPort}`;

  beforeAll(async () => {
    const list = (type: string, ...names: readonly string[]) =>
      `[ ${names.map((name) => `{ name: "${name}" data_type: TYPE_${type} dims: [ -1 ] }`).join(', ')} ]`;
    triton = await startTriton(
      {
        addsub: `max_batch_size: 4 input ${list('FP32', 'a', 'b')} output ${list('FP32', 'add', 'sub')}`,
        id_bytes: `max_batch_size: 4 input ${list('STRING', 'x')} output ${list('STRING', 'y')}`,
        slow: `max_batch_size: 1 input ${list('FP32', 'x')} output ${list('FP32', 'y')}`,
        count: `input [ { name: "n" data_type: TYPE_INT32 dims: [ 1 ] } ] output [ { name: "i" data_type: TYPE_INT32 dims: [ 1 ] } ] model_transaction_policy { decoupled: true }`,
      },
      ['--model-control-mode=explicit', '--load-model=*'],
    );
  });

  afterAll(async () => {
    await triton?.[Symbol.asyncDispose]();
  });

  describe.each(['http', 'grpc'])('over %s', (protocol) => {
    it('answers in shared memory what came in shared memory', async () => {
      const outputs = { add: 100, sub: 100 };
      await using memory = new SharedMemory(url(protocol), { outputs, maxBytes: 2 ** 18 });
      await using client = new ModelClient(memory, addSub('addsub'));
      const answers = await Promise.all(
        [1, 2, 3, 4, 5].map((i) => client.inferBatch({ a: [[i, i, i]], b: [[10, 20, 30]] })),
      );
      expect(answers.map(({ add }) => add!.toNested())).toEqual([1, 2, 3, 4, 5].map((i) => [[10 + i, 20 + i, 30 + i]]));
      await using other = new SharedMemory(url(protocol), { outputs: { y: 1000 } });
      await using texts = new ModelClient(other, 'id_bytes');
      const { y } = await texts.inferBatch({ x: [['é', ''], ['abc', 'd']] }); // prettier-ignore
      expect(y!.strings()).toEqual(['é', '', 'abc', 'd']);
      await using server = new ServerClient(url(protocol));
      await server.unregisterSystemSharedMemory();
      expect(nested(await client.inferBatch({ a: A, b: B }))).toEqual(SUMS);
      await using small = new SharedMemory(url(protocol), { outputs: { add: 4 } });
      await using refused = new ModelClient(small, addSub('addsub'));
      await expect(refused.inferBatch({ a: A, b: B })).rejects.toMatchObject({
        message: expect.stringContaining('should be at least 12 bytes') as unknown,
      });
    });

    it('leaves no memory with the server when requests in it are cancelled', async () => {
      await using server = new ServerClient(url(protocol));
      await using memory = new SharedMemory(url(protocol), { outputs: { y: 1000 } });
      await using slow = new ModelClient(memory, 'slow');
      const late = [1, 2].map((x) => slow.inferSample({ x: [x] }, { timeoutMs: 200 }));
      for (const each of await Promise.allSettled(late)) expect(each.status).toBe('rejected');
      await expect.poll(() => server.systemSharedMemory(), { timeout: 10_000 }).toEqual([]);
    });

    it('answers samples and batches, of a model that is declared or known by its name', async () => {
      await using named = new ModelClient(url(protocol), 'addsub');
      expect(nested(await named.inferBatch({ a: A, b: B }))).toEqual(SUMS);
      await using declared = new ModelClient(url(protocol), addSub('addsub'));
      expect(nested(await declared.inferSample({ a: A[0]!, b: B[0]! }))).toEqual({
        add: SUMS.add[0],
        sub: SUMS.sub[0],
      });
      await using bytes = new ModelClient(url(protocol), 'id_bytes');
      const texts = ['', 'žluť 🐎', 'a\0b'];
      expect((await bytes.inferSample({ x: texts }))['y']!.strings()).toEqual(texts);
    });

    it('answers a batch larger than the model takes, in chunks', async () => {
      await using client = new ModelClient(url(protocol), 'addsub');
      const rows = Array.from({ length: 10 }, (_, i) => [i]);
      const { add } = await client.inferBatch({ a: rows, b: rows }, { chunk: true });
      expect(add!.toNested()).toEqual(rows.map(([i]) => [2 * i!]));
    });

    it('tells its errors', async () => {
      await using unknown = new ModelClient(url(protocol), 'nothere');
      await expect(unknown.inferSample({ x: [1] })).rejects.toThrow(/nothere/);
      await using slow = new ModelClient(url(protocol), 'slow');
      await expect(slow.inferSample({ x: [1] }, { timeoutMs: 100 })).rejects.toMatchObject({
        name: 'TritonTimeoutError',
      });
      expect(nested(await slow.inferSample({ x: [2] }))).toEqual({ y: [2] });
    });

    it('is described, ready, and loads and unloads models', async () => {
      await using server = new ServerClient(url(protocol));
      expect([await server.isLive(), await server.isReady()]).toEqual([true, true]);
      expect(await server.metadata()).toMatchObject({ name: 'triton' });
      expect(await server.modelMetadata('addsub')).toMatchObject({ name: 'addsub', versions: ['1'] });
      expect(await server.modelConfig('addsub')).toMatchObject({ maxBatchSize: 4 });
      expect((await server.repositoryIndex()).map(({ name }) => name).sort()).toEqual([
        'addsub',
        'count',
        'id_bytes',
        'slow',
      ]);
      await server.unloadModel('id_bytes');
      await expect.poll(() => server.isModelReady('id_bytes')).toBe(false);
      await server.loadModel('id_bytes');
      expect(await server.isModelReady('id_bytes')).toBe(true);
      const [statistics] = await server.statistics('addsub');
      expect(Number(statistics?.inferenceCount)).toBeGreaterThan(0);
    });

    it('has its models written as a module', () => {
      const module = generate(url(protocol), 'count');
      expect(module).toContain('decoupled: true');
      expect(module).toContain("n: { dtype: 'int32', shape: [1] },");
    });

    it('streams what a decoupled model answers', async () => {
      await using client = new ModelClient(url(protocol), 'count');
      const numbers: unknown[] = [];
      for await (const { i } of client.streamSample({ n: [3] })) numbers.push(i!.data[0]);
      expect(numbers).toEqual([0, 1, 2]);
      for await (const { i } of client.streamSample({ n: [1000] })) if (i!.data[0] === 2) break;
    });
  });
});

describe.runIf(MLSERVER_ENVIRONMENT !== undefined)('MLServer', () => {
  let mlserver: PythonServer;
  beforeAll(async () => {
    mlserver = await startMlserver(MLSERVER_ENVIRONMENT!);
  });
  afterAll(async () => {
    await mlserver?.[Symbol.asyncDispose]();
  });

  it.each(['http', 'grpc'] as const)(
    'answers a declared model, and one that is known by its name, over %s',
    async (protocol) => {
      // Over HTTP it takes JSON only.
      const form = { binaryData: protocol === 'grpc' };
      await using declared = new ModelClient(mlserver[protocol]!, addSub(ADD_SUB), form);
      expect(nested(await declared.inferBatch({ a: A, b: B }))).toEqual(SUMS);
      for await (const streamed of declared.streamBatch({ a: A, b: B })) expect(nested(streamed)).toEqual(SUMS);
      await using server = new ServerClient(mlserver[protocol]!);
      expect([await server.isLive(), await server.isReady(), await server.isModelReady(ADD_SUB)]).toEqual([
        true,
        true,
        true,
      ]);
      expect(await server.modelMetadata(ADD_SUB)).toMatchObject({ name: ADD_SUB });
      await using unknown = new ModelClient(mlserver[protocol]!, addSub('nothere'), form);
      await expect(unknown.inferBatch({ a: A, b: B })).rejects.toThrow(/nothere/);
      expect(generate(mlserver[protocol]!, ADD_SUB)).toContain("a: { dtype: 'float32', shape: [-1, 3] },");
    },
  );
});

describe.runIf(KSERVE_ENVIRONMENT !== undefined)("KServe's Python server", () => {
  let kserve: PythonServer;
  beforeAll(async () => {
    kserve = await startKserve(KSERVE_ENVIRONMENT!);
  });
  afterAll(async () => {
    await kserve?.[Symbol.asyncDispose]();
  });

  it('answers a declared model over http', async () => {
    await using declared = new ModelClient(kserve.http, addSub(ADD_SUB));
    expect(nested(await declared.inferBatch({ a: A, b: B }))).toEqual(SUMS);
    await using server = new ServerClient(kserve.http);
    expect([await server.isLive(), await server.isReady(), await server.isModelReady(ADD_SUB)]).toEqual([
      true,
      true,
      true,
    ]);
    await using unknown = new ModelClient(kserve.http, addSub('nothere'));
    await expect(unknown.inferBatch({ a: A, b: B })).rejects.toThrow(/nothere/);
  });
});
