import { describe, expect, expectTypeOf, it, vi } from 'vitest';
import {
  answerGrpcConfig,
  answerGrpcInfer,
  answerInfer,
  answerJson,
  failGrpc,
  readGrpcInfer,
  readInfer,
  startGrpc,
  startHttp,
  type WireTensor,
} from '../../test/support/fake-servers.js';
import { selfSignedCertificate } from '../../test/support/self-signed-certificate.js';
import { defineModel } from '../model/callable.js';
import { DataType } from '../../test/support/generated/model_config_pb.js';
import type { Tensor } from '../tensor/tensor.js';
import type { ClientTlsOptions } from './client-options.js';
import type { InferOptions } from './infer-options.js';
import { ModelClient } from './model-client.js';

const double = defineModel({
  modelName: 'Double',
  inputs: { x: { dtype: 'float32', shape: [-1] } },
  outputs: { y: { dtype: 'float32', shape: [-1] }, z: { dtype: 'string', shape: [1] } },
});
const X = Float32Array.of(1, 2);
const [own, other] = [selfSignedCertificate(), selfSignedCertificate()];

/** A model `M` with inputs `x` FP32 and optional `s` STRING; answers `x` as `y`, and whatever a test says to requests for its configuration. */
interface FakeModel extends AsyncDisposable {
  readonly url: string;
  /** Requests for the configuration so far. */
  readonly configs: () => number;
  readonly infers: WireTensor[][];
}

/** The first requests for the configuration fail; `silences` of them get no answer. */
async function startHttpModel(maxBatchSize: number, failures = 0, silences = 0): Promise<FakeModel> {
  let configs = 0;
  const infers: WireTensor[][] = [];
  const server = await startHttp((request, response) => {
    if (request.path.endsWith('/config')) {
      if (++configs <= silences) return;
      if (configs <= failures)
        return answerJson(response, 404, { error: "Request for unknown model: 'M' is not found" });
      return answerJson(response, 200, {
        name: 'M',
        max_batch_size: maxBatchSize,
        input: [
          { name: 'x', data_type: 'TYPE_FP32', dims: [-1], optional: false },
          { name: 's', data_type: 'TYPE_STRING', dims: ['1'], optional: true },
        ],
        output: [{ name: 'y', data_type: 'TYPE_FP32', dims: [-1] }],
      });
    }
    const { json, blobs } = readInfer(request);
    infers.push(json.inputs.map((input, i) => ({ ...input, bytes: blobs[i]! })));
    answerInfer(response, [{ name: 'y', datatype: 'FP32', shape: json.inputs[0]!.shape, bytes: blobs[0]! }]);
  });
  return { ...server, url: `http://${server.authority}`, configs: () => configs, infers };
}

async function startGrpcModel(maxBatchSize: number, failures = 0, silences = 0): Promise<FakeModel> {
  let configs = 0;
  const infers: WireTensor[][] = [];
  const server = await startGrpc((request) => {
    if (request.method === 'ModelConfig') {
      if (++configs <= silences) return;
      if (configs <= failures) return failGrpc(request.stream, 5, "Request for unknown model: 'M' is not found");
      return answerGrpcConfig(request.stream, {
        name: 'M',
        maxBatchSize,
        input: [
          { name: 'x', dataType: DataType.TYPE_FP32, dims: [-1n] },
          { name: 's', dataType: DataType.TYPE_STRING, dims: [1n], optional: true },
        ],
        output: [{ name: 'y', dataType: DataType.TYPE_FP32, dims: [-1n] }],
      });
    }
    const { inputs, rawInputContents } = readGrpcInfer(request);
    const tensors = inputs.map(({ name, datatype, shape }, i) => ({
      name,
      datatype,
      shape: shape.map(Number),
      bytes: rawInputContents[i]!,
    }));
    infers.push(tensors);
    answerGrpcInfer(request.stream, [{ ...tensors[0]!, name: 'y' }]);
  });
  return { ...server, url: `grpc://${server.authority}`, configs: () => configs, infers };
}

