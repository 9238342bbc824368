// A protobuf message as plain data for users: members in camelCase, integers as numbers, enums as the names of their values,
// members that were not set left out unless they have a default.

import type { DescEnum, DescField, DescMessage, Message } from '@bufbuild/protobuf';

export type Plain =
  null | boolean | number | string | Uint8Array | readonly Plain[] | { readonly [name: string]: Plain };

export function plainMessage(schema: DescMessage, message: Message): Readonly<Record<string, Plain>> {
  const values = message as unknown as Readonly<Record<string, unknown>>;
  const entries: [string, Plain][] = [];
  for (const member of schema.members) {
    if (member.kind === 'oneof') {
      const chosen = values[member.localName] as { readonly case?: string; readonly value?: unknown };
      const field = member.fields.find(({ localName }) => localName === chosen.case);
      if (field !== undefined) entries.push([field.localName, plainField(field, chosen.value)]);
    } else if (values[member.localName] !== undefined) {
      entries.push([member.localName, plainField(member, values[member.localName])]);
    }
  }
  return Object.fromEntries(entries);
}

function plainField(field: DescField, value: unknown): Plain {
  if (field.fieldKind === 'list') return (value as readonly unknown[]).map((element) => plainValue(field, element));
  if (field.fieldKind !== 'map') return plainValue(field, value);
  return Object.fromEntries(
    Object.entries(value as Readonly<Record<string, unknown>>).map(([key, each]) => [key, plainValue(field, each)]),
  );
}

interface ElementKind {
  readonly enum?: DescEnum | undefined;
  readonly message?: DescMessage | undefined;
}

function plainValue(field: ElementKind, value: unknown): Plain {
  if (field.message !== undefined) return plainMessage(field.message, value as Message);
  if (field.enum !== undefined) return field.enum.value[value as number]?.name ?? (value as number);
  return typeof value === 'bigint' ? Number(value) : (value as Plain);
}
