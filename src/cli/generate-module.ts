// The text of a TypeScript module that declares models as a server describes them. Names are the server's: whatever they are, they
// are nothing but names in the text.

import { TritonError } from '../errors.js';
import { completeSignature } from '../model/complete-signature.js';
import type { OpenAiEndpoint } from '../model/openai.js';
import type { ModelSignature } from '../protocol/model-signature.js';
import { specOf } from './spec-of.js';

/** A model to declare. */
export interface DescribedModel extends ModelSignature {
  /** Undefined: the latest, whichever that is. */
  readonly version: number | undefined;
  /** Where the description is from, for the reader. */
  readonly source: 'configuration' | 'metadata' | 'file';
  /** The endpoint of the OpenAI API that serves it too. */
  readonly openai?: OpenAiEndpoint;
  /** The path of its own at which it takes plain JSON. */
  readonly route?: string;
}

export interface ModuleOptions {
  /** All outputs are promised to be there. */
  readonly strict: boolean;
}

/** Throws INVALID_ARG for models that cannot be declared, and for one that is given twice. */
export function generateModule(models: readonly DescribedModel[], { strict }: ModuleOptions): string {
  const twice = models.find(({ name }, index) => models.findIndex((other) => other.name === name) !== index);
  if (twice !== undefined) throw new TritonError('INVALID_ARG', `model '${twice.name}' is given twice, expected once`);
  const taken = new Set(TAKEN);
  const names = models.map(({ name }) => freeNames(name, taken));
  return [
    '// Made by `tstriton gen`: changes are lost when it is made again.',
    '',
    'import {',
    `  connect as ${CONNECT},`,
    '  defineModel,',
    '  ModelClient,',
    '  type ConnectOptions,',
    '  type InProcessServer,',
    '  type ModelClientOptions,',
    "} from 'tstriton/client';",
    ...models.flatMap((model, index) => ['', ...declaration(model, names[index]!, strict)]),
    '',
    '/** One client for all of them, by the names of the models. */',
    'export function connect(server: string | InProcessServer, options: ConnectOptions = {}) {',
    '  const models = {',
    ...models.map(({ name }, index) => `    ${property(name)}: ${names[index]!.declared},`),
    '  };',
    `  return ${CONNECT}(server, models, options);`,
    '}',
    '',
  ].join('\n');
}

/** What a model is called in the module: its declaration, and the function that makes a client of it. */
interface Names {
  readonly declared: string;
  readonly made: string;
}

/** Names that nothing else in the module has: `addSub`, else `addSubModel`, `addSubModel2`, … */
function freeNames(modelName: string, taken: Set<string>): Names {
  const name = identifier(modelName);
  for (let count = 0; ; count++) {
    const declared = count === 0 ? name : `${name}Model${count === 1 ? '' : count}`;
    const made = `connect${declared[0]!.toUpperCase()}${declared.slice(1)}`;
    if (taken.has(declared) || taken.has(made)) continue;
    taken.add(declared).add(made);
    return { declared, made };
  }
}

function declaration(model: DescribedModel, { declared, made }: Names, strict: boolean): string[] {
  const { inputs, outputs, maxBatchSize, decoupled, version, source } = model;
  const config = [
    maxBatchSize > 0 ? `maxBatchSize: ${maxBatchSize}` : 'batching: false',
    ...(decoupled ? ['decoupled: true'] : []),
  ];
  // What a client refuses is not written.
  completeSignature(specOf(model));
  return [
    ...(source === 'metadata'
      ? ['// The server tells no configuration: shapes are those of its metadata, as they are sent.']
      : []),
    `export const ${declared} = defineModel({`,
    `  modelName: ${text(model.name)},`,
    ...(version === undefined ? [] : [`  modelVersion: ${version},`]),
    ...tensors('inputs', inputs),
    ...tensors('outputs', outputs),
    `  config: { ${config.join(', ')} },`,
    ...(strict ? ['  strict: true,'] : []),
    '});',
    '',
    `export function ${made}(server: string | InProcessServer, options: ModelClientOptions = {}) {`,
    `  return new ModelClient(server, ${declared}, options);`,
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

/** The name of a member: `['__proto__']` alone is none that the language knows. */
function property(name: string): string {
  return name === '__proto__' ? `['__proto__']` : key(name);
}

/** The name under which the module imports `connect`. */
const CONNECT = 'connectModels';

/** Words that cannot be names, and the names that the module has itself. */
const TAKEN = [
  CONNECT,
  ...'arguments await break case catch class connect const continue debugger default defineModel delete do else enum eval export extends false finally for function if implements import in instanceof interface let models new null options package private protected public return server static super switch this throw true try typeof undefined var void while with yield'.split(
    ' ',
  ),
];

/** `my-model.v2` as `myModelV2`. */
function identifier(modelName: string): string {
  const words = modelName.split(/[^A-Za-z0-9]+/).filter((word) => word !== '');
  const [first = 'model', ...rest] = words;
  const start = /^[A-Z]+$/.test(first) ? first.toLowerCase() : first[0]!.toLowerCase() + first.slice(1);
  const name = start + rest.map((word) => word[0]!.toUpperCase() + word.slice(1)).join('');
  return /^\d/.test(name) ? `model${name}` : name;
}
