// Turns a protobuf message into plain data for users. Members are in camelCase, integers are numbers, and enums are the
// names of their values. Unset members without a default are left out.

import type { Choice, Field, Kind, MessageType } from './protobuf/message-type.js';
import type { Values } from './protobuf/values.js';

export type Plain =
  null | boolean | number | string | Uint8Array | readonly Plain[] | { readonly [name: string]: Plain };

export function plainMessage<T extends object>(type: MessageType<T>, message: T): Readonly<Record<string, Plain>> {
  const values = message as Values;
  const entries: [string, Plain][] = [];
  for (const member of type.members) {
    const value = values[member.localName];
    if (!('form' in member)) {
      const chosen = value as Choice;
      const field = member.fields.find(({ localName }) => localName === chosen.case);
      if (field !== undefined) entries.push([field.localName, plainField(field, chosen.value)]);
    } else if (value !== undefined) {
      entries.push([member.localName, plainField(member, value)]);
    }
  }
  return Object.fromEntries(entries);
}

function plainField({ form, kind }: Field, value: unknown): Plain {
  if (form === 'list') return (value as readonly unknown[]).map((element) => plainValue(kind, element));
  if (form !== 'map') return plainValue(kind, value);
  return Object.fromEntries(Object.entries(value as Values).map(([key, each]) => [key, plainValue(kind, each)]));
}

function plainValue(kind: Kind, value: unknown): Plain {
  if ('message' in kind) return plainMessage(kind.message, value as object);
  if ('enum' in kind) return kind.enum.names.get(value as number) ?? (value as number);
  return typeof value === 'bigint' ? Number(value) : (value as Plain);
}
