// Runs in the thread of a callable: its own connection to the server, which carries the messages of one channel of a link.

import { Http2Connection, STREAM_WINDOW } from '../client/grpc/http2-connection.js';
import { TritonError } from '../errors.js';
import type { DirectListeners, DirectWay } from '../link/host-port.js';
import type { ToHost, ToInstance } from '../link/messages.js';
import { DIRECT_METHOD, LINK_CHANNEL_HEADER, LINK_TOKEN_HEADER } from '../link/stream/link-messages.js';
import { decodeMessage } from '../link/stream/stream-message.js';
import { expectArray } from '../link/stream/check-values.js';
import { LinkCall } from './link-call.js';
import type { DirectOptions } from './link-connection.js';
import { Pulse } from './pulse.js';
import { sendToServer } from './send-to-server.js';

/** How long the server may take to end a call that was closed here. */
const CLOSE_MILLISECONDS = 1000;

export function openDirect(options: DirectOptions, listeners: DirectListeners): DirectWay {
  return new DirectConnection(options, listeners);
}

class DirectConnection implements DirectWay {
  readonly #channel: number;
  readonly #listeners: DirectListeners;
  readonly #connection: Http2Connection;
  readonly #call: LinkCall;
  readonly #pulse: Pulse;
  #isTaken = false;
  #isClosing = false;

  constructor({ target, tls, key, channel, maxMessageBytes }: DirectOptions, listeners: DirectListeners) {
    this.#channel = channel;
    this.#listeners = listeners;
    this.#connection = new Http2Connection(target.server, tls, STREAM_WINDOW.unary);
    this.#call = new LinkCall({
      connection: this.#connection,
      address: target.server.address,
      method: DIRECT_METHOD,
      headers: { [LINK_TOKEN_HEADER]: target.accessToken, [LINK_CHANNEL_HEADER]: `${key}/${channel}` },
      onMessage: (bytes) => this.#received(bytes),
      onEnd: (error, isInOrder) => this.#ended(error, isInOrder),
    });
    this.#call.maxMessageBytes = maxMessageBytes;
    this.#pulse = new Pulse({
      connection: this.#connection,
      ping: () => this.#call.send(channel, []),
      address: target.server.address,
      onSilent: (error) => this.#call.abort(error),
    });
  }

  post(message: ToInstance): void {
    sendToServer(message, {
      now: this.#listeners.now,
      send: (value) => this.#call.send(this.#channel, value),
      // Not within the call that posts.
      answer: (refusal) => queueMicrotask(() => this.#listeners.onMessage(refusal)),
      giveUp: (reason) => this.#call.abort(new TritonError('INTERNAL', reason)),
    });
  }

  flush(): void {
    this.#connection.write();
  }

  close(): void {
    if (this.#isClosing) return;
    this.#isClosing = true;
    this.#call.halfClose();
    setTimeout(() => this.#connection.destroy(), CLOSE_MILLISECONDS).unref();
  }

  #received(bytes: Buffer): void {
    const { value } = decodeMessage(bytes);
    const message = expectArray(value, 'a message');
    if (message.length > 0) return this.#listeners.onMessage(message as unknown as ToHost);
    // An empty message says that the connection is taken, or answers a ping.
    if (this.#isTaken) return;
    this.#isTaken = true;
    this.#listeners.onAnswer(true);
  }

  #ended(error: TritonError, isInOrder: boolean): void {
    this.#pulse.close();
    this.#connection.destroy();
    if (!this.#isClosing && !(this.#isTaken && isInOrder)) this.#listeners.onAnswer(false, error.message);
  }
}
