// The transport of a client whose server is in this process: gRPC's messages without a wire. The same code as over gRPC makes
// tensors, errors, streams and statistics.

import type { Call } from '../client/call.js';
import { errorOfStatus } from '../client/grpc/grpc-outcome.js';
import { type AskedMethod, MessageTransport } from '../client/grpc/message-transport.js';
import type { Headers, ResponseStream } from '../client/transport.js';
import { readOnlyAnswer } from '../client/grpc/stream-answer.js';
import { TritonError } from '../errors.js';
import { servedMethods, type ServedMethod } from '../frontend/grpc/grpc-service.js';
import type { InProcessRun, ServedCore } from '../frontend/served-core.js';
import type { ModelInferResponse } from '../model/exchange.js';
import type { ClassifiedRequest } from '../protocol/classified-request.js';
import { WANTS_ERROR_CODES } from '../protocol/grpc/stream-error-code.js';
import { encodeInferRequest } from '../protocol/grpc/encode-infer-request.js';
import { HeaderForwarding } from '../protocol/header-forwarding.js';
import type { ModelSignature } from '../protocol/model-signature.js';
import { Ring } from '../ring.js';
import { InProcessCall, type CallEnd } from './in-process-call.js';

const SERVICE = '/inference.GRPCInferenceService';
const ADDRESS = 'this process';

export class InProcessTransport extends MessageTransport {
  readonly #running: () => Promise<InProcessRun>;
  #served: { readonly core: ServedCore; readonly methods: ReadonlyMap<string, ServedMethod> } | undefined;

  /** `running`: the server that runs now. It rejects where none does. */
  constructor(running: () => Promise<InProcessRun>) {
    super();
    this.#running = running;
  }

  stream(request: ClassifiedRequest, { decoupled }: ModelSignature, call: Call, headers: Headers): ResponseStream {
    call.throwIfAborted();
    const asked = {
      method: 'ModelStreamInfer',
      chunks: encodeInferRequest(request),
      headers: { ...headers, ...WANTS_ERROR_CODES },
    };
    return new InProcessResponses((responses) => this.#begin(asked, responses), call, decoupled);
  }

  async close(): Promise<void> {
    // The calls under way were aborted.
  }

  protected async unary(asked: AskedMethod, call: Call): Promise<Buffer> {
    const responses = new InProcessResponses((begun) => this.#begin(asked, begun), call);
    const message = await responses.nextMessage();
    if (message !== undefined) return message;
    throw new TritonError('INTERNAL', `malformed response of the server: ${asked.method} has no answer`);
  }

  async #begin(
    { method, chunks, headers }: AskedMethod,
    responses: InProcessResponses,
  ): Promise<InProcessCall | undefined> {
    const { core, headerForwardPattern: pattern } = await this.#running();
    if (this.#served?.core !== core) {
      const forwarding = pattern === undefined ? undefined : new HeaderForwarding(pattern, 'grpcHeaderForwardPattern');
      const methods = servedMethods({ server: core, forwarding, compression: 'none' });
      this.#served = { core, methods };
    }
    const { methods } = this.#served;
    if (responses.isOver) return undefined;
    const path = `${SERVICE}/${method}`;
    const served = methods.get(path);
    if (served === undefined) throw new TritonError('UNSUPPORTED', `${ADDRESS} has no method ${path}`);
    const begun = new InProcessCall({ path, headers, frame: chunks }, responses);
    responses.begun(begun);
    begun.begin(served, chunks);
    return begun;
  }
}

/** The answers of one call, until the client takes them. */
class InProcessResponses implements ResponseStream {
  readonly #call: Call;
  readonly #decoupled: boolean;
  readonly #opening: Promise<unknown>;
  readonly #messages = new Ring<Buffer>();
  readonly #forget: () => void;
  #server: InProcessCall | undefined;
  #end: CallEnd | undefined;
  #cancelled = false;
  #wake = (): void => undefined;

  constructor(
    begin: (responses: InProcessResponses) => Promise<InProcessCall | undefined>,
    call: Call,
    decoupled = false,
  ) {
    this.#call = call;
    this.#decoupled = decoupled;
    call.clock?.connected();
    this.#forget = call.onAbort(() => this.cancel());
    this.#opening = begin(this);
    // The next request for a response rejects with it.
    this.#opening.catch(() => {});
  }

  get isOver(): boolean {
    return this.#cancelled;
  }

  begun(server: InProcessCall): void {
    this.#server = server;
  }

  message(bytes: Buffer): void {
    if (this.#messages.length === 0) this.#call.clock?.answered();
    this.#messages.push(bytes);
    this.#wake();
  }

  ended(end: CallEnd): void {
    this.#end = end;
    this.#wake();
  }

  async next(): Promise<ModelInferResponse | undefined> {
    for (;;) {
      const message = await this.nextMessage();
      const response = message === undefined ? undefined : readOnlyAnswer(message, this.#decoupled);
      if (message === undefined || response !== undefined) return response;
    }
  }

  /** Undefined after the last. */
  async nextMessage(): Promise<Buffer | undefined> {
    await this.#call.race(this.#opening);
    for (;;) {
      this.#call.throwIfAborted();
      const message = this.#messages.shift();
      if (message !== undefined) {
        this.#server!.taken();
        return message;
      }
      const end = this.#end;
      if (end !== undefined) {
        this.#forget();
        if (end.status === 0) return undefined;
        throw errorOfStatus({ ...end, pushback: undefined, address: ADDRESS }, this.#call);
      }
      await this.#call.race(new Promise<void>((resolve) => (this.#wake = resolve)));
    }
  }

  cancel(): void {
    this.#cancelled = true;
    this.#server?.cancel();
  }
}
