// The head of an answer, as a client receives it.

import { MessageHead } from './message-head.js';

/** What the head says about the message that it belongs to. */
export interface ResponseFraming {
  /** The length of the body, 0 without one; undefined for a chunked body; infinite where only the connection's end is its end. */
  readonly bodyLength: number | undefined;
  /** Whether the connection takes another request. */
  readonly keepsAlive: boolean;
}

export class ResponseHead extends MessageHead implements ResponseFraming {
  readonly status: number;
  readonly bodyLength: number | undefined;
  readonly keepsAlive: boolean;
  /** How long the server keeps the connection when it is idle, in milliseconds, if it says so. */
  readonly keptMilliseconds: number | undefined;

  constructor(
    text: string,
    status: number,
    { framing, places }: { readonly framing: ResponseFraming; readonly places: readonly number[] },
  ) {
    super(text, places);
    this.status = status;
    this.bodyLength = framing.bodyLength;
    this.keepsAlive = framing.keepsAlive;
    const seconds = /(?:^|[\t ,;])timeout=([0-9]{1,9})(?:$|[\t ,;])/i.exec(this.header('keep-alive') ?? '')?.[1];
    this.keptMilliseconds = seconds === undefined ? undefined : Number(seconds) * 1000;
  }
}
