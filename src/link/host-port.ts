// The callable's end of a port. Where the port leads to the thread of a link, the callable's thread may have a connection of
// its own to the server. Then messages do not pass the link's thread, which would cost each batch two more wake-ups of a
// thread. The server chooses one of both ways for each channel, and the callable answers the way that it is asked.

import { importFrom } from '../host/import-from.js';
import { PortChannel } from './channel.js';
import {
  DIRECT,
  type DirectAnswer,
  type DirectMessage,
  type HostChannel,
  type ToHost,
  type ToInstance,
} from './messages.js';

/** A connection of a callable's own, which carries the messages of one channel. */
export interface DirectWay {
  /** Throws when results cannot be sent, as a channel does. */
  post(message: ToInstance): void;
  /** Hands all posted messages to the operating system, because the thread ends at once. */
  flush(): void;
  /** Closes the connection in order, after all posted messages. */
  close(): void;
}

export interface DirectListeners {
  readonly onMessage: (message: ToHost) => void;
  /**
   * Whether the server has taken the connection. Later with false: the connection was lost for this reason, and not closed by
   * either end.
   */
  readonly onAnswer: (isThere: boolean, reason?: string) => void;
  readonly now: () => number;
}

/** What a module exports that connects. */
export interface DirectModule {
  readonly openDirect: (options: unknown, listeners: DirectListeners) => DirectWay;
}

export class HostPort implements HostChannel {
  readonly #port: PortChannel<ToInstance | DirectAnswer, ToHost | DirectMessage>;
  #way: DirectWay | undefined;
  /** Whether the server has chosen that way. */
  #isDirect = false;
  #isClosed = false;

  /** Takes ownership of the port. */
  constructor(port: ConstructorParameters<typeof PortChannel>[0]) {
    this.#port = new PortChannel(port);
  }

  post(message: ToInstance, memory?: readonly ArrayBuffer[]): void {
    if (this.#isDirect) this.#way!.post(message);
    else this.#port.post(message, memory);
  }

  onMessage(listener: (message: ToHost) => void): void {
    this.#port.onMessage((message) => {
      if (message[0] === DIRECT) void this.#connect(message, listener);
      else listener(message);
    });
  }

  onClose(listener: () => void): void {
    this.#port.onClose(() => {
      this.#closeWay();
      listener();
    });
  }

  flush(): void {
    this.#way?.flush();
  }

  close(): void {
    this.#closeWay();
    this.#port.close();
  }

  now(): number {
    return this.#port.now();
  }

  async #connect([, module, options]: DirectMessage, listener: (message: ToHost) => void): Promise<void> {
    const onAnswer: DirectListeners['onAnswer'] = (isThere, reason) => this.#port.post([DIRECT, isThere, reason]);
    try {
      const { openDirect } = await importFrom<DirectModule>(module);
      if (this.#isClosed) return;
      this.#way = openDirect(options, {
        onMessage: (message) => {
          this.#isDirect = true;
          listener(message);
        },
        onAnswer,
        now: () => this.now(),
      });
    } catch (error) {
      // The link carries the messages.
      onAnswer(false, String(error));
    }
  }

  #closeWay(): void {
    this.#isClosed = true;
    this.#way?.close();
  }
}
