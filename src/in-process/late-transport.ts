// The transport to a server in this process, whose code is loaded with the first call. A server that has no such client does not
// load the client's code.

import type { Call } from '../client/call.js';
import type { ServerOperation } from '../client/server/server-operation.js';
import type { Headers, ModelReference, ResponseStream, Transport } from '../client/transport.js';
import type { InProcessRun } from '../frontend/served-core.js';
import type { ModelInferResponse } from '../model/exchange.js';
import type { ClassifiedRequest } from '../protocol/classified-request.js';
import type { ModelSignature } from '../protocol/model-signature.js';

export class LateTransport implements Transport {
  readonly #running: () => Promise<InProcessRun>;
  #loaded: Promise<Transport> | undefined;

  /** `running`: the server that runs now; rejects where none does. */
  constructor(running: () => Promise<InProcessRun>) {
    this.#running = running;
  }

  async infer(request: ClassifiedRequest, call: Call, headers: Headers): Promise<ModelInferResponse> {
    return (await this.#load()).infer(request, call, headers);
  }

  stream(request: ClassifiedRequest, model: ModelSignature, call: Call, headers: Headers): ResponseStream {
    call.throwIfAborted();
    const opening = this.#load().then((transport) => transport.stream(request, model, call, headers));
    opening.catch(() => undefined);
    return {
      next: async () => (await opening).next(),
      cancel: () => void opening.then((responses) => responses.cancel()).catch(() => undefined),
    };
  }

  async modelSignature(model: ModelReference, call: Call, headers: Headers): Promise<ModelSignature> {
    return (await this.#load()).modelSignature(model, call, headers);
  }

  async ask<Answer extends object>(operation: ServerOperation<Answer>, call: Call, headers: Headers): Promise<Answer> {
    return (await this.#load()).ask(operation, call, headers);
  }

  async close(): Promise<void> {
    // The calls under way were aborted, and there is no connection.
  }

  #load(): Promise<Transport> {
    return (this.#loaded ??= import('./in-process-transport.js').then(
      ({ InProcessTransport }) => new InProcessTransport(this.#running),
    ));
  }
}
