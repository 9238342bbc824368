// Requests that are as large as the default limits let them be, or say as much as their bytes can: what a client can do to
// a server with one request. Made by hand, a block at a time, so that the client needs little memory.

import { gzipSync } from 'node:zlib';

/** What the server has to be asked: one input, given back. */
export const HOSTILE_MODELS = {
  floats: { dtype: 'float32', shape: [-1], batching: false },
  longs: { dtype: 'int64', shape: [-1], batching: false },
  bytes: { dtype: 'bytes', shape: [-1], batching: false },
  strings: { dtype: 'string', shape: [-1], batching: false },
  rows: { dtype: 'float32', shape: [-1], batching: true },
} as const;

/** The same with callables in the thread of the server. `joined` takes four requests at once, by `batch`. */
type OwnModel = 'own' | 'joined' | 'plain' | 'file';
/** For a transcription. */
export const EARS = 'Ears';

/** The body of a request: how long it is, and its parts in order, each so many times. */
export interface HostileBody {
  readonly parts: readonly (readonly [part: Buffer, times: number])[];
}

export interface HostileRequest {
  readonly name: string;
  readonly about: string;
  readonly protocol: 'http' | 'grpc';
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body: HostileBody;
  /** How many of it are sent at once. Default: one. */
  readonly times?: number;
  /** The handler that gets it. Default: the server's own port. */
  readonly handler?: 'mounted' | 'fetch';
}

export function lengthOf({ parts }: HostileBody): number {
  return parts.reduce((length, [part, times]) => length + part.length * times, 0);
}

const MIB = 1024 * 1024;

function body(...parts: readonly (readonly [part: string | Buffer, times: number] | string | Buffer)[]): HostileBody {
  return {
    parts: parts.flatMap((part) => {
      const [text, times] = typeof part === 'string' || Buffer.isBuffer(part) ? ([part, 1] as const) : part;
      return blocksOf(Buffer.from(text), times);
    }),
  };
}

/** Many small parts as fewer large ones. */
function blocksOf(part: Buffer, times: number): readonly (readonly [Buffer, number])[] {
  const perBlock = Math.max(1, Math.floor(MIB / Math.max(1, part.length)));
  const blocks = Math.floor(times / perBlock);
  const rest = times - blocks * perBlock;
  const repeated = (count: number) => Buffer.alloc(part.length * count, part);
  return [
    ...(blocks > 0 ? [[repeated(perBlock), blocks] as const] : []),
    ...(rest > 0 ? [[repeated(rest), 1] as const] : []),
  ];
}

function infer(model: keyof typeof HOSTILE_MODELS | OwnModel): string {
  return `/v2/models/${model}/infer`;
}

function tensor(datatype: string, count: number, element: string, last: string): HostileBody {
  const head = `{"inputs":[{"name":"x","datatype":"${datatype}","shape":[${count}],"data":[`;
  return body(head, [element, count - 1], `${last}]}],"outputs":[{"name":"y","parameters":{"binary_data":true}}]}`);
}

function json(name: string, about: string, given: HostileBody, path = infer('floats')): HostileRequest {
  return { name, about, protocol: 'http', path, body: given };
}

function binary(
  name: string,
  about: string,
  given: Omit<HostileRequest, 'name' | 'about' | 'protocol'>,
): HostileRequest {
  return { name, about, protocol: 'http', ...given };
}

function binaryBody(head: string, part: Buffer, times: number) {
  return {
    headers: { 'inference-header-content-length': String(head.length) },
    body: body(head, [part, times]),
  };
}

function binaryInput(datatype: string, shape: readonly number[], byteLength: number, more: string): string {
  return `{"inputs":[{"name":"x","datatype":"${datatype}","shape":[${shape.join()}],"parameters":{"binary_data_size":${byteLength}}}]${more}}`;
}

const VARINT_CONTINUES = 128;

function varint(value: number): Buffer {
  const bytes: number[] = [];
  for (let rest = value; ; rest = Math.floor(rest / VARINT_CONTINUES)) {
    if (rest < VARINT_CONTINUES) return Buffer.from([...bytes, rest]);
    bytes.push((rest % VARINT_CONTINUES) | VARINT_CONTINUES);
  }
}

function field(number: number, content: Buffer | string): Buffer {
  const bytes = Buffer.from(content);
  return Buffer.concat([varint(number * 8 + 2), varint(bytes.length), bytes]);
}

