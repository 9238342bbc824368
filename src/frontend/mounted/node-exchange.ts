// A request that came through a server of node:http, of Express or of Fastify.

import type { IncomingMessage, ServerResponse } from 'node:http';

import { TritonError } from '../../errors.js';
import type { HttpHeaders } from '../../http1/http-exchange.js';
import type { Writing, WriteTurn } from '../../sockets/write-turn.js';
import { MountedExchange, type MountedSurroundings } from './mounted-exchange.js';
import type { MountedRequest } from './mounted-request.js';

export interface NodeParts {
  readonly incoming: IncomingMessage;
  readonly response: ServerResponse;
  readonly request: MountedRequest;
  readonly turn: WriteTurn;
}

/** An answer that is complete. */
interface WholeAnswer {
  readonly status: number;
  readonly headers: HttpHeaders;
  readonly body: readonly Uint8Array[];
}

export class NodeExchange extends MountedExchange implements Writing {
  readonly #incoming: IncomingMessage;
  readonly #response: ServerResponse;
  readonly #turn: WriteTurn;
  #whole: WholeAnswer | undefined;
  #room: { readonly promise: Promise<void>; readonly open: () => void } | undefined;

  constructor({ incoming, response, request, turn }: NodeParts, surroundings: MountedSurroundings, onDone: () => void) {
    super(request, surroundings, incoming.socket.remoteAddress ?? '', onDone);
    this.#incoming = incoming;
    this.#response = response;
    this.#turn = turn;
    response.on('finish', () => this.done());
    response.on('close', () => this.lost());
  }

  protected readBody(): void {
    const incoming = this.#incoming;
    const isEmpty = this.request.bodyLength === 0;
    if (incoming.readableDidRead && !isEmpty) {
      throw new TritonError(
        'INTERNAL',
        'the body of the request was read before it came to the handler of TSTriton: mount the handler before what parses bodies',
      );
    }
    incoming.on('data', (piece: Buffer) => this.bodyPiece(piece));
    incoming.on('end', () => this.bodyEnd());
    // A parser that found no body has ended the stream already.
    if (isEmpty && incoming.readableEnded) this.bodyEnd();
  }

  protected dropBody(): void {
    // Nobody knows how much is still to come.
    if (!this.#response.headersSent) this.#response.shouldKeepAlive = false;
  }

  protected sendWhole(status: number, headers: HttpHeaders, body: readonly Uint8Array[]): void {
    this.#whole = { status, headers, body };
    this.#turn.add(this);
  }

  /** Writes the whole answer at the end of the turn. Each write may wake a client, so they follow each other closely. */
  write(): void {
    const response = this.#response;
    const whole = this.#whole;
    this.#whole = undefined;
    if (whole === undefined || this.aborted || this.#isAnswered()) return;
    try {
      response.writeHead(whole.status, whole.headers as string[]);
      const [only, ...rest] = whole.body.filter(({ length }) => length > 0);
      if (rest.length > 0) {
        response.cork();
        for (const part of [only!, ...rest]) response.write(part);
        response.uncork();
        response.end();
      } else {
        response.end(only);
      }
      this.unread(response.writableLength);
    } catch {
      // Its connection is gone. The other answers of the turn are still to be written.
      this.close();
    }
  }

  protected sendHead(status: number, headers: HttpHeaders): void {
    if (this.#isAnswered()) return;
    this.#response.on('drain', () => this.#drained());
    this.#response.writeHead(status, headers as string[]);
    this.#response.flushHeaders();
  }

  /** The application has answered the request itself meanwhile, such as after a time of its own. */
  #isAnswered(): boolean {
    if (!this.#response.headersSent) return false;
    this.lost();
    return true;
  }

  protected sendPart(part: Uint8Array): void | Promise<void> {
    const hasRoom = this.#response.write(part);
    this.unread(this.#response.writableLength);
    if (hasRoom) return undefined;
    if (this.#room === undefined) {
      let open!: () => void;
      const promise = new Promise<void>((resolve) => (open = resolve));
      this.#room = { promise, open };
    }
    return this.#room.promise;
  }

  protected sendEnd(): void {
    this.#response.end();
  }

  protected get waitingBytes(): number {
    return this.#response.writableLength;
  }

  protected cutOff(): void {
    this.#response.destroy();
  }

  protected override lost(): void {
    super.lost();
    this.#openRoom();
  }

  #drained(): void {
    this.moved();
    this.unread(this.#response.writableLength);
    this.#openRoom();
  }

  #openRoom(): void {
    const room = this.#room;
    this.#room = undefined;
    room?.open();
  }
}