describe.each([
  ['HTTP', startHttpModel],
  ['gRPC', startGrpcModel],
])('ModelClient over %s with a plain name', (_, start) => {
  it('fetches the configuration once, however many calls begin at once', async () => {
    await using model = await start(4);
    await using client = new ModelClient(model.url, 'M');
    expect(model.configs()).toBe(0);
    await Promise.all([client.inferSample({ x: X }), client.inferSample([X]), client.inferBatch({ x: [[1], [2]] })]);
    // A mistake of the caller.
    await expect(client.inferSample({ y: X })).rejects.toMatchObject({ code: 'INVALID_ARG' });
    await client.inferSample({ x: X });
    expect(model.configs()).toBe(1);
    expect(model.infers.map(([x]) => x!.shape)).toEqual([
      [1, 2],
      [1, 2],
      [2, 1],
      [1, 2],
    ]);
  });

  it('tries again after the configuration could not be fetched', async () => {
    await using model = await start(4, 1);
    await using client = new ModelClient(model.url, 'M');
    const failed = [client.inferSample({ x: X }), client.inferSample({ x: X })];
    for (const call of failed) {
      await expect(call).rejects.toMatchObject({
        code: 'NOT_FOUND',
        message: "Request for unknown model: 'M' is not found",
      });
    }
    expect(model.configs()).toBe(1);
    await expect(client.inferSample({ x: X })).resolves.toHaveProperty('y');
    expect(model.configs()).toBe(2);
  });

  it('leaves a question for the configuration when no call waits for it any more, and asks anew', async () => {
    await using model = await start(4, 0, 1);
    await using client = new ModelClient(model.url, 'M');
    const [first, second] = [new AbortController(), new AbortController()];
    const calls = [first, second].map(({ signal }) => client.inferSample({ x: X }, { signal }));
    const outcomes = Promise.allSettled(calls);
    await vi.waitFor(() => expect(model.configs()).toBe(1));
    first.abort();
    await expect(calls[0]).rejects.toMatchObject({ code: 'CANCELLED' });
    // The second still waits for the answer, and so does one that comes later.
    const third = client.inferSample({ x: X }, { signal: second.signal });
    second.abort();
    await expect(third).rejects.toMatchObject({ code: 'CANCELLED' });
    await outcomes;
    await expect(client.inferSample({ x: X })).resolves.toHaveProperty('y');
    expect(model.configs()).toBe(2);
  });

  it('takes optional inputs or leaves them out, by name or by position', async () => {
    await using model = await start(4);
    await using client = new ModelClient(model.url, 'M');
    await client.inferSample({ x: X, s: ['é'] });
    await client.inferSample({ x: X, s: undefined });
    await client.inferSample([X, 'é']);
    await client.inferSample([X, undefined]);
    expect(model.infers.map((tensors) => tensors.map(({ name }) => name))).toEqual([
      ['x', 's'],
      ['x'],
      ['x', 's'],
      ['x'],
    ]);
    expect(Buffer.from(model.infers[2]![1]!.bytes)).toEqual(Buffer.from([2, 0, 0, 0, 0xc3, 0xa9]));
    expect(model.infers[2]![1]!.shape).toEqual([1, 1]);
  });

  it('adds no batch axis to the tensors of a model that does not batch, and refuses inferBatch', async () => {
    await using model = await start(0);
    await using client = new ModelClient(model.url, 'M');
    const { y } = await client.inferSample({ x: X });
    expect(y!.shape).toEqual([2]);
    expect(model.infers[0]![0]!.shape).toEqual([2]);
    await expect(client.inferBatch({ x: [[1]] })).rejects.toMatchObject({
      code: 'INVALID_ARG',
      message: "model 'M' doesn't support batching: use inferSample instead of inferBatch",
    });
  });

  it('counts the time for the configuration into the deadline of the call', async () => {
    await using model = await start(4, 0);
    await using client = new ModelClient(model.url, 'M');
    // The smallest deadline: it has passed before the configuration can have come.
    await expect(client.inferSample({ x: X }, { timeoutMs: 0.001 })).rejects.toMatchObject({
      code: 'DEADLINE_EXCEEDED',
    });
    expect(model.infers).toEqual([]);
    await expect(client.inferSample({ x: X })).resolves.toHaveProperty('y');
  });
});

