// Decodes header blocks (RFC 7541, section 6). One decoder serves one direction of one connection: its dynamic table must
// see every block, of refused streams too. Fields beyond the size limit are dropped, but still take part in the table.

import { HeaderList } from '../header-list.js';
import { Http2Error } from '../http2-error.js';
import { BlockCache } from './block-cache.js';
import { BlockReader } from './block-reader.js';
import { DynamicTable, fieldSize } from './dynamic-table.js';
import { STATIC_ENTRIES, STATIC_FIELDS } from './static-table.js';

/** SETTINGS_HEADER_TABLE_SIZE until it is changed. */
export const DEFAULT_TABLE_SIZE = 4096;

const STATIC_NAMES = STATIC_FIELDS.map(([name]) => name);
const STATIC_VALUES = STATIC_FIELDS.map(([, value]) => value);

// The first bits of a field's representation; a number fills the rest of the byte.
const INDEXED = 0x80;
const INDEXED_PREFIX = 7;
const WITH_INDEXING = 0x40;
const WITH_INDEXING_PREFIX = 6;
const SIZE_UPDATE = 0x20;
const SIZE_UPDATE_PREFIX = 5;
const NEVER_INDEXED = 0x10;
const LITERAL_PREFIX = 4;

/** The flaws of a field: forbidden bytes in its name or in its value. */
const BAD_NAME = 1;
const BAD_VALUE = 2;

export interface HpackDecoderOptions {
  /** SETTINGS_HEADER_TABLE_SIZE: the largest that the encoder may make the dynamic table once it has acknowledged this. */
  readonly tableSize: number;
  /** Of a decoded list, counted as the table counts (RFC 9113, section 10.5.1). */
  readonly maxListSize: number;
}

export class HpackDecoder {
  readonly #tableSize: number;
  readonly #maxListSize: number;
  readonly #table: DynamicTable;
  readonly #reader = new BlockReader();
  readonly #cache = new BlockCache();
  #tableLimit: number;
  #mustShrink = false;
  // Of the block that is being decoded.
  #fields: string[] = [];
  #listSize = 0;
  #hasOnlyAllowedBytes = true;
  #hasSecrets = false;

  constructor({ tableSize, maxListSize }: HpackDecoderOptions) {
    this.#tableSize = tableSize;
    this.#maxListSize = maxListSize;
    this.#tableLimit = Math.max(tableSize, DEFAULT_TABLE_SIZE);
    this.#table = new DynamicTable(DEFAULT_TABLE_SIZE);
  }

  /** The encoder knows our table size; when the table was larger, its next block has to begin with an update (section 4.2). */
  settingsAcknowledged(): void {
    this.#tableLimit = this.#tableSize;
    this.#mustShrink = this.#table.maxSize > this.#tableSize;
  }

  /** Throws COMPRESSION_ERROR; then the connection is lost. */
  decode(bytes: Buffer, start: number, end: number): HeaderList {
    const table = this.#table;
    const known = this.#mustShrink ? undefined : this.#cache.find(bytes, { start, end }, table.generation);
    if (known !== undefined) return known;

    const { generation } = table;
    this.#fields = [];
    this.#listSize = 0;
    this.#hasOnlyAllowedBytes = true;
    this.#hasSecrets = false;
    this.#reader.begin(bytes, start, end);
    this.#readSizeUpdates();
    while (this.#reader.at < end) this.#readField();
    this.#reader.finish();

    const list = new HeaderList(this.#fields, {
      isCut: this.#listSize > this.#maxListSize,
      hasOnlyAllowedBytes: this.#hasOnlyAllowedBytes,
    });
    // A field that must never be indexed is not kept longer than its message either.
    if (table.generation === generation && !this.#hasSecrets) {
      this.#cache.keep(bytes.subarray(start, end), list, generation);
    }
    return list;
  }

  // They stand at the beginning of a block (section 4.2).
  #readSizeUpdates(): void {
    const reader = this.#reader;
    while (reader.at < reader.end && (reader.peek() & 0xe0) === SIZE_UPDATE) {
      const size = reader.integer(SIZE_UPDATE_PREFIX);
      if (size > this.#tableLimit) {
        throw new Http2Error(
          'COMPRESSION_ERROR',
          `a dynamic table of ${size} bytes, expected at most ${this.#tableLimit}`,
        );
      }
      this.#table.resize(size);
      this.#mustShrink = false;
    }
    if (this.#mustShrink) {
      throw new Http2Error('COMPRESSION_ERROR', `a dynamic table that is still larger than ${this.#tableLimit} bytes`);
    }
  }

  #readField(): void {
    const reader = this.#reader;
    const first = reader.peek();
    if (first >= INDEXED) return this.#readIndexed();
    if (first >= WITH_INDEXING) return this.#readLiteral(WITH_INDEXING_PREFIX, true);
    if (first >= SIZE_UPDATE) {
      throw new Http2Error('COMPRESSION_ERROR', 'a dynamic table size update after the first field of a header block');
    }
    if (first >= NEVER_INDEXED) this.#hasSecrets = true;
    this.#readLiteral(LITERAL_PREFIX, false);
  }

  #readIndexed(): void {
    const index = this.#reader.integer(INDEXED_PREFIX);
    if (index <= STATIC_ENTRIES) {
      if (index === 0) throw new Http2Error('COMPRESSION_ERROR', 'a field with index 0');
      this.#add(STATIC_NAMES[index - 1]!, STATIC_VALUES[index - 1]!, 0);
      return;
    }
    const table = this.#table;
    const dynamic = this.#dynamic(index);
    this.#add(table.name(dynamic), table.value(dynamic), table.flaws(dynamic));
  }

  #readLiteral(prefix: number, isIndexed: boolean): void {
    const reader = this.#reader;
    const index = reader.integer(prefix);
    let name: string;
    let flaws = 0;
    if (index === 0) {
      name = reader.name();
      if (!reader.isValid) flaws = BAD_NAME;
    } else if (index <= STATIC_ENTRIES) name = STATIC_NAMES[index - 1]!;
    else {
      const dynamic = this.#dynamic(index);
      name = this.#table.name(dynamic);
      flaws = this.#table.flaws(dynamic) & BAD_NAME;
    }
    const value = reader.value();
    if (!reader.isValid) flaws |= BAD_VALUE;
    if (isIndexed) this.#table.insert(name, value, flaws);
    this.#add(name, value, flaws);
  }

  #dynamic(index: number): number {
    const dynamic = index - STATIC_ENTRIES - 1;
    if (dynamic < this.#table.count) return dynamic;
    throw new Http2Error(
      'COMPRESSION_ERROR',
      `a field with index ${index}, expected at most ${STATIC_ENTRIES + this.#table.count}`,
    );
  }

  #add(name: string, value: string, flaws: number): void {
    this.#listSize += fieldSize(name, value);
    if (flaws !== 0) this.#hasOnlyAllowedBytes = false;
    if (this.#listSize <= this.#maxListSize) this.#fields.push(name, value);
  }
}