/** A gRPC message: `head`, then the part so many times. */
function grpc(
  name: string,
  about: string,
  { method = 'inference.GRPCInferenceService/ModelInfer', head = Buffer.alloc(0), part, times }: GrpcMessage,
): HostileRequest {
  const prefix = Buffer.alloc(5);
  prefix.writeUInt32BE(head.length + part.length * times, 1);
  return { name, about, protocol: 'grpc', path: `/${method}`, body: body(prefix, head, [part, times]) };
}

interface GrpcMessage {
  readonly method?: string;
  readonly head?: Buffer;
  readonly part: Buffer;
  readonly times: number;
}

/** The head of a message whose input has typed contents: so many bytes of them follow. */
function contentsHead(model: string, input: Buffer, contentsLength: number): Buffer {
  const contents = Buffer.concat([varint(5 * 8 + 2), varint(contentsLength)]);
  const length = input.length + contents.length + contentsLength;
  return Buffer.concat([field(1, model), varint(5 * 8 + 2), varint(length), input, contents]);
}

function input(datatype: string, count: number): Buffer {
  return Buffer.concat([field(1, 'x'), field(2, datatype), field(3, varint(count))]);
}

/** A packed field of so many bytes, as the contents of an input. */
function packed(number: number, byteLength: number): { readonly head: Buffer; readonly length: number } {
  const head = Buffer.concat([varint(number * 8 + 2), varint(byteLength)]);
  return { head, length: head.length + byteLength };
}

function typedContents(
  name: string,
  about: string,
  { model, datatype, count, number, element }: TypedContents,
): HostileRequest {
  const { head, length } = packed(number, element.length * count);
  const start = Buffer.concat([contentsHead(model, input(datatype, count), length), head]);
  return grpc(name, about, { head: start, part: element, times: count });
}

interface TypedContents {
  readonly model: string;
  readonly datatype: string;
  readonly count: number;
  readonly number: number;
  readonly element: Buffer;
}

const BOUNDARY = 'xBoundaryx';

/** A file of so many mebibytes, as form data, behind other fields. */
function form(fields: string, mebibytes: number): Pick<HostileRequest, 'headers' | 'body'> {
  const part = `--${BOUNDARY}\r\nContent-Disposition: form-data; name="file"; filename="f"\r\n\r\n`;
  const noise = Buffer.from(Uint8Array.from({ length: MIB }, (_, i) => (i * i) >> 3));
  return {
    headers: { 'content-type': `multipart/form-data; boundary=${BOUNDARY}` },
    body: body(fields + part, [noise, mebibytes], `\r\n--${BOUNDARY}--\r\n`),
  };
}

function formField(name: string, value: string): string {
  return `--${BOUNDARY}\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`;
}

/** So many bytes of floats for a model, wanted back as they are. */
function binaryFloats(model: keyof typeof HOSTILE_MODELS | OwnModel, bytes: number, shape = [bytes / 4]) {
  const head = binaryInput('FP32', shape, bytes, ',"parameters":{"binary_data_output":true}');
  return { path: infer(model), ...binaryBody(head, Buffer.alloc(4), bytes / 4) };
}

/** Compressed, which is done when it is first wanted. */
function gzipped({ headers, body: given, path }: ReturnType<typeof binaryFloats>) {
  let compressed: HostileBody | undefined;
  return {
    path,
    headers: { ...headers, 'content-encoding': 'gzip' },
    get body(): HostileBody {
      const plain = () => Buffer.concat(given.parts.flatMap(([part, times]) => Array<Buffer>(times).fill(part)));
      return (compressed ??= body(gzipSync(plain(), { level: 1 })));
    },
  };
}

