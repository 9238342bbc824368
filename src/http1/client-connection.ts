// A client's connection: one request at a time, and its answer. It takes the next request only when the answer before it ended
// where it should, with the request sent whole and nothing behind it.

import type { Socket } from 'node:net';

import { Output, type BlockPool } from '../sockets/output.js';
import type { ByteSink } from '../sockets/socket-reader.js';
import type { Fault } from './fault.js';
import type { ResponseHead } from './response-head.js';
import { ResponseReader, type ResponseListener } from './response-reader.js';

export interface ClientRequest {
  /** Request line and headers with the empty line, one character a byte. */
  readonly head: string;
  /** Nobody writes to it until the answer is complete. */
  readonly body: readonly Uint8Array[];
}

/** Why an answer is missing. */
export type Failure =
  /** The received bytes are not an answer. */
  | { readonly kind: 'fault'; readonly fault: Fault }
  /** The connection could not be made, or was lost; `error` if anything told why. */
  | { readonly kind: 'lost'; readonly error: Error | undefined };

/** The sender of a request. Receives its answer or a failure, and no call after `onEnd` or `onFailure`. */
export interface Requester extends ResponseListener {
  /** The answer is complete. */
  onEnd(): void;
  onFailure(failure: Failure): void;
}

/** Who owns the connection. */
export interface ConnectionOwner {
  readonly pool: BlockPool;
  /** The connection takes another request, behind the answer with this head. */
  onIdle(connection: ClientConnection, head: ResponseHead): void;
  /** Nothing of it is left. */
  onClosed(connection: ClientConnection): void;
}

export class ClientConnection implements ByteSink {
  readonly socket: Socket;
  /** Whether a request before the one under way was answered. */
  isUsed = false;
  /** Whether anything of the answer has come. */
  hasBegun = false;
  readonly #owner: ConnectionOwner;
  readonly #output: Output;
  readonly #reader = new ResponseReader();
  readonly #isSecure: boolean;
  #isConnected = false;
  #isPaused = false;
  #requester: Requester | undefined;
  #error: Error | undefined;

  /** `open` gives the socket, still connecting, and has it read to the sink. */
  constructor(open: (sink: ByteSink) => Socket, isSecure: boolean, owner: ConnectionOwner) {
    this.#owner = owner;
    this.#output = new Output(owner.pool);
    this.#isSecure = isSecure;
    const socket = open(this);
    this.socket = socket;
    this.whenConnected(() => (this.#isConnected = true));
    socket.on('error', (error) => (this.#error ??= error));
    socket.on('end', () => this.#inputEnded());
    socket.on('close', () => {
      this.#fail({ kind: 'lost', error: this.#error });
      owner.onClosed(this);
    });
  }

  /** Whether it has ever been there, so that something of a request may have reached the server. */
  get wasConnected(): boolean {
    return this.#isConnected;
  }

  /** Calls back when the connection is there, at once if it is. */
  whenConnected(callback: () => void): void {
    if (this.#isConnected) callback();
    else this.socket.once(this.#isSecure ? 'secureConnect' : 'connect', callback);
  }

  /** Only while no other request is under way. Throws, and closes the connection, for a body that is not there any more. */
  send(request: ClientRequest, requester: Requester): void {
    this.#fill(request);
    this.#requester = requester;
    this.hasBegun = false;
    this.#reader.begin(requester);
    this.#output.writeTo(this.socket);
  }

  #fill({ head, body }: ClientRequest): void {
    const output = this.#output;
    try {
      output.writeText(head);
      for (const part of body) output.writeBytes(part);
    } catch (error) {
      output.discard();
      this.socket.destroy();
      throw new Error('the memory of what was to be sent was given away before it was sent', { cause: error });
    }
  }

  received(bytes: Buffer, start: number, end: number): void {
    const reader = this.#reader;
    // Nobody knows whose bytes without a request are.
    if (this.#requester === undefined) {
      this.socket.destroy();
      return;
    }
    this.hasBegun = true;
    const at = reader.receive(bytes, start, end);
    if (reader.fault !== undefined) this.#fail({ kind: 'fault', fault: reader.fault });
    else if (!reader.isWaiting) this.#answered(at === end);
  }

  directTarget(): Buffer | undefined {
    return this.#reader.directTarget();
  }

  /** Reads no more for the moment. */
  pause(): void {
    this.#isPaused = true;
    this.socket.pause();
  }

  resume(): void {
    if (!this.#isPaused) return;
    this.#isPaused = false;
    this.socket.resume();
  }

  /** Nobody wants the answer: closes the connection, so that the server may stop. */
  leave(): void {
    this.#requester = undefined;
    this.#reader.stop();
    this.socket.destroy();
  }

  #answered(isExact: boolean): void {
    const requester = this.#requester;
    const head = this.#reader.head!;
    this.#requester = undefined;
    this.isUsed = true;
    this.resume();
    // An answer that is earlier than the end of its request: the server does not want the rest.
    const isSent = this.socket.writableLength === 0;
    if (isExact && isSent && head.keepsAlive && !this.socket.destroyed) this.#owner.onIdle(this, head);
    else this.socket.destroy();
    requester?.onEnd();
  }

  #inputEnded(): void {
    if (this.#requester !== undefined && this.#reader.inputEnded()) this.#answered(true);
    else this.#fail({ kind: 'lost', error: this.#error });
  }

  #fail(failure: Failure): void {
    const requester = this.#requester;
    this.leave();
    requester?.onFailure(failure);
  }
}
