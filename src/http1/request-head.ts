// The head of a request.

import type { HttpRequest, ServeRequest } from './http-exchange.js';
import { MessageHead } from './message-head.js';

/** What the head says about the message that it belongs to. */
export interface Framing {
  /** The length of the body, 0 without one; undefined for a chunked body. */
  readonly bodyLength: number | undefined;
  /** Whether further requests may come on the connection. */
  readonly keepsAlive: boolean;
  readonly isVersion10: boolean;
  /** What the client expects before it sends the body. */
  readonly expects: 'nothing' | '100-continue' | 'something else';
}

export class RequestHead extends MessageHead implements Framing, HttpRequest {
  readonly method: string;
  readonly target: string;
  readonly bodyLength: number | undefined;
  readonly keepsAlive: boolean;
  readonly isVersion10: boolean;
  readonly expects: Framing['expects'];
  handler: ServeRequest | undefined;

  constructor(
    text: string,
    { method, target }: { readonly method: string; readonly target: string },
    { framing, places }: { readonly framing: Framing; readonly places: readonly number[] },
  ) {
    super(text, places);
    this.method = method;
    this.target = target;
    this.bodyLength = framing.bodyLength;
    this.keepsAlive = framing.keepsAlive;
    this.isVersion10 = framing.isVersion10;
    this.expects = framing.expects;
  }
}
