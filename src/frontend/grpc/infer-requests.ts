// Requests for inference as they come over gRPC, alike for both methods: decoded, with the metadata that the operator
// forwards, and with the shared memory that they use; and their answers in the form that was asked for.

import { RequestSharedMemory } from '../../core/shared-memory/request-shared-memory.js';
import type { CompleteModelConfig } from '../../model/complete-model-config.js';
import type { ModelInferRequest, ModelInferResponse } from '../../model/exchange.js';
import type { PacedWork } from '../../model/paced-work.js';
import { readTraceContext } from '../../model/trace-context.js';
import { classifyOutputs } from '../../protocol/classification.js';
import { applicationMetadata } from '../../protocol/grpc/application-metadata.js';
import { decodeModelInferRequest, type AdmitModel } from '../../protocol/grpc/decode-model-infer-request.js';
import type { HeaderForwarding } from '../../protocol/header-forwarding.js';
import type { ServedCore } from './served-core.js';
import type { CallContext } from './unary-call.js';

export interface InferMethodOptions {
  readonly server: Pick<ServedCore, 'modelConfig' | 'infer' | 'sharedMemory' | 'traces'>;
  /** Which metadata become parameters; undefined for none. */
  readonly forwarding: HeaderForwarding | undefined;
}

/** A request with all that its answers need. Whoever reads one releases it when it has ended. */
export interface IncomingRequest {
  readonly request: ModelInferRequest;
  readonly config: CompleteModelConfig;
  /** Whether the end of its answers is wanted as a message of its own. */
  readonly emptyFinalResponse: boolean;
  /** What the client gets for an answer. Throws INVALID_ARG or INTERNAL when that cannot be made of it. */
  answer(response: ModelInferResponse): PacedWork<ModelInferResponse>;
  release(): void;
}

/** Finds the model of a well-formed request; throws when it is not there or does not serve this. */
export type FindModel = (...reference: Parameters<AdmitModel>) => CompleteModelConfig;

/** Throws what is wrong with the message. */
export function* readInferRequest(
  message: Buffer,
  call: CallContext,
  { server, forwarding, find }: InferMethodOptions & { readonly find: FindModel },
): PacedWork<IncomingRequest> {
  let config: CompleteModelConfig | undefined;
  let isRead = false;
  const sharedMemory = new RequestSharedMemory(server.sharedMemory);
  try {
    const decoded = yield* decodeModelInferRequest(message, {
      admit: (...reference) => {
        config = find(...reference);
        sharedMemory.copiesInputs = config.responseCache;
      },
      sharedMemory,
    });
    const { classes, emptyFinalResponse } = decoded;
    let { request } = decoded;
    const parameters = forwarding?.forward(applicationMetadata(call.rawHeaders), request.parameters);
    if (forwarding !== undefined) request = { ...request, parameters };
    if (server.traces) request = { ...request, traceContext: readTraceContext((name) => call.header(name)) };
    const found = config!;
    isRead = true;
    return {
      request,
      config: found,
      emptyFinalResponse,
      *answer(response) {
        const delivered = yield* sharedMemory.deliver(response);
        if (classes === undefined) return delivered;
        return { ...delivered, outputs: yield* classifyOutputs(delivered.outputs, classes, found) };
      },
      release: () => sharedMemory.release(),
    };
  } finally {
    // Refused, or nobody waits for it any more.
    if (!isRead) sharedMemory.release();
  }
}
