// HPACK's dynamic table (RFC 7541, sections 2.3.2 and 4): the fields that were inserted last, newest first, bounded by the
// sum of their sizes. A ring: insertion and eviction cost the same however many fields there are.

/** What a field takes besides its name and value (section 4.1). */
const ENTRY_OVERHEAD = 32;

const FIRST_CAPACITY = 16;

export function fieldSize(name: string, value: string): number {
  return name.length + value.length + ENTRY_OVERHEAD;
}

export class DynamicTable {
  /** How many fields there are. */
  count = 0;
  /** Changes whenever the table's content does. */
  generation = 0;
  #size = 0;
  #maxSize: number;
  // The field with index i (0: newest) is at (newest - i) modulo the capacity, which is a power of two.
  #newest = 0;
  #names: string[] = new Array<string>(FIRST_CAPACITY).fill('');
  #values: string[] = new Array<string>(FIRST_CAPACITY).fill('');
  #flaws: number[] = new Array<number>(FIRST_CAPACITY).fill(0);

  constructor(maxSize: number) {
    this.#maxSize = maxSize;
  }

  get maxSize(): number {
    return this.#maxSize;
  }

  /** Room that is left without evicting anything. */
  get room(): number {
    return this.#maxSize - this.#size;
  }

  name(index: number): string {
    return this.#names[this.#place(index)]!;
  }

  value(index: number): string {
    return this.#values[this.#place(index)]!;
  }

  /** As they were told to {@link insert}. */
  flaws(index: number): number {
    return this.#flaws[this.#place(index)]!;
  }

  /** A field larger than the whole table empties it and is not kept (section 4.4). `flaws` is kept beside the field. */
  insert(name: string, value: string, flaws = 0): void {
    const size = fieldSize(name, value);
    this.generation++;
    this.#evictTo(this.#maxSize - size);
    if (size > this.#maxSize) return;
    if (this.count === this.#names.length) this.#grow();
    this.#newest = (this.#newest + 1) & (this.#names.length - 1);
    this.#names[this.#newest] = name;
    this.#values[this.#newest] = value;
    this.#flaws[this.#newest] = flaws;
    this.#size += size;
    this.count++;
  }

  resize(maxSize: number): void {
    this.generation++;
    this.#maxSize = maxSize;
    this.#evictTo(maxSize);
  }

  #place(index: number): number {
    return (this.#newest - index) & (this.#names.length - 1);
  }

  #evictTo(size: number): void {
    while (this.count > 0 && this.#size > size) {
      const oldest = this.#place(--this.count);
      this.#size -= fieldSize(this.#names[oldest]!, this.#values[oldest]!);
      this.#names[oldest] = '';
      this.#values[oldest] = '';
    }
  }

  #grow(): void {
    const { count } = this;
    const grown = <T>(ring: readonly T[], filler: T): T[] =>
      Array.from({ length: ring.length * 2 }, (_, i) => (i < count ? ring[this.#place(count - 1 - i)]! : filler));
    const names = grown(this.#names, '');
    const values = grown(this.#values, '');
    const flaws = grown(this.#flaws, 0);
    this.#names = names;
    this.#values = values;
    this.#flaws = flaws;
    this.#newest = count - 1;
  }
}
