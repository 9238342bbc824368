// How many bytes of clients the server has in memory at once: requests until they are answered, what is inflated of them, and
// answers that nobody has read. All connections of all ports share one budget. What there is no room for is refused; connections
// whose client lets it wait stand in nobody's way then, and are ended.

/** What small requests and answers have for themselves, of the whole. */
const SMALL_SHARE = 8;
/** How large those are at most, as a part of the whole: a megabyte of the usual one. */
const LARGEST_SMALL = 1024;
/** What one connection may have of either part. */
const CONNECTION_SHARE = 2;
/** After looking at all connections in vain they are not looked at for so long. */
const PAUSE_MILLISECONDS = 100;

/** One part of the budget. */
class Pool {
  readonly limit: number;
  held = 0;

  constructor(limit: number) {
    this.limit = limit;
  }

  /** `own`: what the asking connection has of it. Who has nothing may have any share. */
  admits(bytes: number, own: number): boolean {
    return this.held + bytes <= this.limit && (own === 0 || own + bytes <= this.limit / CONNECTION_SHARE);
  }
}

/** A connection, for the budget. */
export interface ShareOwner {
  /** What it holds waits for a client that has done nothing for a while. */
  readonly isStalled: boolean;
  /** Ends what stands still and gives back what that held. */
  evict(): void;
}

export class ByteBudget {
  readonly #small: Pool;
  readonly #large: Pool;
  readonly #largestSmall: number;
  readonly #shares = new Set<ByteShare>();
  #looksAgainAt = -Infinity;

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

  /** The share of a connection, until it closes that. */
  open(owner: ShareOwner): ByteShare {
    const share: ByteShare = new ByteShare(this, owner, () => this.#shares.delete(share));
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

  /** Ends what stands still until there is room, beginning with those that hold most. */
  relieve(hasRoom: () => boolean): void {
    const now = performance.now();
    if (now < this.#looksAgainAt) return;
    const stalled = [...this.#shares].filter((share) => share.bytes > 0 && share.owner.isStalled);
    for (const share of stalled.sort((a, b) => b.bytes - a.bytes)) {
      share.owner.evict();
      if (hasRoom()) return;
    }
    this.#looksAgainAt = now + PAUSE_MILLISECONDS;
  }
}

/** What one connection holds of the budget. */
export class ByteShare {
  readonly owner: ShareOwner;
  readonly #budget: ByteBudget;
  readonly #onClose: () => void;
  #small = 0;
  #large = 0;
  #unread = 0;

  constructor(budget: ByteBudget, owner: ShareOwner, onClose: () => void) {
    this.#budget = budget;
    this.owner = owner;
    this.#onClose = onClose;
  }

  get bytes(): number {
    return this.#small + this.#large;
  }

  /** A request is to hold `after` bytes instead of `before`. False, and nothing has changed, when there is no room. */
  change(before: number, after: number): boolean {
    this.#count(before, -1);
    const fits = after <= before || this.#finds(after, before === 0);
    this.#count(fits ? after : before, 1);
    return fits;
  }

  give(bytes: number): void {
    this.#count(bytes, -1);
  }

  /** So many bytes of answers wait for the client. */
  unread(bytes: number): void {
    if (bytes === this.#unread) return;
    this.#count(this.#unread, -1);
    this.#unread = bytes;
    this.#count(bytes, 1);
  }

  /** Whether there is room for an answer, which is counted when it is {@link unread}. */
  admits(bytes: number): boolean {
    return this.#finds(bytes, true);
  }

  /** The connection is gone, with all that it held. */
  close(): void {
    this.#budget.pool(false).held -= this.#small;
    this.#budget.pool(true).held -= this.#large;
    this.#small = this.#large = this.#unread = 0;
    this.#onClose();
  }

  /** Looks for room. What `isTold` at once, and does not grow, may be of any size while there is nothing else. */
  #finds(bytes: number, isTold: boolean): boolean {
    const isLarge = this.#budget.isLarge(bytes);
    const pool = this.#budget.pool(isLarge);
    const fits = () => (isTold && pool.held === 0) || pool.admits(bytes, isLarge ? this.#large : this.#small);
    if (fits()) return true;
    this.#budget.relieve(fits);
    return fits();
  }

  #count(bytes: number, sign: 1 | -1): void {
    const isLarge = this.#budget.isLarge(bytes);
    this.#budget.pool(isLarge).held += sign * bytes;
    if (isLarge) this.#large += sign * bytes;
    else this.#small += sign * bytes;
  }
}
