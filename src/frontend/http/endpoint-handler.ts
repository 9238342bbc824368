// How an endpoint is served. An endpoint makes a handler from the head of a request. The handler serves all requests of the
// connection with the same head. So everything that depends on the head alone is decided once.

import type { HttpRequest, ServeRequest } from '../../http1/http-exchange.js';
import type { HeaderForwarding } from '../../protocol/header-forwarding.js';
import type { KnownRequests } from '../../protocol/http/known-requests.js';
import type { ServedCore } from '../served-core.js';
import type { BinaryFraming } from './binary-framing.js';

/** The names in the path of a request. */
export interface EndpointTarget {
  /** Empty for endpoints without a model, and for the statistics of all models. */
  readonly model: string;
  /** Digits, or '' for the latest. */
  readonly version: string;
  /** The repository, if the path names one. */
  readonly repository?: string | undefined;
  /** The region of shared memory, if the path names one. */
  readonly region?: string | undefined;
}

/** The parts of the frontend that its endpoints need. */
export interface EndpointContext {
  readonly server: ServedCore;
  /** Limit in bytes for the JSON of an inference request, for a tensor given in JSON, and for an inflated request. */
  readonly maxInputSize: number;
  /** The rule that turns headers into parameters of inference requests; undefined when no header does. */
  readonly forwarding: HeaderForwarding | undefined;
  /** How messages with binary tensors say where their JSON ends. */
  readonly framing: BinaryFraming;
  /** JSON of earlier requests, which need not be parsed again as a whole. */
  readonly known: KnownRequests;
}

/** Makes the handler for a head whose method is one of the endpoint's. An error that this or the handler throws becomes the answer. */
export type EndpointHandler = (request: HttpRequest, target: EndpointTarget, context: EndpointContext) => ServeRequest;
