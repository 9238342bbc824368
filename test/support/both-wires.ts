// The same inference asked over HTTP and over gRPC, for what has to be the same over both.
import type { ServiceError } from '@grpc/grpc-js';

import { GrpcService, type Message } from './grpc-client.js';
import { binaryBody, post } from './http-infer.js';
import type { RunningServer } from './start-server.js';

/** An input, its elements as they are in binary. */
export interface BinaryTensor {
  readonly name: string;
  readonly datatype: string;
  readonly shape: readonly number[];
  readonly bytes: Uint8Array;
}

/** How a request ended: a status of HTTP or the code of a gRPC call, and the text of the error. */
export interface Outcome {
  readonly status: number;
  readonly error: string | undefined;
}

export interface WireRequest {
  readonly model: string;
  readonly inputs: readonly BinaryTensor[];
  readonly id?: string;
  /** Names of the outputs that are asked for. */
  readonly outputs?: readonly string[];
}

export async function askBoth(server: RunningServer, request: WireRequest): Promise<{ http: Outcome; grpc: Outcome }> {
  return { http: await askHttp(server.http, request), grpc: await askGrpc(server.grpc, request) };
}

async function askHttp(http: string, { model, inputs, id, outputs }: WireRequest): Promise<Outcome> {
  const { body, headers } = binaryBody(inputs, { id, outputs: outputs?.map((name) => ({ name })) });
  const { status, json } = await post(http, model, body, { headers });
  return { status, error: json.error };
}

async function askGrpc(grpc: string, { model, inputs, id, outputs }: WireRequest): Promise<Outcome> {
  using service = new GrpcService(grpc);
  const request: Message = {
    model_name: model,
    id,
    inputs: inputs.map(({ bytes: _bytes, ...input }) => input),
    outputs: outputs?.map((name) => ({ name })),
    raw_input_contents: inputs.map(({ bytes }) => bytes),
  };
  return await service.call('ModelInfer', request).then(
    () => ({ status: 0, error: undefined }),
    (error: ServiceError) => ({ status: error.code, error: error.details }),
  );
}
