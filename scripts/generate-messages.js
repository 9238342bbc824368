// Writes the message types of proto/ to src/protocol/protobuf/generated: `npm run generate`. The result is committed.
// One module for each file of messages, and the serialized descriptors that server reflection answers with.
import { execFileSync } from 'node:child_process';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

import { createFileRegistry, fromBinary, ScalarType, toBinary } from '@bufbuild/protobuf';
import { FileDescriptorProtoSchema, FileDescriptorSetSchema } from '@bufbuild/protobuf/wkt';

/**
 * @typedef {import('@bufbuild/protobuf').DescFile} DescFile
 * @typedef {import('@bufbuild/protobuf').DescMessage} DescMessage
 * @typedef {import('@bufbuild/protobuf').DescEnum} DescEnum
 * @typedef {import('@bufbuild/protobuf').DescField} DescField
 */

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const TARGET = `${ROOT}src/protocol/protobuf/generated`;
const HEADER = '// Written by scripts/generate-messages.js from proto/.';
/** Health is answered by hand, and both versions of reflection have the same messages. */
const WITHOUT_TYPES = ['health', 'reflection_v1alpha'];
/** Of a model's configuration, the messages whose members code reads. It only converts the others from one form to another. */
const READ_OF_CONFIG = ['ModelConfig', 'ModelInput', 'ModelOutput', 'ModelTransactionPolicy'];

/** @type {Readonly<Partial<Record<ScalarType, readonly [name: string, type: string]>>>} */
const SCALARS = {
  [ScalarType.STRING]: ['string', 'string'],
  [ScalarType.BYTES]: ['bytes', 'Uint8Array'],
  [ScalarType.BOOL]: ['bool', 'boolean'],
  [ScalarType.INT32]: ['int32', 'number'],
  [ScalarType.UINT32]: ['uint32', 'number'],
  [ScalarType.INT64]: ['int64', 'bigint'],
  [ScalarType.UINT64]: ['uint64', 'bigint'],
  [ScalarType.FLOAT]: ['float', 'number'],
  [ScalarType.DOUBLE]: ['double', 'number'],
};

/** @param {ScalarType | undefined} type */
function scalarOf(type) {
  const found = type === undefined ? undefined : SCALARS[type];
  if (found === undefined) throw new Error(`scalar type ${type} has no kind in message-type.ts`);
  return found;
}

/** A type's name in TypeScript. @param {DescMessage | DescEnum} type */
function nameOf(type) {
  const { package: prefix } = type.file.proto;
  return type.typeName.slice(prefix.length + 1).replaceAll('.', '_');
}

/** Whether a message has a type of its own. @param {DescMessage} message */
function isRead(message) {
  return message.file.name !== 'model_config' || READ_OF_CONFIG.includes(nameOf(message));
}

/** @param {DescMessage} message @returns {DescMessage[]} with those nested in it, in front of it */
function withNested(message) {
  return [...message.nestedMessages.flatMap(withNested), message];
}

/** @param {DescMessage} message @returns {readonly DescEnum[]} */
function enumsIn(message) {
  return [...message.nestedEnums, ...message.nestedMessages.flatMap(enumsIn)];
}

/** What the fields of a message refer to. @param {DescMessage} message */
function referencesOf({ fields }) {
  return [...new Set(fields.flatMap(({ message: one, enum: other }) => [one ?? other ?? []].flat()))];
}

/** @param {DescField} field @returns {readonly [kind: string, type: string]} of one value */
function kindOf(field) {
  const reference = field.message ?? field.enum;
  if (reference === undefined) return scalarOf(field.scalar);
  const place = String(referencesOf(field.parent).indexOf(reference));
  if (field.message === undefined) return [place, 'number'];
  return [place, isRead(field.message) ? nameOf(field.message) : 'object'];
}

/** @param {DescField} field */
function rowOf(field) {
  const isOptional = field.fieldKind === 'scalar' && field.proto.proto3Optional;
  const form =
    field.fieldKind === 'list'
      ? '* '
      : field.fieldKind === 'map'
        ? `map:${scalarOf(field.mapKey)[0]} `
        : isOptional
          ? 'optional '
          : '';
  return `${field.oneof === undefined ? '' : ' '}${field.name} ${field.number} ${form}${kindOf(field)[0]}`;
}

