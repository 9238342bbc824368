// What `tstriton serve` says when it serves: where, and how each model is asked, with a curl line and a TypeScript snippet that work when
// they are pasted.

import type { CompleteModelConfig, CompleteTensorSpec } from '../../model/complete-model-config.js';
import type { OpenAiEndpoint } from '../../model/openai.js';
import { isSingle } from '../../protocol/plain-json/plain-input.js';
import { DATATYPE_BYTE_SIZE, DTYPES } from '../../tensor/dtype.js';
import { elementsOf, samplePlain, sampleShape } from '../sample-values.js';
import type { Style } from '../style.js';

export interface ServedAt {
  /** `http://localhost:8000`; undefined where it is not served. */
  readonly http: string | undefined;
  readonly grpc: string | undefined;
  readonly metrics: string | undefined;
  /** What a browser opens. */
  readonly page?: string | undefined;
}

export interface Access {
  /** A variable of the environment that has the token which inference wants; undefined when it wants none. */
  readonly tokenVariable: string | undefined;
  /** The file of the authority that vouches for the server's certificate. */
  readonly ca: string | undefined;
}

type Asked = Pick<CompleteModelConfig, 'name' | 'inputs' | 'maxBatchSize' | 'decoupled' | 'openai' | 'route'>;

export interface IntroducedModel extends Asked {
  /** Undefined where no version could be read. */
  readonly version: number | undefined;
  /** Undefined when there is one alone, or the latest is meant. */
  readonly askedVersion: number | undefined;
  /** Why it is not ready; undefined when it is. */
  readonly failure: string | undefined;
}

const CHAT = [{ role: 'user', content: 'text' }];
/** How the OpenAI API is asked. */
const OPENAI_ASKED = {
  chat: { path: '/v1/chat/completions', body: { messages: CHAT, stream: true } },
  completions: { path: '/v1/completions', body: { prompt: 'text', max_tokens: 20, stream: true } },
  embeddings: { path: '/v1/embeddings', body: { input: 'text' } },
  transcriptions: { path: '/v1/audio/transcriptions', body: undefined },
} as const satisfies Record<OpenAiEndpoint, { readonly path: string; readonly body: object | undefined }>;

/** More values than these are sent as bytes. */
const MOST_WRITTEN = 64;
const TOKEN_HEADER = 'triton-access-token';

export function introduction(models: readonly IntroducedModel[], at: ServedAt, access: Access, style: Style): string {
  const places = Object.entries(at).filter(([, url]) => url !== undefined);
  const names: Readonly<Record<string, string>> = { http: 'HTTP', grpc: 'gRPC', metrics: 'metrics', page: 'page' };
  return [
    places.map(([kind, url]) => `  ${style('bold', names[kind]!.padEnd(8))}${style('cyan', String(url))}`).join('\n'),
    ...models.map((model) => introduceModel(model, at, access, style)),
    style('dim', 'Ctrl-C stops the server.'),
  ].join('\n\n');
}

function introduceModel(model: IntroducedModel, at: ServedAt, access: Access, style: Style): string {
  const title = style('bold', `${model.name}${model.version === undefined ? '' : ` version ${model.version}`}`);
  if (model.failure !== undefined) return `${title}  ${style('red', 'does not serve')}\n  ${model.failure}`;
  const curl = curlLine(model, at.http, access);
  const url = at.grpc ?? at.http;
  const lines = [
    ...(curl === undefined ? [] : [curl, '']),
    ...(url === undefined ? [] : [snippet(model, url, access)]),
  ];
  return `${title}\n${indented(lines.join('\n'))}`;
}

function indented(text: string): string {
  return text.replace(/^(?=.)/gm, '  ');
}

/** Undefined where HTTP does not carry such a request. */
export function curlLine(model: IntroducedModel, http: string | undefined, access: Access): string | undefined {
  if (http === undefined) return undefined;
  const inputs = model.inputs.filter(({ optional }) => !optional);
  const version = model.askedVersion === undefined ? '' : `/versions/${model.askedVersion}`;
  const url = `${http}/v2/models/${model.name}${version}`;
  const options = [
    ...(access.ca === undefined ? [] : ['--cacert', quoted(access.ca)]),
    ...(access.tokenVariable === undefined ? [] : ['-H', `"${TOKEN_HEADER}: $${access.tokenVariable}"`]),
  ];
  // Its clients ask for the latest version.
  if (model.openai !== undefined && model.askedVersion === undefined) {
    const { path, body } = OPENAI_ASKED[model.openai];
    if (body === undefined) {
      return words('curl -s', ...options, `${http}${path}`, '-F', quoted(`model=${model.name}`), '-F file=@audio.wav');
    }
    const json = JSON.stringify({ model: model.name, ...body });
    return words('curl -sN', ...options, `${http}${path}`, '-d', quoted(json));
  }
  if (model.route !== undefined && inputs.every(isWritten)) {
    const body = Object.fromEntries(inputs.map((spec) => [spec.name, plainValue(spec)]));
    const flags = model.decoupled ? '-sN' : '-s';
    return words(`curl ${flags}`, ...options, `${http}${model.route}`, '-d', quoted(JSON.stringify(body)));
  }
  if (model.decoupled) {
    if (!inputs.every(isGenerated)) return undefined;
    const body = Object.fromEntries(inputs.map((spec) => [spec.name, only(sampleFor(model, spec))]));
    return words('curl -sN', ...options, `${url}/generate_stream`, '-d', quoted(JSON.stringify(body)));
  }
  const batch = model.maxBatchSize > 0 ? [1] : [];
  if (inputs.every(isWritten)) {
    const body = { inputs: inputs.map((spec) => ({ ...described(spec, batch), data: samplePlain(spec) })) };
    return words('curl -s', ...options, `${url}/infer`, '-d', quoted(JSON.stringify(body)));
  }
  return binaryCurl(inputs, batch, [...options, `${url}/infer`]);
}

