// The messages of a generated protobuf module as tables, for the client's build for browsers: what they become in its place.
// `src/client/browser-messages.ts` reads them. Requests are left out, for they are sent as JSON.
import { ScalarType } from '@bufbuild/protobuf';

/** @typedef {import('@bufbuild/protobuf').DescField} DescField */

const KINDS = new Map([
  [ScalarType.STRING, 's'],
  [ScalarType.BOOL, 'b'],
  [ScalarType.BYTES, 'y'],
  ...[ScalarType.INT64, ScalarType.UINT64, ScalarType.SINT64, ScalarType.FIXED64, ScalarType.SFIXED64].map(
    (scalar) => /** @type {const} */ ([scalar, 'i']),
  ),
]);

/**
 * The text of the module that takes the place of `module`, a generated one.
 * @param {Readonly<Record<string, unknown>>} module its exports
 * @param {readonly (readonly [specifier: string, module: Readonly<Record<string, unknown>>])[]} imported generated modules that
 *   its messages refer to
 * @param {string} messages the module that reads the tables, as a specifier
 */
export function browserMessages(module, imported, messages) {
  /** @param {unknown} desc */
  const nameOf = (desc) => {
    for (const exports of [module, ...imported.map(([, each]) => each)]) {
      const found = Object.entries(exports).find(([, value]) => value === desc);
      if (found !== undefined) return found[0];
    }
    throw new Error(`no generated module exports ${String(desc)}`);
  };
  const lines = [`import { enumeration, message } from ${JSON.stringify(messages)};`];
  for (const [specifier, exports] of imported) {
    const names = Object.keys(exports).filter((name) => name.endsWith('Schema'));
    lines.push(`import { ${names.join(', ')} } from ${JSON.stringify(specifier)};`);
  }
  for (const [name, value] of Object.entries(module)) {
    const desc = /** @type {import('@bufbuild/protobuf').DescMessage | import('@bufbuild/protobuf').DescEnum} */ (
      value
    );
    if (!name.endsWith('Schema')) continue;
    if (name.endsWith('RequestSchema')) lines.push(`export const ${name} = undefined;`);
    else if (desc.kind === 'enum') {
      const table = desc.values.map(({ number, name: each }) => `${number} ${each}`).join(',');
      lines.push(`export const ${name} = /*@__PURE__*/ enumeration(${JSON.stringify(table)});`);
    } else lines.push(`export const ${name} = ${messageText(desc.fields, nameOf)};`);
  }
  return lines.join('\n');
}

/**
 * @param {readonly DescField[]} fields
 * @param {(desc: unknown) => string} nameOf
 */
function messageText(fields, nameOf) {
  /** @type {string[]} */
  const references = [];
  /** @param {unknown} desc */
  const refer = (desc) => {
    const name = nameOf(desc);
    if (!references.includes(name)) references.push(name);
    return String(references.indexOf(name));
  };
  const rows = fields.map((field) => {
    const { name, oneof } = field;
    const kind =
      field.message !== undefined
        ? refer(field.message)
        : field.enum !== undefined
          ? refer(field.enum)
          : (KINDS.get(/** @type {ScalarType} */ (field.scalar)) ?? 'n');
    const isOptional = field.fieldKind === 'scalar' && field.proto.proto3Optional;
    const form = field.fieldKind === 'list' ? '*' : field.fieldKind === 'map' ? '%' : isOptional ? '?' : '';
    const row = [name, kind, form, ...(oneof === undefined ? [] : [oneof.name])];
    return row.join(' ').trimEnd();
  });
  const table = JSON.stringify(rows.join(','));
  return `/*@__PURE__*/ message(${table}${references.length === 0 ? '' : `, () => [${references.join(', ')}]`})`;
}
