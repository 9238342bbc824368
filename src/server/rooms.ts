// Counts what the server holds for clients apart from their connections, as if each kind came on one connection: copies
// of shared memory, the objects that BYTES elements become, and loads whose clients have left.

import type { Room } from '../core/room.js';
import type { ByteBudget, HeldRequest, ShareOwner } from '../sockets/byte-budget.js';

/** The bytes wait for models, never for a client, and nothing more of them comes. */
const NEVER_STALLED: ShareOwner = {
  isStalled: false,
  evict: () => undefined,
  largestUpload: () => undefined,
  refuseUpload: () => undefined,
};

/** The room for copies of shared memory, or for elements: `what` only tells the two apart. */
export function roomOf(budget: ByteBudget, what: string): Room {
  const share = budget.open(NEVER_STALLED, what);
  const held = (bytes: number): HeldRequest => ({
    heldBytes: bytes,
    wholeBytes: bytes,
    isLarge: budget.isLarge(bytes),
  });
  return {
    take: (bytes) => share.hold(held(0), bytes),
    give: (bytes) => void share.hold(held(bytes), 0),
    largest: budget.largestRequest,
  };
}

/** Counts bytes of loads whose clients have left. There is room, because the clients held them before. */
export function loadsLeft(budget: ByteBudget): (bytes: number) => void {
  const share = budget.open(NEVER_STALLED, 'loads');
  let held = 0;
  return (bytes) => share.unread((held += bytes));
}
