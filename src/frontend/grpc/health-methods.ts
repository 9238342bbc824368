// The methods that tell whether the server and its models are up. They need no generated messages, so that a probe is
// answered at once on a server that has just started.

import { TritonError } from '../../errors.js';
import { decodeModelReference, type ModelReference } from '../../protocol/grpc/decode-model-reference.js';
import { encodeState, SERVING_STATUS } from '../../protocol/grpc/encode-state.js';
import type { ServedCore } from '../served-core.js';
import type { UnaryMethod } from './unary-call.js';

type HealthCore = Pick<ServedCore, 'exiting' | 'isReady' | 'isModelReady'>;

/** The methods by name. Their requests are empty or name a model and a version. */
export function healthMethods(server: HealthCore) {
  return {
    ServerLive: method(() => {
      refuseWhenExiting(server);
      return true;
    }),
    ServerReady: method(() => {
      refuseWhenExiting(server);
      return server.isReady();
    }),
    ModelReady: method(({ name, version }) => server.isModelReady(name, version)),
    // Of grpc.health.v1. The service asked about does not matter: the server is ready as a whole or not.
    Check: method(() => servingStatus(server.isReady())),
  };
}

export function servingStatus(ready: boolean): number {
  return ready ? SERVING_STATUS.SERVING : SERVING_STATUS.NOT_SERVING;
}

function refuseWhenExiting(server: HealthCore): void {
  if (server.exiting) throw new TritonError('UNAVAILABLE', 'Server exiting');
}

function method(answer: (request: ModelReference) => boolean | number): UnaryMethod {
  return {
    waits: false,
    serve(message, caller) {
      caller.succeed([encodeState(answer(decodeModelReference(message)))]);
      return undefined;
    },
  };
}
