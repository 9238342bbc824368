// Shared memory of clients, as Triton's suite of this name tests it: regions, inputs and outputs in them, over both
// protocols, and regions that are unregistered while requests use them.
import { status as GRPC, type ServiceError } from '@grpc/grpc-js';
import { describe, expect, it } from 'vitest';

import { type InferenceRequest, Tensor, type Triton } from 'tstriton';

import { callJson, grpcService } from '../support/grpc-service.js';
import { floats, SharedMemoryObject } from '../support/shared-memory.js';
import { gate, pendingRequests, startServer, type RunningServer } from '../support/start-server.js';

const TENSOR = { dtype: 'float32', shape: [-1] } as const;

/** Sums and differences, as the recorded clients had them. */
function bindSimple(triton: Triton): void {
  triton.bind({
    modelName: 'simple',
    inferFunc: (requests) =>
      requests.map(({ inputs: { INPUT0, INPUT1 } }) => ({
        OUTPUT0: new Tensor(
          'float32',
          INPUT0.data.map((value, i) => value + INPUT1.data[i]!),
          INPUT0.shape,
        ),
        OUTPUT1: new Tensor(
          'float32',
          INPUT0.data.map((value, i) => value - INPUT1.data[i]!),
          INPUT0.shape,
        ),
      })),
    inputs: { INPUT0: TENSOR, INPUT1: TENSOR },
    outputs: { OUTPUT0: TENSOR, OUTPUT1: TENSOR },
  });
}

const OPEN = { allowClientShm: true, restrictedEndpoints: [] };

type Place = readonly [region: string, offset: number, size: number];

function place(...[region, offset, size]: Place) {
  return { shared_memory_region: region, shared_memory_offset: offset, shared_memory_byte_size: size };
}

/** The same as gRPC has it. */
function grpcPlace(...[region, offset, size]: Place) {
  return {
    shared_memory_region: { string_param: region },
    shared_memory_offset: { int64_param: offset },
    shared_memory_byte_size: { int64_param: size },
  };
}

