// Encodes header blocks (RFC 7541, section 6). The fields of templates enter the dynamic table as long as it has room;
// nothing is ever evicted for them. So the table settles after each template's first use, and from then on a template is
// the same few bytes, which are remembered. Fields of single messages are literals, and secrets are never indexed.

import type { HeaderTemplate, OutgoingHeaders } from '../outgoing-headers.js';
import { BlockWriter, LONGEST_INTEGER, type Pattern } from './block-writer.js';
import { DynamicTable, fieldSize } from './dynamic-table.js';
import { STATIC_ENTRIES, STATIC_FIELDS } from './static-table.js';

/** Our table's size where the peer allows as much or more: what every peer begins with. */
const LARGEST_TABLE = 4096;
const MOST_REMEMBERED = 64;

const INDEXED: Pattern = { bits: 0x80, prefix: 7 };
const WITH_INDEXING: Pattern = { bits: 0x40, prefix: 6 };
const WITHOUT_INDEXING: Pattern = { bits: 0x00, prefix: 4 };
const NEVER_INDEXED: Pattern = { bits: 0x10, prefix: 4 };
const SIZE_UPDATE: Pattern = { bits: 0x20, prefix: 5 };

/** A peer between us and the receiver must not index them either (section 7.1.3). */
const SECRETS = new Set(['authorization', 'proxy-authorization', 'cookie', 'set-cookie']);

/** Besides its name and its value: the representation's index and the lengths of both strings. */
const MOST_PER_FIELD = 3 * LONGEST_INTEGER;
/** At the beginning of a block. */
const LONGEST_SIZE_UPDATES = 2 * LONGEST_INTEGER;

const STATIC_INDEX = new Map<string, number>();
const STATIC_NAME_INDEX = new Map<string, number>();
STATIC_FIELDS.forEach(([name, value], i) => {
  STATIC_INDEX.set(keyOf(name, value), i + 1);
  if (!STATIC_NAME_INDEX.has(name)) STATIC_NAME_INDEX.set(name, i + 1);
});

interface Remembered {
  readonly generation: number;
  readonly bytes: Uint8Array;
}

export class HpackEncoder {
  readonly #writer = new BlockWriter();
  readonly #table = new DynamicTable(LARGEST_TABLE);
  readonly #remembered = new Map<HeaderTemplate, Remembered>();
  /** How many fields were inserted before a field of the table, by its name and value, and by its name. */
  readonly #fieldsBefore = new Map<string, number>();
  readonly #namesBefore = new Map<string, number>();
  #insertions = 0;
  #sizeUpdateIsDue = false;

  /** SETTINGS_HEADER_TABLE_SIZE of the peer. The next block tells its decoder (section 4.2). */
  setPeerTableSize(size: number): void {
    const tableSize = Math.min(size, LARGEST_TABLE);
    if (tableSize === this.#table.maxSize) return;
    this.#table.resize(0);
    this.#table.resize(tableSize);
    this.#fieldsBefore.clear();
    this.#namesBefore.clear();
    this.#sizeUpdateIsDue = true;
  }

  /** What {@link encode} would write, where it has written the same before. */
  known({ template, extra }: OutgoingHeaders): Uint8Array | undefined {
    if (extra !== undefined || this.#sizeUpdateIsDue) return undefined;
    const known = this.#remembered.get(template);
    return known?.generation === this.#table.generation ? known.bytes : undefined;
  }

  /** {@link encode} writes at most so many bytes. */
  longest({ template, extra }: OutgoingHeaders): number {
    let bytes = LONGEST_SIZE_UPDATES + template.bytes + (template.fields.length / 2) * MOST_PER_FIELD;
    if (extra === undefined) return bytes;
    for (let i = 0; i < extra.length; i += 2) bytes += MOST_PER_FIELD + extra[i]!.length + extra[i + 1]!.length;
    return bytes;
  }

  /** Writes the block at `at` and returns where it ends. */
  encode({ template, extra }: OutgoingHeaders, target: Buffer, at: number): number {
    const writer = this.#writer;
    writer.begin(target, at);
    if (this.#sizeUpdateIsDue) this.#writeSizeUpdates();
    const known = this.#remembered.get(template);
    if (known !== undefined && known.generation === this.#table.generation) writer.bytes(known.bytes);
    else this.#writeTemplate(template, target);
    if (extra !== undefined) {
      for (let i = 0; i < extra.length; i += 2) this.#writeExtra(extra[i]!, extra[i + 1]!);
    }
    return writer.at;
  }

  // Down to nothing, then up to the new size: the decoder's table is as empty as ours.
  #writeSizeUpdates(): void {
    this.#sizeUpdateIsDue = false;
    this.#writer.integer(SIZE_UPDATE, 0);
    if (this.#table.maxSize > 0) this.#writer.integer(SIZE_UPDATE, this.#table.maxSize);
  }

  #writeTemplate(template: HeaderTemplate, target: Buffer): void {
    const start = this.#writer.at;
    const { generation } = this.#table;
    const { fields } = template;
    for (let i = 0; i < fields.length; i += 2) this.#writeShared(fields[i]!, fields[i + 1]!);
    if (this.#table.generation !== generation) return;
    if (this.#remembered.size >= MOST_REMEMBERED) this.#remembered.clear();
    this.#remembered.set(template, { generation, bytes: Uint8Array.from(target.subarray(start, this.#writer.at)) });
  }

  /** A field of a template. */
  #writeShared(name: string, value: string): void {
    const writer = this.#writer;
    const key = keyOf(name, value);
    const index = STATIC_INDEX.get(key) ?? this.#dynamicIndex(this.#fieldsBefore.get(key));
    if (index !== 0) {
      writer.integer(INDEXED, index);
      return;
    }
    const isSecret = SECRETS.has(name);
    const isIndexed = !isSecret && fieldSize(name, value) <= this.#table.room;
    this.#writeName(isIndexed ? WITH_INDEXING : isSecret ? NEVER_INDEXED : WITHOUT_INDEXING, name);
    writer.shortestString(value);
    if (!isIndexed) return;
    this.#table.insert(name, value);
    this.#fieldsBefore.set(key, this.#insertions);
    this.#namesBefore.set(name, this.#insertions);
    this.#insertions++;
  }

  /** A field of one message. */
  #writeExtra(name: string, value: string): void {
    this.#writeName(SECRETS.has(name) ? NEVER_INDEXED : WITHOUT_INDEXING, name);
    this.#writer.rawString(value);
  }

  #writeName(pattern: Pattern, name: string): void {
    const index = STATIC_NAME_INDEX.get(name) ?? this.#dynamicIndex(this.#namesBefore.get(name));
    this.#writer.integer(pattern, index);
    if (index === 0) this.#writer.shortestString(name);
  }

  /** The newest field has the lowest index. 0: not in the table. */
  #dynamicIndex(insertedBefore: number | undefined): number {
    return insertedBefore === undefined ? 0 : STATIC_ENTRIES + this.#insertions - insertedBefore;
  }
}

function keyOf(name: string, value: string): string {
  return `${name}\0${value}`;
}
