// Binds a connection to its socket. Received bytes go in, output goes out in one write per turn of the event loop, and each
// ends with the other. A socket that takes no more holds back the connection's messages until it has drained.

import type { Socket } from 'node:net';

import type { ConnectionListener } from './connection-listener.js';
import type { ConnectionOptions } from './connection-options.js';
import { Http2Connection } from './connection.js';
import { ServedTimer } from '../pacing/served-timer.js';
import type { ListenedConnection } from '../sockets/listener.js';
import type { ByteBudget, ByteShare, HeldRequest, ShareOwner } from '../sockets/byte-budget.js';
import { type BlockPool, takenBytes } from '../sockets/output.js';
import type { ByteSink } from '../sockets/socket-reader.js';
import { LEAST_PROGRESS, Standstill } from '../sockets/standstill.js';
import { Stopwatch } from '../sockets/stopwatch.js';
import type { StreamState } from './stream-state.js';
import type { Role } from './connection-options.js';
import type { Writing, WriteTurn } from '../sockets/write-turn.js';

/** How long the last answers of a connection that ends in order may take to reach the peer. */
const FLUSH_MILLISECONDS = 30_000;
/** How long the peer may take to close its side when ours is closed; until then it can read why. */
const LINGER_MILLISECONDS = 1000;
/** A peer that takes nothing of more than a little for so long is gone; of a little it may be about to read. */
const UNREAD_MILLISECONDS = 300_000;
const LEAST_UNREAD = 65_536;
/** The same when others need the room. */
const IDLE_READER_MILLISECONDS = 5000;
/** A message of which hardly anything has come for so long is given up when others need the room. */
const STALLED_MILLISECONDS = 2000;

export interface SocketEnvironment {
  readonly role: Role;
  readonly listen: (connection: Http2Connection) => ConnectionListener;
  readonly options?: ConnectionOptions | undefined;
  /** Shared by the connections of a thread. */
  readonly pool: BlockPool;
  readonly turn: WriteTurn;
  /** Default: the connection may hold anything. */
  readonly budget?: ByteBudget | undefined;
}

export class SocketConnection implements ByteSink, ListenedConnection, ShareOwner, Writing {
  readonly connection: Http2Connection;
  readonly socket: Socket;
  readonly #turn: WriteTurn;
  readonly #share: ByteShare | undefined;
  readonly #reader = new Standstill(LEAST_PROGRESS);
  /** Milliseconds for which the peer has taken nothing of the data that waits for it. */
  #idle = 0;
  readonly #silence = new Stopwatch();
  /** Milliseconds for which the peer has sent no message, from the first on; 0 once it has. */
  #silentFor = 0;
  #isReceiving = false;
  #isWaiting = false;
  #isEnding = false;
  #error: Error | undefined;
  #closing: ServedTimer | undefined;

