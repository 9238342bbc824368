// What `server-operation.ts` is, without gRPC and without protobuf's descriptors: the build of the client for browsers has this in
// its place.

import { TritonError } from '../errors.js';
import { create, fromJson, type Message } from './browser-messages.js';
import type { HttpQuestion, ServerOperation } from './server-operation.js';

export function serverOperation(
  response: Message,
  { method }: { readonly method: string },
  { method: verb, path, body, read = (json) => json, no = [] }: HttpQuestion,
): ServerOperation<unknown> {
  return {
    grpc: { method, frame: new Uint8Array(), read: () => undefined },
    http: {
      method: verb,
      path: `/v2${path}`,
      body: body === undefined ? undefined : Buffer.from(JSON.stringify(body)),
      read: (bytes) => {
        try {
          // Some endpoints answer nothing.
          return fromJson(response, read(bytes.length === 0 ? {} : JSON.parse(bytes.toString())));
        } catch (error) {
          const { message } = TritonError.from(error);
          throw new TritonError('INTERNAL', `malformed response of the server: ${message}`, { cause: error });
        }
      },
      no,
    },
    none: () => create(response),
  };
}
