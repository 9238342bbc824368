// A client's request for inference on its way to the core, alike for all endpoints. It is completed for one model, with the
// headers that the operator forwards and the shared memory that it uses. On the way back it gives answers the form that the
// client wants.

import type { ResolvedModel } from '../core/model-entry.js';
import { RequestSharedMemory } from '../core/shared-memory/request-shared-memory.js';
import { TritonError } from '../errors.js';
import type { CompleteModelConfig } from '../model/complete-model-config.js';
import type { ModelInferRequest, ModelInferResponse } from '../model/exchange.js';
import type { SharedInput, SharedMemoryAccess, SharedMemoryReference } from '../model/shared-memory.js';
import type { PacedWork } from '../pacing/paced-work.js';
import { type Receipt, readTraceContext } from '../observability/traces.js';
import { classifyOutputs } from '../protocol/classification.js';
import type { HeaderForwarding } from '../protocol/header-forwarding.js';
import type { CompleteRequest, RequestForm } from '../protocol/request-form.js';
import { LEAST_LARGE_BYTES, largeMemory } from '../sockets/large-memory.js';
import type { ServedCore } from './served-core.js';

export interface InferOptions {
  readonly server: Pick<ServedCore, 'resolve' | 'infer' | 'refused' | 'sharedMemory' | 'traces'>;
  /** The rule that turns headers into parameters; undefined when no header does. */
  readonly forwarding: HeaderForwarding | undefined;
}

export interface RequestHeaders {
  /** A header by its lower-case name. Several lines of one name are joined by commas. */
  header(name: string): string | undefined;
  /** The headers as they came: names and values in turn. */
  readonly rawHeaders: readonly string[];
}

/** The rules of one protocol for its requests. */
export interface RequestRules<Form> extends InferOptions {
  readonly protocol: Receipt['protocol'];
  /** The headers that may become parameters, as text. */
  readonly texts: (rawHeaders: readonly string[]) => readonly string[];
  /** Finds the model; throws when it is not there or does not serve this. */
  readonly resolve: (form: Form) => ResolvedModel;
}

/** A request, and all that its answers need, its shared memory included. Its owner releases it when it has ended. */
export class IncomingRequest<Complete extends CompleteRequest = CompleteRequest> implements SharedMemoryAccess {
  readonly config: CompleteModelConfig;
  /** Number of the model's load that the request was completed for. */
  readonly load: number;
  /** Set when the request is complete, like the next two. */
  complete!: Complete;
  /** The request in the form that the core takes. */
  request!: ModelInferRequest;
  /** Whether the client wants answers in another form than the model gives, which is rare. {@link form} then converts them. */
  isFormed = false;
  /** Undefined for nearly all requests. */
  sharedMemory: RequestSharedMemory | undefined = undefined;
  readonly #registry: ServedCore['sharedMemory'];

  constructor({ config, load }: ResolvedModel, registry: ServedCore['sharedMemory']) {
    this.config = config;
    this.load = load;
    this.#registry = registry;
  }

  // For the decoding.

  input(reference: SharedMemoryReference): PacedWork<SharedInput> {
    return this.#memory().input(reference);
  }

  output(name: string, reference: SharedMemoryReference): void {
    this.#memory().output(name, reference);
  }

  #memory(): RequestSharedMemory {
    return (this.sharedMemory ??= new RequestSharedMemory(this.#registry, allocate));
  }

  /** Makes the client's answer from a response. Throws INVALID_ARG or INTERNAL when it cannot. */
  *form(response: ModelInferResponse): PacedWork<ModelInferResponse> {
    const delivered = this.sharedMemory === undefined ? response : yield* this.sharedMemory.deliver(response);
    const { classes } = this.complete;
    if (classes === undefined) return delivered;
    return { ...delivered, outputs: yield* classifyOutputs(delivered.outputs, classes, this.config) };
  }

  release(): void {
    this.sharedMemory?.release();
  }
}

const allocate = (bytes: number): Buffer => largeMemory.ofRequest(bytes);

/** Throws the refusal of a malformed request. The caller gives the result to the core at once. */
export function* completeRequest<Complete extends CompleteRequest, Form extends RequestForm<Complete>>(
  decoding: PacedWork<Form>,
  headers: RequestHeaders,
  rules: RequestRules<Form>,
): PacedWork<IncomingRequest<Complete>> {
  const { server } = rules;
  const startedAt = server.traces ? performance.now() : 0;
  const form = yield* decoding;
  for (;;) {
    const model = rules.resolve(form);
    const incoming = new IncomingRequest<Complete>(model, server.sharedMemory);
    let isComplete = false;
    try {
      const complete = yield* form.complete(model.config, incoming);
      // Another model may have replaced this one meanwhile, with other tensors: the request is completed for the new one.
      if (!model.isServed) continue;
      incoming.complete = complete;
      incoming.request = complete.request;
      incoming.isFormed = complete.classes !== undefined || incoming.sharedMemory?.hasOutputs === true;
      if (server.traces || rules.forwarding !== undefined) addHeaders(incoming, headers, rules, startedAt);
      isComplete = true;
      return incoming;
    } catch (error) {
      server.refused(model.load, TritonError.from(error));
      throw error;
    } finally {
      // The request was refused, has to be completed again, or nobody waits for it any more.
      if (!isComplete) incoming.release();
    }
  }
}

/** Adds what the headers say: the parameters that the operator forwards, and the trace that the request is in. */
function addHeaders(
  incoming: IncomingRequest,
  headers: RequestHeaders,
  { server, forwarding, protocol, texts }: RequestRules<never>,
  startedAt: number,
): void {
  if (forwarding !== undefined) {
    const parameters = forwarding.forward(texts(headers.rawHeaders), incoming.request.parameters);
    incoming.request = { ...incoming.request, parameters };
  }
  if (server.traces) {
    const receipt = { protocol, startedAt, endedAt: performance.now() };
    const traceContext = readTraceContext((name) => headers.header(name));
    incoming.request = Object.assign({}, incoming.request, { receipt, traceContext });
  }
}

interface WithInputs {
  readonly request: { readonly inputs: readonly { readonly bytes: Uint8Array }[] };
}

/**
 * The same work. Behind it, or its failure, the body is empty where it was large and no input lies in it. The collector takes
 * such memory with the whole heap only, and a server without traffic does not collect: it would keep its last large bodies.
 */
export function readBody<Read extends WithInputs>(body: Buffer, reading: PacedWork<Read>): PacedWork<Read> {
  return body.length < LEAST_LARGE_BYTES ? reading : readAndFree(body, reading);
}

function* readAndFree<Read extends WithInputs>(body: Buffer, reading: PacedWork<Read>): PacedWork<Read> {
  const memory = body.buffer;
  let isNeeded = false;
  try {
    const read = yield* reading;
    isNeeded = read.request.inputs.some(({ bytes }) => bytes.buffer === memory);
    return read;
  } finally {
    if (!isNeeded) largeMemory.abandon(body);
  }
}
