// The methods whose messages are made from protobuf descriptors: those that describe the server and its models, and
// reflection; the others are in control-methods.ts. Only `service.ts` imports this module, and late: see late-methods.ts.

import { fromJson, type JsonValue } from '@bufbuild/protobuf';

import { decodeModelReference, type ModelReference } from '../../protocol/grpc/decode-model-reference.js';
import { file_grpc_service, GRPCInferenceService } from '../../protocol/grpc/generated/grpc_service_pb.js';
import { file_health } from '../../protocol/grpc/generated/health_pb.js';
import { file_reflection_v1 } from '../../protocol/grpc/generated/reflection_v1_pb.js';
import { file_reflection_v1alpha } from '../../protocol/grpc/generated/reflection_v1alpha_pb.js';
import { frameMessage } from '../../protocol/grpc/message-frame.js';
import { Reflection } from '../../protocol/grpc/reflection.js';
import { DESCRIPTIONS } from '../descriptions.js';
import { type Later, type ServedCore, whenHere } from '../served-core.js';
import { controlMethods } from './control-methods.js';
import { describedMethod, type UnaryName } from './described-method.js';
import type { AnswerStream, StreamMethod } from './stream-call.js';
import type { UnaryMethod } from './unary-call.js';

/** The methods by name. Their requests are empty or name a model and a version. */
export function metadataMethods(server: ServedCore) {
  return {
    ServerMetadata: method('serverMetadata', () => DESCRIPTIONS['server metadata'](server)),
    ModelMetadata: method('modelMetadata', ({ name, version }) =>
      DESCRIPTIONS['model metadata'](server, name, version),
    ),
    ModelConfig: method('modelConfig', ({ name, version }) => ({
      config: DESCRIPTIONS['model config'](server, name, version),
    })),
    ModelStatistics: method('modelStatistics', ({ name, version }) => DESCRIPTIONS.statistics(server, name, version)),
  };
}

function method(name: UnaryName, describe: (request: ModelReference) => Later<object>): UnaryMethod {
  const { output } = GRPCInferenceService.method[name];
  return describedMethod(name, decodeModelReference, (request) =>
    whenHere(describe(request), (json) => fromJson(output, json as JsonValue)),
  );
}

function reflectionMethod(reflection: Reflection): StreamMethod {
  return {
    open: (stream) => ({
      message(bytes) {
        void stream.send([frameMessage(reflection.answer(bytes))]);
        waitForReader(stream);
      },
      halfClosed: () => stream.finish(),
      cancel: () => undefined,
      drain: () => stream.finish(),
    }),
  };
}

/** Takes no further question before the answers so far are taken. */
function waitForReader(stream: AnswerStream): void {
  const { room } = stream;
  if (room === undefined) return;
  stream.hold();
  void room.then(() => stream.resume());
}

const FILES = [file_grpc_service, file_health, file_reflection_v1, file_reflection_v1alpha];

/** The methods by name. */
export function describedMethods(server: ServedCore) {
  return {
    ...metadataMethods(server),
    ...controlMethods(server),
    ServerReflectionInfo: reflectionMethod(new Reflection(FILES)),
  };
}

export type DescribedMethods = ReturnType<typeof describedMethods>;
