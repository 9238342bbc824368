// Triton's L0_grpc: what is particular to its gRPC endpoint, with the clients of another implementation.
import { gunzipSync, inflateSync } from 'node:zlib';

import { status } from '@grpc/grpc-js';
import { describe, expect, it } from 'vitest';

import { InferenceResponse, type Triton, type TritonConfig } from 'tstriton';

import {
  floatsOf,
  floatTensor,
  GrpcService,
  inferMessage,
  type InferMessage,
  type Message,
  type StreamMessage,
} from '../support/grpc-client.js';
import { framed, rawGrpcCall } from '../support/raw-grpc.js';
import { gate, startServer } from '../support/start-server.js';

const FLOATS = { dtype: 'float32', shape: [-1] } as const;

function bind(triton: Triton): void {
  triton.bind({
    modelName: 'identity',
    inferFunc: (requests) => requests,
    inputs: { x: FLOATS },
    outputs: { y: { ...FLOATS, labels: ['zero', 'one', 'two'] } },
  });
  triton.bind({
    modelName: 'parameters',
    inferFunc: (requests) =>
      requests.map(({ parameters }) => new InferenceResponse({ y: [JSON.stringify(parameters)] }, { parameters })),
    inputs: { x: FLOATS },
    outputs: { y: { dtype: 'string', shape: [1] } },
    config: { batching: false },
  });
}

const OPEN: TritonConfig = { restrictedEndpoints: [] };

function textOf(answer: InferMessage): string {
  return answer.raw_output_contents![0]!.subarray(4).toString();
}

describe('L0_grpc: health', () => {
  it('Check answers for any service', async () => {
    await using server = await startServer(bind);
    using health = new GrpcService(server.grpc, { service: 'health' });
    for (const service of ['', 'inference.GRPCInferenceService', 'nosuch'])
      expect(await health.call('Check', { service })).toEqual({ status: 'SERVING' });
  });

  it('Watch tells each change, and the end of the server', async () => {
    const { open, opened } = gate();
    const server = await startServer(bind, { ...OPEN, modelControlMode: 'explicit', loadModel: 'identity' });
    using health = new GrpcService(server.grpc, { service: 'health' });
    using service = new GrpcService(server.grpc);
    const watch = health.watch('Watch');
    await watch.until(1);
    server.triton.bind({
      modelName: 'later',
      setup: () => opened,
      inferFunc: (requests) => requests,
      inputs: { x: FLOATS },
      outputs: { y: FLOATS },
    });
    const loaded = service.call('RepositoryModelLoad', { model_name: 'later' });
    await watch.until(2);
    open();
    await loaded;
    await watch.until(3);
    // What is unloaded on purpose does not count.
    await service.call('RepositoryModelUnload', { model_name: 'later' });
    await server.triton.stop();
    expect(await watch.status).toMatchObject({ code: status.UNAVAILABLE, details: 'Server exiting' });
    const states = watch.messages.map(({ status: state }) => state);
    expect(states.slice(0, 3)).toEqual(['SERVING', 'NOT_SERVING', 'SERVING']);
    expect(states.at(-1)).toBe('NOT_SERVING');
  });
});

describe('L0_grpc: reflection', () => {
  it.each(['reflection', 'reflectionAlpha'] as const)('lists the services and their files (%s)', async (version) => {
    await using server = await startServer(bind);
    using reflection = new GrpcService(server.grpc, { service: version });
    const answers = reflection.stream('ServerReflectionInfo');
    answers.send(
      { list_services: '' },
      { file_containing_symbol: 'inference.GRPCInferenceService' },
      { file_by_filename: 'health.proto' },
      { file_containing_symbol: 'no.such.Thing' },
      { all_extension_numbers_of_type: 'inference.ModelInferRequest' },
      { file_containing_extension: { containing_type: 'inference.ModelInferRequest', extension_number: 1 } },
      { file_containing_symbol: 'inference.ModelInferRequest.InferInputTensor' },
    );
    expect((await answers.end()).code).toBe(status.OK);
    const [services, file, health, missing, extensions, extension, nested] = answers.messages;
    expect(services).toMatchObject({
      original_request: { list_services: '' },
      list_services_response: {
        service: [
          { name: 'grpc.health.v1.Health' },
          { name: 'grpc.reflection.v1.ServerReflection' },
          { name: 'grpc.reflection.v1alpha.ServerReflection' },
          { name: 'inference.GRPCInferenceService' },
        ],
      },
    });
    const filesOf = (message: Message | undefined) =>
      (message as { file_descriptor_response: { file_descriptor_proto: Buffer[] } }).file_descriptor_response
        .file_descriptor_proto;
    // The file and what it imports.
    expect(filesOf(file).map((bytes) => bytes.subarray(2, 2 + bytes[1]!).toString())).toEqual([
      'grpc_service.proto',
      'model_config.proto',
    ]);
    expect(filesOf(health)).toHaveLength(1);
    expect(filesOf(nested)[0]).toEqual(filesOf(file)[0]);
    expect(missing).toMatchObject({
      error_response: { error_code: status.NOT_FOUND, error_message: "symbol 'no.such.Thing' is not known" },
    });
    expect(extensions).toMatchObject({
      all_extension_numbers_response: { base_type_name: 'inference.ModelInferRequest' },
    });
    expect(extension).toMatchObject({ error_response: { error_code: status.NOT_FOUND } });
  });

  it('keeps nothing of what it does not know', async () => {
    await using server = await startServer(bind);
    const REFLECTION = '/grpc.reflection.v1.ServerReflection/ServerReflectionInfo';
    // Field 15, which there is none of, and list_services.
    const unknown = (count: number) => Buffer.alloc(2 * count, Buffer.from([0x78, 0]));
    const request = framed(Buffer.concat([unknown(1000), Buffer.from([0x3a, 0])]));
    const { status: end, body } = await rawGrpcCall(server.grpc, REFLECTION, request);
    expect(end).toEqual({ code: status.OK, message: '' });
    // original_request, with nothing but list_services in it.
    expect(body.subarray(5, 9)).toEqual(Buffer.from([0x12, 2, 0x3a, 0]));
    const large = await rawGrpcCall(server.grpc, REFLECTION, framed(unknown(1_000_000)));
    expect(large.status).toEqual({
      code: status.RESOURCE_EXHAUSTED,
      message: 'Received message larger than max (2000000 vs. 1048576)',
    });
  });
});

