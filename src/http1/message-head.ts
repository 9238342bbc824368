// The head of a message, checked. Its text is kept whole, and a header becomes a string of its own only when somebody asks
// for it. Heads never change: messages of one connection whose heads are byte for byte the same share one.

const CASE = 0x20;

export class MessageHead {
  /** One character a byte, up to and with the empty line. */
  readonly text: string;
  /** Where names and values begin and end: four numbers a header. */
  readonly #places: readonly number[];
  #rawHeaders: readonly string[] | undefined;

  constructor(text: string, places: readonly number[]) {
    this.text = text;
    this.#places = places;
  }

  /** A header by its lower-case name. Of several lines one, joined by commas. */
  header(name: string): string | undefined {
    const places = this.#places;
    let value: string | undefined;
    for (let i = 0; i < places.length; i += 4) {
      if (places[i + 1]! - places[i]! !== name.length || !this.#isNamed(name, places[i]!)) continue;
      const line = this.text.slice(places[i + 2], places[i + 3]);
      value = value === undefined ? line : `${value}${name === 'cookie' ? '; ' : ', '}${line}`;
    }
    return value;
  }

  /** Names and values in turn, as they came. */
  get rawHeaders(): readonly string[] {
    return (this.#rawHeaders ??= this.#slices());
  }

  #slices(): readonly string[] {
    const places = this.#places;
    const slices: string[] = [];
    for (let i = 0; i < places.length; i += 2) slices.push(this.text.slice(places[i], places[i + 1]));
    return slices;
  }

  /** `name` is in lower case, and its characters differ from all others of names by more than the bit of the case. */
  #isNamed(name: string, start: number): boolean {
    const { text } = this;
    for (let i = 0; i < name.length; i++) {
      const code = text.charCodeAt(start + i);
      const wanted = name.charCodeAt(i);
      if (code !== wanted && ((code | CASE) !== wanted || wanted < 97 || wanted > 122)) return false;
    }
    return true;
  }
}
