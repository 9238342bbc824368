// How many bytes of clients the server has in memory at once: requests until they are answered, inflated bodies, and answers
// that nobody has read. All connections of all ports share one budget. Only bytes that are here count: a client's announcement
// reserves nothing. Each connection leaves as much to others as it holds: it may hold no more than what is free then, and all
// connections of one address may hold four times that. Where there is no room, the budget first takes room from stalled clients,
// then from unfinished requests that are far larger than the new one, or whose connection holds very much more. Otherwise it
// refuses the new request.

import { type Linked, LinkedList } from '../linked-list.js';
import { addressGroup } from './address-group.js';

/** The part of the budget that only small requests and answers use: the whole divided by this. */
const SMALL_SHARE = 8;
/** Requests and answers up to this part of the whole are small: a megabyte of one gigabyte. */
const LARGEST_SMALL = 1024;
/** The connections of one address may hold this many times the free bytes: four fifths, where nobody else holds anything. */
const ADDRESS_TIMES_FREE = 4;
/** A request may have to make room when it is that many times larger than the new one. */
const TIMES_LARGER = 2;
/** So may any of a connection that holds that many times what the asking one would hold. */
const TIMES_HEAVIER = 8;
/** After a connection has looked at all others in vain, it waits that long before it looks again. */
const PAUSE_MILLISECONDS = 100;

/** Stands for the announced size of a request while room is made for it. */
const ASKING = -1;

/** One part of the budget. */
interface Pool {
  readonly limit: number;
  held: number;
}

/** What the connections of one address hold. */
interface AddressGroup {
  readonly small: { held: number };
  readonly large: { held: number };
  connections: number;
}

/** What one connection holds of one part of the budget. */
class Holding {
  readonly pool: Pool;
  /** What all connections of its address hold of this part. */
  readonly ofAddress: { held: number };
  held = 0;

  constructor(pool: Pool, ofAddress: { held: number }) {
    this.pool = pool;
    this.ofAddress = ofAddress;
  }

  add(bytes: number): void {
    this.pool.held += bytes;
    this.held += bytes;
    this.ofAddress.held += bytes;
  }

  hasRoom(bytes: number): boolean {
    const free = this.pool.limit - this.pool.held - bytes;
    return this.held + bytes <= free && this.ofAddress.held + bytes <= ADDRESS_TIMES_FREE * free;
  }
}

/** What one request holds. {@link ByteShare.hold} keeps this record. */
export interface HeldRequest {
  heldBytes: number;
  /** Its announced size; Infinity without one. */
  wholeBytes: number;
  /** Counted among the large ones. */
  isLarge: boolean;
}

/** A connection, for the budget. */
export interface ShareOwner {
  /** Its client has done nothing for a while. */
  readonly isStalled: boolean;
  /** Ends stalled requests and answers, and gives back their bytes. */
  evict(): void;
  /** The largest of its requests that have not come whole, among the large ones or the small ones. */
  largestUpload(isLarge: boolean): HeldRequest | undefined;
  /** Refuses one of these: others need the room. */
  refuseUpload(upload: HeldRequest): void;
}

export class ByteBudget {
  readonly limit: number;
  /** No request may be larger: it would not even fit in alone. */
  readonly largestRequest: number;
  readonly #small: Pool;
  readonly #large: Pool;
  readonly #largestSmall: number;
  readonly #shares = new LinkedList<ByteShare>();
  readonly #addresses = new Map<string, AddressGroup>();