describe('ModelClient', () => {
  it('fetches nothing when it has the spec, whose dtypes the outputs get', async () => {
    const paths: string[] = [];
    await using server = await startHttp((request, response) => {
      paths.push(request.path);
      answerInfer(response, [
        { name: 'z', datatype: 'BYTES', shape: [1, 1], bytes: Buffer.from([2, 0, 0, 0, 0xc3, 0xa9]) },
        { name: 'other', datatype: 'BYTES', shape: [1, 1], bytes: Buffer.from([1, 0, 0, 0, 7]) },
      ]);
    });
    await using client = new ModelClient(server.authority, double);
    const outputs = await client.inferSample({ x: X });
    expect(outputs.z).toMatchObject({ dtype: 'string', data: ['é'], shape: [1] });
    expect(outputs).toHaveProperty('other', expect.objectContaining({ dtype: 'bytes', data: [Uint8Array.of(7)] }));
    expect(paths).toEqual(['/v2/models/Double/infer']);
  });

  it('prefers its own modelVersion to that of the spec', async () => {
    const paths: string[] = [];
    await using server = await startHttp((request, response) => {
      paths.push(request.path);
      answerInfer(response, []);
    });
    await using client = new ModelClient(server.authority, { ...double, modelVersion: 2 }, { modelVersion: 7 });
    await client.inferSample({ x: X });
    expect(paths).toEqual(['/v2/models/Double/versions/7/infer']);
  });

  it('cancels what is in flight when it closes, and takes no calls afterwards', async () => {
    let arrived: () => void;
    const arrival = new Promise<void>((resolve) => (arrived = resolve));
    await using server = await startHttp(() => arrived());
    const client = new ModelClient(server.authority, double);
    const outcome = client.inferSample({ x: X }).catch((error: unknown) => error);
    await arrival;
    const closing = client.close();
    expect(client.close()).toBe(closing);
    await closing;
    expect(await outcome).toMatchObject({ code: 'CANCELLED', message: 'ModelClient is closed' });
    await expect(client.inferSample({ x: X })).rejects.toMatchObject({
      code: 'UNAVAILABLE',
      message: 'ModelClient is closed',
    });
    await client[Symbol.asyncDispose]();
  });

  it('cancels the fetch of the configuration when it closes', async () => {
    let arrived: () => void;
    const arrival = new Promise<void>((resolve) => (arrived = resolve));
    await using server = await startHttp(() => arrived());
    const client = new ModelClient(server.authority, 'M');
    const outcome = client.inferSample({ x: X }).catch((error: unknown) => error);
    await arrival;
    await client.close();
    expect(await outcome).toMatchObject({ code: 'CANCELLED', message: 'ModelClient is closed' });
  });

  it('cancels every call by the signal of its options', async () => {
    const controller = new AbortController();
    await using server = await startHttp(() => controller.abort());
    await using client = new ModelClient(server.authority, double, { signal: controller.signal });
    await expect(client.inferSample({ x: X })).rejects.toMatchObject({ code: 'CANCELLED' });
    await expect(client.inferSample({ x: X })).rejects.toMatchObject({ code: 'CANCELLED' });
    expect(server.connections).toHaveLength(1);
  });

  it('opens no connection before the first call, and closes without one', async () => {
    await using server = await startHttp(() => {});
    const client = new ModelClient(server.authority, double);
    await client.close();
    expect(server.connections).toEqual([]);
  });

  it.each<[string, () => unknown, string]>([
    ['an empty name', () => new ModelClient('localhost', ''), 'Model name cannot be empty'],
    [
      'a spec that is none',
      () => new ModelClient('localhost', { ...double, inputs: { x: { dtype: 'f32' as never, shape: [1] } } }),
      'unknown dtype "f32"',
    ],
    [
      'an unknown option',
      () => new ModelClient('localhost', 'M', { timeout: 5 } as never),
      "options of a client has an unknown option 'timeout'; did you mean 'timeoutMs'?",
    ],
    [
      'a version that is none',
      () => new ModelClient('localhost', 'M', { modelVersion: 0 }),
      'modelVersion must be an integer >= 1, got 0',
    ],
    [
      'no time at all',
      () => new ModelClient('localhost', 'M', { timeoutMs: 0 }),
      'timeoutMs must be a number above 0 and at most 2147483647, got 0',
    ],
    ['a time that is text', () => new ModelClient('localhost', 'M', { timeoutMs: '1000' as never }), 'got "1000"'],
    ['endless time', () => new ModelClient('localhost', 'M', { timeoutMs: Infinity }), 'got Infinity'],
    [
      'certificates without TLS',
      () => new ModelClient('grpc://h', 'M', { tls: {} }),
      'options.tls of a client needs https:// or grpcs://, got grpc://h:8001',
    ],
    [
      'a function for them without TLS',
      () => new ModelClient('http://h', 'M', { tls: () => ({}) }),
      'options.tls of a client needs https:// or grpcs://, got http://h:8000',
    ],
  ])('refuses %s at once', (_, make, message) => {
    expect(make).toThrow(message);
    expect(make).toThrow(expect.objectContaining({ code: 'INVALID_ARG' }));
  });

  it.each<[string, ClientTlsOptions, string]>([
    ['options that are none', null as never, 'options.tls of a client must be an object, got null'],
    ['an unknown option', { certs: own.cert } as never, "options.tls of a client has an unknown option 'certs'"],
    [
      'a file name for an authority',
      { ca: './ca.pem' },
      'options.tls.ca of a client: expected certificates in PEM form, got: what may be its path: readFileSync(',
    ],
    [
      'an authority that is no text',
      { ca: 5 as never },
      'options.tls.ca of a client: expected certificates in PEM form',
    ],
    ['a certificate without its key', { cert: own.cert }, 'options.tls of a client: expected cert and key together'],
    ['a key without its certificate', { key: own.key }, 'options.tls of a client: expected cert and key together'],
    [
      'a certificate that is none',
      { cert: own.key, key: own.key },
      'options.tls.cert of a client: expected a certificate in PEM form',
    ],
    [
      'a key that is none',
      { cert: own.cert, key: 'secret' },
      'options.tls.key of a client: expected an unencrypted private key in PEM form',
    ],
    [
      'the key of another certificate',
      { cert: own.cert, key: other.key },
      'options.tls.key of a client: expected the key of the certificate',
    ],
  ])('refuses %s at once', (_, tls, message) => {
    for (const scheme of ['https', 'grpcs']) {
      const make = () => new ModelClient(`${scheme}://localhost`, double, { tls });
      expect(make).toThrow(message);
      expect(make).toThrow(expect.objectContaining({ code: 'INVALID_ARG' }));
      expect(make).not.toThrow('secret');
    }
  });

  it.each<[string, unknown, string]>([
    ['an unknown option', { retries: 3 }, "options of an inference has an unknown option 'retries'"],
    [
      'a header of the protocol',
      { headers: { 'Content-Length': '5' } },
      "header 'Content-Length' is set by the client itself",
    ],
    [
      'a compressed answer',
      { headers: { 'accept-encoding': 'gzip' } },
      "header 'accept-encoding' is set by the client itself",
    ],
    ['a header name that is none', { headers: { 'a b': '' } }, 'invalid header name "a b"'],
    [
      'a header that breaks the line',
      { headers: { a: 'x\r\nb: y' } },
      "header 'a' has a value with characters that headers cannot have",
    ],
    ['a header that is no string', { headers: { a: 5 } }, "header 'a' must be a string, got number"],
    ['headers that are a list', { headers: [] }, 'headers must be an object, got a list'],
    [
      'a parameter of the protocol',
      { parameters: { binary_data_output: false } },
      "parameter 'binary_data_output' is set by the client itself",
    ],
    [
      'a parameter that is an object',
      { parameters: { a: {} } },
      "parameter 'a' must be a string, a boolean, a number or a bigint of 64 bits, got object",
    ],
    ['a parameter beyond 64 bits', { parameters: { a: 2n ** 64n } }, 'got 18446744073709551616'],
    ['a request id that is no string', { requestId: 5 }, 'requestId must be a string, got number'],
    ['a request id with half a character', { requestId: 'a\ud800' }, 'requestId must have whole characters'],
    ['a sequence id with half a character', { sequence: { id: '\udc00' } }, 'sequence.id must have whole characters'],
    ['an empty sequence id', { sequence: { id: '' } }, 'sequence.id must be a text that is not empty or an integer'],
    ['a sequence id that is a fraction', { sequence: { id: 1.5 } }, 'from 1 to 2^64 - 1, got 1.5'],
    ['a sequence id beyond 64 bits', { sequence: { id: 2n ** 64n } }, 'got 18446744073709551616'],
    ['a sequence without an id', { sequence: { start: true } }, 'got undefined'],
    [
      'a sequence that starts with a word',
      { sequence: { id: 1, start: 'yes' } },
      'sequence.start must be true or false',
    ],
    ['a sequence given twice', { sequence: { id: 1 }, parameters: { sequence_id: 1 } }, "'sequence_id' and the option"],
    ['a value in place of the options', 5, 'options of an inference must be an object, got number'],
    ['a signal that is none', { signal: {} }, 'signal must be an AbortSignal, got object'],
    [
      'a class count below one',
      { classes: { y: 0 } },
      "classes of output 'y' must be an integer from 1 to 2147483647, got 0",
    ],
    ['classes of no output', { classes: { nope: 1 } }, "classes names 'nope', which is none of the outputs"],
    [
      'classes of an output that is not asked',
      { classes: { y: 1 }, outputs: ['z'] },
      "classes names 'y', which is none",
    ],
    ['a priority below one', { priority: 0 }, 'priority must be an integer from 1 to 4294967295, got 0'],
    ['a priority given twice', { priority: 1, parameters: { priority: 1 } }, "parameter 'priority' and the option"],
    ['a server timeout below one', { serverTimeoutMicroseconds: 0.5 }, 'serverTimeoutMicroseconds must be an integer'],
    ['no outputs', { outputs: [] }, 'outputs must name one output at least; leave it out to ask for all'],
    ['outputs that are no list', { outputs: 'y' }, 'outputs must be a list of names, got string'],
  ])('rejects a call with %s', async (_, options, message) => {
    await using client = new ModelClient('localhost:1', double);
    const call = client.inferSample({ x: X }, options as InferOptions<never>);
    await expect(call).rejects.toThrow(message);
    await expect(call).rejects.toMatchObject({ code: 'INVALID_ARG' });
  });
});

