// The fields of each protobuf message type, as data. They are parsed, one line each, when the type is first used.
// `scripts/generate-messages.js` writes those lines from proto/. Values are plain objects: members in camelCase, 64-bit integers
// as bigints, a oneof as `{ case, value }`.

/** The scalar kinds that proto/ uses. */
export type Scalar = 'string' | 'bytes' | 'bool' | 'int32' | 'uint32' | 'int64' | 'uint64' | 'float' | 'double';

/** The kind of a field, of a list's elements, or of a map's values. */
export type Kind =
  { readonly scalar: Scalar } | { readonly message: MessageType<object> } | { readonly enum: Enumeration };

interface FieldOf<Form> {
  readonly form: Form;
  /** As proto/ spells it. */
  readonly name: string;
  /** In camelCase, the key in a value. */
  readonly localName: string;
  readonly number: number;
  readonly kind: Kind;
  /** The oneof that the field belongs to. */
  readonly oneof: OneOf | undefined;
}

export interface MapField extends FieldOf<'map'> {
  /** The kinds of protobuf that proto/ uses. */
  readonly mapKey: 'string' | 'uint64';
}

/** `optional` fields, messages and members of a oneof have no default: undefined means that they are not set. */
export type Field = FieldOf<'singular'> | FieldOf<'optional'> | FieldOf<'list'> | MapField;

export interface OneOf {
  readonly name: string;
  readonly localName: string;
  readonly fields: readonly Field[];
}

/** The value of a oneof. */
export interface Choice {
  readonly case?: string | undefined;
  readonly value?: unknown;
}

/** An enum of proto/. Values are numbers, because a message may hold unknown ones. */
export class Enumeration {
  readonly typeName: string;
  /** By name. */
  readonly numbers: ReadonlyMap<string, number>;
  /** By number. */
  readonly names: ReadonlyMap<number, string>;

  /** `table`: `NAME number`, separated by commas. */
  constructor(typeName: string, table: string) {
    const values = table.split(', ').map((line): [string, number] => {
      const [name = '', number] = line.split(' ');
      return [name, Number(number)];
    });
    this.typeName = typeName;
    this.numbers = new Map(values);
    this.names = new Map(values.map(([name, number]) => [number, name]));
  }
}

/** The messages and enums that a type's fields refer to. The table refers to them by position. */
type References = () => readonly (MessageType<object> | Enumeration)[];

/** A message type whose values are a `T`. */
export class MessageType<T extends object> {
  readonly typeName: string;
  /** Never set: it carries `T` in the type, so that the compiler tells message types apart. */
  declare readonly valueType?: T;
  readonly #table: string;
  readonly #references: References;
  #fields: readonly Field[] | undefined;
  #members: readonly (Field | OneOf)[] | undefined;

  /**
   * `table`: a line for each field, `name number kind`. A `*` before the kind marks a list. Fields of a oneof are indented under
   * `oneof name`.
   */
  constructor(typeName: string, table: string, references: References) {
    this.typeName = typeName;
    this.#table = table;
    this.#references = references;
  }

  get fields(): readonly Field[] {
    return (this.#fields ??= this.#parse());
  }

  /** The fields in the order of proto/. Each oneof stands in the place of its first field. */
  get members(): readonly (Field | OneOf)[] {
    return (this.#members ??= [...new Set(this.fields.map((field) => field.oneof ?? field))]);
  }

  #parse(): readonly Field[] {
    const references = this.#references();
    const fields: Field[] = [];
    let oneof: { readonly name: string; readonly localName: string; readonly fields: Field[] } | undefined;
    for (const line of this.#table.split('\n').filter((each) => each.trim() !== '')) {
      const [first = '', second = '', ...rest] = line.trim().split(' ');
      if (first === 'oneof') {
        oneof = { name: second, localName: camelCase(second), fields: [] };
        continue;
      }
      if (!line.startsWith(' ')) oneof = undefined;
      const mark = rest.length > 1 ? rest[0]! : 'singular';
      const form = mark === '*' ? 'list' : mark;
      const kind = kindOf(rest.at(-1)!, references);
      const shared = { name: first, localName: camelCase(first), number: Number(second), kind, oneof };
      const field = (
        form.startsWith('map:') ? { ...shared, form: 'map', mapKey: form.slice(4) } : { ...shared, form }
      ) as Field;
      fields.push(field);
      oneof?.fields.push(field);
    }
    return fields;
  }
}

export function message<T extends object>(
  typeName: string,
  table: string,
  references: References = () => [],
): MessageType<T> {
  return new MessageType<T>(typeName, table, references);
}

export function enumeration(typeName: string, table: string): Enumeration {
  return new Enumeration(typeName, table);
}

/** `word`: a scalar, or the position of a reference. */
function kindOf(word: string, references: ReturnType<References>): Kind {
  const reference = references[Number(word)];
  if (reference === undefined) return { scalar: word as Scalar };
  return reference instanceof Enumeration ? { enum: reference } : { message: reference };
}

/** The name that protobuf's JSON uses. */
function camelCase(name: string): string {
  return name.replace(/_+(.)/g, (_, letter: string) => letter.toUpperCase());
}
