// What an instance of this process says to its server, as the server of another process gets it.

import { TritonError } from '../errors.js';
import { packTensors } from '../link/call-frame.js';
import {
  CALL,
  CALLED,
  type CalledMessage,
  type CallMessage,
  RESULTS,
  type SentResults,
  type ToInstance,
} from '../link/messages.js';
import { sendError, type SentError } from '../link/sent-error.js';

export interface ServerSender {
  /** The channel's clock. */
  now(): number;
  /** Throws for what cannot be sent. */
  send(message: ToInstance): void;
  /** Answers the callable in the server's place. */
  answer(message: CalledMessage): void;
  /** Ends the link: without a message that cannot be sent the others of the channel mean nothing. */
  giveUp(reason: string): void;
}

/** Sends a message. Of one that cannot be sent, the server or the callable gets to know the reason. */
export function sendToServer(message: ToInstance, sender: ServerSender): void {
  try {
    sender.send(message[0] === RESULTS ? [RESULTS, aged(message[1], sender.now()), message[2]] : message);
  } catch (thrown) {
    cannotSend(message, sendError(TritonError.from(thrown)), sender);
  }
}

/** With the age of the callable's start in place of its time: the server has another clock. */
function aged(results: readonly SentResults[], now: number): SentResults[] {
  return results.map(([id, frame, errors, startedAt, ...more]) => [id, frame, errors, now - startedAt, ...more]);
}

function cannotSend(message: ToInstance, error: SentError, sender: ServerSender): void {
  switch (message[0]) {
    case RESULTS:
      // The results of other batches can perhaps be sent.
      for (const result of aged(message[1], sender.now())) {
        try {
          sender.send([RESULTS, [result]]);
        } catch {
          sender.send([RESULTS, [[result[0], undefined, [error], result[3], 0]]]);
        }
      }
      return;
    case CALL:
      return sender.answer(refusal(message, error));
    default:
      sender.giveUp(`an answer of a stream cannot be sent: ${error[1]}`);
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
