// What is to be kept of a JSON text. All of it is checked; what no shape asks for is only walked over, so that it costs
// time in proportion to its bytes and no memory.

/** Everything: for texts that are small or come from a server. */
export interface AnyShape {
  readonly kind: 'any';
}

/** A single value: a number, a string, a literal. Of an array its place in the text is kept, of an object nothing. */
export interface ValueShape {
  readonly kind: 'value';
}

/** An object with members of known names, of which the first of each name is kept. */
export interface ObjectShape {
  readonly kind: 'object';
  readonly members: ReadonlyMap<string, JsonShape>;
}

/** An object with members of any names. */
export interface MembersShape {
  readonly kind: 'members';
  /** Of members with these names. */
  readonly known: ReadonlyMap<string, JsonShape>;
  /** Whether of equal names the first is kept, or all. */
  readonly repeated: 'first' | 'all';
  readonly limit: number;
  /** What there are too many of beyond the limit, for the error. */
  readonly what: string;
}

/** An array of so many elements at most. */
export interface ListShape {
  readonly kind: 'list';
  readonly element: JsonShape;
  readonly limit: number;
  readonly what: string;
}

export type JsonShape = AnyShape | ValueShape | ObjectShape | MembersShape | ListShape;

export const ANY: AnyShape = { kind: 'any' };
export const VALUE: ValueShape = { kind: 'value' };

export function objectOf(members: Readonly<Record<string, JsonShape>>): ObjectShape {
  return { kind: 'object', members: new Map(Object.entries(members)) };
}

export function listOf(element: JsonShape, limit: number, what: string): ListShape {
  return { kind: 'list', element, limit, what };
}

export function membersOf(
  { limit, what, repeated = 'first' }: Pick<MembersShape, 'limit' | 'what'> & Partial<Pick<MembersShape, 'repeated'>>,
  known: Readonly<Record<string, JsonShape>> = {},
): MembersShape {
  return { kind: 'members', known: new Map(Object.entries(known)), repeated, limit, what };
}
