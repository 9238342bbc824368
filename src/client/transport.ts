// The client's interface to a wire protocol. One transport serves one server. It opens connections when they are needed, keeps them,
// and replaces dead ones.

import type { TritonError } from '../errors.js';
import type { ModelInferResponse } from '../model/exchange.js';
import type { ClassifiedRequest } from '../protocol/classified-request.js';
import type { ModelSignature } from '../protocol/model-signature.js';
import type { Call } from './call.js';
import type { ServerOperation } from './server/server-operation.js';

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
  /** Drops the rest of the responses, and tells the server to stop. */
  cancel(): void;
}

/** A response of a request stream, or the error of the request that has the response's id. */
export interface StreamedResponse {
  readonly response: ModelInferResponse;
  readonly error: TritonError | undefined;
  /** Whether this is the last response to its request; undefined if the server does not say. */
  readonly final: boolean | undefined;
}

/** Any number of requests on one stream, and their responses. */
export interface RequestStream {
  /** Whether the server takes no more requests. Its earlier responses, and the reason, can still be read. */
  readonly isOver: boolean;
  /** Settles when there is room for more. */
  send(request: ClassifiedRequest): Promise<void>;
  /** No more requests will come. */
  end(): void;
  /** The next response; undefined after the last. Call it again only when the promise has settled. */
  next(): Promise<StreamedResponse | undefined>;
  cancel(): void;
}

/** Its methods reject with TritonErrors only. When the call is aborted, they reject at once with the call's error. */
export interface Transport {
  infer(request: ClassifiedRequest, call: Call, headers: Headers): Promise<ModelInferResponse>;
  /** Sends a request with any number of answers. The server waits for the reader of the answers. */
  stream(request: ClassifiedRequest, model: ModelSignature, call: Call, headers: Headers): ResponseStream;
  /** A stream of requests; absent where the protocol has none. */
  requestStream?(call: Call, headers: Headers): RequestStream;
  /** Asks the server for the model's signature, in one round trip. */
  modelSignature(model: ModelReference, call: Call, headers: Headers): Promise<ModelSignature>;
  /** Asks the server anything other than an inference. */
  ask<Answer extends object>(operation: ServerOperation<Answer>, call: Call, headers: Headers): Promise<Answer>;
  /** Closes all connections, idle or not; settles when they are closed. Nobody calls the transport afterwards. */
  close(): Promise<void>;
}
