// The methods that describe the server and its models, and reflection. The methods in control-methods.ts change something. Only
// `grpc-service.ts` imports this module, and imports it late: see late-methods.ts.

import { decodeModelReference, type ModelReference } from '../../protocol/grpc/decode-model-reference.js';
import { frameMessage } from '../../protocol/grpc/message-frame.js';
import { Reflection } from '../../protocol/grpc/reflection.js';
import { outputType, type UnaryName } from '../../protocol/grpc/service-methods.js';
import { messageFromJson } from '../../protocol/protobuf/message-json.js';
import { DESCRIPTIONS } from '../descriptions.js';
import { type Later, type ServedCore, whenHere } from '../served-core.js';
import { controlMethods } from './control-methods.js';
import { describedMethod } from './described-method.js';
import type { AnswerStream, StreamMethod } from './stream-call.js';
import type { UnaryMethod } from './unary-call.js';

/** The methods by name. Their requests are empty or name a model and a version. */
export function metadataMethods(server: ServedCore) {
  return {
    ServerMetadata: method('ServerMetadata', () => DESCRIPTIONS['server metadata'](server)),
    ModelMetadata: method('ModelMetadata', ({ name, version }) =>
      DESCRIPTIONS['model metadata'](server, name, version),
    ),
    ModelConfig: method('ModelConfig', ({ name, version }) => ({
      config: DESCRIPTIONS['model config'](server, name, version),
    })),
    ModelStatistics: method('ModelStatistics', ({ name, version }) => DESCRIPTIONS.statistics(server, name, version)),
  };
}

function method(name: UnaryName, describe: (request: ModelReference) => Later<object>): UnaryMethod {
  return describedMethod(name, decodeModelReference, (request) =>
    whenHere(describe(request), (json) => messageFromJson(outputType(name), json)),
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

/** Takes no further question until the client has taken the answers so far. */
function waitForReader(stream: AnswerStream): void {
  const { room } = stream;
  if (room === undefined) return;
  stream.hold();
  void room.then(() => stream.resume());
}

/** The methods by name. */
export function describedMethods(server: ServedCore) {
  return {
    ...metadataMethods(server),
    ...controlMethods(server),
    ServerReflectionInfo: reflectionMethod(new Reflection()),
  };
}

export type DescribedMethods = ReturnType<typeof describedMethods>;
