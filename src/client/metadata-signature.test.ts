import { create, toBinary } from '@bufbuild/protobuf';
import { describe, expect, it } from 'vitest';

import {
  answerGrpc,
  answerGrpcInfer,
  answerInfer,
  answerJson,
  failGrpc,
  readGrpcInfer,
  readInfer,
  startGrpc,
  startHttp,
} from '../../test/support/fake-servers.js';
import { ModelMetadataResponseSchema } from '../../test/support/generated/grpc_service_pb.js';
import { ModelClient } from './model-client.js';

interface Told {
  readonly name: string;
  readonly datatype: string;
  readonly shape: readonly number[];
}

/** Of a model that answers x as y, without a configuration; `asked` are the questions before the first inference. */
interface Server extends AsyncDisposable {
  readonly url: string;
  readonly asked: string[];
}

async function startHttpServer(inputs: readonly Told[]): Promise<Server> {
  const asked: string[] = [];
  const server = await startHttp((request, response) => {
    if (request.path.endsWith('/infer')) {
      const { json, blobs } = readInfer(request);
      return answerInfer(response, [{ ...json.inputs[0]!, name: 'y', bytes: blobs[0]! }]);
    }
    asked.push(request.path);
    if (request.path !== '/v2/models/M') return answerJson(response, 404, { detail: 'Not Found' });
    return answerJson(response, 200, { name: 'M', versions: [], platform: '', inputs, outputs: [] });
  });
  return { ...server, url: `http://${server.authority}`, asked };
}

async function startGrpcServer(inputs: readonly Told[]): Promise<Server> {
  const asked: string[] = [];
  const server = await startGrpc((request) => {
    if (request.method === 'ModelInfer') {
      const { inputs: given, rawInputContents } = readGrpcInfer(request);
      const { datatype, shape } = given[0]!;
      const tensor = { name: 'y', datatype, shape: shape.map(Number), bytes: rawInputContents[0]! };
      return answerGrpcInfer(request.stream, [tensor]);
    }
    asked.push(request.method);
    if (request.method !== 'ModelMetadata') return failGrpc(request.stream, 12, 'Method not found!');
    const tensors = inputs.map((input) => ({ ...input, shape: input.shape.map(BigInt) }));
    const metadata = create(ModelMetadataResponseSchema, { name: 'M', inputs: tensors });
    return answerGrpc(request.stream, toBinary(ModelMetadataResponseSchema, metadata));
  });
  return { ...server, url: `grpc://${server.authority}`, asked };
}

describe.each([
  ['HTTP', startHttpServer, ['/v2/models/M/config', '/v2/models/M']],
  ['gRPC', startGrpcServer, ['ModelConfig', 'ModelMetadata']],
])('a plain name over %s at a server without configurations', (_, start, questions) => {
  it('sends tensors in the shapes of the metadata, and asks for them once', async () => {
    await using server = await start([{ name: 'x', datatype: 'FP32', shape: [-1, 2] }]);
    await using client = new ModelClient(server.url, 'M');
    const answers = await Promise.all([1, 2, 3].map((i) => client.inferSample({ x: [[i, 0.5]] })));
    expect(answers.map(({ y }) => y!.toNested())).toEqual([1, 2, 3].map((i) => [[i, 0.5]]));
    await expect(client.inferSample({ x: [1, 2] })).rejects.toThrow(/Expected \[-1,2\], got \[2\]/);
    expect(server.asked).toEqual(questions);
  });

  it('needs a declaration for a model without told inputs', async () => {
    await using server = await start([]);
    await using client = new ModelClient(server.url, 'M');
    await expect(client.inferSample({ x: [1] })).rejects.toMatchObject({
      code: 'UNSUPPORTED',
      message:
        "the server tells no inputs of model 'M': give the client a declaration (defineModel) instead of the name",
    });
  });

  it('rejects a datatype that there is not', async () => {
    await using server = await start([{ name: 'x', datatype: 'FP31', shape: [1] }]);
    await using client = new ModelClient(server.url, 'M');
    await expect(client.inferSample({ x: [1] })).rejects.toMatchObject({
      code: 'INTERNAL',
      message: "tensor 'x' of model 'M' has the unknown datatype 'FP31'",
    });
  });
});
