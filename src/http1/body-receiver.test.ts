import { expect, it } from 'vitest';

import { BodyReceiver } from './body-receiver.js';
import type { Exchange } from './exchange.js';

const PIECE = Buffer.alloc(65_536, 'x');

/** A receiver of a body of that length, of which only the memory matters. */
function receiverOf(bodyLength: number): BodyReceiver {
  const receiver = new BodyReceiver();
  const plan = { limit: bodyLength, alignedAt: 0, onBody: () => undefined };
  receiver.begin({ request: { bodyLength }, plan, holdBody: () => true } as unknown as Exchange);
  return receiver;
}

it.each([20, 30, 100, 256])(
  'copies little of a body of %i MiB at once when there is memory for all of it',
  (mebibytes) => {
    const length = mebibytes << 20;
    const receiver = receiverOf(length);
    let received = 0;
    let most = 0;
    do {
      const before = received;
      receiver.receive(PIECE, 0, PIECE.length);
      received += PIECE.length;
      // What came before the piece is copied when the memory is new; the rest of old memory is filled.
      if ((receiver.directTarget()?.length ?? 0) + received === length) most = before;
    } while (most === 0 && received < 4 << 20 && (receiver.directTarget()?.length ?? 0) + received < length);
    expect((receiver.directTarget()?.length ?? 0) + received).toBe(length);
    expect(most).toBeLessThanOrEqual(2 << 20);
  },
);
