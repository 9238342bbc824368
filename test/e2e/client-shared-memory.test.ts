// Tensors of a client in system shared memory, over both protocols.
import { readdirSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, expect, it } from 'vitest';

import { batch, defineModel, type Tensor, type Triton } from 'tstriton';
import { connect, ModelClient, ServerClient } from 'tstriton/client';
import { SharedMemory, type SharedMemoryOptions } from 'tstriton/client/shared-memory';

import { gate, startServer, type RunningServer } from '../support/start-server.js';

const OPEN = { allowClientShm: true, restrictedEndpoints: [] };
const FLOATS = { dtype: 'float32', shape: [-1] } as const;

const double = defineModel({ modelName: 'Double', inputs: { x: FLOATS }, outputs: { y: FLOATS }, strict: true });
const echo = defineModel({
  modelName: 'Echo',
  inputs: {
    text: { dtype: 'string', shape: [-1] },
    large: { dtype: 'int64', shape: [-1] },
    half: { dtype: 'float16', shape: [-1] },
  },
  outputs: {
    textOut: { dtype: 'string', shape: [-1] },
    largeOut: { dtype: 'int64', shape: [-1] },
    halfOut: { dtype: 'float16', shape: [-1] },
  },
  strict: true,
});

function bindModels(triton: Triton): void {
  triton.bind({ ...double, inferFunc: batch(({ x }) => ({ y: x.map((value) => 2 * value) })) });
  triton.bind({
    ...echo,
    inferFunc: batch(({ text, large, half }) => ({ textOut: text, largeOut: large, halfOut: half })),
  });
}

function regionsOf(server: RunningServer): Promise<readonly { readonly name: string }[]> {
  const client = new ServerClient(server.http);
  return client.systemSharedMemory().finally(() => client.close());
}

const objects = () => readdirSync('/dev/shm').filter((name) => name.startsWith(`tstriton_${process.pid}_`));

