// The text of a TypeScript module that declares models as a server describes them. Names are the server's: whatever they are, they
// are nothing but names in the text.

import { TritonError } from '../errors.js';
import { completeSignature } from '../model/complete-signature.js';
import type { ModelSignature } from '../protocol/model-signature.js';
import { specOf } from './spec-of.js';

/** A model as it is to be declared. */
export interface DescribedModel extends ModelSignature {
  /** Undefined: the latest, whichever that is. */
  readonly version: number | undefined;
  /** Where the description is from, for the reader. */
  readonly source: 'configuration' | 'metadata';
}

export interface ModuleOptions {
  /** All outputs are promised to be there. */
  readonly strict: boolean;
}

/** Throws INVALID_ARG for models that cannot be declared, and for two with one name. */
export function generateModule(models: readonly DescribedModel[], { strict }: ModuleOptions): string {
  const names = models.map(({ name }) => identifier(name));
  const twice = names.find((name, index) => names.indexOf(name) !== index);
  if (twice !== undefined)
    throw new TritonError('INVALID_ARG', `two of the models would be declared as ${twice}, expected one of them`);
  return [
    '// Made by `tstriton gen`: changes are lost when it is made again.',
    '',
    "import { defineModel, ModelClient, type InProcessServer, type ModelClientOptions } from 'tstriton/client';",
    ...models.flatMap((model, index) => ['', ...declaration(model, names[index]!, strict)]),
    '',
  ].join('\n');
}

function declaration(model: DescribedModel, name: string, strict: boolean): string[] {
  const { inputs, outputs, maxBatchSize, decoupled, version, source } = model;
  const config = [
    maxBatchSize > 0 ? `maxBatchSize: ${maxBatchSize}` : 'batching: false',
    ...(decoupled ? ['decoupled: true'] : []),
  ];
  // What a client refuses is not written.
  completeSignature(specOf(model));
  const made = `connect${name[0]!.toUpperCase()}${name.slice(1)}`;
  return [
    ...(source === 'metadata'
      ? ['// The server tells no configuration: shapes are those of its metadata, as they are sent.']
      : []),
    `export const ${name} = defineModel({`,
    `  modelName: ${text(model.name)},`,
    ...(version === undefined ? [] : [`  modelVersion: ${version},`]),
    ...tensors('inputs', inputs),
    ...tensors('outputs', outputs),
    `  config: { ${config.join(', ')} },`,
    ...(strict ? ['  strict: true,'] : []),
    '});',
    '',
    `export function ${made}(server: string | InProcessServer, options: ModelClientOptions = {}) {`,
    `  return new ModelClient(server, ${name}, options);`,
    '}',
  ];
}

type Tensors = ModelSignature['inputs'];

/** A record by name, or a list where a record would not keep the order or the name. */
function tensors(what: string, specs: Tensors): string[] {
  if (specs.length === 0) return [`  ${what}: {},`];
  const isList = specs.some(({ name }) => /^(0|[1-9]\d*)$/.test(name) || name === '__proto__');
  const rows = specs.map(({ name, dtype, shape, optional }) => {
    const members = [`dtype: ${text(dtype)}`, `shape: [${shape.join(', ')}]`, ...(optional ? ['optional: true'] : [])];
    return isList
      ? `    { name: ${text(name)}, ${members.join(', ')} },`
      : `    ${key(name)}: { ${members.join(', ')} },`;
  });
  return isList ? [`  ${what}: [`, ...rows, '  ],'] : [`  ${what}: {`, ...rows, '  },'];
}

const IDENTIFIER = /^[A-Za-z_$][\w$]*$/;

function key(name: string): string {
  return IDENTIFIER.test(name) ? name : text(name);
}

/** A literal: nothing in it ends it, or the line. */
function text(value: string): string {
  const inner = JSON.stringify(value)
    .slice(1, -1)
    .replaceAll('\\"', '"')
    .replaceAll("'", "\\'")
    .replace(/[\u007f-\u009f\u2028\u2029\ufeff]/g, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`);
  return `'${inner}'`;
}

/** Words that cannot be names, and names that the module imports. */
const TAKEN = new Set(
  'arguments await break case catch class const continue debugger default defineModel delete do else enum eval export extends false finally for function if implements import in instanceof interface let new null package private protected public return static super switch this throw true try typeof var void while with yield'.split(
    ' ',
  ),
);

/** `my-model.v2` as `myModelV2`. */
function identifier(modelName: string): string {
  const words = modelName.split(/[^A-Za-z0-9]+/).filter((word) => word !== '');
  const [first = 'model', ...rest] = words;
  const start = /^[A-Z]+$/.test(first) ? first.toLowerCase() : first[0]!.toLowerCase() + first.slice(1);
  const name = start + rest.map((word) => word[0]!.toUpperCase() + word.slice(1)).join('');
  if (/^\d/.test(name)) return `model${name}`;
  return TAKEN.has(name) ? `${name}Model` : name;
}
