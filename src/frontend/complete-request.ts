// A client's request for inference on its way to the core, alike for all endpoints that take one: completed for one model,
// with the headers that the operator forwards and the shared memory that it uses; and the core's answers in the form that
// was asked for.

import type { ResolvedModel } from '../core/model-entry.js';
import { RequestSharedMemory } from '../core/shared-memory/request-shared-memory.js';
import type { CompleteModelConfig } from '../model/complete-model-config.js';
import type { ModelInferRequest, ModelInferResponse } from '../model/exchange.js';
import type { PacedWork } from '../model/paced-work.js';
import { type Receipt, readTraceContext } from '../model/traces.js';
import { classifyOutputs } from '../protocol/classification.js';
import type { HeaderForwarding } from '../protocol/header-forwarding.js';
import type { CompleteRequest, RequestForm } from '../protocol/request-form.js';
import { largeMemory } from '../sockets/large-memory.js';
import type { ServedCore } from './served-core.js';

export interface InferOptions {
  readonly server: Pick<ServedCore, 'resolve' | 'serves' | 'infer' | 'sharedMemory' | 'traces'>;
  /** Which headers become parameters; undefined for none. */
  readonly forwarding: HeaderForwarding | undefined;
}

export interface RequestHeaders {
  /** A header by its lower-case name. Of several lines one, joined by commas. */
  header(name: string): string | undefined;
  /** The headers as they came: names and values in turn. */
  readonly rawHeaders: readonly string[];
}

/** What a wire knows of its requests. */
export interface RequestRules<Form> extends InferOptions {
  readonly protocol: Receipt['protocol'];
  /** The headers that may become parameters, as text. */
  readonly texts: (rawHeaders: readonly string[]) => readonly string[];
  /** Finds the model; throws when it is not there or does not serve this. */
  readonly resolve: (form: Form) => ResolvedModel;
}

/** A request with all that its answers need. Whoever has one releases it when it has ended. */
export class IncomingRequest<Complete extends CompleteRequest = CompleteRequest> {
  readonly complete: Complete;
  readonly request: ModelInferRequest;
  readonly config: CompleteModelConfig;
  /** Number of the load of the model that it was completed for. */
  readonly load: number;
  readonly #sharedMemory: RequestSharedMemory;

  constructor(
    complete: Complete,
    request: ModelInferRequest,
    { model, sharedMemory }: { readonly model: ResolvedModel; readonly sharedMemory: RequestSharedMemory },
  ) {
    this.complete = complete;
    this.request = request;
    this.config = model.config;
    this.load = model.load;
    this.#sharedMemory = sharedMemory;
  }

  /** Whether answers have another form than the model gives them, as few requests ask: then {@link form} makes it. */
  get isFormed(): boolean {
    return this.complete.classes !== undefined || this.#sharedMemory.hasOutputs;
  }

  /** What the client gets for an answer. Throws INVALID_ARG or INTERNAL when that cannot be made of it. */
  *form(response: ModelInferResponse): PacedWork<ModelInferResponse> {
    const delivered = yield* this.#sharedMemory.deliver(response);
    const { classes } = this.complete;
    if (classes === undefined) return delivered;
    return { ...delivered, outputs: yield* classifyOutputs(delivered.outputs, classes, this.config) };
  }

  release(): void {
    this.#sharedMemory.release();
  }
}

const allocate = (bytes: number): Buffer => largeMemory.ofRequest(bytes);

/** Throws what is wrong with the request. What it returns has to be given to the core at once. */
export function* completeRequest<Complete extends CompleteRequest, Form extends RequestForm<Complete>>(
  decoding: PacedWork<Form>,
  headers: RequestHeaders,
  { server, forwarding, protocol, texts, resolve }: RequestRules<Form>,
): PacedWork<IncomingRequest<Complete>> {
  const startedAt = server.traces ? performance.now() : 0;
  const form = yield* decoding;
  for (;;) {
    const model = resolve(form);
    const sharedMemory = new RequestSharedMemory(server.sharedMemory, allocate);
    let isComplete = false;
    try {
      const complete = yield* form.complete(model.config, sharedMemory);
      // A model that was replaced meanwhile may want other tensors: the request is completed for its successor.
      if (!server.serves(model.load)) continue;
      let { request } = complete;
      if (forwarding !== undefined)
        request = { ...request, parameters: forwarding.forward(texts(headers.rawHeaders), request.parameters) };
      if (server.traces) {
        const receipt = { protocol, startedAt, endedAt: performance.now() };
        request = { ...request, receipt, traceContext: readTraceContext((name) => headers.header(name)) };
      }
      isComplete = true;
      return new IncomingRequest(complete, request, { model, sharedMemory });
    } finally {
      // Refused, to be completed anew, or nobody waits for it any more.
      if (!isComplete) sharedMemory.release();
    }
  }
}
