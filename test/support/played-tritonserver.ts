// Plays a tritonserver in explicit mode: loads models through its HTTP API, and starts their `model.py`.

import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { type AddressInfo, createConnection } from 'node:net';

import * as frames from '../../src/tritonserver/frame.js';
import { FakeModel } from './fake-model-py.js';

export interface LoadedModel {
  readonly config: { readonly parameters: Readonly<Record<string, { readonly string_value: string }>> };
  readonly files: Readonly<Record<string, string>>;
  readonly instances: readonly FakeModel[];
}

export class PlayedTritonserver {
  readonly models = new Map<string, LoadedModel>();
  /** The names of all loads so far. */
  readonly loads: string[] = [];
  /** The paths of all requests so far. */
  readonly asked: string[] = [];
  /** As if the network to it were gone: nothing is answered. */
  isSilent = false;
  /** As a server that was killed while it loads, and whose connection another process holds: this many loads are not answered. */
  unansweredLoads = 0;
  /** The name of a model whose loads are never answered. */
  endless: string | undefined;
  /** Answers loads with this error. */
  refusal: string | undefined;
  /** Undefined while it is not there. */
  #server: ReturnType<typeof createServer> | undefined;
  #port = 0;

  get url(): string {
    return `http://127.0.0.1:${this.#port}`;
  }

  async start(): Promise<this> {
    this.#server = createServer((request, response) => {
      if (this.isSilent) return;
      const isEndless = request.url!.endsWith(`/${this.endless}/load`);
      if (isEndless || (request.url!.endsWith('/load') && this.unansweredLoads > 0)) {
        this.asked.push(request.url!);
        if (isEndless) return;
        this.unansweredLoads--;
        return;
      }
      void this.#answer(request).then(({ status, body }) => reply(response, status, body));
    }).listen(this.#port, '127.0.0.1');
    await once(this.#server, 'listening');
    this.#port = (this.#server.address() as AddressInfo).port;
    return this;
  }

  /** As killed: nothing says goodbye. */
  async kill(): Promise<void> {
    for (const name of this.models.keys()) this.#end(name, false);
    const server = this.#server;
    this.#server = undefined;
    if (server === undefined) return;
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.kill();
  }

  /** As a client's unload. */
  unload(name: string): void {
    this.#end(name, true);
  }

  #end(name: string, isOrderly: boolean): void {
    for (const instance of this.models.get(name)?.instances ?? []) {
      if (isOrderly) instance.send({ kind: frames.GOODBYE });
      instance.end();
    }
    this.models.delete(name);
  }

  async #answer(request: IncomingMessage): Promise<{ status: number; body: unknown }> {
    this.asked.push(request.url!);
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const [, name = '', what] =
      /^\/v2\/(?:repository\/)?models\/([^/]+)\/(\w+)$/.exec(request.url!) ?? ([] as readonly string[]);
    const model = this.models.get(name);
    switch (what) {
      case undefined:
        return { status: 200, body: undefined };
      case 'ready':
        return { status: model === undefined ? 400 : 200, body: undefined };
      case 'config':
        return { status: 200, body: { name, ...model!.config } };
      case 'load':
        return this.#load(name, JSON.parse(Buffer.concat(chunks).toString()) as LoadRequest);
      default:
        this.#end(name, true);
        return { status: 200, body: undefined };
    }
  }

  async #load(name: string, { parameters }: LoadRequest): Promise<{ status: number; body: unknown }> {
    if (this.refusal !== undefined) return { status: 400, body: { error: this.refusal } };
    this.loads.push(name);
    const { config, ...given } = parameters;
    const files = Object.fromEntries(
      Object.entries(given).map(([path, content]) => [
        path.replace(/^file:/, ''),
        Buffer.from(content, 'base64').toString(),
      ]),
    );
    const instances: FakeModel[] = [];
    for (const [path, text] of Object.entries(files)) {
      if (!path.endsWith('tstriton.json')) continue;
      const { address, key } = JSON.parse(text) as { readonly address: string; readonly key: string };
      const model = new FakeModel(createConnection(placeOf(address)));
      model.send({
        kind: frames.HELLO,
        extras: { protocol: frames.PROTOCOL, key, instance: `${name}_0_0` },
      });
      const { kind } = await model.next();
      if (kind !== frames.WELCOME) return { status: 400, body: { error: 'refused' } };
      instances.push(model);
    }
    this.#end(name, true);
    this.models.set(name, { config: JSON.parse(config) as LoadedModel['config'], files, instances });
    return { status: 200, body: undefined };
  }
}

interface LoadRequest {
  readonly parameters: Readonly<Record<string, string>> & { readonly config: string };
}

function placeOf(address: string) {
  const [, host, port] = /^([^/]+):([0-9]+)$/.exec(address) ?? [];
  return port === undefined ? { path: address } : { host: host!, port: Number(port) };
}

function reply(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { 'content-type': 'application/json' });
  response.end(body === undefined ? '' : JSON.stringify(body));
}
