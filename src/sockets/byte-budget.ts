// How many bytes of clients the server has in memory at once: requests until they are answered, what is inflated of them, and
// answers that nobody has read. All connections of all ports share one budget. Only bytes that are here count: what a client says it
// is going to send reserves nothing. Whoever holds something leaves as much to others: a connection may hold no more than what is
// free then, and all connections of one address may hold four times that. Where there is no room, stalled clients lose theirs first,
// then unfinished requests that are far larger than the one that asks, and otherwise the one that asks is refused.

import { addressGroup } from './address-group.js';

/** What small requests and answers have for themselves, of the whole. */
const SMALL_SHARE = 8;
/** How large those are at most, as a part of the whole: a megabyte of one gigabyte. */
const LARGEST_SMALL = 1024;
/** The connections of one address may hold so many times what is free: four fifths, where nobody else holds anything. */
const ADDRESS_TIMES_FREE = 4;
/** What is so many times larger than the request that asks may have to make room for it. */
const TIMES_LARGER = 2;
/** A connection for which all others were looked at in vain has to wait so long until they are looked at again. */
const PAUSE_MILLISECONDS = 100;

/** One part of the budget. */
class Pool {
  readonly limit: number;
  held = 0;

  constructor(limit: number) {
    this.limit = limit;
  }

  /** `own`: what the asking connection has of it; `ofAddress`: what all connections of its address have. */
  admits(bytes: number, own: number, ofAddress: number): boolean {
    const free = this.limit - this.held - bytes;
    return own + bytes <= free && ofAddress + bytes <= ADDRESS_TIMES_FREE * free;
  }
}

/** Bytes of either part of the budget. */
interface Parts {
  small: number;
  large: number;
}

/** What one request holds: a record that {@link ByteShare.hold} keeps. */
export interface HeldRequest {
  heldBytes: number;
  /** What it holds when all of it has come, as far as it says; Infinity where it does not. */
  wholeBytes: number;
  /** Counted among the large ones. */
  isLarge: boolean;
}

/** A connection, for the budget. */
export interface ShareOwner {
  /** What it holds waits for a client that has done nothing for a while. */
  readonly isStalled: boolean;
  /** Ends what stands still and gives back what that held. */
  evict(): void;
  /** The largest of its requests that have not come whole, among the large ones or the small ones. */
  largestUpload(isLarge: boolean): HeldRequest | undefined;
  /** Refuses one of these: others need the room. */
  refuseUpload(upload: HeldRequest): void;
}

export class ByteBudget {
  readonly #small: Pool;
  readonly #large: Pool;
  readonly #largestSmall: number;
  readonly #shares = new Set<ByteShare>();
  readonly #addresses = new Map<string, AddressGroup>();

  readonly limit: number;

  constructor(limit: number) {
    this.limit = limit;
    const small = Math.ceil(limit / SMALL_SHARE);
    this.#small = new Pool(small);
    this.#large = new Pool(limit - small);
    this.#largestSmall = Math.ceil(limit / LARGEST_SMALL);
  }

  /** What is held now. */
  get held(): number {
    return this.#small.held + this.#large.held;
  }

  /** No request may be larger: it would not even fit in alone. */
  get largestRequest(): number {
    return Math.floor(this.#large.limit / 2);
  }

  /** The share of a connection, until it closes that. `address`: its client's. */
  open(owner: ShareOwner, address = ''): ByteShare {
    const name = addressGroup(address);
    const group = this.#addresses.get(name) ?? { small: 0, large: 0, connections: 0 };
    this.#addresses.set(name, group);
    group.connections++;
    const share: ByteShare = new ByteShare(this, owner, group, () => {
      this.#shares.delete(share);
      if (--group.connections === 0) this.#addresses.delete(name);
    });
    this.#shares.add(share);
    return share;
  }

  // For shares.

  isLarge(bytes: number): boolean {
    return bytes > this.#largestSmall;
  }

  pool(isLarge: boolean): Pool {
    return isLarge ? this.#large : this.#small;
  }

  /** Makes room at the cost of others, as few as it takes. */
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
    for (;;) {
      const found = this.#findLarger(asking, wanted);
      if (found === undefined) break;
      found.owner.refuseUpload(found.upload);
      if (hasRoom()) return;
    }
    asking.looksAgainAt = now + PAUSE_MILLISECONDS;
  }

