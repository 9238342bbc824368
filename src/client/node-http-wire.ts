// HTTP/1.1 requests and their answers over an agent's connections to one server. Bodies are whole: sent with their Content-Length,
// received into memory of their own.

import {
  Agent as PlainAgent,
  request as plainRequest,
  type Agent,
  type ClientRequest,
  type IncomingMessage,
} from 'node:http';
import { Agent as TlsAgent, request as tlsRequest } from 'node:https';
import { performance } from 'node:perf_hooks';
import { setImmediate as turnOfTheLoop } from 'node:timers/promises';

import type { TritonError } from '../errors.js';
import type { Call } from './call.js';
import type { TransportOptions } from './client-options.js';
import { connectionError, nodeErrorCode, notTheProtocol, tooLargeError } from './connection-error.js';
import { HttpBody } from './http-body.js';
import {
  CLOSED_EARLY,
  type AnswerHeaders,
  type HttpRequest,
  type HttpResponse,
  type HttpWire,
  type PartedResponse,
} from './http-wire.js';
import type { ServerUrl } from './parse-url.js';

/** Idle connections are closed after this time, or earlier when the server announces that it closes them itself. */
const IDLE_MILLISECONDS = 60_000;
const MAX_IDLE_CONNECTIONS = 256;
/** Servers close connections that were idle for long; of one that was used just now nothing can have come. */
const LONG_IDLE_MS = 100;

export class NodeHttpWire implements HttpWire {
  readonly maxResponseBytes: number;
  readonly #server: ServerUrl;
  readonly #agent: Agent;
  readonly #hostHeader: string;
  #lastUse = 0;

  constructor(server: ServerUrl, { tls, maxResponseBytes, maxConcurrency }: TransportOptions) {
    const options = {
      keepAlive: true,
      timeout: IDLE_MILLISECONDS,
      maxFreeSockets: Math.min(maxConcurrency, MAX_IDLE_CONNECTIONS),
    };
    this.#server = server;
    this.#hostHeader = hostHeader(server);
    this.#agent = server.tls ? new TlsAgent({ ...options, ...tls }) : new PlainAgent(options);
    this.maxResponseBytes = maxResponseBytes;
  }

  get address(): string {
    return this.#server.address;
  }

  /**
   * Rejects with UNAVAILABLE when there is no whole answer, and with the call's error when it is aborted: the
   * connection is closed then, which cancels the request at the server.
   *
   * A kept connection may be closed by the server at the very moment it is used again. What may be executed twice is then sent once
   * more, over a new connection, if not a single byte came back.
   */
  exchange(request: HttpRequest, call: Call): Promise<HttpResponse> {
    return this.#overLiveConnection(request, call, () => this.#attempt(request, call));
  }

