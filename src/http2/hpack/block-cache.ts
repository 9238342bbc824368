// Header blocks that a connection received before, with their decoded lists. A block means the same again only while the
// dynamic table is the same. So the cache forgets everything when the table changes, and never keeps a block that changes it.
// Clients repeat one method's headers: most requests are found here by comparing a few bytes.

import type { HeaderList } from '../header-list.js';

const MOST_BLOCKS = 8;
const LONGEST_BLOCK = 512;

interface KnownBlock {
  readonly bytes: Uint8Array;
  readonly list: HeaderList;
}

export class BlockCache {
  #generation = -1;
  /** The block that was found last is first. */
  #known: KnownBlock[] = [];

  /** What the block `bytes[start…end)` was decoded to when the table was of the same generation. */
  find(bytes: Uint8Array, { start, end }: { start: number; end: number }, generation: number): HeaderList | undefined {
    const known = this.#known;
    if (known.length === 0) return undefined;
    if (generation !== this.#generation) {
      this.#known = [];
      return undefined;
    }
    for (let i = 0; i < known.length; i++) {
      const block = known[i]!;
      if (!isEqual(block.bytes, bytes, start, end)) continue;
      if (i > 0) {
        known.splice(i, 1);
        known.unshift(block);
      }
      return block.list;
    }
    return undefined;
  }

  /** Keeps a block that left the table as it was. */
  keep(block: Uint8Array, list: HeaderList, generation: number): void {
    if (block.length > LONGEST_BLOCK) return;
    if (generation !== this.#generation) this.#known = [];
    this.#generation = generation;
    this.#known.unshift({ bytes: Uint8Array.from(block), list });
    if (this.#known.length > MOST_BLOCKS) this.#known.pop();
  }
}

function isEqual(known: Uint8Array, bytes: Uint8Array, start: number, end: number): boolean {
  if (known.length !== end - start) return false;
  for (let i = 0; i < known.length; i++) if (known[i] !== bytes[start + i]) return false;
  return true;
}