describe('L0_grpc: compression', () => {
  const values = Array.from({ length: 50_000 }, (_, i) => i % 10);

  it.each([
    ['deflate', 1],
    ['gzip', 2],
  ])('of requests by %s', async (_name, algorithm) => {
    await using server = await startServer(bind);
    using service = new GrpcService(server.grpc, { channel: { 'grpc.default_compression_algorithm': algorithm } });
    const request = inferMessage('identity', [floatTensor('x', values)]);
    expect(floatsOf(await service.call<InferMessage>('ModelInfer', request))).toEqual(values);
    const answers = service.stream().send(request, request);
    await answers.end();
    for (const message of answers.messages)
      expect(floatsOf((message as unknown as StreamMessage).infer_response)).toEqual(values);
  });

  /** The bytes of an answer to a client that accepts these encodings, with the encoding that was chosen. */
  async function rawAnswer(url: string, accepted: string | undefined, path: string, body: Buffer) {
    const accept: Record<string, string> = accepted === undefined ? {} : { 'grpc-accept-encoding': accepted };
    const { headers, body: bytes } = await rawGrpcCall(url, path, body, accept);
    return { encoding: headers['grpc-encoding'], flag: bytes[0], message: bytes.subarray(5) };
  }

  // id: 64 kB of text, which comes back in the answer.
  const id = Buffer.alloc(65_536, 'compressible ');
  const message = Buffer.concat([
    Buffer.from([10, 8]),
    Buffer.from('identity'),
    Buffer.from([26, 0x80, 0x80, 4]),
    id,
    Buffer.from([42, 13, 10, 1, 120, 18, 4]),
    Buffer.from('FP32'),
    Buffer.from([26, 2, 1, 1, 58, 4, 0, 0, 128, 63]),
  ]);
  const body = framed(message);
  const INFER = '/inference.GRPCInferenceService/ModelInfer';
  const STREAM = '/inference.GRPCInferenceService/ModelStreamInfer';

  it.each(['low', 'medium', 'high'] as const)('of answers at level %s, for clients that accept it', async (level) => {
    await using server = await startServer(bind, { grpcInferResponseCompressionLevel: level });
    for (const path of [INFER, STREAM]) {
      const plain = await rawAnswer(server.grpc, undefined, path, body);
      expect([plain.encoding, plain.flag]).toEqual([undefined, 0]);
      const gzip = await rawAnswer(server.grpc, 'identity,deflate,gzip', path, body);
      expect([gzip.encoding, gzip.flag, gunzipSync(gzip.message)]).toEqual(['gzip', 1, plain.message]);
      expect(gzip.message.length).toBeLessThan(5000);
      const deflate = await rawAnswer(server.grpc, 'deflate', path, body);
      expect([deflate.encoding, deflate.flag, inflateSync(deflate.message)]).toEqual(['deflate', 1, plain.message]);
    }
  });

  it('of answers is off by default', async () => {
    await using server = await startServer(bind);
    const answer = await rawAnswer(server.grpc, 'gzip', INFER, body);
    expect([answer.encoding, answer.flag]).toEqual([undefined, 0]);
  });
});

