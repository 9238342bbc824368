// Values of message types: the content of an empty message, and the members that a caller may leave out.

import type { Choice, Field, Kind, MessageType, Scalar } from './message-type.js';

/** A value under construction, by its members' local names. */
export type Values = Record<string, unknown>;

/** A message whose members are all optional, at any depth. An absent member has its default. */
export type Init<T> = T extends bigint | boolean | number | string | Uint8Array | undefined
  ? T
  : T extends readonly (infer Element)[]
    ? readonly Init<Element>[]
    : { readonly [Member in keyof T]?: Init<T[Member]> | undefined };

/** A message without any set member. */
export function emptyMessage<T extends object>({ members }: MessageType<T>): T {
  const values: Values = {};
  for (const member of members) {
    values[member.localName] = 'form' in member ? emptyField(member) : ({ case: undefined } satisfies Choice);
  }
  return values as T;
}

/** The value of an unset field. It is undefined for an optional field and for a message. */
function emptyField(field: Field): unknown {
  if (field.form === 'list') return [];
  if (field.form === 'map') return {};
  return field.form === 'optional' || 'message' in field.kind ? undefined : emptyValue(field.kind);
}

/** The value of an unset scalar. */
export function zeroOf(scalar: Scalar): unknown {
  if (scalar === 'string') return '';
  if (scalar === 'bytes') return new Uint8Array();
  if (scalar === 'bool') return false;
  return scalar === 'int64' || scalar === 'uint64' ? 0n : 0;
}

/** The value of a list's element, or of a map's entry, that the wire or the text leaves out. */
export function emptyValue(kind: Kind): unknown {
  if ('message' in kind) return emptyMessage(kind.message);
  return 'enum' in kind ? 0 : zeroOf(kind.scalar);
}

/** Whether a field without presence holds its default, which the wire leaves out. */
export function isEmptyValue(kind: Kind, value: unknown): boolean {
  if (value instanceof Uint8Array) return value.length === 0;
  return Object.is(value, emptyValue(kind));
}

/** Sets a map's entry, whatever its key: `__proto__` is a name like any other. */
export function setEntry(entries: Values, key: string, value: unknown): void {
  Object.defineProperty(entries, key, { value, configurable: true, enumerable: true, writable: true });
}