/** The tensors are zeros, as many bytes as it takes, behind the JSON that describes them. */
function binaryCurl(inputs: readonly CompleteTensorSpec[], batch: readonly number[], rest: readonly string[]): string {
  const sizes = inputs.map((spec) => (DATATYPE_BYTE_SIZE[spec.datatype] || 4) * elementsOf(sampleShape(spec)));
  const json = JSON.stringify({
    inputs: inputs.map((spec, index) => ({
      ...described(spec, batch),
      parameters: { binary_data_size: sizes[index] },
    })),
    parameters: { binary_data_output: true },
  });
  const total = sizes.reduce((sum, size) => sum + size, 0);
  const length = Buffer.byteLength(json);
  return [
    `{ printf '%s' ${quoted(json)}; head -c ${total} /dev/zero; } |`,
    words('  curl -s -o answer.bin', ...rest, `-H 'Inference-Header-Content-Length: ${length}'`, '--data-binary @-'),
  ].join('\n');
}

function described({ name, datatype, ...spec }: CompleteTensorSpec, batch: readonly number[]) {
  return { name, datatype, shape: [...batch, ...sampleShape({ name, datatype, ...spec })] };
}

function isWritten(spec: CompleteTensorSpec): boolean {
  return DTYPES[spec.dtype].kind !== 'half' && elementsOf(sampleShape(spec)) <= MOST_WRITTEN;
}

/** `generate` takes values without their shape. */
function isGenerated(spec: CompleteTensorSpec): boolean {
  return isWritten(spec) && spec.shape.filter((dim) => dim === -1).length < 2;
}

/** The messages of a chat are JSON. */
function sampleFor({ openai }: Asked, spec: CompleteTensorSpec): ReturnType<typeof samplePlain> {
  return openai === 'chat' && spec.name === 'messages' ? [JSON.stringify(CHAT)] : samplePlain(spec);
}

/** Nested as the shape says, or a single value. */
function plainValue(spec: CompleteTensorSpec): unknown {
  const values: readonly unknown[] = samplePlain(spec);
  if (isSingle(spec.shape)) return values[0];
  return sampleShape(spec).reduceRight<readonly unknown[]>((elements, dim, axis) => {
    const isFirst = axis === 0;
    const rows = Array.from({ length: elements.length / dim }, (_, row) => elements.slice(row * dim, (row + 1) * dim));
    return isFirst ? rows[0]! : rows;
  }, values);
}

function only<T>(values: readonly T[]): T | readonly T[] {
  return values.length === 1 ? values[0]! : values;
}

function words(...parts: readonly string[]): string {
  return parts.join(' ');
}

/** For a shell. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}

export function snippet(model: IntroducedModel, url: string, access: Access): string {
  const inputs = model.inputs.filter(({ optional }) => !optional);
  const needsTensor = inputs.some((spec) => !isWritten(spec));
  const options = [
    ...(model.askedVersion === undefined ? [] : [`modelVersion: ${model.askedVersion}`]),
    ...(access.tokenVariable === undefined ? [] : [`accessToken: process.env.${access.tokenVariable}`]),
    ...(access.ca === undefined ? [] : [`tls: { ca: readFileSync(${literal(access.ca)}, 'utf8') }`]),
  ];
  const given = `{ ${inputs.map((spec) => `${key(spec.name)}: ${value(model, spec)}`).join(', ')} }`;
  const made = [literal(url), literal(model.name), ...(options.length > 0 ? [`{ ${options.join(', ')} }`] : [])];
  return [
    ...(access.ca === undefined ? [] : ["import { readFileSync } from 'node:fs';"]),
    `import { ModelClient${needsTensor ? ', Tensor' : ''} } from 'tstriton/client';`,
    `const client = new ModelClient(${made.join(', ')});`,
    ...(model.decoupled
      ? [`for await (const outputs of client.streamSample(${given})) console.log(outputs);`]
      : [`console.log(await client.inferSample(${given}));`]),
    'await client.close();',
  ].join('\n');
}

function value(model: Asked, spec: CompleteTensorSpec): string {
  const shape = sampleShape(spec);
  if (isWritten(spec)) return nested(sampleFor(model, spec), shape);
  const count = elementsOf(shape);
  const { array } = DTYPES[spec.dtype];
  const elements = array === undefined ? `new Array(${count}).fill('')` : `new ${array.name}(${count})`;
  const dtype = spec.dtype === 'bytes' ? 'string' : spec.dtype;
  return `new Tensor('${dtype}', ${elements}, [${shape.join(', ')}])`;
}

function nested(values: readonly unknown[], shape: readonly number[]): string {
  const [count, ...rest] = shape;
  if (count === undefined) return literal(values[0]);
  const size = elementsOf(rest);
  const rows = Array.from({ length: count }, (_, index) =>
    nested(values.slice(index * size, (index + 1) * size), rest),
  );
  return `[${rows.join(', ')}]`;
}

function key(name: string): string {
  return /^[A-Za-z_$][\w$]*$/.test(name) && name !== '__proto__' ? name : literal(name);
}

function literal(plain: unknown): string {
  return typeof plain === 'string'
    ? `'${JSON.stringify(plain).slice(1, -1).replaceAll('\\"', '"').replaceAll("'", "\\'")}'`
    : String(plain);
}
