// A ModelConfigRequest as one gRPC frame, for clients.

import { create, toBinary } from '@bufbuild/protobuf';

import { ModelConfigRequestSchema } from './generated/grpc_service_pb.js';
import { MESSAGE_PREFIX_BYTES } from './message-frame.js';

export interface ModelConfigQuery {
  readonly modelName: string;
  /** '' asks for the latest version. */
  readonly modelVersion: string;
}

export function encodeModelConfigRequest({ modelName, modelVersion }: ModelConfigQuery): Uint8Array {
  const message = toBinary(
    ModelConfigRequestSchema,
    create(ModelConfigRequestSchema, { name: modelName, version: modelVersion }),
  );
  const frame = Buffer.alloc(MESSAGE_PREFIX_BYTES + message.length);
  frame.writeUInt32BE(message.length, 1);
  frame.set(message, MESSAGE_PREFIX_BYTES);
  return frame;
}