describe.each([{ serverThread: true }, { serverThread: false }])('shared memory with %o', ({ serverThread }) => {
  it('holds the inputs and outputs of requests over HTTP and gRPC', async () => {
    const input = new SharedMemoryObject(4096, floats(1, 2, 3, 10, 20, 30));
    const output = new SharedMemoryObject(8192);
    await using server = await startServer(bindSimple, { ...OPEN, serverThread });
    using grpc = grpcService(server.grpc);
    const shm = `${server.http}/v2/systemsharedmemory`;
    expect(await callJson(`${shm}/region/in/register`, { key: input.key, byte_size: 4096 })).toEqual([200, '']);
    await grpc.call('SystemSharedMemoryRegister', { name: 'out', key: output.key, offset: 4096, byte_size: 4096 });
    const answer = await callJson(`${server.http}/v2/models/simple/infer`, {
      inputs: [
        { name: 'INPUT0', datatype: 'FP32', shape: [1, 3], parameters: place('in', 0, 12) },
        { name: 'INPUT1', datatype: 'FP32', shape: [1, 3], parameters: place('in', 12, 12) },
      ],
      outputs: [{ name: 'OUTPUT0', parameters: place('out', 0, 64) }, { name: 'OUTPUT1' }],
    });
    expect(answer).toMatchObject([
      200,
      {
        outputs: [
          { name: 'OUTPUT0', datatype: 'FP32', shape: [1, 3] },
          { name: 'OUTPUT1', data: [-9, -18, -27] },
        ],
      },
    ]);
    expect(output.read().subarray(4096, 4096 + 12)).toEqual(Buffer.from(floats(11, 22, 33)));
    const second = await grpc.call('ModelInfer', {
      model_name: 'simple',
      inputs: [
        { name: 'INPUT0', datatype: 'FP32', shape: [1, 3], parameters: grpcPlace('in', 0, 12) },
        { name: 'INPUT1', datatype: 'FP32', shape: [1, 3] },
      ],
      outputs: [{ name: 'OUTPUT1', parameters: grpcPlace('out', 64, 12) }, { name: 'OUTPUT0' }],
      raw_input_contents: [floats(1, 1, 1)],
    });
    expect(second).toMatchObject({
      outputs: [{ name: 'OUTPUT0' }, { name: 'OUTPUT1' }],
      raw_output_contents: [Buffer.from(floats(2, 3, 4)), Buffer.alloc(0)],
    });
    expect(output.read().subarray(4160, 4172)).toEqual(Buffer.from(floats(0, 1, 2)));
  });

  it('is kept while requests use it when it is unregistered, and takes others until then', async () => {
    const object = new SharedMemoryObject(4096, floats(5));
    const { open, opened } = gate();
    let begun = 0;
    const inferFunc = async (requests: readonly InferenceRequest[]) => {
      begun++;
      await opened;
      return requests.map(({ inputs }) => ({ y: inputs['x']! }));
    };
    await using server = await startServer(
      (triton) =>
        triton.bind({
          modelName: 'held',
          inferFunc: [inferFunc, inferFunc],
          inputs: { x: TENSOR },
          outputs: { y: TENSOR },
        }),
      { ...OPEN, serverThread },
    );
    const shm = `${server.http}/v2/systemsharedmemory`;
    const infer = (from = 0, to = 64) =>
      callJson(`${server.http}/v2/models/held/infer`, {
        inputs: [{ name: 'x', datatype: 'FP32', shape: [1, 1], parameters: place('r', from, 4) }],
        outputs: [{ name: 'y', parameters: place('r', to, 4) }],
      });
    object.write(floats(7), 8);
    await callJson(`${shm}/region/r/register`, { key: object.key, byte_size: 4096 });
    const first = infer();
    await expect.poll(() => begun).toBe(1);
    expect(await callJson(`${shm}/unregister`, {})).toEqual([200, '']);
    expect(await callJson(`${shm}/status`)).toMatchObject([200, [{ name: 'r' }]]);
    const second = infer(8, 72);
    await expect.poll(() => begun).toBe(2);
    // What the callable has is its own by now.
    object.write(floats(99));
    open();
    expect([(await first)[0], (await second)[0]]).toEqual([200, 200]);
    expect(object.read().subarray(64, 68)).toEqual(Buffer.from(floats(5)));
    expect(object.read().subarray(72, 76)).toEqual(Buffer.from(floats(7)));
    expect(await infer()).toEqual([404, { error: "Unable to find shared memory region: 'r'" }]);
    expect(await callJson(`${shm}/status`)).toEqual([200, []]);
  });

  it('holds strings', async () => {
    const bytes = Buffer.from('\x03\0\0\0abc\x02\0\0\0de', 'latin1');
    const object = new SharedMemoryObject(4096, bytes);
    await using server = await startServer(
      (triton) =>
        triton.bind({
          modelName: 'upper',
          inferFunc: (requests) =>
            requests.map(({ inputs: { s } }) => ({
              t: new Tensor(
                'string',
                s.data.map((text) => text.toUpperCase()),
                s.shape,
              ),
            })),
          inputs: { s: { dtype: 'string', shape: [-1] } },
          outputs: { t: { dtype: 'string', shape: [-1] } },
        }),
      { ...OPEN, serverThread },
    );
    await callJson(`${server.http}/v2/systemsharedmemory/region/r/register`, { key: object.key, byte_size: 4096 });
    const [status, answer] = await callJson(`${server.http}/v2/models/upper/infer`, {
      inputs: [{ name: 's', datatype: 'BYTES', shape: [1, 2], parameters: place('r', 0, bytes.length) }],
    });
    expect([status, (answer as { outputs: unknown[] }).outputs[0]]).toEqual([
      200,
      { name: 't', datatype: 'BYTES', shape: [1, 2], data: ['ABC', 'DE'] },
    ]);
  });

  it('fails a request whose client took the memory away, and serves the next', async () => {
    const object = new SharedMemoryObject(8192, floats(1, 2));
    await using server = await startServer(bindSimple, { ...OPEN, serverThread });
    await callJson(`${server.http}/v2/systemsharedmemory/region/r/register`, { key: object.key, byte_size: 8192 });
    const infer = (offset: number) =>
      callJson(`${server.http}/v2/models/simple/infer`, {
        inputs: ['INPUT0', 'INPUT1'].map((name) => ({
          name,
          datatype: 'FP32',
          shape: [1, 2],
          parameters: place('r', offset, 8),
        })),
      });
    object.resize(4096);
    expect(await infer(4096)).toMatchObject([
      400,
      { error: expect.stringContaining('smaller than when it was registered') },
    ]);
    object.resize(8192);
    expect((await infer(0))[0]).toBe(200);
  });

  it('has inputs as they were when the request came, whatever its client does to the memory while it waits', async () => {
    const elements = 1 << 18;
    const { open: release, opened } = gate();
    const seen: number[] = [];
    const bind = (triton: Triton) =>
      triton.bind({
        modelName: 'held',
        inferFunc: async (requests) => {
          seen.push(requests.length);
          await opened;
          return requests.map(({ inputs: { x } }) => ({ sum: [x.data.reduce((sum, value) => sum + value, 0)] }));
        },
        inputs: { x: TENSOR },
        outputs: { sum: { dtype: 'float32', shape: [1] } },
        config: { concurrency: 1 },
      });
    await using server = await startServer(bind, { ...OPEN, serverThread });
    using grpc = grpcService(server.grpc);
    const { http } = server;
    const infer = (count: number, parameters: object | undefined) =>
      callJson(`${http}/v2/models/held/infer`, {
        inputs: [{ name: 'x', datatype: 'FP32', shape: [1, count], ...(parameters ? { parameters } : { data: [5] }) }],
      });
    const first = infer(1, undefined);
    await expect.poll(() => seen.length).toBe(1);
    const objects = [1, 2, 3].map((value) => new SharedMemoryObject(4 * elements, floats(value, value, value)));
    for (const [i, { key }] of objects.entries())
      await callJson(`${http}/v2/systemsharedmemory/region/r${i}/register`, { key, byte_size: 4 * elements });
    const waiting = [infer(elements, place('r0', 0, 4 * elements)), infer(3, place('r1', 0, 12))];
    const streamed = grpc.call('ModelInfer', {
      model_name: 'held',
      inputs: [{ name: 'x', datatype: 'FP32', shape: [1, 2], parameters: grpcPlace('r2', 0, 8) }],
    });
    await expect
      .poll(async () => pendingRequests(await (await fetch(server.metrics)).text()), { interval: 20 })
      .toBe(3);
    for (const object of objects) object.resize(0);
    release();
    expect((await first)[1]).toMatchObject({ outputs: [{ data: [5] }] });
    expect((await Promise.all(waiting)).map(([, body]) => body)).toMatchObject([
      { outputs: [{ data: [3] }] },
      { outputs: [{ data: [6] }] },
    ]);
    const { raw_output_contents: raw } = (await streamed) as { raw_output_contents: Buffer[] };
    expect(Buffer.from(raw[0]!)).toEqual(Buffer.from(floats(6)));
  });

  it('counts with what clients send, and is refused beyond that', async () => {
    const size = 3 * 2 ** 30;
    const object = new SharedMemoryObject(0);
    object.resize(size);
    await using server = await startServer(bindSimple, { ...OPEN, serverThread, maxInflightBytes: 2 ** 24 });
    using grpc = grpcService(server.grpc);
    await callJson(`${server.http}/v2/systemsharedmemory/region/r/register`, { key: object.key, byte_size: size });
    const inputs = (bytes: number, parameters: object) =>
      ['INPUT0', 'INPUT1'].map((name) => ({ name, datatype: 'FP32', shape: [1, bytes / 4], parameters }));
    const overHttp = (bytes: number) =>
      callJson(`${server.http}/v2/models/simple/infer`, { inputs: inputs(bytes, place('r', 0, bytes)) });
    const overGrpc = (bytes: number) =>
      grpc.call('ModelInfer', { model_name: 'simple', inputs: inputs(bytes, grpcPlace('r', 0, bytes)) });
    const refusal = (bytes: number) =>
      `there is no room for an input of ${bytes} bytes from shared memory beside what all clients hold (maxInflightBytes): try again later`;
    const before = process.memoryUsage.rss();
    for (const bytes of [size, 2 ** 25]) {
      expect(await overHttp(bytes)).toEqual([503, { error: refusal(bytes) }]);
      await expect(overGrpc(bytes)).rejects.toMatchObject({ code: GRPC.UNAVAILABLE, details: refusal(bytes) });
    }
    expect(process.memoryUsage.rss() - before).toBeLessThan(2 ** 29);
    // What was refused holds nothing.
    for (const bytes of [4, 2 ** 20]) {
      expect((await overHttp(bytes))[0]).toBe(200);
      expect(await overGrpc(bytes)).toMatchObject({ model_name: 'simple' });
    }
  });
});

