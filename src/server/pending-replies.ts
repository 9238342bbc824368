import type { TritonError } from '../errors.js';
import { receiveFailure, type SentFailure } from '../link/sent-error.js';

interface NumberedReply {
  readonly id: number;
  readonly error?: SentFailure | undefined;
}

interface Waiting<Reply> {
  readonly resolve: (reply: Reply) => void;
  readonly reject: (error: TritonError) => void;
}

/** Messages to another thread that have no reply yet, by number. */
export class PendingReplies<Reply extends NumberedReply> {
  readonly #waiting = new Map<number, Waiting<Reply>>();
  #nextId = 0;

  /** `send` posts the message with its number. */
  ask(send: (id: number) => void): Promise<Reply> {
    return new Promise((resolve, reject) => {
      const id = this.#nextId++;
      this.#waiting.set(id, { resolve, reject });
      send(id);
    });
  }

  settle(reply: Reply): void {
    const waiting = this.#waiting.get(reply.id);
    this.#waiting.delete(reply.id);
    if (reply.error === undefined) waiting?.resolve(reply);
    else waiting?.reject(receiveFailure(reply.error));
  }

  rejectAll(error: TritonError): void {
    for (const { reject } of this.#waiting.values()) reject(error);
    this.#waiting.clear();
  }
}