  /** `read` gives the socket, may be still connecting, and has it read to the sink from then on. */
  constructor(read: (sink: ByteSink) => Socket, environment: SocketEnvironment) {
    const socket = read(this);
    this.socket = socket;
    this.#turn = environment.turn;
    this.#share = environment.budget?.open(this, socket.remoteAddress);
    this.connection = new Http2Connection({
      ...environment,
      share: this.#share,
      backlog: socket,
      onOutput: () => {
        if (this.#isReceiving || this.#isWaiting) return;
        this.#isWaiting = true;
        this.#turn.add(this);
      },
    });
    socket.on('drain', () => this.#drained());
    socket.on('error', (error) => (this.#error = error));
    // Who closes its half has hung up as far as can be seen.
    socket.on('end', () => this.connection.lost(this.#error));
    socket.on('close', () => this.#closed());
    if (socket.connecting) this.#waitForConnection();
    else if (this.connection.output.bytes > 0) this.connection.changed();
  }

  /** Messages wait at their streams, where one that is given up leaves nothing behind. */
  #waitForConnection(): void {
    this.connection.sender.isCongested = true;
    this.socket.once('connect', () => this.#drained());
  }

  received(bytes: Buffer, start: number, end: number): void {
    this.#isReceiving = true;
    this.connection.receive(bytes, start, end);
    this.#isReceiving = false;
    this.write();
  }

  directTarget(): Buffer | undefined {
    return this.connection.data.directTarget();
  }

  /** Writes what there is. */
  write(): void {
    this.#isWaiting = false;
    if (this.#isEnding) return;
    const { connection, socket } = this;
    const { sender, output } = connection;
    // Data in the output shares memory. Each write that the socket keeps would have a block of its own.
    while (!sender.isCongested || connection.isFinished) {
      sender.fill();
      if (output.bytes === 0) break;
      const isTaken = output.writeTo(socket);
      if (!isTaken && socket.writableNeedDrain) sender.isCongested = true;
    }
    this.#share?.unread(connection.unreadBytes);
    if (connection.isFinished) this.#end();
  }

  /** To be called now and then, with milliseconds of any clock. */
  tick(now: number): void {
    this.#silentFor = this.#silence.look(now, !this.hasServed);
    const { connection, socket } = this;
    const { sender, unreadBytes } = connection;
    // Answers to pings go past data that no window lets out, so they do not count as its progress.
    const taken = sender.sentBytes + (socket.writableLength > 0 ? takenBytes(socket) : 0);
    const idle = this.#reader.look(now, unreadBytes > 0, taken);
    this.#idle = connection.readsLate ? 0 : idle;
    connection.tick(now);
    if (this.#idle > UNREAD_MILLISECONDS && unreadBytes > LEAST_UNREAD) socket.destroy();
  }

  get idleFor(): number {
    // One that says nothing is idle from its beginning.
    if (!this.hasServed) return this.#silentFor;
    return this.connection.unreadBytes > 0 ? this.#idle : this.connection.idleFor;
  }

  get hasServed(): boolean {
    return this.connection.receivedMessageFrames > 0;
  }

  closeIdle(): void {
    this.connection.close('NO_ERROR', 'others need the connection');
    this.write();
    this.socket.destroy();
  }

  get isUnderWay(): boolean {
    return !this.socket.destroyed && (this.connection.openStreams > 0 || this.unreadBytes > 0);
  }

  get mayStillAsk(): boolean {
    return this.connection.mayStillAsk;
  }

  get unreadBytes(): number {
    return this.connection.unreadBytes;
  }

  get isStalled(): boolean {
    return this.#idle > IDLE_READER_MILLISECONDS || this.connection.streams.all().some(isUploadStalled);
  }

  evict(): void {
    if (this.#idle <= IDLE_READER_MILLISECONDS) {
      this.connection.lifecycle.giveUpUploads(STALLED_MILLISECONDS);
      return;
    }
    this.connection.close('ENHANCE_YOUR_CALM', 'answers were not read for long, and others need the room');
    this.#share?.close();
    this.socket.destroy();
  }

  largestUpload(isLarge: boolean): HeldRequest | undefined {
    return this.connection.lifecycle.largestUpload(isLarge);
  }

  refuseUpload(upload: HeldRequest): void {
    this.connection.lifecycle.tellNoRoom(upload as StreamState);
    this.connection.changed();
  }

  retire(): void {
    this.connection.announceEnd();
  }

  drain(): void {
    this.connection.drain();
  }

  #drained(): void {
    if (!this.connection.sender.isCongested) return;
    this.connection.sender.isCongested = false;
    this.write();
  }

  /** Written data still goes out, and the peer has some time to read it. */
  #end(): void {
    this.#isEnding = true;
    this.#closeAfter(this.connection.isInOrder ? FLUSH_MILLISECONDS : LINGER_MILLISECONDS);
    this.socket.end(() => this.#closeAfter(LINGER_MILLISECONDS));
  }

  /** An open socket keeps the process alive as far as its user wants that. */
  #closeAfter(milliseconds: number): void {
    this.#closing?.clear();
    if (!this.socket.destroyed) this.#closing = new ServedTimer(() => this.socket.destroy(), milliseconds);
  }

  #closed(): void {
    this.#closing?.clear();
    this.connection.lost(this.#error);
    this.#share?.close();
  }
}

function isUploadStalled({ stillFor }: StreamState): boolean {
  return stillFor > STALLED_MILLISECONDS;
}