/** The registry as clients see it over one of the protocols; refusals are `code or status: text`. */
interface Registry extends Disposable {
  register(name: string, key: string, byteSize: number, offset?: number): Promise<string>;
  unregister(name?: string): Promise<string>;
  status(): Promise<string[]>;
}

const WIRES: Readonly<Record<string, (server: RunningServer) => Registry>> = {
  http({ http }) {
    const shm = `${http}/v2/systemsharedmemory`;
    const told = ([status, body]: [number, unknown]) =>
      status === 200 ? 'OK' : `${status === 400 ? 'invalid' : status}: ${(body as { error: string }).error}`;
    return {
      register: async (name, key, byteSize, offset = 0) =>
        told(await callJson(`${shm}/region/${name}/register`, { key, byte_size: byteSize, offset })),
      unregister: async (name) =>
        told(await callJson(`${shm}/${name === undefined ? '' : `region/${name}/`}unregister`, {})),
      status: async () => ((await callJson(`${shm}/status`))[1] as { name: string }[]).map(({ name }) => name),
      [Symbol.dispose]: () => undefined,
    };
  },
  grpc(server) {
    const grpc = grpcService(server.grpc);
    const call = (method: string, request: object) =>
      grpc.call(method, request).then(
        () => 'OK',
        ({ code, details }: ServiceError) => `${code === GRPC.INVALID_ARGUMENT ? 'invalid' : code}: ${details}`,
      );
    return {
      register: (name, key, byteSize, offset = 0) =>
        call('SystemSharedMemoryRegister', { name, key, offset, byte_size: byteSize }),
      unregister: (name = '') => call('SystemSharedMemoryUnregister', { name }),
      status: async () => Object.keys((await grpc.call('SystemSharedMemoryStatus'))['regions'] as object).sort(),
      [Symbol.dispose]: () => grpc[Symbol.dispose](),
    };
  },
};