describe.each(['http', 'grpc'] as const)('a client with shared memory over %s', (wire) => {
  const open = (server: RunningServer, options: SharedMemoryOptions = {}) => new SharedMemory(server[wire], options);

  it.each([true, false])('keeps requests apart that come at once, serverThread: %s', async (serverThread) => {
    await using server = await startServer(bindModels, { ...OPEN, serverThread });
    // Room for a few of them at once.
    await using memory = open(server, { outputs: { y: 40_000 }, maxBytes: 400_000 });
    await using client = new ModelClient(memory, double);
    const asked = Array.from({ length: 60 }, (_, i) =>
      Float32Array.from({ length: 1 + ((i * 997) % 10_000) }, (__, k) => i * 10_000 + k),
    );
    const answers = await Promise.all(asked.map((x) => client.inferSample({ x })));
    answers.forEach(({ y }, i) => expect(y.data).toEqual(asked[i]!.map((value) => 2 * value)));
    expect(objects()).toEqual([]);
    expect((await regionsOf(server)).length).toBeGreaterThan(0);
    await client.close();
    await memory.close();
    expect(await regionsOf(server)).toEqual([]);
  });

  it('carries strings, 64-bit integers, halves and nothing at all', async () => {
    await using server = await startServer(bindModels, OPEN);
    const outputs = { textOut: 1000, largeOut: 1000, halfOut: 1000 };
    await using memory = open(server, { outputs });
    await using client = new ModelClient(memory, echo);
    const given = {
      text: [['', 'é'], ['three', 'four']],
      large: BigInt64Array.of(2n ** 62n + 1n, -3n),
      half: Uint16Array.of(0x3c00, 0xbc00),
    }; // prettier-ignore
    const answer = await client.inferBatch({ text: given.text, large: [[2n ** 62n + 1n], [-3n]], half: [[1], [-1]] });
    expect(answer.textOut.toNested()).toEqual(given.text);
    expect(answer.largeOut.data).toEqual(given.large);
    expect(answer.halfOut.data).toEqual(given.half);
    const empty = await client.inferSample({ text: [], large: new BigInt64Array(), half: new Uint16Array([0x3c00]) });
    expect([empty.textOut.shape, empty.largeOut.shape, empty.halfOut.data]).toEqual([[0], [0], Uint16Array.of(0x3c00)]);
  });

  it('gets outputs without room, and classes, with the answer', async () => {
    await using server = await startServer(bindModels, OPEN);
    await using memory = open(server, { outputs: { largeOut: 1000 } });
    await using client = new ModelClient(memory, echo);
    const inputs = { text: ['a'], large: [7n, 9n], half: [1] };
    const options = { outputs: ['textOut', 'largeOut'], classes: { largeOut: 1 }, requestId: '7' } as const;
    const { textOut, largeOut } = await client.inferSample(inputs, options);
    expect([textOut.data, largeOut.data]).toEqual([['a'], ['9:1']]);
    const parameters = { a: 'é', b: true, c: 0.5, d: -(2n ** 62n) };
    const onlyLarge = await client.inferSample(inputs, { parameters, priority: 1, serverTimeoutMicroseconds: 10 ** 9 });
    expect(Object.entries(onlyLarge).map(([name, { data }]) => [name, data])).toEqual([
      ['largeOut', BigInt64Array.of(7n, 9n)],
    ]);
  });

  it('is told when an answer has no room, and serves the next', async () => {
    await using server = await startServer(bindModels, OPEN);
    await using memory = open(server, { outputs: { y: 8 }, maxBytes: 2 ** 20 });
    await using client = new ModelClient(memory, double);
    await expect(client.inferSample({ x: [1, 2, 3] })).rejects.toMatchObject({
      code: 'INVALID_ARG',
      message: expect.stringContaining("output 'y' (8 bytes) should be at least 12 bytes") as unknown,
    });
    expect((await client.inferSample({ x: [1, 2] })).y.data).toEqual(Float32Array.of(2, 4));
    await expect(client.inferSample({ x: new Float32Array(2 ** 18) })).rejects.toMatchObject({
      code: 'INVALID_ARG',
      message: `the tensors of a request take ${2 ** 20 + 8} bytes of shared memory, expected at most maxBytes, ${2 ** 20}`,
    });
  });

  it('goes on with a server that was started again', async () => {
    await using server = await startServer(bindModels, OPEN);
    await using memory = open(server, { outputs: { y: 100 } });
    await using client = new ModelClient(memory, double, { retry: { idempotent: true, maxAttempts: 10 } });
    expect((await client.inferSample({ x: [1] })).y.data).toEqual(Float32Array.of(2));
    const unregistering = new ServerClient(server.http);
    await unregistering.unregisterSystemSharedMemory();
    await unregistering.close();
    const answers = await Promise.all([2, 3, 4].map((x) => client.inferSample({ x: [x] })));
    expect(answers.map(({ y }) => y.data[0])).toEqual([4, 6, 8]);
  });

  it('never reads what an abandoned request wrote late', async () => {
    const { open: finish, opened } = gate();
    const { open: begin, opened: began } = gate();
    await using server = await startServer(
      (triton) =>
        triton.bind({
          ...double,
          config: { maxBatchSize: 1 },
          inferFunc: [0, 1].map(
            () => async (requests: readonly { readonly inputs: { readonly x: Tensor<'float32'> } }[]) => {
              const { inputs } = requests[0]!;
              if (inputs.x.data[0] === 1) {
                begin();
                await opened;
              }
              return [{ y: inputs.x }];
            },
          ),
        }),
      OPEN,
    );
    await using memory = open(server, { outputs: { y: 100 } });
    await using client = new ModelClient(memory, double);
    const left = new AbortController();
    const late = client.inferSample({ x: [1] }, { signal: left.signal });
    await began;
    const [before] = await regionsOf(server);
    left.abort();
    await expect(late).rejects.toMatchObject({ code: 'CANCELLED' });
    expect((await client.inferSample({ x: [5, 6] })).y.data).toEqual(Float32Array.of(5, 6));
    // The one that the late answer may still be written to is not used again.
    const others = (await regionsOf(server)).filter(({ name }) => name !== before?.name);
    expect([before?.name, others.length]).toEqual([expect.stringContaining('tstriton_'), 1]);
    finish();
  });

  it('serves all clients of a connection, streams and questions too', async () => {
    await using server = await startServer(bindModels, { allowClientShm: true });
    const accessToken = server.triton.accessToken!;
    await using memory = open(server, { outputs: { y: 100 }, accessToken });
    await using triton = connect(memory, { double });
    expect(await triton.server.isModelReady('Double')).toBe(true);
    const streamed = [];
    for await (const { y } of triton.models.double.streamSample({ x: [3] })) streamed.push(y.data[0]);
    const { y } = await triton.models.double.inferSample({ x: [4] });
    expect([streamed, y.data[0]]).toEqual([[6], 8]);
    await using strange = open(server, { outputs: { y: 100 } });
    await using client = new ModelClient(strange, double);
    await expect(client.inferSample({ x: [1] })).rejects.toMatchObject({ code: 'PERMISSION_DENIED' });
  });

  it('asks nothing more once the memory is closed', async () => {
    await using server = await startServer(bindModels, OPEN);
    const memory = open(server);
    await using client = new ModelClient(memory, double);
    await using unknown = new ModelClient(memory, 'Double');
    await using questions = new ServerClient(memory);
    await client.inferSample({ x: [1] });
    await memory.close();
    const calls = [
      () => client.inferSample({ x: [1] }),
      () => client.inferSample({ x: [] }),
      () => client.streamSample({ x: [1] }).next(),
      () => unknown.inferSample({ x: [1] }),
      () => questions.isReady(),
      ...(wire === 'grpc' ? [() => client.stream().send({ x: [1] })] : []),
    ];
    for (const call of calls) {
      await expect(call()).rejects.toMatchObject({ code: 'UNAVAILABLE', message: 'SharedMemory is closed' });
    }
  });

  it('is told by a server that allows no shared memory', async () => {
    await using server = await startServer(bindModels, { restrictedEndpoints: [] });
    await using memory = open(server);
    await using client = new ModelClient(memory, double);
    await expect(client.inferSample({ x: [1] })).rejects.toMatchObject({
      code: 'UNSUPPORTED',
      message: expect.stringContaining('Client shared memory is disabled.') as unknown,
    });
    expect(objects()).toEqual([]);
  });
});

it('a client whose server sees other memory is told so', async () => {
  const server = createServer((request, response) => {
    response.statusCode = 400;
    request.resume().on('end', () => response.end(`{"error":"Unable to open shared memory region: '/k'"}`));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const memory = new SharedMemory(`http://127.0.0.1:${port}`);
  const client = new ModelClient(memory, double);
  await expect(client.inferSample({ x: [1] })).rejects.toMatchObject({
    code: 'INVALID_ARG',
    message: `the server at http://127.0.0.1:${port} cannot open shared memory of this machine: expected a server of this machine and this user, which sees the same /dev/shm (Unable to open shared memory region: '/k')`,
  });
  await client.close();
  await memory.close();
  await new Promise((resolve) => server.close(resolve));
});

it.each<[string, SharedMemoryOptions, string]>([
  ['no room', { outputs: { y: 0 } }, "outputs['y'] must be an integer >= 1"],
  ['an unknown member', { output: { y: 1 } } as never, "unknown option 'output'"],
  ['too little memory', { maxBytes: 1 }, 'maxBytes must be an integer >= 4096'],
])('shared memory refuses %s', (_, options, message) => {
  expect(() => new SharedMemory('localhost', options)).toThrow(message);
});
