// Shared memory of clients, as Triton's suite of this name tests it: regions, inputs and outputs in them, over both
// protocols, and regions that are unregistered while requests use them.
import { describe, expect, it } from 'vitest';

import { Tensor, type Triton } from 'tstriton';

import { callJson, grpcService } from '../support/grpc-service.js';
import { floats, SharedMemoryObject } from '../support/shared-memory.js';
import { gate, startServer } from '../support/start-server.js';

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

function place(region: string, offset: number, size: number) {
  return { shared_memory_region: region, shared_memory_offset: offset, shared_memory_byte_size: size };
}

/** The same as gRPC has it. */
function grpcPlace(region: string, offset: number, size: number) {
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

  it('is kept for the requests that use it when it is unregistered, and given to no others', async () => {
    const object = new SharedMemoryObject(4096, floats(5));
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
      { ...OPEN, serverThread },
    );
    const shm = `${server.http}/v2/systemsharedmemory`;
    const infer = () =>
      callJson(`${server.http}/v2/models/held/infer`, {
        inputs: [{ name: 'x', datatype: 'FP32', shape: [1, 1], parameters: place('r', 0, 4) }],
        outputs: [{ name: 'y', parameters: place('r', 64, 4) }],
      });
    await callJson(`${shm}/region/r/register`, { key: object.key, byte_size: 4096 });
    const first = infer();
    await began;
    expect(await callJson(`${shm}/unregister`, {})).toEqual([200, '']);
    expect(await callJson(`${shm}/status`)).toMatchObject([200, [{ name: 'r' }]]);
    expect(await infer()).toEqual([404, { error: "Unable to find shared memory region: 'r'" }]);
    // What the callable has is its own by now.
    object.write(floats(99));
    open();
    expect((await first)[0]).toBe(200);
    expect(object.read().subarray(64, 68)).toEqual(Buffer.from(floats(5)));
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
