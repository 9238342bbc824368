// Triton's gRPC service as any client in any language has it, with @grpc/grpc-js: calls by method name, messages as JSON
// with the field names of the protocol.
import { fileURLToPath } from 'node:url';

import { credentials, loadPackageDefinition, Metadata, type Client, type ServiceError } from '@grpc/grpc-js';
import { loadSync } from '@grpc/proto-loader';

const PROTO = fileURLToPath(new URL('../../proto/grpc_service.proto', import.meta.url));

type Unary = (
  request: object,
  metadata: Metadata,
  callback: (error: ServiceError | null, response: Record<string, unknown>) => void,
) => void;

const { inference } = loadPackageDefinition(
  loadSync(PROTO, { keepCase: true, longs: Number, enums: String, defaults: true, oneofs: true }),
) as unknown as {
  readonly inference: {
    readonly GRPCInferenceService: new (
      address: string,
      credentials: unknown,
      options: object,
    ) => Client & Record<string, Unary>;
  };
};

export interface GrpcService extends Disposable {
  /** Rejects with a ServiceError. */
  call(method: string, request?: object, headers?: Readonly<Record<string, string>>): Promise<Record<string, unknown>>;
}

/** Connects to `grpc://host:port`. */
export function grpcService(url: string): GrpcService {
  const client = new inference.GRPCInferenceService(new URL(url).host, credentials.createInsecure(), {
    'grpc.use_local_subchannel_pool': 1,
  });
  return {
    call: (method, request = {}, headers = {}) =>
      new Promise((resolve, reject) => {
        const metadata = new Metadata();
        for (const [name, value] of Object.entries(headers)) metadata.set(name, value);
        client[method]!(request, metadata, (error, response) => {
          if (error === null) resolve(response);
          else reject(error);
        });
      }),
    [Symbol.dispose]: () => client.close(),
  };
}

/** Calls an HTTP endpoint with JSON: `[status, what the body says]`. */
export async function callJson(
  url: string,
  body?: unknown,
  headers: Readonly<Record<string, string>> = {},
): Promise<[status: number, body: unknown]> {
  const request = body === undefined ? { headers } : { method: 'POST', body: JSON.stringify(body), headers };
  const answer = await fetch(url, request);
  const text = await answer.text();
  return [answer.status, text === '' ? '' : JSON.parse(text)];
}
