// A connection that only asks for room, beside those that are tested.
import type { ByteBudget } from '../../src/sockets/byte-budget.js';

/** Whether there is room for a request of so many bytes, of which each call makes another one. */
export function otherConnection(budget: ByteBudget): { holds(bytes: number): boolean } {
  const share = budget.open({
    isStalled: false,
    evict: () => undefined,
    largestUpload: () => undefined,
    refuseUpload: () => undefined,
  });
  return { holds: (bytes) => share.hold({ heldBytes: 0, wholeBytes: 0, isLarge: false }, bytes) };
}