/** What is large, for callables in the thread of the server, and answers, handlers and forms. */
function largeRequests(large: (bytes: number) => number): readonly HostileRequest[] {
  const bytes = large(384 * MIB); // One request may have seven sixteenths of the server's gibibyte.
  const count = bytes / 4;
  const raw = (model: string, size: number) => ({
    head: Buffer.concat([field(1, model), field(5, input('FP32', size / 4)), varint(7 * 8 + 2), varint(size)]),
    part: Buffer.alloc(4),
    times: size / 4,
  });
  const wanted = (size: number) =>
    `{"inputs":[{"name":"x","datatype":"INT32","shape":[1],"data":[${size}]}],"outputs":[{"name":"y","parameters":{"binary_data":true}}]}`;
  const answerLength = Buffer.alloc(4);
  answerLength.writeInt32LE(bytes);
  return [
    binary('own-binary', 'a large binary tensor', binaryFloats('own', bytes)),
    grpc('own-grpc-raw', 'a large raw tensor', raw('own', bytes)),
    typedContents('own-grpc-floats', 'floats as protobuf numbers', {
      model: 'own',
      datatype: 'FP32',
      count,
      number: 6,
      element: Buffer.alloc(4),
    }),
    grpc('own-grpc-stream', 'a large raw tensor in a stream', {
      method: 'inference.GRPCInferenceService/ModelStreamInfer',
      ...raw('own', bytes / 2),
    }),
    {
      ...binary('own-joined', 'four large tensors, joined', binaryFloats('joined', bytes / 4, [1, count / 4])),
      times: 4,
    },
    json('answer-binary', 'a large answer', body(wanted(bytes)), '/v2/models/large/infer'),
    grpc('answer-grpc', 'a large answer', {
      head: Buffer.concat([field(1, 'large'), field(5, input('INT32', 1)), varint(7 * 8 + 2), varint(4)]),
      part: answerLength,
      times: 1,
    }),
    binary('gzip-binary', '60 MiB, compressed', gzipped(binaryFloats('own', large(60 * MIB)))),
    json('plain-floats', 'plain JSON of 64 MiB', body('{"x":[', ['0.25,', 13_000_000], '1]}'), '/plain'),
    binary('form-file', 'a file of 60 MiB as form data', { path: '/file', ...form('', 60) }),
    binary('form-audio', 'a recording of 60 MiB', {
      path: '/v1/audio/transcriptions',
      ...form(formField('model', EARS), 60),
    }),
    { ...binary('mounted-binary', 'to a handler of node:http', binaryFloats('own', bytes / 2)), handler: 'mounted' },
    { ...binary('fetch-binary', 'to a handler of Fetch', binaryFloats('own', bytes / 2)), handler: 'fetch' },
  ];
}

