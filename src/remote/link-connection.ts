// One connection to a server, from hello to its end: the link's call, and the check that the server is still there.

import type { ClientTlsOptions } from '../client/client-options.js';
import { Http2Connection, STREAM_WINDOW } from '../client/grpc/http2-connection.js';
import type { ServerUrl } from '../client/parse-url.js';
import { TritonError } from '../errors.js';
import {
  CONTROL_CHANNEL,
  LINK_METHOD,
  LINK_PROTOCOL,
  LINK_TOKEN_HEADER,
  type BinderMessage,
  type ServerMessage,
} from '../link/stream/link-messages.js';
import { decodeMessage } from '../link/stream/stream-message.js';
import { VERSION } from '../server/version.js';
import { LinkCall } from './link-call.js';
import { Pulse } from './pulse.js';

export interface LinkTarget {
  readonly server: ServerUrl;
  readonly accessToken: string;
}

/** What a callable needs to connect to the server itself. */
export interface DirectOptions {
  readonly target: LinkTarget;
  readonly tls: ClientTlsOptions;
  /** The link's, from the server. */
  readonly key: string;
  readonly channel: number;
  readonly maxMessageBytes: number;
}

export interface LinkListeners {
  readonly onControl: (message: ServerMessage) => void;
  /** A message for an instance. */
  readonly onMessage: (channel: number, value: unknown) => void;
  /** Called once, when the link has ended. */
  readonly onEnd: (error: TritonError) => void;
}

export class LinkConnection {
  /** Settles when the server has answered hello. Rejects with the reason when the server refuses or is not there. */
  readonly ready: Promise<void>;
  readonly #listeners: LinkListeners;
  readonly #connection: Http2Connection;
  readonly #call: LinkCall;
  readonly #target: LinkTarget;
  readonly #address: string;
  readonly #pulse: Pulse;
  #greeted!: { readonly resolve: () => void; readonly reject: (error: TritonError) => void };
  /** For the connections of callables. */
  #key = '';
  #isReady = false;

  constructor(target: LinkTarget, tls: ClientTlsOptions, listeners: LinkListeners) {
    const { server, accessToken } = target;
    const { address } = server;
    this.#listeners = listeners;
    this.#target = target;
    this.#address = address;
    this.ready = new Promise((resolve, reject) => (this.#greeted = { resolve, reject }));
    this.ready.catch(() => undefined);
    this.#connection = new Http2Connection(server, tls, STREAM_WINDOW.unary);
    this.#pulse = new Pulse({
      address,
      connection: this.#connection,
      ping: () => this.#isReady && this.send({ kind: 'ping' }),
      onSilent: (error) => this.#call.abort(error),
    });
    this.#call = new LinkCall({
      connection: this.#connection,
      address,
      method: LINK_METHOD,
      headers: { [LINK_TOKEN_HEADER]: accessToken },
      onMessage: (bytes) => this.#received(bytes),
      onEnd: (error) => this.#ended(error),
    });
    this.send({ kind: 'hello', protocol: LINK_PROTOCOL, version: VERSION });
  }

  send(message: BinderMessage): void {
    this.#call.send(CONTROL_CHANNEL, message);
  }

  /** Throws for what cannot be sent. */
  post(channel: number, value: unknown): void {
    this.#call.send(channel, value);
  }

  /** For the callable behind a channel. */
  direct(channel: number, tls: ClientTlsOptions): DirectOptions {
    return { target: this.#target, tls, key: this.#key, channel, maxMessageBytes: this.#call.maxMessageBytes };
  }

  /** Ends the link. Nothing of the connection is left when the promise resolves. */
  async close(error: TritonError): Promise<void> {
    this.#call.abort(error);
    this.#connection.destroy();
    await this.#connection.closed;
  }

  #received(bytes: Buffer): void {
    const { channel, value } = decodeMessage(bytes);
    if (channel !== CONTROL_CHANNEL) return this.#listeners.onMessage(channel, value);
    const message = value as ServerMessage;
    if (typeof message !== 'object') throw new TritonError('INVALID_ARG', `${this.#address} sent no message`);
    if (message.kind !== 'welcome') return this.#listeners.onControl(message);
    this.#call.maxMessageBytes = message.maxMessageBytes;
    this.#key = message.key;
    this.#isReady = true;
    this.#greeted.resolve();
  }

  #ended(error: TritonError): void {
    this.#pulse.close();
    this.#connection.destroy();
    const told = this.#isReady ? error : explained(error, this.#address);
    this.#greeted.reject(told);
    if (this.#isReady) this.#listeners.onEnd(told);
  }
}

/** Says what the server's refusal means. */
function explained(error: TritonError, address: string): TritonError {
  // One of the two has not understood the other's first message.
  if (error.code === 'INVALID_ARG') {
    const own = `than this TSTriton ${VERSION}, which has version ${LINK_PROTOCOL}`;
    const message = `${address} speaks another version of the link's protocol ${own}: ${error.message}`;
    return new TritonError('UNSUPPORTED', message, { cause: error });
  }
  if (!error.message.endsWith(' answered with gRPC status 12')) return error;
  return new TritonError(
    'UNSUPPORTED',
    `${address} lets no other process bind models: it is not a TSTriton server with the option remoteAccessToken`,
  );
}
