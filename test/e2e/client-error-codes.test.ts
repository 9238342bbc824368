// The codes of errors that programs tell apart: the same over both protocols, whoever the error is from.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { defineModel, TritonError, type ErrorCode } from 'tstriton';
import { ModelClient, ServerClient, TritonTimeoutError } from 'tstriton/client';

import { startServer, type RunningServer } from '../support/start-server.js';

const failing = defineModel({
  modelName: 'Failing',
  inputs: { code: { dtype: 'string', shape: [1] }, x: { dtype: 'uint8', shape: [-1], optional: true } },
  outputs: { y: { dtype: 'string', shape: [1] } },
});

let server: RunningServer;
beforeAll(async () => {
  server = await startServer(
    (triton) =>
      triton.bind({
        ...failing,
        inferFunc: (requests) =>
          requests.map(({ inputs }) => {
            throw new TritonError(inputs.code.data[0] as ErrorCode, `about ${inputs.code.data[0]}`);
          }),
      }),
    {
      httpMaxInputSize: 1_000_000,
      grpcMaxMessageSize: 1_000_000,
      restrictedEndpoints: ['statistics'],
      accessToken: 'let me in',
    },
  );
});
afterAll(() => server[Symbol.asyncDispose]());

describe.each(['http', 'grpc'] as const)('over %s', (protocol) => {
  it.each([
    ['DEADLINE_EXCEEDED', 504],
    ['UNAUTHENTICATED', 401],
    ['PERMISSION_DENIED', 403],
    ['NOT_FOUND', 404],
    ['UNSUPPORTED', 501],
    ['UNAVAILABLE', 503],
    ['INTERNAL', 500],
    ['INVALID_ARG', 400],
  ])('a callable fails its client with %s, status %i and the text', async (code, status) => {
    await using client = new ModelClient(server[protocol], failing);
    const error: unknown = await client.inferSample({ code: [code] }).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ code, status, message: `about ${code}` });
    expect(TritonTimeoutError.is(error)).toBe(code === 'DEADLINE_EXCEEDED');
  });

  it('a request that the server finds too large is TOO_LARGE', async () => {
    // Over HTTP the limit is that of the JSON.
    await using client = new ModelClient(server[protocol], failing, { binaryData: protocol === 'grpc' });
    const x = new Uint8Array(1_000_001);
    const error = {
      code: 'TOO_LARGE',
      message: expect.stringMatching(/larger than max|exceeds the maximum/) as string,
    };
    await expect(client.inferSample({ code: ['INTERNAL'], x })).rejects.toMatchObject(error);
  });

  it('an answer that the client finds too large is TOO_LARGE', async () => {
    await using client = new ModelClient(server[protocol], 'Failing', { maxResponseBytes: 16 });
    await expect(client.inferSample({ code: 'INTERNAL' })).rejects.toMatchObject({ code: 'TOO_LARGE', status: 413 });
  });

  it('a missing or wrong token is PERMISSION_DENIED', async () => {
    await using without = new ServerClient(server[protocol]);
    await using wrong = new ServerClient(server[protocol], { accessToken: 'let me out' });
    for (const client of [without, wrong]) {
      await expect(client.statistics('Failing')).rejects.toMatchObject({ code: 'PERMISSION_DENIED', status: 403 });
    }
  });
});

describe.each([true, false])('with serverThread: %s', (serverThread) => {
  // As JavaScript lets people write it, with gRPC's name of the code.
  it.each(['http', 'grpc'] as const)('an error with an unknown code fails its request over %s', async (protocol) => {
    const wrong = () => new TritonError('INVALID_ARGUMENT' as ErrorCode, 'no such code');
    await using own = await startServer(
      (triton) =>
        triton.bind({
          ...failing,
          inferFunc: (requests) =>
            requests.map(({ inputs }) => {
              if (inputs.code.data[0] === 'thrown') throw wrong();
              return wrong();
            }),
        }),
      { serverThread },
    );
    await using client = new ModelClient(own[protocol], failing);
    for (const how of ['thrown', 'returned']) {
      await expect(client.inferSample({ code: [how] })).rejects.toMatchObject({
        code: 'INTERNAL',
        status: 500,
        message: 'no such code',
      });
    }
  });
});
