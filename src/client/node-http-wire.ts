// HTTP/1.1 over kept connections of `node:http`. An idle connection does not keep the process alive.

import { Agent as PlainAgent, type Agent, type IncomingMessage } from 'node:http';
import { Agent as TlsAgent } from 'node:https';

import type { TritonError } from '../errors.js';
import type { Call } from './call.js';
import type { ClientTlsOptions } from './client-options.js';
import { exchange, openExchange, toError } from './http-exchange.js';
import type { HttpRequest, HttpResponse, HttpWire, PartedResponse } from './http-wire.js';
import type { ServerUrl } from './parse-url.js';

/** Idle connections are closed after this time, or earlier when the server announces that it closes them itself. */
const IDLE_MILLISECONDS = 60_000;

export class NodeHttpWire implements HttpWire {
  readonly #server: ServerUrl;
  readonly #agent: Agent;

  constructor(server: ServerUrl, tls: ClientTlsOptions) {
    this.#server = server;
    const options = { keepAlive: true, timeout: IDLE_MILLISECONDS };
    this.#agent = server.tls ? new TlsAgent({ ...options, ...tls }) : new PlainAgent(options);
  }

  exchange(request: HttpRequest, call: Call): Promise<HttpResponse> {
    return exchange(this.#server, this.#agent, request, call);
  }

  async open(request: HttpRequest, call: Call): Promise<PartedResponse> {
    return new NodeParts(await openExchange(this.#server, this.#agent, request, call));
  }

  failure(error: unknown): TritonError {
    return toError(error, this.#server.address);
  }

  async close(): Promise<void> {
    const { sockets, freeSockets } = this.#agent;
    const open = [...Object.values(sockets), ...Object.values(freeSockets)].flatMap((list) => list ?? []);
    const closed = open.map((socket) => new Promise<void>((resolve) => void socket.once('close', () => resolve())));
    this.#agent.destroy();
    await Promise.all(closed);
  }
}

class NodeParts implements PartedResponse {
  readonly #response: IncomingMessage;

  constructor(response: IncomingMessage) {
    this.#response = response;
  }

  get status(): number {
    return this.#response.statusCode!;
  }

  get contentType(): string | undefined {
    return this.#response.headers['content-type'];
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
