// A port that takes connections, with TLS or without, for every wire. It binds the port, accepts and reads sockets,
// tells the connections what time it is, and ends them all.

import { createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { createServer as createTlsServer, Server as TlsServer, type TlsOptions, type TLSSocket } from 'node:tls';

import { afterReading, rightAfterReading } from '../pacing/after-reading.js';
import type { ByteBudget } from './byte-budget.js';
import type { Admission, ConnectionLimit, LimitedConnection } from './connection-limit.js';
import { BlockPool } from './output.js';
import { ServedTime } from '../pacing/served-time.js';
import { allocateReadMemory, readAccepted, readByEvents, type ByteSink } from './socket-reader.js';
import { Stopwatch } from './stopwatch.js';
import { removeDeadSocket } from './unix-socket.js';
import { WriteTurn } from './write-turn.js';

/** Clients that may connect while this thread is busy; the system has a limit too. Beyond it, they try again after a second. */
const BACKLOG = 4096;
/** How exact the timeouts of connections are. */
const TICK_MILLISECONDS = 500;

/** A connection of some wire. */
export interface ListenedConnection extends LimitedConnection {
  readonly socket: Socket;
  /** Called now and then, with milliseconds of {@link ServedTime}, after the bytes received by then are read. */
  tick(now: number): void;
  /** Tells its client to use other connections, and still serves its requests. */
  retire(): void;
  /** Takes nothing new, and ends when all is answered. */
  drain(): void;
  /** Whether a request is under way, or an answer that the socket has not passed on whole. */
  readonly isUnderWay: boolean;
  /** It drains, and its client may send requests until it must have heard of that. Default: no. */
  readonly mayStillAsk?: boolean;
  /** Bytes of answers that the socket has not passed on. */
  readonly unreadBytes: number;
}

/** A connection that was ended with a request or an answer under way. */
export interface CutOff {
  /** `address:port` of the client. */
  readonly peer: string;
  readonly unreadBytes: number;
}

/** What the connections of a port share. */
export interface SharedByConnections {
  readonly pool: BlockPool;
  readonly turn: WriteTurn;
  /** Shared with other ports. Default: connections may hold anything. */
  readonly budget?: ByteBudget | undefined;
}

/** Passed to each new connection. */
export interface Surroundings extends SharedByConnections {
  /** There are as many connections as there may be: it is for asking how the server is, once. */
  readonly isSpare: boolean;
}

/** Node's own timers for the handshake count the time in which this thread stood still. */
const LONGEST_TIMER = 2 ** 31 - 1;

/** Older ones are broken; said here, because Node may be started with another default. */
const OLDEST_TLS = 'TLSv1.2';

export interface ListenerOptions {
  /** Makes the connection; `read` gives its socket and has it read to the sink from then on. */
  readonly connect: (read: (sink: ByteSink) => Socket, surroundings: Surroundings) => ListenedConnection;
  /** Default: no TLS. */
  readonly tls?: TlsOptions | undefined;
  /** How long a client may take for the handshake of TLS, in milliseconds. Default: as long as it likes. */
  readonly handshakeTimeout?: number | undefined;
  /** Why a client's TLS is not that of the wire; undefined when it is. */
  readonly refuseSecure?: (socket: TLSSocket) => Error | undefined;
  /** Whether a client that has closed its sending half may still be sent something. Default: no. */
  readonly allowHalfOpen?: boolean;
  /** Told the time before the connections are. */
  readonly onTick?: (now: number) => void;
  /** What clients may have the server hold. Default: anything. */
  readonly budget?: ByteBudget | undefined;
  /** Shared with other ports. Default: any number of connections. */
  readonly limit?: ConnectionLimit | undefined;
  /** Whether there is something to ask where there are as many connections as there may be. Default: no. */
  readonly takesSpare?: boolean;
  /** Told when the port fails after it was opened. */
  readonly onError?: ((error: Error) => void) | undefined;
  /** Told why a TLS handshake came to nothing. */
  readonly onHandshakeError?: ((error: Error) => void) | undefined;
  /** Told once whom {@link Listener.close} cut off, if anybody. */
  readonly onCutOff?: ((connections: readonly CutOff[]) => void) | undefined;
}

export class Listener {
  readonly #options: ListenerOptions;
  readonly #server: Server;
  /** Listens at a path. */
  #further: Server | undefined;
  readonly #connections = new Set<ListenedConnection>();
  /** Sockets in their handshake of TLS too. */
  readonly #sockets = new Set<Socket>();
  /** Of TLS, by the client's address and port. */
  readonly #handshakes = new Map<string, Handshake>();
  readonly #shared: SharedByConnections;
  readonly #memory = allocateReadMemory();
  #accepted = 0;
  #isRetiring = false;
  #ticks: NodeJS.Timeout | undefined;
  /** A standstill counts less than the second that a client may be silent. */
  readonly #time = new ServedTime(1.5 * TICK_MILLISECONDS);
  #portClosed: Promise<void> | undefined;
  #isPortOpen = true;
  #closed: Promise<void> | undefined;
  #onEmpty: (() => void) | undefined;
  /** Told when nothing is under way any more. */
  #onSettled: (() => void)[] = [];
  #isLooking = false;

  constructor(options: ListenerOptions) {
    this.#options = options;
    const { allowHalfOpen = false, tls, onHandshakeError, budget } = options;
    this.#shared = { pool: new BlockPool(), turn: new WriteTurn(), budget };
    const sockets = { noDelay: true, keepAlive: true };
    if (tls === undefined) {
      this.#server = createServer({ ...sockets, allowHalfOpen, pauseOnConnect: true }, (accepted) =>
        this.#connect(accepted, (sink) => readAccepted(accepted, this.#memory, sink)),
      );
      return;
    }
    // A client that closes its half during the handshake has gone.
    const settings = { minVersion: OLDEST_TLS, ...tls, ...sockets, handshakeTimeout: LONGEST_TIMER } as const;
    this.#server = createTlsServer(settings, (socket) => {
      socket.allowHalfOpen = allowHalfOpen;
      this.#connectSecure(socket);
    });
    this.#server.on('connection', (socket: Socket) => this.#beginHandshake(socket));
    this.#server.on('tlsClientError', (error: Error, socket: TLSSocket) => {
      onHandshakeError?.(handshakeError(error, socket));
      // Node leaves that to us.
      socket.destroy();
    });
  }

  /** Resolves with the real port. Rejects with what Node says when the address cannot be used. */
  listen(address: string, port: number): Promise<number> {
    return new Promise((resolve, reject) => {
      this.#server.once('error', reject);
      this.#server.listen({ port, host: address, backlog: BACKLOG }, () => {
        this.#server.off('error', reject);
        this.#server.on('error', (error: Error) => this.#options.onError?.(error));
        // After a standstill, the timers come before the bytes.
        this.#ticks = setInterval(() => afterReading(() => this.#tick()), TICK_MILLISECONDS).unref();
        resolve((this.#server.address() as AddressInfo).port);
      });
    });
  }

  /** Listens at a Unix socket too. Rejects with what Node says when the path cannot be used. */
  async listenToo(path: string): Promise<void> {
    await removeDeadSocket(path);
    const { allowHalfOpen = false } = this.#options;
    const server = createServer({ allowHalfOpen, pauseOnConnect: true }, (accepted) =>
      this.#connect(accepted, (sink) => readAccepted(accepted, this.#memory, sink)),
    );
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject);
      server.listen(path, () => {
        server.off('error', reject);
        server.on('error', (error: Error) => this.#options.onError?.(error));
        resolve();
      });
    });
    this.#further = server;
  }

  /** TLS of connections from now on; open ones keep theirs. Only a port that was made with TLS has it. */
  renewTls(tls: TlsOptions): void {
    // Sessions of before cannot be resumed: their clients have to fit the new certificates too.
    if (this.#server instanceof TlsServer) this.#server.setSecureContext({ minVersion: OLDEST_TLS, ...tls });
  }

  /** Open now. */
  get connections(): number {
    return this.#connections.size;
  }

  /** Tells clients to use other connections. Requests on these connections, and on new ones, are served. */
  retire(): void {
    this.#isRetiring = true;
    for (const connection of this.#connections) connection.retire();
  }

  /** No new connections; existing ones take nothing new and close after their last answer. */
  drain(): void {
    if (this.#portClosed !== undefined) return;
    this.#portClosed = new Promise((resolve) => this.#closePort(resolve));
    for (const connection of this.#connections) connection.drain();
  }

  /** Connections with a request or an answer under way. */
  get underWay(): number {
    let count = 0;
    for (const { isUnderWay } of this.#connections) if (isUnderWay) count++;
    return count;
  }

  /** Connections with nothing under way whose clients may still send a request. */
  get awaited(): number {
    let count = 0;
    for (const { isUnderWay, mayStillAsk } of this.#connections) if (mayStillAsk === true && !isUnderWay) count++;
    return count;
  }

  /** Resolves when all requests are answered and all answers are written. To be called after {@link drain}. */
  settled(): Promise<void> {
    return new Promise((resolve) => {
      this.#onSettled.push(resolve);
      this.#lookSoon();
    });
  }

  /** Drains, ends the remaining connections after a grace, and resolves when no socket is open. Idempotent. */
  close(graceMilliseconds: number): Promise<void> {
    return (this.#closed ??= this.#close(graceMilliseconds));
  }

  async #close(graceMilliseconds: number): Promise<void> {
    this.drain();
    // Not at once without a grace either: the answers of this turn are written at its end.
    const timer = setTimeout(() => this.#cutOff(), graceMilliseconds);
    await this.#portClosed;
    if (this.#sockets.size > 0) await new Promise<void>((resolve) => (this.#onEmpty = resolve));
    clearTimeout(timer);
    clearInterval(this.#ticks);
  }

  /**
   * After a short turn of the event loop without a new connection: the system resets the connections that nobody has accepted
   * yet.
   */
  #closePort(onClosed: () => void): void {
    let before = this.#accepted;
    const isQuiet = () => {
      const isSame = this.#accepted === before;
      before = this.#accepted;
      return isSame;
    };
    rightAfterReading(() => {
      this.#isPortOpen = false;
      const further = this.#further;
      this.#server.close(() => (further === undefined ? onClosed() : further.close(() => onClosed())));
      this.#lookSoon();
    }, isQuiet);
  }

  #cutOff(): void {
    const cut = [...this.#connections].filter(({ isUnderWay }) => isUnderWay);
    if (cut.length > 0) this.#options.onCutOff?.(cut.map(cutOff));
    for (const socket of this.#sockets) socket.destroy();
  }

  /** Once for all that ends in a turn of the event loop. */
  #lookSoon(): void {
    if (this.#isLooking || this.#onSettled.length === 0) return;
    this.#isLooking = true;
    setImmediate(() => {
      this.#isLooking = false;
      if (this.#isPortOpen) return;
      for (const { isUnderWay, mayStillAsk } of this.#connections) if (isUnderWay || mayStillAsk === true) return;
      for (const resolve of this.#onSettled.splice(0)) resolve();
    });
  }

  /** It takes a place from now on. */
  #beginHandshake(socket: Socket): void {
    const admission = this.#admit(socket);
    // A client that was reset meanwhile has no name any more.
    if (admission === 'refused' || socket.remoteAddress === undefined) {
      socket.destroy();
      return;
    }
    const handshake = new Handshake(socket, admission);
    const name = nameOf(socket);
    this.#handshakes.set(name, handshake);
    this.#options.limit?.add(handshake, addressOf(socket), admission);
    this.#keep(socket);
    socket.once('close', () => this.#endHandshake(name));
  }

  #endHandshake(name: string): Handshake | undefined {
    const handshake = this.#handshakes.get(name);
    if (handshake === undefined) return undefined;
    this.#handshakes.delete(name);
    this.#options.limit?.remove(handshake);
    return handshake;
  }

  #endLateHandshakes(now: number): void {
    const { handshakeTimeout = Infinity } = this.#options;
    for (const handshake of this.#handshakes.values()) {
      handshake.tick(now);
      if (handshake.idleFor > handshakeTimeout) handshake.giveUp();
    }
  }

  #connectSecure(socket: TLSSocket): void {
    const handshake = this.#endHandshake(nameOf(socket));
    // Its place has gone to another one just now, or the client was reset.
    if (handshake === undefined) {
      socket.destroy();
      return;
    }
    const refusal = this.#options.refuseSecure?.(socket);
    if (refusal === undefined) {
      this.#open((sink) => readByEvents(socket, sink), handshake.admission);
      return;
    }
    this.#options.onHandshakeError?.(refusal);
    socket.destroy();
  }

  #connect(accepted: Socket, read: (sink: ByteSink) => Socket): void {
    const admission = this.#admit(accepted);
    if (admission === 'refused') accepted.destroy();
    else this.#open(read, admission);
  }

  #admit(socket: Socket): Admission {
    this.#accepted++;
    const { limit, takesSpare = false } = this.#options;
    return limit?.admit(addressOf(socket), takesSpare) ?? 'whole';
  }

  #open(read: (sink: ByteSink) => Socket, admission: Admission): void {
    const { limit } = this.#options;
    const isSpare = admission === 'spare';
    const one = this.#options.connect(read, { ...this.#shared, isSpare });
    this.#connections.add(one);
    limit?.add(one, addressOf(one.socket), admission);
    one.socket.once('close', () => {
      this.#connections.delete(one);
      limit?.remove(one);
      this.#lookSoon();
    });
    one.socket.once('finish', () => this.#lookSoon());
    this.#keep(one.socket);
    if (this.#isRetiring || isSpare) one.retire();
    // It was accepted just before the port closed.
    if (this.#portClosed !== undefined) one.drain();
  }

  #keep(socket: Socket): void {
    this.#sockets.add(socket);
    socket.once('close', () => {
      this.#sockets.delete(socket);
      if (this.#sockets.size === 0) this.#onEmpty?.();
    });
  }

  #tick(): void {
    const now = this.#time.look();
    this.#options.onTick?.(now);
    for (const one of this.#connections) one.tick(now);
    this.#endLateHandshakes(now);
    this.#lookSoon();
  }
}

/** Says why a handshake failed. Node says of an untrusted certificate only that the client hung up, and OpenSSL adds its source. */
function handshakeError(error: Error & { readonly reason?: unknown }, socket: TLSSocket): Error {
  // A code, which Node sets where the client has shown a certificate.
  const refused: unknown = socket.authorizationError;
  const reason =
    typeof refused === 'string' ? `the certificate of the client is not trusted: ${refused}` : error.reason;
  return typeof reason === 'string' ? new Error(reason, { cause: error }) : error;
}

/** A client that is to say how it speaks TLS. */
class Handshake implements LimitedConnection {
  readonly admission: Admission;
  readonly hasServed = false;
  readonly #socket: Socket;
  readonly #time = new Stopwatch();
  idleFor = 0;

  constructor(socket: Socket, admission: Admission) {
    this.#socket = socket;
    this.admission = admission;
  }

  closeIdle(): void {
    this.#socket.destroy();
  }

  tick(now: number): void {
    this.idleFor = this.#time.look(now, true);
  }

  giveUp(): void {
    this.#socket.destroy(new Error('TLS handshake timeout'));
  }
}

function nameOf({ remoteAddress, remotePort }: Socket): string {
  return `${remoteAddress} ${remotePort}`;
}

/** Empty once the client has gone. */
function addressOf({ remoteAddress }: Socket): string {
  return remoteAddress ?? '';
}

function cutOff({ socket, unreadBytes }: ListenedConnection): CutOff {
  return { peer: `${socket.remoteAddress}:${socket.remotePort}`, unreadBytes };
}
