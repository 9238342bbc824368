// Requests for inference as they come over gRPC, alike for both methods: decoded, with the metadata that the operator
// forwards, and with the shared memory that they use; and their answers in the form that was asked for.

import { RequestSharedMemory } from '../../core/shared-memory/request-shared-memory.js';
import type { CompleteModelConfig } from '../../model/complete-model-config.js';
import type { ModelInferRequest, ModelInferResponse } from '../../model/exchange.js';
import type { PacedWork } from '../../model/paced-work.js';
import { readTraceContext } from '../../model/trace-context.js';
import { classifyOutputs } from '../../protocol/classification.js';
import { applicationMetadata } from '../../protocol/grpc/application-metadata.js';
import {
  decodeModelInferRequest,
  type AdmitModel,
  type DecodedInferRequest,
  type DecodeOptions,
} from '../../protocol/grpc/decode-model-infer-request.js';
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
  /** Whether answers have another form than the model gives them, as few requests ask: then {@link form} makes it. */
  readonly isFormed: boolean;
  /** What the client gets for an answer. Throws INVALID_ARG or INTERNAL when that cannot be made of it. */
  form(response: ModelInferResponse): PacedWork<ModelInferResponse>;
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
  const incoming = new DecodedRequest(find, new RequestSharedMemory(server.sharedMemory));
  try {
    const decoded = yield* decodeModelInferRequest(message, incoming);
    let { request } = decoded;
    const parameters = forwarding?.forward(applicationMetadata(call.rawHeaders), request.parameters);
    if (forwarding !== undefined) request = { ...request, parameters };
    if (server.traces) request = { ...request, traceContext: readTraceContext((name) => call.header(name)) };
    incoming.decoded(request, decoded);
    return incoming as IncomingRequest;
  } finally {
    // Refused, or nobody waits for it any more.
    if (incoming.request === undefined) incoming.release();
  }
}

/** What the decoder is given, and then what it made. */
class DecodedRequest implements DecodeOptions {
  config: CompleteModelConfig | undefined;
  request: ModelInferRequest | undefined;
  emptyFinalResponse = false;
  readonly sharedMemory: RequestSharedMemory;
  readonly #find: FindModel;
  #classes: DecodedInferRequest['classes'];

  constructor(find: FindModel, sharedMemory: RequestSharedMemory) {
    this.#find = find;
    this.sharedMemory = sharedMemory;
  }

  admit(...reference: Parameters<AdmitModel>): void {
    this.config = this.#find(...reference);
    this.sharedMemory.copiesInputs = this.config.responseCache;
  }

  decoded(request: ModelInferRequest, { classes, emptyFinalResponse }: DecodedInferRequest): void {
    this.request = request;
    this.emptyFinalResponse = emptyFinalResponse;
    this.#classes = classes;
  }

  get isFormed(): boolean {
    return this.#classes !== undefined || this.sharedMemory.hasOutputs;
  }

  *form(response: ModelInferResponse): PacedWork<ModelInferResponse> {
    const delivered = yield* this.sharedMemory.deliver(response);
    if (this.#classes === undefined) return delivered;
    return { ...delivered, outputs: yield* classifyOutputs(delivered.outputs, this.#classes, this.config!) };
  }

  release(): void {
    this.sharedMemory.release();
  }
}