describe.each(Object.keys(WIRES))('L0_shared_memory: regions over %s', (wire) => {
  const open = WIRES[wire]!;

  it('are registered once and unregistered as often as one likes, alone and all', async () => {
    const { key } = new SharedMemoryObject(64);
    await using server = await startServer(bindSimple, OPEN);
    using registry = open(server);
    expect(await registry.unregister('nobody')).toBe('OK');
    for (const name of ['a', 'b', 'c']) expect(await registry.register(name, key, 64)).toBe('OK');
    const already = await registry.register('a', key, 64);
    expect(already).toBe(
      `${wire === 'http' ? 'invalid' : GRPC.ALREADY_EXISTS}: shared memory region 'a' already in manager`,
    );
    expect(await registry.status()).toEqual(['a', 'b', 'c']);
    expect([await registry.unregister('b'), await registry.unregister('b')]).toEqual(['OK', 'OK']);
    expect(await registry.status()).toEqual(['a', 'c']);
    expect([await registry.unregister(), await registry.status()]).toEqual(['OK', []]);
    expect(await registry.register('a', key, 64)).toBe('OK');
  });

  it.each([
    ['more than there is', 65, 0],
    ['what goes over the end', 64, 1],
    ['what is behind the end', 1, 64],
    ['nothing, behind the end', 0, 65],
  ])('may not have %s', async (_, byteSize, offset) => {
    const { key } = new SharedMemoryObject(64);
    await using server = await startServer(bindSimple, OPEN);
    using registry = open(server);
    expect(await registry.register('r', key, byteSize, offset)).toMatch(
      /^invalid: failed to register shared memory region 'r': invalid args/,
    );
    expect(await registry.status()).toEqual([]);
  });

  it.each([
    ['/', "cannot register shared memory region 'r' - invalid shm key '/'"],
    ['///', "cannot register shared memory region 'r' - invalid shm key '///'"],
    ...['', '/', '//'].map((slashes) => [
      `${slashes}triton_python_backend_shm_region_1`,
      `cannot register shared memory region 'r' with key '${slashes}triton_python_backend_shm_region_1' as the key contains the reserved prefix 'triton_python_backend_shm_region_'`,
    ]),
    ['/tstriton_no_such', "Unable to open shared memory region: '/tstriton_no_such'"],
  ])('may not be of the object %s', async (key, error) => {
    await using server = await startServer(bindSimple, OPEN);
    using registry = open(server);
    expect(await registry.register('r', key!, 64)).toBe(`invalid: ${error}`);
    expect(await registry.status()).toEqual([]);
  });

  it('may have the reserved prefix inside a key', async () => {
    const name = '/x_triton_python_backend_shm_region_';
    await using server = await startServer(bindSimple, OPEN);
    using registry = open(server);
    expect(await registry.register('r', name, 64)).toBe(`invalid: Unable to open shared memory region: '${name}'`);
  });
});

