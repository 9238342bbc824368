// An instance of this process behind a channel of a link: hands messages between the link and the port to the callable's host.
// It first offers the host a connection of its own, which then carries the messages in its place.

import { PortChannel } from '../link/channel.js';
import {
  CALL_RESPONSE,
  CALLED,
  DIRECT,
  type DirectAnswer,
  type DirectMessage,
  EXECUTE,
  type ToHost,
  type ToInstance,
} from '../link/messages.js';
import { expectArray } from '../link/stream/check-values.js';
import { malformed } from '../link/stream/plain-values.js';
import type { InstancePort } from '../server/control-messages.js';
import type { DirectOptions } from './link-connection.js';
import { sendToServer } from './send-to-server.js';

const DIRECT_MODULE = new URL('./direct-way.js', import.meta.url).href;
/** How long the server's answer to a connection of a callable's own may take. Without it the link carries the messages. */
const DIRECT_MILLISECONDS = 5000;

export interface LinkInstanceOptions {
  readonly channel: number;
  readonly instance: InstancePort;
  /** Undefined: the link carries the messages. */
  readonly direct: Promise<DirectOptions> | undefined;
  /** Sends a message to the server. Throws for what cannot be sent. */
  readonly send: (message: ToInstance) => void;
  /** Called when the callable's end is gone. */
  readonly onClosed: () => void;
  /** Called with the reason when the callable's messages do not reach the server any more, though the callable is there. */
  readonly onLost: (reason: string | undefined) => void;
}

export class LinkInstance {
  readonly channel: number;
  readonly thread: number | undefined;
  /** Resolves when it is known whether the callable has a connection of its own. */
  readonly decided: Promise<void>;
  /** Whether the server knows of it. */
  isAnnounced = false;
  readonly #port: PortChannel<ToHost | DirectMessage, ToInstance | DirectAnswer>;
  readonly #options: LinkInstanceOptions;
  #decide: () => void = () => undefined;
  #isDirect = false;

  constructor(options: LinkInstanceOptions) {
    const { channel, instance, direct, onClosed } = options;
    this.channel = channel;
    this.thread = instance.thread;
    this.#options = options;
    this.#port = new PortChannel(instance.port);
    this.#port.onMessage((message) => this.#fromHost(message));
    this.#port.onClose(() => {
      this.#decide();
      onClosed();
    });
    this.decided = direct === undefined ? Promise.resolve() : this.#offer(direct);
  }

  close(): void {
    this.#port.close();
  }

  /** Hands on a message of the server. Throws INVALID_ARG for any other value. */
  receive(value: unknown): void {
    const message = expectArray(value, 'a message') as unknown as ToHost | DirectMessage;
    // A callable runs the module. Only this process chooses what runs in it.
    if (message[0] === DIRECT) throw malformed('it names a module');
    this.#port.post(message, memoryOf(message));
  }

  #offer(direct: Promise<DirectOptions>): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, DIRECT_MILLISECONDS);
      this.#decide = () => {
        clearTimeout(timer);
        resolve();
      };
      // Without certificates the link carries the messages.
      direct.then((options) => this.#port.post([DIRECT, DIRECT_MODULE, options]), this.#decide);
    });
  }

  #fromHost(message: ToInstance | DirectAnswer): void {
    if (message[0] === DIRECT) return this.#answered(message);
    sendToServer(message, {
      now: () => this.#port.now(),
      send: this.#options.send,
      answer: (refusal) => this.#port.post(refusal),
      // The next link opens the instance anew.
      giveUp: (reason) => this.#options.onLost(reason),
    });
  }

  #answered([, isThere, reason]: DirectAnswer): void {
    if (this.#isDirect && !isThere) this.#options.onLost(reason);
    this.#isDirect = isThere;
    this.#decide();
  }
}

/** The memory of a message, which may be handed over: it was received for this message alone. */
function memoryOf(message: ToHost): readonly ArrayBuffer[] {
  if (message[0] === EXECUTE) return message[1].flatMap(([, buffers]) => buffers);
  if (message[0] === CALLED) return message[2][1];
  return message[0] === CALL_RESPONSE ? message[2][1] : [];
}
