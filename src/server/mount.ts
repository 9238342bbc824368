// The handlers that `Triton` gives to other HTTP servers, and to clients in this thread. They outlive a run: each request goes to
// the server that runs then.

import type { IncomingMessage, ServerResponse } from 'node:http';

import { HTTP_STATUS, invalidArg, TritonError } from '../errors.js';
import { checkMembers } from '../checks/check.js';
import { matchRoute, pathOf } from '../frontend/http/routes.js';
import type { MountedFrontend } from '../frontend/mounted/mounted-frontend.js';
import { LateTransport } from '../in-process/late-transport.js';
import { behindPrefix } from '../frontend/mounted/mounted-request.js';
import type { InProcessRun } from '../frontend/served-core.js';

/** Options of {@link Triton.handler} and {@link Triton.fetchHandler}. */
export interface HandlerOptions {
  /**
   * What stands before Triton's paths where the router does not take it away: with `'/api'` the handler answers
   * `/api/v2/health/ready`. Default: nothing.
   */
  readonly prefix?: string;
}

/**
 * Handles requests of `node:http`, Express and the like. A request for another path goes to `next`, or is answered with
 * 404 where there is none.
 */
export type NodeHandler = (
  incoming: IncomingMessage,
  response: ServerResponse,
  next?: (error?: unknown) => void,
) => void;

/** Handles requests of the Fetch standard. Rejects only when the client leaves, or the server stops, before the answer begins. */
export type FetchHandler = (request: Request) => Promise<Response>;

const NOT_RUNNING = 'the server does not run; call run() first';

export class Mount {
  /** The frontend of the server that runs; undefined while none does. */
  frontend: MountedFrontend | undefined;
  /** The server that runs in this thread; undefined while none does. */
  running: InProcessRun | undefined;
  readonly #hasPath: (path: string) => boolean;
  #isAsked = false;

  /** `hasPath`: whether a bound model is served at a path that is none of the protocol's. */
  constructor(hasPath: (path: string) => boolean) {
    this.#hasPath = hasPath;
  }

  /** Whether there are handlers, so that the next run needs a frontend for them. */
  get isAsked(): boolean {
    return this.#isAsked;
  }

  node(options: HandlerOptions): NodeHandler {
    const prefix = this.#ask(options, 'handler');
    return (incoming, response, next) => {
      const target = behindPrefix(incoming.url ?? '/', prefix);
      const isOurs = target !== undefined && (matchRoute(target) !== undefined || this.#hasPath(pathOf(target)));
      if (!isOurs && next !== undefined) return next();
      if (this.frontend !== undefined) return this.frontend.serveNode(incoming, response, target ?? '/');
      const { status, body } = notRunning();
      response.writeHead(status, { 'Content-Type': 'application/json', 'Content-Length': body.length });
      response.end(body);
    };
  }

  fetch(options: HandlerOptions): FetchHandler {
    const prefix = this.#ask(options, 'fetchHandler');
    return async (request) => {
      const { pathname, search } = new URL(request.url);
      const target = behindPrefix(pathname + search, prefix);
      if (this.frontend !== undefined) return this.frontend.serveFetch(request, target ?? '/');
      const { status, body } = notRunning();
      return new Response(body, { status, headers: { 'Content-Type': 'application/json' } });
    };
  }

  /** For clients in this thread. */
  local(): LateTransport {
    this.#isAsked = true;
    return new LateTransport(() => {
      if (this.running !== undefined) return Promise.resolve(this.running);
      return Promise.reject(new TritonError('UNAVAILABLE', NOT_RUNNING));
    });
  }

  #ask(options: HandlerOptions, method: string): string {
    checkMembers(options, ['prefix'], `the argument of ${method}`);
    const { prefix = '' } = options;
    if (typeof prefix !== 'string' || (prefix !== '' && !/^\/.*[^/]$/.test(prefix))) {
      throw invalidArg(
        `prefix must begin with a slash and end without one, like '/api'; got ${JSON.stringify(prefix)}`,
      );
    }
    this.#isAsked = true;
    return prefix;
  }
}

function notRunning() {
  const error = new TritonError('UNAVAILABLE', NOT_RUNNING);
  return { status: HTTP_STATUS[error.code], body: JSON.stringify({ error: error.message }) };
}
