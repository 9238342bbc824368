// What requests copy out of clients' shared memory counts with what clients send: all of it together as if it came on one connection.

import type { RegionRoom } from '../core/shared-memory/shared-memory-range.js';
import type { ByteBudget, HeldRequest, ShareOwner } from '../sockets/byte-budget.js';

/** It waits for models, never for its client, and is copied whole. */
const NEVER_STALLED: ShareOwner = {
  isStalled: false,
  evict: () => undefined,
  largestUpload: () => undefined,
  refuseUpload: () => undefined,
};

export function regionRoom(budget: ByteBudget): RegionRoom {
  const share = budget.open(NEVER_STALLED, 'shared memory');
  const held = (bytes: number): HeldRequest => ({
    heldBytes: bytes,
    wholeBytes: bytes,
    isLarge: budget.isLarge(bytes),
  });
  return {
    take: (bytes) => share.hold(held(0), bytes),
    give: (bytes) => void share.hold(held(bytes), 0),
  };
}
