// One object for all models of a server: their clients, over connections that they share.

import { expectObject } from '../checks/check.js';
import { TritonError } from '../errors.js';
import type { ModelSpec } from '../model/callable.js';
import { completeClientOptions, type ModelClientOptions } from './client-options.js';
import type { InProcessServer } from '../in-process/open-transport.js';
import { serverTarget, SharedServer } from './in-process-server.js';
import { ModelClient, type ClientOf } from './model-client.js';
import { ServerClient } from './server/server-client.js';

/** Of all clients of the connection. */
export type ConnectOptions = Omit<ModelClientOptions, 'modelVersion'>;

/** Declarations of models, by names of the caller's choice. */
export type ModelSpecs = Readonly<Record<string, ModelSpec>>;

/**
 * The clients of a server's models. They share connections, `maxConcurrency` and `maxQueueSize`.
 *
 * @example
 * await using triton = connect('grpc://localhost', { addSub });
 * const { add } = await triton.models.addSub.inferSample([1], [2]);
 */
export class ServerConnection<const M extends ModelSpecs = ModelSpecs> {
  /** The clients of the declared models, by the names that they were given. */
  readonly models: { readonly [Name in keyof M]: ClientOf<M[Name]> };
  /** The server itself. */
  readonly server: ServerClient;
  readonly #shared: SharedServer;
  readonly #options: ConnectOptions;
  readonly #undeclared = new Map<string, ModelClient>();
  #isClosed = false;

  /** Of `connect`. */
  constructor(url: string | InProcessServer, models: M, options: ConnectOptions) {
    const target = serverTarget(url);
    const complete = completeClientOptions(options, target.protocol);
    if ('modelVersion' in options) throw new TritonError('INVALID_ARG', MANY_VERSIONS);
    expectObject(models, 'models');
    this.#options = options;
    this.#shared = new SharedServer(target, complete);
    const { binaryData: _, ...ofServer } = options;
    this.server = new ServerClient(this.#shared, ofServer);
    const clients = Object.entries(models).map(
      ([name, spec]) => [name, new ModelClient(this.#shared, spec, options)] as const,
    );
    this.models = Object.fromEntries(clients) as unknown as typeof this.models;
  }

  /** The client of any model of the server, which asks the server once for the model's configuration. */
  model(modelName: string): ModelClient {
    let client = this.#undeclared.get(modelName);
    if (client === undefined) {
      client = new ModelClient(this.#shared, modelName, this.#options);
      this.#undeclared.set(modelName, client);
      // It refuses its calls.
      if (this.#isClosed) void client.close();
    }
    return client;
  }

  /** Cancels the calls of all clients and closes the connections; settles when nothing is left open. */
  async close(): Promise<void> {
    this.#isClosed = true;
    const clients: readonly { close(): Promise<void> }[] = [
      this.server,
      ...(Object.values(this.models) as ModelClient[]),
      ...this.#undeclared.values(),
    ];
    await Promise.all(clients.map((client) => client.close()));
    await this.#shared.close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}

const MANY_VERSIONS = 'modelVersion is an option of one model; declare it with the model';

/**
 * Connects to a server: one object with a client for each model. Nothing is sent yet. `url` is as for ModelClient. Throws INVALID_ARG.
 *
 * @example
 * const triton = connect('grpc://localhost', { addSub, count }, { timeoutMs: 5000 });
 */
export function connect<const M extends ModelSpecs = Readonly<Record<never, never>>>(
  url: string | InProcessServer,
  models: M = {} as M,
  options: ConnectOptions = {},
): ServerConnection<M> {
  return new ServerConnection(url, models, options);
}