  constructor(limit: number) {
    this.limit = limit;
    const small = Math.ceil(limit / SMALL_SHARE);
    this.#small = { limit: small, held: 0 };
    this.#large = { limit: limit - small, held: 0 };
    this.largestRequest = Math.floor(this.#large.limit / 2);
    this.#largestSmall = Math.ceil(limit / LARGEST_SMALL);
  }

  /** The bytes that are held now. */
  get held(): number {
    return this.#small.held + this.#large.held;
  }

  /** Whether a request of that many bytes counts among the large ones. */
  isLarge(bytes: number): boolean {
    return bytes > this.#largestSmall;
  }

  /** The share of a connection, until it closes that. `address`: its client's. */
  open(owner: ShareOwner, address = ''): ByteShare {
    const name = addressGroup(address);
    const group = this.#addresses.get(name) ?? { small: { held: 0 }, large: { held: 0 }, connections: 0 };
    this.#addresses.set(name, group);
    group.connections++;
    const share: ByteShare = new ByteShare(this, owner, {
      largestSmall: this.#largestSmall,
      small: new Holding(this.#small, group.small),
      large: new Holding(this.#large, group.large),
      onClose: () => {
        this.#shares.remove(share);
        if (--group.connections === 0) this.#addresses.delete(name);
      },
    });
    this.#shares.push(share);
    return share;
  }

  // For shares.

  /** Makes room at the cost of other connections, of as few as possible. */
  relieve(
    asking: ByteShare,
    wanted: { readonly bytes: number; readonly isLarge: boolean },
    hasRoom: () => boolean,
  ): void {
    const now = performance.now();
    if (now < asking.looksAgainAt) return;
    const stalled = [...this.#shares].filter((share) => share.bytes > 0 && share.owner.isStalled);
    for (const share of stalled.sort((a, b) => b.bytes - a.bytes)) {
      share.owner.evict();
      if (hasRoom()) return;
    }
    const refused = new Set<HeldRequest>();
    for (;;) {
      const found = this.#findLarger(asking, wanted);
      // One that did not end would be found for ever.
      if (found === undefined || refused.has(found.upload)) break;
      refused.add(found.upload);
      found.owner.refuseUpload(found.upload);
      if (hasRoom()) return;
    }
    asking.looksAgainAt = now + PAUSE_MILLISECONDS;
  }

  /**
   * The unfinished request that has to make room: the largest one of the address that holds most. It outweighs what the asking
   * connection holds and wants, or its connection far outweighs that, or its address outweighs the asking address.
   */
  #findLarger(asking: ByteShare, { bytes, isLarge }: { readonly bytes: number; readonly isLarge: boolean }) {
    const own = asking.holding(isLarge);
    const wanted = own.held + bytes;
    const least = TIMES_LARGER * wanted;
    const leastOfAddress = TIMES_LARGER * (own.ofAddress.held + bytes);
    let found: { readonly owner: ShareOwner; readonly upload: HeldRequest; readonly ofAddress: number } | undefined;
    for (const share of this.#shares) {
      const { owner } = share;
      const holding = share.holding(isLarge);
      if (share === asking || holding.held === 0) continue;
      const ofAddress = holding.ofAddress.held;
      const isHeavyAddress = holding.ofAddress !== own.ofAddress && ofAddress >= leastOfAddress;
      if ((holding.held < least && !isHeavyAddress) || ofAddress < (found?.ofAddress ?? 0)) continue;
      const isHeavy = isHeavyAddress || holding.held >= TIMES_HEAVIER * wanted;
      const upload = owner.largestUpload(isLarge);
      if (upload === undefined || (upload.heldBytes < least && !isHeavy)) continue;
      if (found === undefined || ofAddress > found.ofAddress || upload.heldBytes > found.upload.heldBytes)
        found = { owner, upload, ofAddress };
    }
    return found;
  }
}

interface ShareParts {
  /** Larger requests and answers count as large. */
  readonly largestSmall: number;
  readonly small: Holding;
  readonly large: Holding;
  readonly onClose: () => void;
}

/** What one connection holds of the budget. */
export class ByteShare implements Linked<ByteShare> {
  /** Of the budget's list. */
  previous: ByteShare | undefined;
  next: ByteShare | undefined;
  readonly owner: ShareOwner;
  readonly largestRequest: number;
  looksAgainAt = -Infinity;
  readonly #budget: ByteBudget;
  readonly #largestSmall: number;
  readonly #small: Holding;
  readonly #large: Holding;
  readonly #onClose: () => void;
  #unread = 0;
  #isClosed = false;

  constructor(budget: ByteBudget, owner: ShareOwner, { largestSmall, small, large, onClose }: ShareParts) {
    this.#budget = budget;
    this.owner = owner;
    this.largestRequest = budget.largestRequest;
    this.#largestSmall = largestSmall;
    this.#small = small;
    this.#large = large;
    this.#onClose = onClose;
  }

  get bytes(): number {
    return this.#small.held + this.#large.held;
  }

  /** Its bytes of one part of the budget. */
  holding(isLarge: boolean): Holding {
    return isLarge ? this.#large : this.#small;
  }

  /**
   * Sets the bytes that a request holds. `whole` is its announced size. Returns false and
   * changes nothing when there is no room. To make room, the request itself may have to end: then it holds nothing.
   */
  hold(request: HeldRequest, bytes: number, whole = bytes): boolean {
    const { heldBytes: before, wholeBytes: wholeBefore } = request;
    // An announced size only decides which part counts: large requests never take from the part of small ones.
    const announced = whole === Infinity ? bytes : Math.max(bytes, whole);
    const isLarge = announced > this.#largestSmall;
    const to = isLarge ? this.#large : this.#small;
    if (!this.#isClosed) {
      const from = request.isLarge ? this.#large : this.#small;
      if (before > 0) from.add(-before);
      if (bytes > before && !to.hasRoom(bytes)) {
        request.heldBytes = 0;
        request.wholeBytes = ASKING;
        const hasRoom = this.#makesRoom(bytes, isLarge, announced);
        // It was the one that had to make room, or its connection was.
        if (request.wholeBytes !== ASKING || this.#isClosed) return false;
        if (!hasRoom) {
          if (before > 0) from.add(before);
          request.heldBytes = before;
          request.wholeBytes = wholeBefore;
          return false;
        }
      }
      if (bytes > 0) to.add(bytes);
    }
    request.heldBytes = bytes;
    request.wholeBytes = whole;
    request.isLarge = isLarge;
    return true;
  }

  /** That many bytes of answers wait for the client. */
  unread(bytes: number): void {
    if (bytes === this.#unread) return;
    const before = this.#unread;
    this.#unread = bytes;
    if (this.#isClosed) return;
    this.holding(before > this.#largestSmall).add(-before);
    this.holding(bytes > this.#largestSmall).add(bytes);
  }

  /**
   * Whether there is room for an answer, which is counted when it is {@link unread}. Its work is done, so a connection that holds
   * nothing else may have all that is free, and any answer may be sent where nobody holds anything.
   */
  admits(bytes: number): boolean {
    const isLarge = bytes > this.#largestSmall;
    const holding = this.holding(isLarge);
    const { held, limit } = holding.pool;
    const isOnly = holding.held === 0 && held + bytes <= limit;
    return held === 0 || isOnly || holding.hasRoom(bytes) || this.#makesRoom(bytes, isLarge, bytes);
  }

  /** The connection is gone, with all that it held. */
  close(): void {
    if (this.#isClosed) return;
    this.#small.add(-this.#small.held);
    this.#large.add(-this.#large.held);
    this.#isClosed = true;
    this.#onClose();
  }

  #makesRoom(bytes: number, isLarge: boolean, announced: number): boolean {
    const holding = this.holding(isLarge);
    this.#budget.relieve(this, { bytes: announced, isLarge }, () => holding.hasRoom(bytes));
    return holding.hasRoom(bytes);
  }
}