/** @param {DescField} field */
function typeOf(field) {
  const [, type] = kindOf(field);
  if (field.fieldKind === 'list') return `readonly ${type}[]`;
  if (field.fieldKind === 'map') return `Readonly<Record<string, ${type}>>`;
  const isOptional = field.fieldKind === 'message' || (field.fieldKind === 'scalar' && field.proto.proto3Optional);
  return isOptional && field.oneof === undefined ? `${type} | undefined` : type;
}

/** @param {DescMessage} message */
function messageText(message) {
  const name = nameOf(message);
  const types = message.members.flatMap((member) => {
    if (member.kind === 'field') return [`  readonly ${member.localName}: ${typeOf(member)};`];
    const choices = member.fields.map(
      (field) => `    | { readonly case: '${field.localName}'; readonly value: ${typeOf(field)} }`,
    );
    return [
      `  readonly ${member.localName}:`,
      ...choices,
      '    | { readonly case: undefined; readonly value?: undefined };',
    ];
  });
  const rows = message.members.flatMap((member) =>
    member.kind === 'field' ? [rowOf(member)] : [`oneof ${member.name}`, ...member.fields.map(rowOf)],
  );
  const references = referencesOf(message);
  const later = references.length === 0 ? '' : `, () => [${references.map(nameOf).join(', ')}]`;
  const table = rows.length === 0 ? `''` : `\`\n${rows.join('\n')}\``;
  const type = isRead(message) ? name : 'object';
  const declaration =
    types.length === 0 ? [`export type ${name} = object;`] : [`export interface ${name} {`, ...types, '}'];
  return [
    ...(isRead(message) ? declaration : []),
    `export const ${name}: MessageType<${type}> = /*@__PURE__*/ message('${message.typeName}', ${table}${later});`,
  ].join('\n');
}

/** @param {DescEnum} type */
function enumText(type) {
  const table = type.values.map(({ name, number }) => `${name} ${number}`).join(', ');
  return `export const ${nameOf(type)}: Enumeration = /*@__PURE__*/ enumeration('${type.typeName}', '${table}');`;
}

/** @param {DescFile} file */
function moduleText(file) {
  const messages = file.messages.flatMap(withNested);
  const enums = [...file.enums, ...file.messages.flatMap(enumsIn)];
  const imports = file.dependencies.map((dependency) => {
    const names = messages
      .flatMap(referencesOf)
      .filter((type) => type.file === dependency)
      .map(nameOf);
    return `import { ${[...new Set(names)].sort().join(', ')} } from './${dependency.name.replaceAll('_', '-')}.js';`;
  });
  const made =
    enums.length === 0 ? 'message, type MessageType' : 'enumeration, type Enumeration, message, type MessageType';
  const methods = file.services.flatMap((service) => [
    `/** What each method of ${service.typeName} takes and gives. */`,
    `export const ${service.name}Methods = {`,
    ...service.methods.map(
      ({ name, input, output }) => `  ${name}: { input: ${nameOf(input)}, output: ${nameOf(output)} },`,
    ),
    '};',
  ]);
  return [
    [HEADER, '', `import { ${made} } from '../message-type.js';`, ...imports].join('\n'),
    ...enums.map(enumText),
    ...messages.map(messageText),
    ...(methods.length === 0 ? [] : [methods.join('\n')]),
  ].join('\n\n');
}

const image = execFileSync(
  'npx',
  ['buf', 'build', '-o', '-#format=binpb', '--as-file-descriptor-set', '--exclude-source-info'],
  {
    cwd: ROOT,
    stdio: ['ignore', 'pipe', 'inherit'],
  },
);
const files = [...createFileRegistry(fromBinary(FileDescriptorSetSchema, image)).files];

rmSync(TARGET, { recursive: true, force: true });
mkdirSync(TARGET, { recursive: true });
for (const file of files.filter(({ name }) => !WITHOUT_TYPES.includes(name))) {
  writeFileSync(`${TARGET}/${file.name.replaceAll('_', '-')}.ts`, `${moduleText(file)}\n`);
}
const descriptors = files.map(
  (file) =>
    `  '${file.proto.name}': '${Buffer.from(toBinary(FileDescriptorProtoSchema, file.proto)).toString('base64')}',`,
);
writeFileSync(
  `${TARGET}/descriptors.ts`,
  [
    HEADER,
    '',
    '/** Serialized FileDescriptorProtos in base64, by the name of their file. */',
    'export const DESCRIPTORS = {',
    ...descriptors,
    '};',
    '',
  ].join('\n'),
);