describe('L0_shared_memory: inference', () => {
  /** Asks for sums with the second input and the first output in these places, over both protocols. */
  async function ask(server: RunningServer, input: Place, output: Place): Promise<[http: string, grpc: string]> {
    using grpc = grpcService(server.grpc);
    const first = Buffer.from(floats(1, 2));
    const tensor = (name: string) => ({ name, datatype: 'FP32', shape: [1, 2] });
    const [status, answer] = await callJson(`${server.http}/v2/models/simple/infer`, {
      inputs: [
        { ...tensor('INPUT0'), data: [1, 2] },
        { ...tensor('INPUT1'), parameters: place(...input) },
      ],
      outputs: [{ name: 'OUTPUT0', parameters: place(...output) }],
    });
    const request = {
      model_name: 'simple',
      inputs: [tensor('INPUT0'), { ...tensor('INPUT1'), parameters: grpcPlace(...input) }],
      outputs: [{ name: 'OUTPUT0', parameters: grpcPlace(...output) }],
      raw_input_contents: [first],
    };
    return [
      status === 200 ? 'OK' : (answer as { error: string }).error,
      await grpc.call('ModelInfer', request).then(
        () => 'OK',
        ({ details }: ServiceError) => details,
      ),
    ];
  }

  it('mixes what comes with the request and what is in memory', async () => {
    const object = new SharedMemoryObject(64, floats(10, 20));
    await using server = await startServer(bindSimple, OPEN);
    await callJson(`${server.http}/v2/systemsharedmemory/region/r/register`, { key: object.key, byte_size: 64 });
    expect(await ask(server, ['r', 0, 8], ['r', 32, 8])).toEqual(['OK', 'OK']);
    expect(object.read().subarray(32, 40)).toEqual(Buffer.from(floats(11, 22)));
  });

  it.each<[string, Place, Place, string]>([
    [
      'an input of more bytes than its shape says',
      ['r', 0, 16],
      ['r', 32, 8],
      "[request id: <id_unknown>] input byte size mismatch for input 'INPUT1' for model 'simple'. Expected 8, got 16",
    ],
    ['an input behind the end', ['r', 64, 8], ['r', 32, 8], "Invalid offset for shared memory region: 'r'"],
    ['an input over the end', ['r', 60, 8], ['r', 32, 8], "Invalid offset + byte size for shared memory region: 'r'"],
    ['an output behind the end', ['r', 0, 8], ['r', 64, 8], "Invalid offset for shared memory region: 'r'"],
    ['a region that nobody registered', ['s', 0, 8], ['r', 32, 8], "Unable to find shared memory region: 's'"],
    [
      'an output without room for the result',
      ['r', 0, 8],
      ['r', 32, 4],
      "shared memory size specified with the request for output 'OUTPUT0' (4 bytes) should be at least 8 bytes to hold the results",
    ],
  ])('is refused %s', async (_, input, output, error) => {
    const object = new SharedMemoryObject(64);
    await using server = await startServer(bindSimple, OPEN);
    await callJson(`${server.http}/v2/systemsharedmemory/region/r/register`, { key: object.key, byte_size: 64 });
    expect(await ask(server, input, output)).toEqual([error, error]);
    expect(object.read()).toEqual(Buffer.alloc(64));
  });

  it('is refused an offset that would be negative', async () => {
    const object = new SharedMemoryObject(64);
    await using server = await startServer(bindSimple, OPEN);
    await callJson(`${server.http}/v2/systemsharedmemory/region/r/register`, { key: object.key, byte_size: 64 });
    // As text: it is no number of JavaScript's.
    const body = JSON.stringify({
      inputs: ['INPUT0', 'INPUT1'].map((name) => ({ name, datatype: 'FP32', shape: [1, 1], data: [1] })),
      outputs: [{ name: 'OUTPUT0', parameters: place('r', 7, 8) }],
    }).replace('"shared_memory_offset":7', '"shared_memory_offset":18446744073709551584');
    const answer = await fetch(`${server.http}/v2/models/simple/infer`, { method: 'POST', body });
    expect([answer.status, await answer.json()]).toEqual([
      400,
      { error: "Invalid offset for shared memory region: 'r'" },
    ]);
  });

  it('ends before its region goes, over gRPC too', async () => {
    const object = new SharedMemoryObject(64, floats(5));
    const { open, opened } = gate();
    const { open: begin, opened: began } = gate();
    await using server = await startServer(
      (triton) =>
        triton.bind({
          modelName: 'held',
          inferFunc: async (requests) => {
            begin();
            await opened;
            return requests;
          },
          inputs: { x: TENSOR },
          outputs: { y: TENSOR },
        }),
      OPEN,
    );
    using grpc = grpcService(server.grpc);
    await grpc.call('SystemSharedMemoryRegister', { name: 'r', key: object.key, byte_size: 64 });
    const request = {
      model_name: 'held',
      inputs: [{ name: 'x', datatype: 'FP32', shape: [1, 1], parameters: grpcPlace('r', 0, 4) }],
      outputs: [{ name: 'y', parameters: grpcPlace('r', 32, 4) }],
    };
    const status = async () => Object.keys((await grpc.call('SystemSharedMemoryStatus'))['regions'] as object);
    const first = grpc.call('ModelInfer', request);
    await began;
    await grpc.call('SystemSharedMemoryUnregister', { name: 'r' });
    expect(await status()).toEqual(['r']);
    open();
    await first;
    expect(object.read().subarray(32, 36)).toEqual(Buffer.from(floats(5)));
    expect(await status()).toEqual([]);
  });
});

it('shared memory is for nobody unless the server says so, and then for those with the token', async () => {
  const object = new SharedMemoryObject(4096);
  const registration = { key: object.key, byte_size: 64 };
  await using closed = await startServer(bindSimple, { restrictedEndpoints: [] });
  expect(await callJson(`${closed.http}/v2/systemsharedmemory/region/r/register`, registration)).toEqual([
    501,
    { error: "Client shared memory is disabled. Start the server with '--allow-client-shm=true' to enable." },
  ]);
  await using open = await startServer(bindSimple, { allowClientShm: true });
  const url = `${open.http}/v2/systemsharedmemory/region/r/register`;
  expect((await callJson(url, registration))[0]).toBe(403);
  expect(await callJson(url, registration, { 'triton-access-token': open.triton.accessToken! })).toEqual([200, '']);
});
