// What the client needs of a wire protocol. One transport serves one server over connections that it opens when they
// are needed, keeps, and opens anew when they died.

import type { ModelInferRequest, ModelInferResponse } from '../model/exchange.js';
import type { ModelSignature } from '../protocol/model-signature.js';
import type { Call } from './call.js';

/** Headers by name, in lower case. */
export type Headers = Readonly<Record<string, string>>;

export interface ModelReference {
  readonly modelName: string;
  /** '' asks for the latest version. */
  readonly modelVersion: string;
}

/** Its methods reject with TritonErrors only; when the call is aborted, with the call's error, at once. */
export interface Transport {
  infer(request: ModelInferRequest, call: Call, headers: Headers): Promise<ModelInferResponse>;
  /** What the server says of the model, in one round trip. */
  modelSignature(model: ModelReference, call: Call, headers: Headers): Promise<ModelSignature>;
  /** Closes all connections, idle or not; settles when they are closed. Nobody calls the transport afterwards. */
  close(): Promise<void>;
}
