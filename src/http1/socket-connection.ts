// Binds a connection to its socket: received bytes in, answers out in one write per turn of the event loop, and the end of each
// told to the other. A client that does not take its answers is not read any more, and cut off when it never does.

import type { Socket } from 'node:net';

import type { ListenedConnection, SharedByConnections } from '../sockets/listener.js';
import { Output, takenBytes } from '../sockets/output.js';
import type { ByteShare, HeldRequest, ShareOwner } from '../sockets/byte-budget.js';
import { Presence } from '../sockets/presence.js';
import { LEAST_PROGRESS, Standstill } from '../sockets/standstill.js';
import { rightAfterReading } from '../pacing/after-reading.js';
import { ServedTimer } from '../pacing/served-timer.js';
import type { ByteSink } from '../sockets/socket-reader.js';
import type { Writing } from '../sockets/write-turn.js';
import { HttpConnection, type Clock, type ConnectionOwner } from './http-connection.js';
import type { ServeRequest } from './http-exchange.js';

/** A client that takes nothing of an answer for so long is gone. */
const STALLED_MILLISECONDS = 300_000;
/** The same when others need the room. */
const IDLE_READER_MILLISECONDS = 5000;
/** When the server ends, a client that has connected or was answered has so long for its next request. */
const NEXT_REQUEST_MILLISECONDS = 500;
/** How long the client may take to close its side when ours is closed; until then it can read why. */
const LINGER_MILLISECONDS = 1000;

const NO_TIMER = { clear: () => undefined };

export interface SocketEnvironment extends SharedByConnections {
  readonly serve: ServeRequest;
  readonly clock: Clock;
}

export class SocketConnection implements ByteSink, ListenedConnection, ConnectionOwner, ShareOwner, Writing {
  readonly socket: Socket;
  readonly #connection: HttpConnection;
  readonly #output: Output;
  readonly #environment: SocketEnvironment;
  #isBusy = false;
  #isWaiting = false;
  #isEnding = false;
  #isReading = true;
  #endedAt = Infinity;
  readonly #openedAt = performance.now();
  #isDraining = false;
  /** Ends the wait for one more request. */
  #awaited: { clear(): void } | undefined;
  /** Whether the client has some time to close its side when ours is closed. */
  #lingers = true;
  readonly #share: ByteShare | undefined;
  readonly #reader = new Standstill(LEAST_PROGRESS);
  /** Milliseconds in which the client has taken none of the bytes that wait for it. */
  #idle = 0;
  readonly #presence: Presence;
  /** Whether {@link Presence} looks for the client. */
  #isWatched = false;

