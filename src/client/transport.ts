// What the client needs of a wire protocol. One transport serves one server over connections that it opens when they
// are needed, keeps, and opens anew when they died.

import type { ModelInferResponse } from '../model/exchange.js';
import type { ClassifiedRequest } from '../protocol/classified-request.js';
import type { ModelSignature } from '../protocol/model-signature.js';
import type { Call } from './call.js';
import type { ServerOperation } from './server-operation.js';

/** Headers by name, in lower case. */
export type Headers = Readonly<Record<string, string>>;

export interface ModelReference {
  readonly modelName: string;
  /** '' asks for the latest version. */
  readonly modelVersion: string;
}

/** The responses to one request, in order. Its methods are called in turn. */
export interface ResponseStream {
  /** The next response; undefined after the last. Rejects as the methods of a transport do. */
  next(): Promise<ModelInferResponse | undefined>;
  /** Nobody wants the rest: the server is told to stop. */
  cancel(): void;
}

/** Its methods reject with TritonErrors only; when the call is aborted, with the call's error, at once. */
export interface Transport {
  infer(request: ClassifiedRequest, call: Call, headers: Headers): Promise<ModelInferResponse>;
  /** Sends a request that is answered any number of times. The server waits for whoever takes the answers. */
  stream(request: ClassifiedRequest, model: ModelSignature, call: Call, headers: Headers): ResponseStream;
  /** What the server says of the model, in one round trip. */
  modelSignature(model: ModelReference, call: Call, headers: Headers): Promise<ModelSignature>;
  /** Asks for anything that is no inference. */
  ask<Answer extends object>(operation: ServerOperation<Answer>, call: Call, headers: Headers): Promise<Answer>;
  /** Closes all connections, idle or not; settles when they are closed. Nobody calls the transport afterwards. */
  close(): Promise<void>;
}
