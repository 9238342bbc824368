// The parts of a JSON text that a reader keeps. All of the text is checked. Other parts are only walked over, which costs time in
// proportion to their bytes, and no memory.

/** Keeps everything: for texts that are small or come from a server. */
export interface AnyShape {
  readonly kind: 'any';
}

/** A single value: a number, a string, a literal. An array is kept as its place in the text, and an object not at all. */
export interface ValueShape {
  readonly kind: 'value';
}

/** An object with members of known names. The first member of each name is kept. */
export interface ObjectShape {
  readonly kind: 'object';
  readonly members: ReadonlyMap<string, JsonShape>;
}

/** An object with members of any names. */
export interface MembersShape {
  readonly kind: 'members';
  /** The shapes of members with these names. */
  readonly known: ReadonlyMap<string, JsonShape>;
  /** Whether the first of equal names is kept, or all. */
  readonly repeated: 'first' | 'all';
  readonly limit: number;
  /** Limit on the bytes of all names together. */
  readonly namesBytes: number;
  /** The word for the members in the error about too many of them. */
  readonly what: string;
}

/** An array with a limited number of elements. */
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
  {
    limit,
    what,
    repeated = 'first',
    namesBytes = Infinity,
  }: Pick<MembersShape, 'limit' | 'what'> & Partial<Pick<MembersShape, 'repeated' | 'namesBytes'>>,
  known: Readonly<Record<string, JsonShape>> = {},
): MembersShape {
  return { kind: 'members', known: new Map(Object.entries(known)), repeated, limit, namesBytes, what };
}
