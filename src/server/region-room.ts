// What requests copy out of clients' shared memory counts with what clients send: all of it together as if it came on one connection.

import type { RegionRoom } from '../core/shared-memory/shared-memory-range.js';
import type { ByteBudget, ShareOwner } from '../sockets/byte-budget.js';

/** It waits for models, never for its client. */
const NEVER_STALLED: ShareOwner = { isStalled: false, evict: () => undefined };

export function regionRoom(budget: ByteBudget): RegionRoom {
  const share = budget.open(NEVER_STALLED);
  return {
    // One request alone may be larger than the budget where its bytes have come. These have not.
    take: (bytes) => bytes <= budget.limit && share.change(0, bytes),
    give: (bytes) => share.give(bytes),
  };
}
