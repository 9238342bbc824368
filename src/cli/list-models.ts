// Asks a server for its models. The index of the repository may need a token, and servers of others may have none. `GET /v2/models`
// then lists them over HTTP, on our servers and KServe's. The client has no such method, because its build for browsers has no room
// for it.

import { ClientCalls } from '../client/client-calls.js';
import { completeCallOptions, completeClientOptions, type ServerClientOptions } from '../client/client-options.js';
import { serverTarget } from '../client/in-process-server.js';
import type { ServerClient } from '../client/server/server-client.js';
import { serverOperation } from '../client/server/server-operation.js';
import { TritonError } from '../errors.js';
import type { ModelListJson } from '../protocol/model-list-json.js';
import { RepositoryIndexResponse } from '../protocol/protobuf/generated/grpc-service.js';
import type { JsonValue } from '../protocol/protobuf/message-json.js';

/** Over gRPC only the index lists models. */
const LIST = serverOperation(
  RepositoryIndexResponse,
  { method: 'RepositoryIndex', message: { ready: true } },
  { method: 'GET', path: '/models', read: readyIn },
);

/** KServe's servers give the names alone. */
function readyIn(list: JsonValue): JsonValue {
  const { models, versions } = list as unknown as ModelListJson;
  const ready = versions?.filter(({ state }) => state === 'READY').map(({ name }) => name);
  return { models: (ready ?? models).map((name) => ({ name })) };
}

/** The names of all models that take requests, each once. Rejects with the refusal of the index. */
export async function listModels(
  server: ServerClient,
  url: string,
  access: ServerClientOptions,
): Promise<readonly string[]> {
  let lines: readonly { readonly name: string }[];
  try {
    lines = await server.repositoryIndex({ ready: true });
  } catch (error) {
    if (!isRefusal(error)) throw error;
    lines = await askList(url, access).catch(() => {
      throw error;
    });
  }
  return [...new Set(lines.map(({ name }) => name))].sort();
}

/** Whether a server refuses to list its models, or cannot. */
export function isRefusal(error: unknown): boolean {
  return ['NOT_FOUND', 'UNSUPPORTED', 'PERMISSION_DENIED'].includes(TritonError.from(error).code);
}

async function askList(url: string, access: ServerClientOptions): Promise<readonly { readonly name: string }[]> {
  const server = serverTarget(url);
  const options = completeClientOptions(access, server.protocol, 'server');
  const open = server.open(options);
  const calls = new ClientCalls(open, { ...options, name: 'ServerClient' });
  try {
    const limits = completeCallOptions({}, options);
    const called = { ...limits, subject: `the list of models at ${server.address}` };
    const { models } = await calls.run(called, (call) =>
      calls.send(call, called, () => open.transport.ask(LIST, call, limits.headers)),
    );
    return models;
  } finally {
    await calls.close();
  }
}
