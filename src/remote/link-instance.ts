// An instance of this process behind a channel of a link: hands messages between the link and the port to the callable's host.

import { TritonError } from '../errors.js';
import { PortChannel } from '../link/channel.js';
import { packTensors } from '../link/call-frame.js';
import {
  CALL,
  CALL_RESPONSE,
  CALLED,
  type CalledMessage,
  type CallMessage,
  EXECUTE,
  RESULTS,
  type SentResults,
  type ToHost,
  type ToInstance,
} from '../link/messages.js';
import { sendError, type SentError } from '../link/sent-error.js';
import { expectArray } from '../link/stream/check-values.js';
import type { InstancePort } from '../server/control-messages.js';

export interface LinkInstanceOptions {
  readonly instance: InstancePort;
  /** Sends a message to the server. Throws for what cannot be sent. */
  readonly send: (message: ToInstance) => void;
  /** Called when the callable's end is gone. */
  readonly onClosed: () => void;
}

export class LinkInstance {
  readonly thread: number | undefined;
  readonly #channel: PortChannel<ToHost, ToInstance>;
  readonly #send: LinkInstanceOptions['send'];

  constructor({ instance: { port, thread }, send, onClosed }: LinkInstanceOptions) {
    this.thread = thread;
    this.#send = send;
    this.#channel = new PortChannel(port);
    this.#channel.onMessage((message) => this.#fromHost(message));
    this.#channel.onClose(onClosed);
  }

  close(): void {
    this.#channel.close();
  }

  /** Hands on a message of the server. Throws INVALID_ARG for any other value. */
  receive(value: unknown): void {
    const message = expectArray(value, 'a message') as unknown as ToHost;
    this.#channel.post(message, memoryOf(message));
  }

  #fromHost(message: ToInstance): void {
    try {
      this.#send(message[0] === RESULTS ? [RESULTS, this.#aged(message[1]), message[2]] : message);
    } catch (thrown) {
      this.#cannotSend(message, TritonError.from(thrown));
    }
  }

  /** With the age of the callable's start in place of its time: the server has another clock. */
  #aged(results: readonly SentResults[]): SentResults[] {
    const now = this.#channel.now();
    return results.map(([id, frame, errors, startedAt, ...more]) => [id, frame, errors, now - startedAt, ...more]);
  }

  #cannotSend(message: ToInstance, error: TritonError): void {
    switch (message[0]) {
      case RESULTS:
        // The results of other batches can perhaps be sent.
        for (const result of message[1]) {
          const [aged] = this.#aged([result]);
          try {
            this.#send([RESULTS, [aged!]]);
          } catch {
            this.#send([RESULTS, [[result[0], undefined, [sendError(error)], aged![3], 0]]]);
          }
        }
        return;
      case CALL:
        return this.#channel.post(refusal(message, sendError(error)));
      default:
        // The answers of a stream: without one of them the others mean nothing.
        this.close();
    }
  }
}

/** Answers all calls of a message with an error. */
function refusal([, , calls]: CallMessage, error: SentError): CalledMessage {
  const ids = calls.filter((_, index) => index % 2 === 0);
  const nothing = packTensors(
    ids.map(() => undefined),
    { owned: true },
  );
  return [CALLED, ids, nothing, ids.map(() => error)];
}

/** The memory of a message, which may be handed over: it was received for this message alone. */
function memoryOf(message: ToHost): readonly ArrayBuffer[] {
  if (message[0] === EXECUTE) return message[1].flatMap(([, buffers]) => buffers);
  if (message[0] === CALLED) return message[2][1];
  return message[0] === CALL_RESPONSE ? message[2][1] : [];
}