/** Every request of the suite; `scale` makes those smaller that no limit of JSON keeps small. */
export function hostileRequests(scale: number): readonly HostileRequest[] {
  const large = (bytes: number) => Math.floor(bytes * scale);
  const floats = large(256 * MIB);
  const strings = 1024 * 1024;
  const triples = 5_592_405;
  const nested = '{"a":[{"b":[{}]}]},';
  return [
    json('json-floats', '13 million numbers, 64 MiB of JSON', tensor('FP32', 13_000_000, '0.25,', '0.25')),
    json(
      'json-longs',
      '8 million small integers, 64 MiB of tensor',
      tensor('INT64', 8_388_608, '7,', '7'),
      infer('longs'),
    ),
    json('json-digits', 'numbers of 300 digits', tensor('FP32', 200_000, `0.${'3'.repeat(298)},`, '0.5')),
    json('json-strings', 'a million empty strings', tensor('BYTES', strings, '"",', '""'), infer('bytes')),
    json('json-many-strings', '20 million empty strings', tensor('BYTES', 20_000_000, '"",', '""'), infer('bytes')),
    json(
      'json-escapes',
      'one string of 10 million escapes',
      tensor('BYTES', 1, '', `"${String.raw`\u00e9`.repeat(10_000_000)}"`),
      infer('strings'),
    ),
    json(
      'json-unicode',
      'one string of 60 MiB that is no ASCII',
      tensor('BYTES', 1, '', `"${'é'.repeat(30 * MIB)}"`),
      infer('strings'),
    ),
    json('json-unread', 'objects in members that nobody reads', body('{"x":[', [nested, 3_400_000], '1],"inputs":[]}')),
    json('json-inputs', 'a million inputs', body('{"inputs":[', ['{"name":"x"},', 4_000_000], '1]}')),
    json(
      'json-outputs',
      '3 million outputs',
      body(
        '{"inputs":[{"name":"x","datatype":"FP32","shape":[1],"data":[1]}],"outputs":[',
        ['{"name":"y"},', 3_000_000],
        '1]}',
      ),
    ),
    json(
      'json-shape',
      '30 million dimensions',
      body('{"inputs":[{"name":"x","datatype":"FP32","shape":[', ['1,', 30_000_000], '1],"data":[1]}]}'),
    ),
    json(
      'json-parameters',
      '4 million parameters',
      body('{"parameters":{', ['"p":1,"q":2,', 4_000_000], '"r":1},"inputs":[]}'),
    ),
    json('json-space', '60 MiB of white space', body('{', [' ', 60 * MIB], '}')),
    json('json-id', 'an id of 60 MiB', body('{"id":"', ['i', 60 * MIB], '","inputs":[]}')),
    json(
      'json-generate',
      'a generate request of 10 million numbers',
      body('{"x":[', ['0.25,', 10_000_000], '1]}'),
      '/v2/models/floats/generate',
    ),
    binary('json-answer', '64 MiB of floats, wanted back in JSON', {
      path: infer('floats'),
      ...binaryBody(
        binaryInput('FP32', [3 * triples], 12 * triples, ''),
        Buffer.from(new Float32Array([0.1, 1e-7, 3]).buffer),
        triples,
      ),
    }),
    binary('binary-floats', 'a large binary tensor', {
      path: infer('floats'),
      ...binaryBody(
        binaryInput('FP32', [floats / 4], floats, ',"parameters":{"binary_data_output":true}'),
        Buffer.alloc(4),
        floats / 4,
      ),
    }),
    binary('binary-gzip-answer', 'a large binary tensor, wanted back compressed', {
      path: infer('floats'),
      ...binaryBody(
        binaryInput('FP32', [floats / 4], floats, ',"parameters":{"binary_data_output":true}'),
        Buffer.alloc(4),
        floats / 4,
      ),
      headers: {
        'accept-encoding': 'gzip',
        'inference-header-content-length': String(
          binaryInput('FP32', [floats / 4], floats, ',"parameters":{"binary_data_output":true}').length,
        ),
      },
    }),
    binary('binary-strings', 'a million binary strings', {
      path: infer('strings'),
      ...binaryBody(
        binaryInput('BYTES', [strings], strings * 6, ',"parameters":{"binary_data_output":true}'),
        Buffer.from([2, 0, 0, 0, 0xc3, 0xa9]),
        strings,
      ),
    }),
    binary('binary-many-strings', 'empty strings in 256 MiB', {
      path: infer('bytes'),
      ...binaryBody(binaryInput('BYTES', [floats / 4], floats, ''), Buffer.alloc(4), floats / 4),
    }),
    binary('classes', 'a million classes in order', {
      path: infer('floats'),
      ...binaryBody(
        binaryInput(
          'FP32',
          [1_000_000],
          4_000_000,
          ',"outputs":[{"name":"y","parameters":{"classification":1000000}}]',
        ),
        Buffer.from(Float32Array.from({ length: 1_000_000 }, (_, i) => Math.sin(i)).buffer),
        1,
      ),
    }),
    grpc('grpc-raw', 'a large raw tensor', {
      head: Buffer.concat([field(1, 'floats'), field(5, input('FP32', floats / 4)), varint(7 * 8 + 2), varint(floats)]),
      part: Buffer.alloc(4),
      times: floats / 4,
    }),
    typedContents('grpc-floats', 'floats as protobuf numbers', {
      model: 'floats',
      datatype: 'FP32',
      count: floats / 4,
      number: 6,
      element: Buffer.alloc(4),
    }),
    typedContents('grpc-longs', 'small integers as protobuf numbers', {
      model: 'longs',
      datatype: 'INT64',
      count: large(64 * MIB),
      number: 3,
      element: Buffer.of(7),
    }),
    grpc('grpc-strings', 'a million strings', {
      head: contentsHead('bytes', input('BYTES', strings), strings * 3),
      part: field(8, 'x'),
      times: strings,
    }),
    grpc('grpc-many-strings', 'empty strings in 256 MiB', {
      head: contentsHead('bytes', input('BYTES', floats / 2), floats),
      part: field(8, ''),
      times: floats / 2,
    }),
    grpc('grpc-unknown', 'fields that nobody knows', { part: Buffer.of(0x78, 0), times: floats / 2 }),
    grpc('grpc-names', 'a name again and again', { part: Buffer.of(0x0a, 0), times: floats / 2 }),
    grpc('grpc-inputs', 'inputs', { part: Buffer.of(0x2a, 0), times: floats / 2 }),
    grpc('grpc-dims', 'dimensions', {
      head: Buffer.concat([varint(5 * 8 + 2), varint(floats + 6), varint(3 * 8 + 2), varint(floats)]),
      part: Buffer.of(1),
      times: floats,
    }),
    grpc('grpc-reflection', 'unknown fields to reflection', {
      method: 'grpc.reflection.v1.ServerReflection/ServerReflectionInfo',
      part: Buffer.of(0x78, 0),
      times: floats / 2,
    }),
    grpc('grpc-metadata', 'unknown fields to a method that knows few', {
      method: 'inference.GRPCInferenceService/RepositoryIndex',
      part: Buffer.of(0x78, 0),
      times: floats / 2,
    }),
    ...largeRequests(large),
  ];
}
