// The endpoints of the HTTP/REST protocol: their methods, the categories that operators restrict them by (Triton's
// restricted_features.h), and their handlers.

import { TritonError } from '../../errors.js';
import type { HttpRequest, ServeRequest } from '../../http1/http-exchange.js';
import type { HeaderForwarding } from '../../protocol/header-forwarding.js';
import { KnownRequests } from '../../protocol/http/known-requests.js';
import { DESCRIPTIONS } from '../descriptions.js';
import { type Category, RestrictedFeatures, type Restriction } from '../restricted-features.js';
import type { ServedCore } from '../served-core.js';
import { answerEmpty, answerError, answerJson, answerLater } from './answers.js';
import { HEADER_FRAMING, type BinaryFraming } from './binary-framing.js';
import * as control from './control-handlers.js';
import type { EndpointContext, EndpointHandler, EndpointTarget } from './endpoint-handler.js';
import { generateHandler } from './generate-handler.js';
import { inferHandler } from './infer-handler.js';
import { plainHandler } from './plain-handler.js';

const GET = ['GET'];
const POST = ['POST'];
const GET_OR_POST = ['GET', 'POST'];

interface EndpointDefinition {
  readonly methods: readonly string[];
  readonly category: Category;
  readonly handler: EndpointHandler;
}

export const ENDPOINTS = {
  'server metadata': { methods: GET, category: 'metadata', handler: describing('server metadata') },
  openapi: { methods: GET, category: 'metadata', handler: describing('openapi') },
  live: { methods: GET, category: 'health', handler: healthy((server) => server.live) },
  ready: { methods: GET, category: 'health', handler: healthy((server) => server.isReady()) },
  'model list': { methods: GET, category: 'metadata', handler: describing('model list') },
  'model metadata': { methods: GET, category: 'metadata', handler: describing('model metadata') },
  'model ready': { methods: GET, category: 'health', handler: modelReady },
  'model config': { methods: GET, category: 'model-config', handler: describing('model config') },
  statistics: { methods: GET, category: 'statistics', handler: describing('statistics') },
  infer: { methods: POST, category: 'inference', handler: inferHandler },
  generate: { methods: POST, category: 'inference', handler: generateHandler('once') },
  'generate stream': { methods: POST, category: 'inference', handler: generateHandler('stream') },
  'plain json': { methods: POST, category: 'inference', handler: plainHandler },
  trace: { methods: GET_OR_POST, category: 'trace', handler: control.trace },
  logging: { methods: GET_OR_POST, category: 'logging', handler: control.logging },
  'repository index': { methods: POST, category: 'model-repository', handler: control.repositoryIndex },
  'model load': { methods: POST, category: 'model-repository', handler: control.modelLoad },
  'model unload': { methods: POST, category: 'model-repository', handler: control.modelUnload },
  'system shared memory status': { methods: GET, category: 'shared-memory', handler: control.systemStatus },
  'system shared memory register': { methods: POST, category: 'shared-memory', handler: control.systemRegister },
  'system shared memory unregister': { methods: POST, category: 'shared-memory', handler: control.systemUnregister },
  'cuda shared memory status': { methods: GET, category: 'shared-memory', handler: control.cudaStatus },
  'cuda shared memory register': { methods: POST, category: 'shared-memory', handler: control.cudaRegister },
  'cuda shared memory unregister': { methods: POST, category: 'shared-memory', handler: control.cudaUnregister },
} as const satisfies Readonly<Record<string, EndpointDefinition>>;

export type Endpoint = keyof typeof ENDPOINTS;

/** A request for an endpoint, by whichever path. */
export interface Route extends EndpointTarget {
  readonly endpoint: Endpoint;
}

export interface EndpointsOptions {
  readonly server: ServedCore;
  /** Largest JSON of an inference request in bytes, and largest tensor given in JSON. */
  readonly maxInputSize: number;
  /** The endpoints that require a header. Default: none. */
  readonly restrictions?: readonly Restriction[];
  /** The rule that turns headers into parameters of inference requests. Default: none. */
  readonly forwarding?: HeaderForwarding | undefined;
  /** Default: Triton's own header. */
  readonly framing?: BinaryFraming;
}

/** The endpoints over one core, as one frontend offers them. */
export class Endpoints {
  readonly #context: EndpointContext;
  readonly #restricted: RestrictedFeatures;

  constructor({ server, maxInputSize, restrictions = [], forwarding, framing = HEADER_FRAMING }: EndpointsOptions) {
    this.#restricted = new RestrictedFeatures(restrictions);
    const known = new KnownRequests();
    this.#context = { server, maxInputSize, forwarding, framing, known };
  }

  /** Refuses a request without a header that the endpoint requires. Returns undefined when the request may pass. */
  refusal(request: HttpRequest, { endpoint }: Route): ServeRequest | undefined {
    const missing = this.#restricted.missing(ENDPOINTS[endpoint].category, (name) => request.header(name));
    if (missing === undefined) return undefined;
    const refusal = { error: `This API is restricted, expecting header '${missing}'` };
    return (exchange) => answerJson(exchange, 403, refusal);
  }

  /** Serves requests whose method is one of the endpoint's, or counts as one. */
  handler(request: HttpRequest, route: Route): ServeRequest {
    return ENDPOINTS[route.endpoint].handler(request, route, this.#context);
  }
}

function describing(what: keyof typeof DESCRIPTIONS): EndpointHandler {
  return (_, { model, version }, { server }) =>
    (exchange) =>
      answerLater(exchange, DESCRIPTIONS[what](server, model, version));
}

function healthy(isHealthy: (server: ServedCore) => boolean): EndpointHandler {
  return (_, _target, { server }) =>
    (exchange) => {
      if (server.exiting) answerError(exchange, new TritonError('UNAVAILABLE', 'Server exiting'));
      else answerEmpty(exchange, isHealthy(server) ? 200 : 400);
    };
}

function modelReady(_: HttpRequest, { model, version }: EndpointTarget, { server }: EndpointContext): ServeRequest {
  return (exchange) => {
    if (server.isModelReady(model, version)) answerEmpty(exchange, 200);
    else answerJson(exchange, 400, { error: 'Model version not ready' });
  };
}