describe('L0_grpc: parameters and metadata', () => {
  it('parameters reach the callable and come back as it sets them', async () => {
    await using server = await startServer(bind);
    using service = new GrpcService(server.grpc);
    const parameters = {
      text: { string_param: 'wörld' },
      flag: { bool_param: true },
      count: { int64_param: -7 },
      share: { double_param: 0.25 },
    };
    const request = inferMessage('parameters', [floatTensor('x', [1], false)], { parameters });
    const answer = await service.call<InferMessage>('ModelInfer', request);
    expect(JSON.parse(textOf(answer))).toEqual({ text: 'wörld', flag: true, count: -7, share: 0.25 });
    expect(answer.parameters).toEqual(parameters);
  });

  it('metadata that the operator forwards are parameters, others are not', async () => {
    await using server = await startServer(bind, { grpcHeaderForwardPattern: '^x-fwd-.*' });
    using service = new GrpcService(server.grpc);
    const metadata = { 'x-fwd-tenant': 'blue', 'x-other': 'no' };
    const request = inferMessage('parameters', [floatTensor('x', [1], false)], {
      parameters: { own: { int64_param: 1 } },
    });
    const answer = await service.call<InferMessage>('ModelInfer', request, { metadata });
    expect(JSON.parse(textOf(answer))).toEqual({ own: 1, 'x-fwd-tenant': 'blue' });
    const answers = service.stream('ModelStreamInfer', { metadata }).send(request);
    await answers.end();
    expect(JSON.parse(textOf((answers.messages[0] as unknown as StreamMessage).infer_response))).toEqual({
      own: 1,
      'x-fwd-tenant': 'blue',
    });
  });

  it("all metadata that a pattern can name are the client's own, not those of the transport", async () => {
    await using server = await startServer(bind, { grpcHeaderForwardPattern: '.*' });
    using service = new GrpcService(server.grpc);
    const request = inferMessage('parameters', [floatTensor('x', [1], false)]);
    const metadata = { 'x-any': '1', 'x-raw-bin': Buffer.from('né') as never };
    const answer = await service.call<InferMessage>('ModelInfer', request, { metadata });
    expect(JSON.parse(textOf(answer))).toEqual({
      'user-agent': expect.stringMatching(/^grpc-node-js/) as string,
      'accept-encoding': 'identity',
      'x-any': '1',
      'x-raw-bin': 'né',
    });
  });

  it('metadata cannot take reserved names', async () => {
    await using server = await startServer(bind, { grpcHeaderForwardPattern: '.*' });
    using service = new GrpcService(server.grpc);
    const request = inferMessage('parameters', [floatTensor('x', [1], false)]);
    await expect(service.call('ModelInfer', request, { metadata: { priority: '1' } })).rejects.toMatchObject({
      code: status.INVALID_ARGUMENT,
      details: "Header 'priority' is reserved for Triton usage and cannot be forwarded.",
    });
  });
});

describe('L0_grpc: outputs and sizes', () => {
  it('an output as classes', async () => {
    await using server = await startServer(bind);
    using service = new GrpcService(server.grpc);
    const request = inferMessage('identity', [floatTensor('x', [1, 3, 2])], {
      outputs: [{ name: 'y', parameters: { classification: { int64_param: 2 } } }],
    });
    const { outputs, raw_output_contents: raw } = await service.call<InferMessage>('ModelInfer', request);
    expect(outputs).toMatchObject([{ name: 'y', datatype: 'BYTES', shape: [1, 2] }]);
    expect(raw![0]!.toString()).toMatch(/3\.000000:1:one.{4}2\.000000:2:two$/s);
  });

  it('a message that is too large is refused, alone and on a stream', async () => {
    await using server = await startServer(bind, { grpcMaxMessageSize: 4000 });
    using service = new GrpcService(server.grpc);
    const large = inferMessage('identity', [floatTensor('x', new Float32Array(1000))]);
    const refusal = {
      code: status.RESOURCE_EXHAUSTED,
      details: expect.stringMatching(/^Received message larger than max \(40\d\d vs\. 4000\)$/) as string,
    };
    await expect(service.call('ModelInfer', large)).rejects.toMatchObject(refusal);
    expect(await service.stream().send(large).status).toMatchObject(refusal);
    const small = inferMessage('identity', [floatTensor('x', [1])]);
    expect(floatsOf(await service.call<InferMessage>('ModelInfer', small))).toEqual([1]);
  });
});

describe('L0_grpc: many at once', () => {
  it('thousands of requests on one stream are answered in order', async () => {
    await using server = await startServer(bind);
    using service = new GrpcService(server.grpc);
    const answers = service.stream();
    for (let i = 0; i < 10_000; i++) answers.send(inferMessage('identity', [floatTensor('x', [i])], { id: `r${i}` }));
    await answers.end();
    const got = (answers.messages as unknown as StreamMessage[]).map(({ infer_response: response }) => [
      response.id,
      floatsOf(response)[0],
    ]);
    expect(got).toEqual(Array.from({ length: 10_000 }, (_, i) => [`r${i}`, i]));
  });
});