  /**
   * The same for an answer that comes in parts: settles with its head. Whoever takes the parts cancels the answer when the call is
   * aborted.
   */
  async open(request: HttpRequest, call: Call): Promise<PartedResponse> {
    return new NodeParts(await this.#overLiveConnection(request, call, () => this.#attemptHead(request, call)));
  }

  failure(error: unknown): TritonError {
    return toError(error, this.address);
  }

  /** Closes all connections; settles when they are closed. */
  async close(): Promise<void> {
    const { sockets, freeSockets } = this.#agent;
    const open = [...Object.values(sockets), ...Object.values(freeSockets)].flatMap((list) => list ?? []);
    const closed = open.map((socket) => new Promise<void>((resolve) => void socket.once('close', () => resolve())));
    this.#agent.destroy();
    await Promise.all(closed);
  }

  async #overLiveConnection<T>(request: HttpRequest, call: Call, attemptOnce: () => Promise<T>): Promise<T> {
    call.throwIfAborted();
    const now = performance.now();
    if (now - this.#lastUse > LONG_IDLE_MS && Object.keys(this.#agent.freeSockets).length > 0) {
      // That the server has closed a connection may have come already: it is read when the event loop polls, which is between two
      // of its turns.
      await turnOfTheLoop();
      await turnOfTheLoop();
      call.throwIfAborted();
    }
    this.#lastUse = now;
    try {
      return await attemptOnce();
    } catch (error) {
      if (!(error instanceof StaleConnection)) throw error;
      call.throwIfAborted();
      // The other kept connections may be as dead as this one was.
      for (const socket of Object.values(this.#agent.freeSockets).flat()) socket?.destroy();
      if (!call.idempotent && request.method !== 'GET') throw error.error;
      try {
        return await attemptOnce();
      } catch (again) {
        throw again instanceof StaleConnection ? again.error : again;
      }
    } finally {
      this.#lastUse = performance.now();
    }
  }

  #attempt(request: HttpRequest, call: Call): Promise<HttpResponse> {
    return this.#begin<HttpResponse>(request, call, (clientRequest, response, { resolve, fail, forget }) => {
      const { headers } = response;
      let complete = false;
      const giveUp = (error: unknown) => {
        fail(error);
        clientRequest.destroy();
      };
      collect(response, new HttpBody(headers, this.maxResponseBytes), {
        fail: giveUp,
        tooLarge: () => giveUp(tooLargeError(this.maxResponseBytes, this.address)),
        done: (body) => {
          complete = true;
          forget();
          // An early answer: the server does not want the rest of the body.
          if (!clientRequest.writableFinished) clientRequest.destroy();
          resolve({ status: response.statusCode!, headers, body });
        },
      });
      clientRequest.on('close', () => {
        if (!complete) fail(new Error(CLOSED_EARLY));
      });
    });
  }

  #attemptHead(request: HttpRequest, call: Call): Promise<IncomingMessage> {
    return this.#begin<IncomingMessage>(request, call, (_clientRequest, response, { resolve, forget }) => {
      forget();
      response.on('error', () => {});
      resolve(response);
    });
  }

  #begin<T>(
    request: HttpRequest,
    call: Call,
    onResponse: (clientRequest: ClientRequest, response: IncomingMessage, outcome: Outcome<T>) => void,
  ): Promise<T> {
    const { address } = this;
    return new Promise((resolve, reject) => {
      const clientRequest = this.#open(request);
      const { clock } = call;
      let bytesReadBefore = 0;
      let answered = false;
      const forget = call.onAbort((error) => {
        reject(error);
        clientRequest.destroy();
      });
      const fail = (error: unknown) => {
        forget();
        reject(toError(error, address));
      };
      clientRequest.once('socket', (socket) => {
        bytesReadBefore = socket.bytesRead;
        if (clock === undefined) return;
        if (socket.connecting) socket.once(this.#server.tls ? 'secureConnect' : 'connect', () => clock.connected());
        else clock.connected();
      });
      clientRequest.once('response', (response) => {
        answered = true;
        clock?.answered();
        onResponse(clientRequest, response, { resolve, fail, forget });
      });
      // These listeners stay: a socket may fail at any time until it is back with the agent.
      clientRequest.on('error', (error) => {
        const silent = clientRequest.socket?.bytesRead === bytesReadBefore;
        if (clientRequest.reusedSocket && silent && LOST.has(nodeErrorCode(error))) {
          forget();
          reject(new StaleConnection(toError(error, address)));
        } else fail(error);
      });
      clientRequest.on('close', () => {
        if (!answered) fail(new Error(CLOSED_EARLY));
      });
      send(clientRequest, request.chunks);
    });
  }

  #open({ method, path, headers, chunks }: HttpRequest): ClientRequest {
    const { host, port, pathPrefix, tls } = this.#server;
    // As a list they are written as they are; of an object Node makes an object of its own first.
    const fields = ['Host', this.#hostHeader];
    for (const [name, value] of Object.entries(headers)) fields.push(name, value);
    if (method === 'POST') {
      let length = 0;
      for (const { byteLength } of chunks) length += byteLength;
      fields.push('Content-Length', String(length));
    }
    const options = { host, port, method, path: pathPrefix + path, headers: fields, agent: this.#agent };
    return tls ? tlsRequest(options) : plainRequest(options);
  }
}

/** The port only where it is not the scheme's own, as browsers have it. */
export function hostHeader({ host, port, tls }: Pick<ServerUrl, 'host' | 'port' | 'tls'>): string {
  const name = host.includes(':') ? `[${host}]` : host;
  return port === (tls ? 443 : 80) ? name : `${name}:${port}`;
}

class NodeParts implements PartedResponse {
  readonly #response: IncomingMessage;

  constructor(response: IncomingMessage) {
    this.#response = response;
  }

  get status(): number {
    return this.#response.statusCode!;
  }

  get headers(): AnswerHeaders {
    return this.#response.headers;
  }

  parts(): AsyncIterator<Uint8Array, unknown> {
    return this.#response[Symbol.asyncIterator]() as AsyncIterator<Uint8Array, unknown>;
  }

  get complete(): boolean {
    return this.#response.complete;
  }

  cancel(): void {
    if (!this.#response.readableEnded) this.#response.destroy();
  }
}

/** The connection had been used before and ended before anything of the answer came. */
class StaleConnection extends Error {
  readonly error: TritonError;

  constructor(error: TritonError) {
    super(error.message);
    this.error = error;
  }
}

const LOST = new Set(['ECONNRESET', 'EPIPE']);

interface Outcome<T> {
  readonly resolve: (value: T) => void;
  readonly fail: (error: unknown) => void;
  /** The call's end is no longer this one's. */
  readonly forget: () => void;
}

function send(clientRequest: ClientRequest, chunks: readonly Uint8Array[]): void {
  const last = chunks.length - 1;
  if (last > 0) clientRequest.cork();
  for (let i = 0; i < last; i++) clientRequest.write(chunks[i]!);
  if (last < 0) clientRequest.end();
  else clientRequest.end(chunks[last]!);
  if (last > 0) clientRequest.uncork();
}

interface Collected {
  readonly done: (body: Buffer) => void;
  readonly tooLarge: () => void;
  readonly fail: (error: unknown) => void;
}

function collect(response: IncomingMessage, body: HttpBody, { done, tooLarge, fail }: Collected): void {
  if (body.isTooLarge) {
    tooLarge();
    return;
  }
  response.on('data', (chunk: Buffer) => {
    try {
      body.add(chunk);
      if (body.isTooLarge) tooLarge();
    } catch (error) {
      // There is no memory for it.
      fail(error);
    }
  });
  response.once('end', () => {
    if (response.complete) done(body.end());
  });
  response.on('error', fail);
}

function toError(error: unknown, address: string): TritonError {
  return nodeErrorCode(error).startsWith('HPE_')
    ? notTheProtocol(error, address, 'HTTP')
    : connectionError(error, address);
}