  /** `read` gives the socket, and has it read to the sink from then on. */
  constructor(read: (sink: ByteSink) => Socket, environment: SocketEnvironment) {
    const { serve, clock, pool, budget } = environment;
    this.#environment = environment;
    this.#output = new Output(pool);
    const socket = read(this);
    this.socket = socket;
    this.#share = budget?.open(this, socket.remoteAddress);
    this.#connection = new HttpConnection({
      serve,
      clock,
      output: this.#output,
      owner: this,
      share: this.#share,
    });
    this.#presence = new Presence(socket, () => this.#connection.sendAhead());
    socket.on('drain', () => this.#drained());
    // It is followed by the end.
    socket.on('error', () => undefined);
    socket.on('end', () => this.#inputEnded());
    socket.on('close', () => this.#lost());
  }

  received(bytes: Buffer, start: number, end: number): void {
    this.#isBusy = true;
    this.#connection.receive(bytes, start, end);
    this.#isBusy = false;
    // Most requests are answered later. Until then there is nothing to write, and nothing has changed for the socket.
    if (this.#output.bytes > 0 || !this.#connection.onlyReads || this.#isDraining) this.write();
  }

  directTarget(): Buffer | undefined {
    return this.#connection.directTarget();
  }

  /** Writes what there is. */
  write(): void {
    this.#isWaiting = false;
    if (this.#isEnding) return;
    const connection = this.#connection;
    if (connection.isHoldingBack) {
      this.#isBusy = true;
      connection.proceed();
      this.#isBusy = false;
    }
    this.flush();
    this.#share?.unread(connection.unreadBytes);
    if (connection.isFinished && this.#output.bytes === 0) this.#end();
    else if (!connection.onlyReads || !this.#isReading || this.#isWatched) this.#readOrWait();
    if (this.#isDraining) this.#closeLater(performance.now());
  }

  tick(now: number): void {
    const { isCongested } = this.#connection;
    this.#idle = this.#reader.look(now, isCongested, takenBytes(this.socket));
    if (this.#idle > STALLED_MILLISECONDS || now - this.#endedAt > LINGER_MILLISECONDS) this.socket.destroy();
    else this.#connection.tick();
  }

  get idleFor(): number {
    return this.#connection.isCongested ? this.#idle : this.#connection.idleFor;
  }

  get hasServed(): boolean {
    return this.#connection.hasServed;
  }

  closeIdle(): void {
    this.socket.destroy();
  }

  get isUnderWay(): boolean {
    return !this.socket.destroyed && (!this.#connection.isIdle || this.unreadBytes > 0);
  }

  get mayStillAsk(): boolean {
    return !this.socket.destroyed && this.#awaited !== undefined && !this.#connection.isFinished;
  }

  get unreadBytes(): number {
    return this.#connection.unreadBytes;
  }

  get isStalled(): boolean {
    return this.#isReaderIdle || this.#connection.isUploadStalled;
  }

  get #isReaderIdle(): boolean {
    return this.#idle > IDLE_READER_MILLISECONDS;
  }

  evict(): void {
    if (!this.#isReaderIdle) {
      this.#connection.giveUpUpload();
      return;
    }
    this.#lost();
    this.socket.destroy();
  }

  largestUpload(isLarge: boolean): HeldRequest | undefined {
    return this.#connection.largestUpload(isLarge);
  }

  refuseUpload(): void {
    this.#connection.refuseUpload();
  }

  retire(): void {
    this.#connection.retire();
  }

  drain(): void {
    this.#isDraining = true;
    const connection = this.#connection;
    connection.drain();
    this.#closeLater(connection.hasServed ? connection.answeredAt : this.#openedAt);
  }

  /** The server ends: a client that was answered without hearing of it has some time for one more request, from `since` on. */
  #closeLater(since: number): void {
    const connection = this.#connection;
    const isUnasked = connection.isIdle && this.unreadBytes === 0 && !connection.isFinished;
    if (!isUnasked || this.#awaited !== undefined) return;
    const left = since + NEXT_REQUEST_MILLISECONDS - performance.now();
    // A request that has come may not be read yet.
    const close = () => rightAfterReading(() => this.#closeUnasked());
    this.#awaited = left > 0 ? new ServedTimer(close, left) : NO_TIMER;
    if (left <= 0) close();
  }

  #closeUnasked(): void {
    const connection = this.#connection;
    this.#awaited = undefined;
    if (!connection.isIdle || connection.isFinished) return;
    // The client has nothing to read. In order, the socket would be closed a turn later, and a request of that turn would be lost;
    // but TLS wants its goodbye.
    this.#lingers = false;
    if ('encrypted' in this.socket) connection.closeWhenAnswered();
    else this.socket.destroy();
  }

  #lost(): void {
    this.#awaited?.clear();
    this.#presence.stop();
    this.#connection.lost();
    this.#share?.close();
  }

  writeSoon(): void {
    if (this.#isBusy || this.#isWaiting) return;
    this.#isWaiting = true;
    this.#environment.turn.add(this);
  }

  flush(): void {
    const output = this.#output;
    const { socket } = this;
    const connection = this.#connection;
    if (output.bytes === 0 || connection.isCongested) return;
    if (socket.destroyed) {
      output.discard();
      return;
    }
    const isTaken = output.writeTo(socket);
    if (!isTaken && socket.writableNeedDrain) connection.isCongested = true;
  }

  #drained(): void {
    if (!this.#connection.isCongested) return;
    this.#connection.drained();
    this.write();
  }

  #readOrWait(): void {
    const { wantsInput, isUnheard } = this.#connection;
    if (isUnheard !== this.#isWatched) {
      this.#isWatched = isUnheard;
      this.#presence.watch(isUnheard);
    }
    if (wantsInput === this.#isReading) return;
    this.#isReading = wantsInput;
    if (wantsInput) this.socket.resume();
    else this.socket.pause();
  }

  #inputEnded(): void {
    this.#isBusy = true;
    this.#connection.inputEnded();
    this.#isBusy = false;
    this.write();
  }

  /** Written bytes still go out, and the client has some time to read them. */
  #end(): void {
    this.#isEnding = true;
    this.#presence.stop();
    // What still comes is dropped: unread, it would have the connection reset before the client has read the last answer.
    this.socket.resume();
    this.socket.end(() => {
      this.#endedAt = this.#environment.clock.now;
      if (!this.#lingers) this.socket.destroy();
    });
  }
}
