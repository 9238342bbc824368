// Protobuf messages read from their JSON by tables in place of descriptors, for where size counts: the build of the client for
// browsers writes a table for each message that an answer may be (`scripts/browser-messages.js`). Messages and descriptions have
// the form of those of `@bufbuild/protobuf`, as far as the client looks at them.

/** A field's kind as a table has it: its own of a scalar, or the place of what it refers to. */
type Kind = 'text' | 'number' | 'integer64' | 'boolean' | 'bytes';
const KINDS: Readonly<Record<string, Kind>> = { s: 'text', n: 'number', i: 'integer64', b: 'boolean', y: 'bytes' };

export interface Enumeration {
  readonly value: Readonly<Record<number, { readonly name: string }>>;
}

export interface Field {
  readonly kind: 'field';
  readonly name: string;
  readonly localName: string;
  readonly fieldKind: 'singular' | 'list' | 'map';
  readonly scalar: Kind | undefined;
  readonly message: Message | undefined;
  readonly enum: Enumeration | undefined;
  /** Not there unless it is set. */
  readonly optional: boolean;
}

export interface OneOf {
  readonly kind: 'oneof';
  readonly localName: string;
  readonly fields: readonly Field[];
}

type References = () => readonly (Message | Enumeration)[];
type Values = Record<string, unknown>;

/** A message's description. What it refers to is looked up when it is needed: messages may contain each other. */
export class Message {
  readonly #table: string;
  readonly #references: References;
  #members: readonly (Field | OneOf)[] | undefined;

  /** `table` has a line for each field: its name, kind, form, and the oneof that it belongs to. */
  constructor(table: string, references: References) {
    this.#table = table;
    this.#references = references;
  }

  get members(): readonly (Field | OneOf)[] {
    return (this.#members ??= this.#read());
  }

  #read(): readonly (Field | OneOf)[] {
    const references = this.#references();
    const members: (Field | OneOf)[] = [];
    const groups = new Map<string, Field[]>();
    for (const line of this.#table.split(',').filter((each) => each !== '')) {
      const [name = '', kind = '', form = '', group] = line.split(' ');
      const reference = references[Number(kind)];
      const field: Field = {
        kind: 'field',
        name,
        localName: camelCase(name),
        fieldKind: form === '*' ? 'list' : form === '%' ? 'map' : 'singular',
        scalar: KINDS[kind],
        message: reference instanceof Message ? reference : undefined,
        enum: reference instanceof Message ? undefined : reference,
        optional: form === '?',
      };
      const fields = group === undefined ? undefined : groups.get(group);
      if (group === undefined) members.push(field);
      else if (fields === undefined) {
        const first = [field];
        groups.set(group, first);
        members.push({ kind: 'oneof', localName: camelCase(group), fields: first });
      } else fields.push(field);
    }
    return members;
  }
}

export function message(table: string, references: References = () => []): Message {
  return new Message(table, references);
}

/** An enumeration's values, `0 NAME` each. */
export function enumeration(table: string): Enumeration {
  const entries = table.split(',').map((line) => {
    const [number, name] = line.split(' ');
    return [number, { name }] as const;
  });
  return { value: Object.fromEntries(entries) as Enumeration['value'] };
}

/** A message of which nothing is set. */
export function create({ members }: Message): Values {
  return Object.fromEntries(
    members.map((member) => [member.localName, member.kind === 'oneof' ? { case: undefined } : initial(member)]),
  );
}

/** A message from its JSON. Members that it does not know are passed over. Throws for what is no such JSON. */
export function fromJson(description: Message, json: unknown): Values {
  if (typeof json !== 'object' || json === null || Array.isArray(json)) throw mismatch('a message', json);
  const values = create(description);
  const given = json as Readonly<Record<string, unknown>>;
  for (const member of description.members) {
    if (member.kind === 'field') {
      const value = valueIn(given, member);
      if (value !== undefined) values[member.localName] = fieldFromJson(member, value);
      continue;
    }
    for (const field of member.fields) {
      const value = valueIn(given, field);
      if (value !== undefined) values[member.localName] = { case: field.localName, value: fieldFromJson(field, value) };
    }
  }
  return values;
}

function valueIn(given: Readonly<Record<string, unknown>>, { name, localName }: Field): unknown {
  const key = Object.hasOwn(given, name) ? name : localName;
  return Object.hasOwn(given, key) ? (given[key] ?? undefined) : undefined;
}

function fieldFromJson(field: Field, json: unknown): unknown {
  if (field.fieldKind === 'singular') return valueFromJson(field, json);
  if (field.fieldKind === 'list') {
    if (!Array.isArray(json)) throw mismatch(`a list for ${field.name}`, json);
    return json.map((each) => valueFromJson(field, each));
  }
  if (typeof json !== 'object' || json === null || Array.isArray(json)) throw mismatch(`a map for ${field.name}`, json);
  return Object.fromEntries(Object.entries(json).map(([key, each]) => [key, valueFromJson(field, each)]));
}

function valueFromJson(field: Field, json: unknown): unknown {
  if (field.message !== undefined) return fromJson(field.message, json);
  if (field.enum !== undefined) {
    const found = Object.entries(field.enum.value).find(
      ([number, { name }]) => name === json || Number(number) === json,
    );
    if (found === undefined) throw mismatch(`a value of ${field.name}`, json);
    return Number(found[0]);
  }
  const isNumber = typeof json === 'number' || (typeof json === 'string' && /^-?\d/.test(json));
  if (field.scalar === 'text' && typeof json === 'string') return json;
  if (field.scalar === 'boolean' && typeof json === 'boolean') return json;
  if (field.scalar === 'number' && isNumber) return Number(json);
  if (field.scalar === 'integer64' && isNumber) return BigInt(json);
  if (field.scalar === 'bytes' && typeof json === 'string')
    return Uint8Array.from(atob(json), (character) => character.charCodeAt(0));
  throw mismatch(`${field.scalar} for ${field.name}`, json);
}

function initial({ fieldKind, scalar, message: isMessage, optional }: Field): unknown {
  if (fieldKind === 'list') return [];
  if (fieldKind === 'map') return {};
  if (isMessage !== undefined || optional) return undefined;
  if (scalar === 'text') return '';
  if (scalar === 'boolean') return false;
  if (scalar === 'integer64') return 0n;
  return scalar === 'bytes' ? new Uint8Array() : 0;
}

function camelCase(name: string): string {
  return name.replace(/_+(.)/g, (_, letter: string) => letter.toUpperCase());
}

function mismatch(expected: string, got: unknown): Error {
  return new Error(`expected ${expected}, got ${JSON.stringify(got)}`);
}