  /**
   * The largest unfinished request, first of the address that holds most, that outweighs what the asking connection holds and wants; or
   * whose address outweighs its address as much.
   */
  #findLarger(asking: ByteShare, { bytes, isLarge }: { readonly bytes: number; readonly isLarge: boolean }) {
    const part = isLarge ? 'large' : 'small';
    const least = TIMES_LARGER * (asking.held[part] + bytes);
    const leastOfAddress = TIMES_LARGER * (asking.address[part] + bytes);
    let found: { readonly owner: ShareOwner; readonly upload: HeldRequest; readonly ofAddress: number } | undefined;
    for (const share of this.#shares) {
      const { owner, held, address } = share;
      if (share === asking || held[part] === 0) continue;
      const ofAddress = address[part];
      const isHeavyAddress = address !== asking.address && ofAddress >= leastOfAddress;
      if ((held[part] < least && !isHeavyAddress) || ofAddress < (found?.ofAddress ?? 0)) continue;
      const upload = owner.largestUpload(isLarge);
      if (upload === undefined || (upload.heldBytes < least && !isHeavyAddress)) continue;
      if (found === undefined || ofAddress > found.ofAddress || upload.heldBytes > found.upload.heldBytes)
        found = { owner, upload, ofAddress };
    }
    return found;
  }
}

/** All connections of one address. */
interface AddressGroup extends Parts {
  connections: number;
}

/** What one connection holds of the budget. */
export class ByteShare {
  readonly owner: ShareOwner;
  readonly held: Readonly<Parts>;
  readonly address: Readonly<Parts>;
  looksAgainAt = -Infinity;
  readonly #budget: ByteBudget;
  readonly #held: Parts = { small: 0, large: 0 };
  readonly #address: Parts;
  readonly #onClose: () => void;
  #unread = 0;
  #isClosed = false;

  constructor(budget: ByteBudget, owner: ShareOwner, address: Parts, onClose: () => void) {
    this.#budget = budget;
    this.owner = owner;
    this.held = this.#held;
    this.address = this.#address = address;
    this.#onClose = onClose;
  }

  get largestRequest(): number {
    return this.#budget.largestRequest;
  }

  get bytes(): number {
    return this.#held.small + this.#held.large;
  }

  /**
   * A request is to hold so many bytes instead of what it held before, of `whole` bytes that it is going to hold as it says. False,
   * and nothing has changed, when there is no room.
   */
  hold(request: HeldRequest, bytes: number, whole = bytes): boolean {
    const { heldBytes: before, isLarge: wasLarge } = request;
    // What it is going to be only tells where it counts: large ones never take from what small ones have.
    const isLarge = this.#budget.isLarge(whole === Infinity ? bytes : Math.max(bytes, whole));
    this.#count(wasLarge, -before);
    const fits = bytes <= before || this.#isClosed || this.#finds(bytes, isLarge, whole === Infinity ? bytes : whole);
    this.#count(fits ? isLarge : wasLarge, fits ? bytes : before);
    if (!fits) return false;
    request.heldBytes = bytes;
    request.wholeBytes = whole;
    request.isLarge = isLarge;
    return true;
  }

  /** So many bytes of answers wait for the client. */
  unread(bytes: number): void {
    if (bytes === this.#unread) return;
    this.#count(this.#budget.isLarge(this.#unread), -this.#unread);
    this.#unread = bytes;
    this.#count(this.#budget.isLarge(bytes), bytes);
  }

  /**
   * Whether there is room for an answer, which is counted when it is {@link unread}. Its work is done, so a connection that holds
   * nothing else may have all that is free, and any answer may be sent where nobody holds anything.
   */
  admits(bytes: number): boolean {
    const isLarge = this.#budget.isLarge(bytes);
    const { held, limit } = this.#budget.pool(isLarge);
    const isOnly = (isLarge ? this.#held.large : this.#held.small) === 0 && held + bytes <= limit;
    return held === 0 || isOnly || this.#finds(bytes, isLarge, bytes);
  }

  /** The connection is gone, with all that it held. */
  close(): void {
    if (this.#isClosed) return;
    this.#count(false, -this.#held.small);
    this.#count(true, -this.#held.large);
    this.#isClosed = true;
    this.#onClose();
  }

  #finds(bytes: number, isLarge: boolean, whole: number): boolean {
    if (this.#hasRoom(bytes, isLarge)) return true;
    this.#budget.relieve(this, { bytes: Math.max(bytes, whole), isLarge }, () => this.#hasRoom(bytes, isLarge));
    return this.#hasRoom(bytes, isLarge);
  }

  #hasRoom(bytes: number, isLarge: boolean): boolean {
    const part = isLarge ? 'large' : 'small';
    return this.#budget.pool(isLarge).admits(bytes, this.#held[part], this.#address[part]);
  }

  #count(isLarge: boolean, bytes: number): void {
    if (this.#isClosed || bytes === 0) return;
    const part = isLarge ? 'large' : 'small';
    this.#budget.pool(isLarge).held += bytes;
    this.#held[part] += bytes;
    this.#address[part] += bytes;
  }
}