describe('a decoupled model', () => {
  const tokens = defineModel({ ...double, modelName: 'Tokens', config: { decoupled: true } });

  it('is not asked for one answer by its name either, because the server says so', async () => {
    await using server = await startHttp((_, response) => {
      const policy = { model_transaction_policy: { decoupled: true } };
      answerJson(response, 200, { name: 'Tokens', max_batch_size: 4, input: [], output: [], ...policy });
    });
    await using client = new ModelClient(server.authority, 'Tokens');
    await expect(client.inferSample({ x: X })).rejects.toMatchObject({
      code: 'INVALID_ARG',
      message: expect.stringContaining('use streamSample') as string,
    });
  });

  it('is not asked for one answer: the call says what to do instead', async () => {
    await using client = new ModelClient('localhost:1', tokens);
    for (const [method, call] of [
      ['inferSample', client.inferSample({ x: X } as never)],
      ['inferBatch', client.inferBatch({ x: X } as never)],
    ] as const) {
      await expect(call).rejects.toMatchObject({
        code: 'INVALID_ARG',
        message: `model 'Tokens' is decoupled: it answers a request any number of times, and ${method} takes one answer; use ${method.replace('infer', 'stream')}`,
      });
    }
  });
});

describe('the types of ModelClient', () => {
  const typed = defineModel({
    modelName: 'T',
    inputs: { a: { dtype: 'float32', shape: [-1] }, b: { dtype: 'string', shape: [1], optional: true } },
    outputs: [
      { dtype: 'int64', shape: [1] },
      { name: 'label', dtype: 'string', shape: [1] },
    ],
  });

  it('follow the spec', () => {
    // Compiled, never called.
    async function use(client: ModelClient<typeof typed.inputs, typeof typed.outputs>) {
      const all = await client.inferSample({ a: Float32Array.of(1) });
      expectTypeOf(all.OUTPUT_1).toEqualTypeOf<Tensor<'int64'> | undefined>();
      expectTypeOf(all.label).toEqualTypeOf<Tensor<'string'> | undefined>();
      const some = await client.inferBatch({ a: [[1]], b: [['x']] }, { outputs: ['label'] });
      expectTypeOf(some).toEqualTypeOf<Pick<typeof all, 'label'>>();
      await client.inferSample([Float32Array.of(1), ['x']]);
      // @ts-expect-error A required input is missing.
      await client.inferSample({ b: ['x'] });
      // @ts-expect-error No input has this name.
      await client.inferSample({ a: [1], c: [1] });
      // @ts-expect-error The dtype is float32.
      await client.inferSample({ a: Float64Array.of(1) });
      // @ts-expect-error No output has this name.
      await client.inferSample({ a: [1] }, { outputs: ['nope'] });
    }
    expectTypeOf(use).returns.resolves.toBeVoid();
    expectTypeOf(() => new ModelClient('h', typed)).returns.toEqualTypeOf<
      ModelClient<typeof typed.inputs, typeof typed.outputs>
    >();
  });

  it('are open for a plain name', () => {
    async function use() {
      const client = new ModelClient('h', 'M');
      const { y } = await client.inferSample({ anything: [[1, 2]], more: 'text' });
      expectTypeOf(y).toEqualTypeOf<Tensor | undefined>();
      await client.inferBatch([Float32Array.of(1), [[1n]], [['a']]]);
    }
    expectTypeOf(use).returns.resolves.toBeVoid();
  });
});
