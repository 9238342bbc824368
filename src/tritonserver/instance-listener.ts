// Listens for the connections of `model.py`, one for each instance that tritonserver runs, and gives each the instance of
// the model whose key it says.

import { randomBytes } from 'node:crypto';
import { createServer, type ListenOptions, type Server, type Socket } from 'node:net';

import type { ModelInstance } from '../core/instance/model-instance.js';
import { TritonError } from '../errors.js';
import type { CompleteModelConfig } from '../model/complete-model-config.js';
import type { Logger } from '../observability/logger.js';
import { ServedTimer } from '../pacing/served-timer.js';
import { allocateReadMemory, readAccepted } from '../sockets/socket-reader.js';
import { encodeFrame, type Frame, FrameReader, HELLO, malformed, PROTOCOL, REFUSED, WELCOME } from './frame.js';
import { InstanceConnection } from './instance-connection.js';

/** A model whose instances connect. */
export interface ListedModel {
  readonly config: CompleteModelConfig;
  /** Its instances: connections of later ones share them. */
  readonly instances: readonly ModelInstance[];
  /** Called with the number of its connections when that has changed. */
  readonly onConnections: (count: number) => void;
  /** Called when the process of an instance has died. */
  readonly onLost: () => void;
}

/** Before a connection has said hello, it may send no more. */
const HELLO_BYTES = 16 * 1024;
const HELLO_SECONDS = 30;
const MOST_BYTES = 2 ** 36;
/** A connection that is silent for so long is asked whether it is there. */
const KEEPALIVE_MS = 5000;

interface Known {
  readonly model: ListedModel;
  readonly connections: Set<Socket>;
  /** Resolves {@link InstanceListener.left}. */
  onLeft: (() => void) | undefined;
}

export class InstanceListener {
  readonly #server: Server;
  readonly #logger: Logger;
  /** By their keys. */
  readonly #models = new Map<string, Known>();
  readonly #sockets = new Set<Socket>();
  readonly #memory = allocateReadMemory();

  constructor(logger: Logger) {
    this.#logger = logger;
    const options = { noDelay: true, pauseOnConnect: true, keepAlive: true, keepAliveInitialDelay: KEEPALIVE_MS };
    this.#server = createServer(options, (socket) => this.#accept(socket));
  }

  /** Rejects with UNAVAILABLE when the place cannot be listened at. */
  listen(place: ListenOptions): Promise<void> {
    return new Promise((resolve, reject) => {
      const address = place.path ?? `port ${place.port}`;
      this.#server.once('error', (error) =>
        reject(new TritonError('UNAVAILABLE', `cannot listen at ${address}: ${error.message}`, { cause: error })),
      );
      this.#server.listen(place, resolve);
    });
  }

  /** Expects the instances of a model. Returns the key that they say. */
  add(model: ListedModel): string {
    const key = randomBytes(16).toString('hex');
    this.#models.set(key, { model, connections: new Set(), onLeft: undefined });
    return key;
  }

  /** Resolves when the model has no connection, or is removed. */
  left(key: string): Promise<void> {
    const known = this.#models.get(key);
    if (known === undefined || known.connections.size === 0) return Promise.resolve();
    return new Promise((resolve) => (known.onLeft = resolve));
  }

  /** Ends the connections of a model, and expects no more. */
  remove(key: string): void {
    const known = this.#models.get(key);
    this.#models.delete(key);
    for (const socket of known?.connections ?? []) socket.destroy();
    known?.onLeft?.();
  }

  /** Ends the connections of a model as if they were lost. */
  lose(key: string): void {
    for (const socket of this.#models.get(key)?.connections ?? []) socket.destroy();
  }

  /** Ends all connections. */
  async close(): Promise<void> {
    for (const { onLeft } of this.#models.values()) onLeft?.();
    this.#models.clear();
    for (const socket of this.#sockets) socket.destroy();
    if (this.#server.listening) await new Promise((resolve) => this.#server.close(resolve));
  }

  #accept(accepted: Socket): void {
    let reader = new FrameReader(HELLO_BYTES);
    let connection: InstanceConnection | undefined;
    const lateHello = new ServedTimer(() => socket.destroy(), HELLO_SECONDS * 1000);
    const take = (frame: Frame): void => {
      if (connection !== undefined) return connection.take(frame);
      lateHello.clear();
      connection = this.#welcome(socket, frame);
      reader = new FrameReader(MOST_BYTES);
    };
    const socket = readAccepted(accepted, this.#memory, {
      received: (bytes, start, end) => {
        try {
          reader.push(bytes.subarray(start, end), take);
        } catch (error) {
          this.#logger.error(TritonError.from(error).message);
          socket.destroy();
        }
      },
      directTarget: () => reader.target,
    });
    this.#sockets.add(socket);
    // 'close' follows.
    socket.on('error', () => undefined);
    socket.on('close', () => {
      lateHello.clear();
      this.#sockets.delete(socket);
      connection?.lost();
    });
  }

  /** Answers a hello. Undefined when it is refused. */
  #welcome(socket: Socket, frame: Frame): InstanceConnection | undefined {
    if (frame.kind !== HELLO) throw malformed('it does not begin with a hello');
    const { protocol, key, instance } = (frame.extras ?? {}) as Readonly<Record<string, unknown>>;
    const known = this.#models.get(String(key));
    if (protocol !== PROTOCOL || known === undefined) {
      const error =
        protocol === PROTOCOL
          ? 'the model is not bound any more'
          : `model.py speaks version ${String(protocol)}, expected ${PROTOCOL}: it is of another version of TSTriton`;
      for (const piece of encodeFrame({ kind: REFUSED, id: 0, count: 0, head: [], extras: { error } }))
        socket.write(piece);
      socket.end();
      return undefined;
    }
    const { model, connections } = known;
    connections.add(socket);
    model.onConnections(connections.size);
    const { config, instances } = model;
    const connection = new InstanceConnection(socket, config, instances[numberOf(instance) % instances.length]!);
    socket.on('close', () => {
      connections.delete(socket);
      model.onConnections(connections.size);
      if (connections.size === 0) known.onLeft?.();
      if (!connection.isOver && this.#models.has(String(key))) model.onLost();
    });
    for (const piece of encodeFrame({ kind: WELCOME, id: 0, count: 0, head: [] })) socket.write(piece);
    return connection;
  }
}

/** `AddSub_0_3` is the fourth instance. */
function numberOf(instance: unknown): number {
  return Number(/_([0-9]+)$/.exec(String(instance))?.[1] ?? 0);
}
