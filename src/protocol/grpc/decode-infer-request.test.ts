import { create, toBinary, type MessageInitShape } from '@bufbuild/protobuf';
import { describe, expect, it } from 'vitest';
import { finishPaced, PAUSE_BYTES, type PacedWork } from '../../pacing/paced-work.js';
import { REQUEST_LIMITS } from '../../model/request-limits.js';
import type { SharedMemoryAccess } from '../../model/shared-memory.js';

import { TritonError } from '../../errors.js';
import type { CompleteModelConfig } from '../../model/complete-model-config.js';
import { NO_SHARED_MEMORY } from '../../../test/support/no-shared-memory.js';
import { decodeInferRequest, type CompleteInferRequest } from './decode-infer-request.js';
import { InferParameterSchema, ModelInferRequestSchema } from '../../../test/support/generated/grpc_service_pb.js';

type RequestInit = MessageInitShape<typeof ModelInferRequestSchema>;

function encode(init: RequestInit): Uint8Array {
  return toBinary(ModelInferRequestSchema, create(ModelInferRequestSchema, init));
}

/** Is told what a well-formed message is about. */
type AdmitModel = (modelName: string, modelVersion: string, id: string) => void;

function* decodeWhole(bytes: Uint8Array, admit?: AdmitModel): PacedWork<CompleteInferRequest> {
  const form = yield* decodeInferRequest(bytes);
  admit?.(form.modelName, form.modelVersion, form.id);
  return yield* form.complete({} as CompleteModelConfig, NO_SHARED_MEMORY);
}

function decodeBytes(bytes: Uint8Array, admit?: AdmitModel) {
  return finishPaced(decodeWhole(bytes, admit)).request;
}

function decode(init: RequestInit) {
  return decodeBytes(encode(init));
}

/** The bytes of one input of three elements. */
function decodeInput(datatype: string, contents: object | undefined, raw: Uint8Array[] = []): Buffer {
  const input = { name: 'x', datatype, shape: [1n, 3n], ...(contents && { contents }) };
  const request = decode({ modelName: 'm', inputs: [input], rawInputContents: raw });
  return Buffer.from(request.inputs[0]!.bytes);
}

function refusal(run: () => unknown): { code: string; message: string } {
  try {
    run();
  } catch (error) {
    if (!TritonError.is(error)) throw error;
    return { code: error.code, message: error.message };
  }
  throw new Error('expected a refusal');
}

const field = (number: number, wireType: number) => (number << 3) | wireType;

describe('a request with raw contents', () => {
  const raw = [Uint8Array.of(1, 2, 3, 4), new Uint8Array(0), Uint8Array.of(9)];
  const bytes = encode({
    modelName: 'm',
    modelVersion: '3',
    id: 'größe 1',
    inputs: [
      { name: 'a', datatype: 'FP32', shape: [1n, 1n] },
      { name: 'b', datatype: 'INT64', shape: [1n, 0n] },
      { name: 'c', datatype: 'BOOL', shape: [] },
    ],
    outputs: [{ name: 'y' }, { name: 'z' }],
    rawInputContents: raw,
  });

  it('decodes every field', () => {
    expect(decodeBytes(bytes)).toEqual({
      modelName: 'm',
      modelVersion: '3',
      id: 'größe 1',
      parameters: undefined,
      inputs: [
        { name: 'a', datatype: 'FP32', shape: [1, 1], bytes: Buffer.from(raw[0]!) },
        { name: 'b', datatype: 'INT64', shape: [1, 0], bytes: Buffer.alloc(0) },
        { name: 'c', datatype: 'BOOL', shape: [], bytes: Buffer.from(raw[2]!) },
      ],
      outputs: ['y', 'z'],
      priority: 0,
      timeoutMicroseconds: 0,
    });
  });

  it('gives tensors as views of the message', () => {
    const [a] = decodeBytes(bytes).inputs;
    expect(a!.bytes.buffer).toBe(bytes.buffer);
  });

  it('accepts the empty message', () => {
    expect(decodeBytes(new Uint8Array(0))).toMatchObject({ modelName: '', inputs: [], outputs: [] });
  });

  it('passes over entries of raw_input_contents beyond the inputs, as Triton does', () => {
    const inputs = [{ name: 'x', datatype: 'BOOL', shape: [1n] }];
    const request = decode({ modelName: 'm', inputs, rawInputContents: [Uint8Array.of(1), Uint8Array.of(2)] });
    expect([...request.inputs[0]!.bytes]).toEqual([1]);
  });

  it('reads dimensions of 64 bits, rounded beyond 2^53', () => {
    const shape = [-1n, 2n ** 40n, 2n ** 63n - 1n, -(2n ** 63n), -5n];
    const request = decode({ inputs: [{ name: 'x', datatype: 'BOOL', shape }], rawInputContents: [new Uint8Array(0)] });
    expect(request.inputs[0]!.shape).toEqual([-1, 2 ** 40, 2 ** 63, -(2 ** 63), -5]);
  });

  it.each(['', 'fp32', 'TYPE_FP32', 'STRING', 'FP32 ', 'toString'])(
    "leaves datatype '%s' to the core under the name that Triton gives it",
    (datatype) => {
      const inputs = [{ name: 'x', datatype, shape: [1n] }];
      expect(decode({ inputs, rawInputContents: [new Uint8Array(4)] }).inputs[0]!.datatype).toBe('<invalid>');
    },
  );
});

describe('the wire form', () => {
  const raw = (...bytes: number[]) => Buffer.from(bytes);
  const xInput = raw(field(5, 2), 9, 10, 1, 120, 18, 4, 66, 79, 79, 76); // x, BOOL

  it('takes shapes that are not packed, and mixed ones', () => {
    const input = raw(field(3, 0), 2, field(3, 2), 2, 3, 4, field(3, 0), 5);
    const message = Buffer.concat([raw(field(5, 2), input.length), input, raw(field(7, 2), 0)]);
    expect(decodeBytes(message).inputs[0]!.shape).toEqual([2, 3, 4, 5]);
  });

  it('takes raw contents before the inputs', () => {
    const message = Buffer.concat([raw(field(7, 2), 1, 1), xInput]);
    expect([...decodeBytes(message).inputs[0]!.bytes]).toEqual([1]);
  });

  it('lets the last of a repeated name count', () => {
    expect(decodeBytes(raw(10, 1, 97, 10, 1, 98)).modelName).toBe('b');
  });

  it('passes over unknown fields and known ones of another wire type', () => {
    const message = raw(field(15, 2), 2, 1, 2, field(1, 0), 5, field(7, 5), 1, 2, 3, 4, 0xa3, 1, 8, 1, 0xa4, 1);
    expect(decodeBytes(message).modelName).toBe('');
  });

  it.each([
    ['cut', xInput.subarray(0, 6)],
    ['an inner length beyond its message', raw(field(5, 2), 3, 10, 5, 120)],
    ['field number 0', raw(0, 1)],
    ['invalid UTF-8 in the model name', raw(10, 1, 0xff)],
    ['invalid UTF-8 in a parameter', raw(field(4, 2), 4, 10, 2, 0xc3, 0x28)],
    ['an end of group', raw(field(1, 4))],
    ['packed floats that are no whole floats', raw(field(5, 2), 9, field(5, 2), 7, field(6, 2), 5, 1, 2, 3, 4, 5)],
    ['packed integers that do not end', raw(field(5, 2), 5, field(5, 2), 3, field(2, 2), 1, 0x80)],
  ])('refuses what is no message: %s', (_, message) => {
    const admitted: string[] = [];
    const { code, message: text } = refusal(() => decodeBytes(message, (name) => void admitted.push(name)));
    expect([code, text]).toEqual(['INTERNAL', 'Unable to parse request']);
    expect(admitted).toEqual([]);
  });

  const repeated = (count: number, ...bytes: readonly number[]) =>
    Buffer.alloc(count * bytes.length, Buffer.from(bytes));
  const inMessage = (number: number, content: Buffer) => {
    const length: number[] = [];
    for (let rest = content.length; ; rest = Math.floor(rest / 128)) {
      length.push(rest < 128 ? rest : (rest & 127) | 128);
      if (rest < 128) break;
    }
    return Buffer.concat([Buffer.from([field(number, 2), ...length]), content]);
  };

  it.each<[string, (count: number) => Buffer, number, string]>([
    ['inputs', (count) => repeated(count, field(5, 2), 0), REQUEST_LIMITS.inputs, 'inputs'],
    ['outputs', (count) => repeated(count, field(6, 2), 0), REQUEST_LIMITS.outputs, 'requested outputs'],
    ['raw entries', (count) => repeated(count, field(7, 2), 0), REQUEST_LIMITS.inputs, 'entries of raw_input_contents'],
    ['parameters', (count) => repeated(count, field(4, 2), 0), REQUEST_LIMITS.parameters, 'parameters'],
    [
      'parameters of an input',
      (count) => inMessage(5, repeated(count, field(4, 2), 0)),
      REQUEST_LIMITS.tensorParameters,
      'parameters of a tensor',
    ],
    [
      'parameters of an output',
      (count) => inMessage(6, repeated(count, field(2, 2), 0)),
      REQUEST_LIMITS.tensorParameters,
      'parameters of a tensor',
    ],
    [
      'dimensions',
      (count) => inMessage(5, repeated(count, field(3, 0), 1)),
      REQUEST_LIMITS.rank,
      'dimensions of a tensor',
    ],
    [
      'packed dimensions',
      (count) => inMessage(5, inMessage(3, repeated(count, 1))),
      REQUEST_LIMITS.rank,
      'dimensions of a tensor',
    ],
    ['unknown fields', (count) => repeated(count, field(15, 0), 0), REQUEST_LIMITS.fields, 'protobuf fields'],
    [
      'a name given again and again',
      (count) => repeated(count, field(1, 2), 0),
      REQUEST_LIMITS.fields,
      'protobuf fields',
    ],
    ['bytes of a name', (count) => inMessage(1, Buffer.alloc(count, 'n')), REQUEST_LIMITS.nameBytes, 'bytes in a name'],
    ['bytes of an id', (count) => inMessage(3, Buffer.alloc(count, 'n')), REQUEST_LIMITS.nameBytes, 'bytes in a name'],
    [
      'bytes of parameters',
      (count) => inMessage(4, inMessage(2, inMessage(3, Buffer.alloc(count, 't')))),
      REQUEST_LIMITS.parameterBytes,
      'bytes of parameters',
    ],
    [
      'pieces of contents',
      (count) => inMessage(5, repeated(count, field(5, 2), 0)),
      1024,
      'pieces of typed contents in a tensor',
    ],
    [
      'packed runs of contents',
      (count) => inMessage(5, inMessage(5, repeated(count, field(1, 2), 1, 1))),
      1024,
      'pieces of typed contents in a tensor',
    ],
  ])('limits %s', (_, message, limit, what) => {
    const limited = { code: 'INVALID_ARG', message: `expected a request with at most ${limit} ${what}, got more` };
    // Whatever else is wrong with it, it is not that.
    const within = outcomeOf(message(limit));
    expect(within).not.toContain('expected a request with at most');
    expect(refusal(() => decodeBytes(message(limit + 1)))).toEqual(limited);
  });
});

function outcomeOf(message: Buffer): string {
  try {
    decodeBytes(message);
    return 'decoded';
  } catch (error) {
    return String(error);
  }
}

describe('a message with long contents', () => {
  const pausesOf = (message: Uint8Array) => {
    const work = decodeWhole(message);
    let pauses = 0;
    let step = work.next();
    for (; step.done !== true; step = work.next()) pauses++;
    return { pauses, request: step.value.request };
  };
  const withContents = (datatype: string, contents: object) =>
    encode({ modelName: 'm', inputs: [{ name: 'x', datatype, shape: [1n], contents }] });

  it.each<[string, string, (count: number) => object]>([
    ['integers', 'INT32', (count) => ({ intContents: new Array<number>(count).fill(300) })],
    ['strings', 'BYTES', (count) => ({ bytesContents: new Array<Uint8Array>(count).fill(Uint8Array.of(1, 2, 3)) })],
  ])('takes time in proportion to its bytes, with pauses: %s', (_, datatype, contents) => {
    const few = pausesOf(withContents(datatype, contents(200_000))).pauses;
    const many = pausesOf(withContents(datatype, contents(800_000))).pauses;
    expect(few).toBeGreaterThan(1);
    expect(many / few).toBeGreaterThan(2.5);
    expect(many / few).toBeLessThan(5.5);
    expect(pausesOf(withContents(datatype, contents(1000))).pauses).toBe(0);
  });

  it('pauses within a long string', () => {
    const text = Buffer.alloc(8 << 20, 'abc');
    const { pauses, request } = pausesOf(withContents('BYTES', { bytesContents: [text] }));
    expect(pauses).toBeGreaterThanOrEqual(text.length / PAUSE_BYTES);
    expect(text.equals(request.inputs[0]!.bytes.subarray(4))).toBe(true);
  });

  it('is no obstacle to others that are read while it pauses', () => {
    const contents = { intContents: Array.from({ length: 300_000 }, (_, i) => i) };
    const long = decodeWhole(withContents('INT32', contents));
    expect(long.next().done).toBe(false);
    const other = encode({
      modelName: 'other',
      inputs: [{ name: 'y', datatype: 'INT8', shape: [1n], contents: { intContents: [7] } }],
    });
    expect(decodeBytes(other).inputs[0]).toMatchObject({ name: 'y', bytes: Buffer.of(7) });
    const { inputs } = finishPaced(long).request;
    const values = new Int32Array(inputs[0]!.bytes.slice().buffer);
    expect([values.length, values[299_999]]).toEqual([300_000, 299_999]);
  });

  it('says which memory belongs to its inputs alone', () => {
    const raw = Buffer.from(
      encode({ modelName: 'm', inputs: [{ name: 'x' }], rawInputContents: [new Uint8Array(2 << 20)] }),
    );
    const whole = new Uint8Array(raw);
    expect(pausesOf(whole).request.memory).toEqual([whole.buffer]);
    const part = new Uint8Array(whole.length + 1);
    part.set(whole);
    expect(pausesOf(part.subarray(0, whole.length)).request.memory).toBeUndefined();
    const { memory, inputs } = pausesOf(
      withContents('INT32', { intContents: new Array<number>(300_000).fill(1) }),
    ).request;
    expect(memory).toEqual([inputs[0]!.bytes.buffer]);
  });
});

describe('typed contents', () => {
  it.each([
    ['BOOL', { boolContents: [true, false, true] }, Buffer.from([1, 0, 1])],
    ['INT8', { intContents: [-128, 0, 127] }, Buffer.from(Int8Array.of(-128, 0, 127).buffer)],
    ['INT16', { intContents: [-32768, 1, 32767] }, Buffer.from(Int16Array.of(-32768, 1, 32767).buffer)],
    [
      'INT32',
      { intContents: [-(2 ** 31), -1, 2 ** 31 - 1] },
      Buffer.from(Int32Array.of(-(2 ** 31), -1, 2 ** 31 - 1).buffer),
    ],
    [
      'INT64',
      { int64Contents: [-(2n ** 63n), -1n, 2n ** 63n - 1n] },
      Buffer.from(BigInt64Array.of(-(2n ** 63n), -1n, 2n ** 63n - 1n).buffer),
    ],
    ['UINT8', { uintContents: [0, 1, 255] }, Buffer.from([0, 1, 255])],
    ['UINT16', { uintContents: [0, 300, 65535] }, Buffer.from(Uint16Array.of(0, 300, 65535).buffer)],
    ['UINT32', { uintContents: [0, 1, 2 ** 32 - 1] }, Buffer.from(Uint32Array.of(0, 1, 2 ** 32 - 1).buffer)],
    [
      'UINT64',
      { uint64Contents: [0n, 1n, 2n ** 64n - 1n] },
      Buffer.from(BigUint64Array.of(0n, 1n, 2n ** 64n - 1n).buffer),
    ],
    ['FP32', { fp32Contents: [1.5, -0, Infinity] }, Buffer.from(Float32Array.of(1.5, -0, Infinity).buffer)],
    ['FP64', { fp64Contents: [1.5, NaN, 1e300] }, Buffer.from(Float64Array.of(1.5, NaN, 1e300).buffer)],
    [
      'BYTES',
      { bytesContents: [Buffer.from('ab'), Buffer.alloc(0), Buffer.from([0xff])] },
      Buffer.from([2, 0, 0, 0, 97, 98, 0, 0, 0, 0, 1, 0, 0, 0, 255]),
    ],
  ])('of %s become its raw form', (datatype, contents, expected) => {
    expect(decodeInput(datatype, contents)).toEqual(expected);
  });

  it('take no more memory than a tensor may have', () => {
    const count = (REQUEST_LIMITS.contentsBytes + 1) / 8;
    const head = (number: number, length: number) => {
      const bytes = [field(number, 2)];
      for (; length > 127; length >>>= 7) bytes.push((length & 127) | 128);
      return Buffer.from([...bytes, length]);
    };
    const numbers = head(3, count);
    const contents = head(5, numbers.length + count);
    const datatype = Buffer.concat([head(2, 5), Buffer.from('INT64')]);
    const input = head(5, datatype.length + contents.length + numbers.length + count);
    const start = Buffer.concat([input, datatype, contents, numbers]);
    // Zeros, a byte each, that would take eight each.
    const message = Buffer.alloc(start.length + count);
    start.copy(message);
    expect(refusal(() => decodeBytes(message))).toEqual({
      code: 'INVALID_ARG',
      message: 'expected a request with at most 2147483647 bytes in a tensor of typed contents, got more',
    });
  });

  it.each(['BOOL', 'INT8', 'INT64', 'FP32', 'BYTES', 'FP16', 'BF16'])(
    'that are present but empty are no bytes of %s',
    (datatype) => {
      expect(decodeInput(datatype, {})).toEqual(Buffer.alloc(0));
    },
  );

  it.each([
    ['INT8', { intContents: [1, 128, 0] }, 128, '-128 to 127'],
    ['INT8', { intContents: [-129, 0, 0] }, -129, '-128 to 127'],
    ['INT16', { intContents: [0, 0, 32_768] }, 32_768, '-32768 to 32767'],
    ['UINT8', { uintContents: [256, 0, 0] }, 256, '0 to 255'],
    ['UINT16', { uintContents: [4_000_000_000, 0, 0] }, 4_000_000_000, '0 to 65535'],
  ])('of %s are refused where a value does not fit', (datatype, contents, value, range) => {
    expect(refusal(() => decodeInput(datatype, contents))).toEqual({
      code: 'INVALID_ARG',
      message: `unexpected value ${value} in explicit tensor data for input tensor 'x' for model 'm', expected datatype '${datatype}' with values from ${range}`,
    });
  });

  const FIELDS = {
    BOOL: { boolContents: [true] },
    INT32: { intContents: [1] },
    INT64: { int64Contents: [1n] },
    UINT32: { uintContents: [1] },
    UINT64: { uint64Contents: [1n] },
    FP32: { fp32Contents: [1] },
    FP64: { fp64Contents: [1] },
    BYTES: { bytesContents: [Buffer.from('x')] },
  };
  const HOME: Record<string, keyof typeof FIELDS | undefined> = {
    BOOL: 'BOOL',
    INT8: 'INT32',
    INT16: 'INT32',
    INT32: 'INT32',
    INT64: 'INT64',
    UINT8: 'UINT32',
    UINT16: 'UINT32',
    UINT32: 'UINT32',
    UINT64: 'UINT64',
    FP32: 'FP32',
    FP64: 'FP64',
    BYTES: 'BYTES',
    FP16: undefined,
    BF16: undefined,
  };
  const pairs = Object.keys(HOME).flatMap((datatype) =>
    (Object.keys(FIELDS) as (keyof typeof FIELDS)[])
      .filter((name) => name !== HOME[datatype])
      .map((name) => [datatype, name] as const),
  );
  it.each(pairs)('of %s are refused in the field for %s', (datatype, name) => {
    expect(refusal(() => decodeInput(datatype, FIELDS[name]))).toEqual({
      code: 'INVALID_ARG',
      message: `unexpected explicit tensor data for input tensor 'x' for model 'm' of type '${name}', expected datatype '${datatype}'`,
    });
  });

  it('of an unknown datatype are refused under the name that Triton gives it', () => {
    expect(refusal(() => decodeInput('fp32', { fp32Contents: [1] })).message).toBe(
      `unexpected explicit tensor data for input tensor 'x' for model 'm' of type 'FP32', expected datatype '<invalid>'`,
    );
  });

  it('are refused in two fields, the lower wrong one first', () => {
    expect(refusal(() => decodeInput('FP32', { fp32Contents: [1, 2, 3], intContents: [1, 2, 3] })).message).toBe(
      `unexpected explicit tensor data for input tensor 'x' for model 'm' of type 'INT32', expected datatype 'FP32'`,
    );
    expect(refusal(() => decodeInput('INT32', { intContents: [1], fp32Contents: [1, 2, 3] })).message).toBe(
      `unexpected explicit tensor data for input tensor 'x' for model 'm', binary data was already supplied.`,
    );
  });

  it('may come unpacked, in pieces, and in several messages', () => {
    const floats = Buffer.from(Float32Array.of(1, 2, 3, 4, 5).buffer);
    const one = (i: number) => Buffer.concat([Buffer.from([field(6, 5)]), floats.subarray(4 * i, 4 * i + 4)]);
    const packed = Buffer.concat([Buffer.from([field(6, 2), 8]), floats.subarray(8, 16)]);
    const wrap = (number: number, body: Buffer) => Buffer.concat([Buffer.from([field(number, 2), body.length]), body]);
    const contents = [wrap(5, Buffer.concat([one(0), one(1), packed])), wrap(5, one(4))];
    const input = wrap(5, Buffer.concat([Buffer.from([18, 4]), Buffer.from('FP32'), ...contents]));
    expect(Buffer.from(decodeBytes(input).inputs[0]!.bytes)).toEqual(floats);
  });

  it('may come before the datatype on the wire', () => {
    const contents = Buffer.from([field(5, 2), 4, field(2, 2), 2, 0x05, 0x07]);
    const body = Buffer.concat([contents, Buffer.from([18, 4]), Buffer.from('INT8')]);
    const message = Buffer.concat([Buffer.from([field(5, 2), body.length]), body]);
    expect([...decodeBytes(message).inputs[0]!.bytes]).toEqual([5, 7]);
  });

  it('pass over unknown fields among them', () => {
    const contents = [field(9, 0), 1, field(8, 0), 1, field(1, 5), 0, 0, 0, 0, field(2, 0), 5];
    const body = Buffer.concat([
      Buffer.from([18, 4]),
      Buffer.from('INT8'),
      Buffer.from([field(5, 2), contents.length, ...contents]),
    ]);
    const message = Buffer.concat([Buffer.from([field(5, 2), body.length]), body]);
    expect([...decodeBytes(message).inputs[0]!.bytes]).toEqual([5]);
  });

  /** A request of one INT64 input with these contents. */
  function withContents(contents: Buffer): Buffer {
    const input = Buffer.concat([
      Buffer.from([field(1, 2), 1, 0x78, field(2, 2), 5]),
      Buffer.from('INT64'),
      Buffer.from([field(3, 2), 1, 1, field(5, 2), contents.length]),
      contents,
    ]);
    return Buffer.concat([Buffer.from([field(1, 2), 1, 0x6d, field(5, 2), input.length]), input]);
  }

  it.each([
    ['that go on for more than ten bytes', [...new Array<number>(10).fill(0x80), 0x01]],
    ['whose last one is cut off', [0x01, 0x80]],
  ])('refuse packed integers %s', (_, packed) => {
    const contents = Buffer.from([field(3, 2), packed.length, ...packed]);
    const message = withContents(contents);
    expect(refusal(() => decodeBytes(message)).code).toBe('INTERNAL');
  });

  it('may have an empty list among others', () => {
    const contents = Buffer.from([field(2, 2), 0, field(3, 2), 1, 7]);
    const message = withContents(contents);
    expect(Buffer.from(decodeBytes(message).inputs[0]!.bytes).toString('hex')).toBe('0700000000000000');
  });

  it('take unpacked integers of any length', () => {
    const elements = [field(2, 0), 5, field(2, 0), 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01];
    const body = Buffer.concat([
      Buffer.from([18, 4]),
      Buffer.from('INT8'),
      Buffer.from([field(5, 2), elements.length, ...elements]),
    ]);
    const message = Buffer.concat([Buffer.from([field(5, 2), body.length]), body]);
    expect([...decodeBytes(message).inputs[0]!.bytes]).toEqual([5, 255]);
  });
});

describe('parameters of tensors', () => {
  const region = create(InferParameterSchema, { parameterChoice: { case: 'stringParam', value: 'r' } });
  const size = create(InferParameterSchema, { parameterChoice: { case: 'int64Param', value: 4n } });
  const sharedMemory = { shared_memory_region: region, shared_memory_byte_size: size };
  const input = { name: 'x', datatype: 'FP32', shape: [1n] };

  it('that mean nothing to the server change nothing', () => {
    const inputs = [{ ...input, parameters: { other: size } }];
    expect(decode({ inputs, rawInputContents: [new Uint8Array(4)] }).inputs[0]!.bytes).toHaveLength(4);
  });

  /** Regions that hold so many bytes of their name's first letter; `outputs` gets those of outputs. */
  const regions = (outputs: unknown[] = []): SharedMemoryAccess => ({
    // eslint-disable-next-line require-yield
    *input({ region: name, byteSize }) {
      return { bytes: Buffer.alloc(Number(byteSize), name), memory: undefined };
    },
    output: (name, reference) => void outputs.push([name, reference]),
  });
  const complete = (init: RequestInit, access: SharedMemoryAccess) =>
    finishPaced(finishPaced(decodeInferRequest(encode(init))).complete({} as CompleteModelConfig, access));

  it('that name shared memory take the data from there, and no raw entry', () => {
    const inputs = [
      { ...input, name: 'a' },
      { ...input, name: 'b', parameters: sharedMemory },
      { ...input, name: 'c' },
    ];
    const rawInputContents = [Buffer.from('aaaa'), Buffer.from('cccc'), Buffer.from('dddd')];
    const { request } = complete({ inputs, rawInputContents }, regions());
    expect(request.inputs.map(({ bytes }) => Buffer.from(bytes).toString())).toEqual(['aaaa', 'rrrr', 'cccc']);
  });

  it('that name shared memory beside typed contents are refused', () => {
    const inputs = [{ ...input, parameters: sharedMemory, contents: { fp32Contents: [1] } }];
    expect(refusal(() => complete({ modelName: 'm', inputs }, regions()))).toEqual({
      code: 'INVALID_ARG',
      message: "unexpected 'content' provided when using shared memory for input tensor 'x' for model 'm'",
    });
  });

  it('of outputs are taken for their own output', () => {
    const top = (count: bigint) =>
      create(InferParameterSchema, { parameterChoice: { case: 'int64Param', value: count } });
    const outputs = [
      { name: 'plain' },
      { name: 'first', parameters: { classification: top(2n) } },
      { name: 'memory', parameters: sharedMemory },
      { name: 'other', parameters: { other: size } },
      { name: 'last', parameters: { classification: top(5n) } },
      { parameters: { classification: top(1n) } },
    ];
    const wanted: unknown[] = [];
    const { request, classes } = complete({ outputs }, regions(wanted));
    expect(request.outputs).toEqual(['plain', 'first', 'memory', 'other', 'last', '']);
    expect(Object.fromEntries(classes!)).toEqual({ first: 2, last: 5, '': 1 });
    expect(wanted).toEqual([['memory', expect.objectContaining({ region: 'r', byteSize: 4 })]]);
    const { classes: none } = complete({ outputs: [{ name: 'other', parameters: { other: size } }] }, regions(wanted));
    expect([none, wanted.length]).toEqual([undefined, 1]);
  });

  it('that name shared memory are refused, of inputs and of outputs', () => {
    const outputs = [{ name: 'y', parameters: sharedMemory }];
    for (const init of [{ inputs: [{ ...input, parameters: sharedMemory }] }, { outputs }]) {
      expect(refusal(() => decode(init)).code).toBe('UNSUPPORTED');
    }
  });
});

describe('where the data of an input is looked for', () => {
  const a = { name: 'a', datatype: 'FP32', shape: [1n] };
  const b = { name: 'b', datatype: 'FP32', shape: [1n] };
  const typed = { contents: { fp32Contents: [1] } };
  const raw = new Uint8Array(4);

  it.each([
    ['neither raw nor typed', [a], [], "unable to find data for input tensor 'a' for model 'm' in request."],
    ['raw for the first only', [a, b], [raw], "unable to find data for input tensor 'b' for model 'm' in request."],
    [
      'typed for the first only',
      [{ ...a, ...typed }, b],
      [],
      "unable to find data for input tensor 'b' for model 'm' in request.",
    ],
    [
      'typed and raw',
      [{ ...a, ...typed }, b],
      [raw],
      "contents field must not be specified when using raw_input_contents for 'a' for model 'm'",
    ],
    [
      'empty contents and raw',
      [a, { ...b, contents: {} }],
      [raw, raw],
      "contents field must not be specified when using raw_input_contents for 'b' for model 'm'",
    ],
  ])('%s', (_, inputs, rawInputContents, message) => {
    expect(refusal(() => decode({ modelName: 'm', inputs, rawInputContents }))).toEqual({
      code: 'INVALID_ARG',
      message,
    });
  });
});

describe('which of several errors wins', () => {
  const uint64 = create(InferParameterSchema, { parameterChoice: { case: 'uint64Param', value: 1n } });
  const classification = create(InferParameterSchema, { parameterChoice: { case: 'int64Param', value: 0n } });
  const input = { name: 'x', datatype: 'FP32', shape: [1n] };
  const everything = {
    modelName: 'm',
    parameters: { p: uint64 },
    inputs: [input],
    outputs: [{ name: 'y', parameters: { classification } }],
  };
  const nobody = () => {
    throw new TritonError('NOT_FOUND', 'no such model');
  };

  it('the model before parameters, data and outputs', () => {
    const bytes = encode(everything);
    expect(refusal(() => decodeBytes(bytes, nobody)).code).toBe('NOT_FOUND');
  });

  it('parameters before data', () => {
    expect(refusal(() => decode(everything)).message).toContain("'p' parameter");
  });

  it('data before parameters of outputs', () => {
    expect(refusal(() => decode({ ...everything, parameters: {} })).message).toContain('unable to find data');
    const complete = { ...everything, parameters: {}, rawInputContents: [new Uint8Array(4)] };
    expect(refusal(() => decode(complete)).message).toContain("'classification' parameter");
  });

  it('is told the model and the version that the request names', () => {
    const asked: string[] = [];
    decodeBytes(encode({ modelName: 'm', modelVersion: '7', id: 'r' }), (...names) => void asked.push(...names));
    expect(asked).toEqual(['m', '7', 'r']);
  });
});

describe('dimensions beyond 2^53', () => {
  const refusalOf = (datatype: string, shape: readonly bigint[]) =>
    refusal(() =>
      decode({
        modelName: 'm',
        inputs: [{ name: 'x', datatype, shape: [...shape] }],
        rawInputContents: [new Uint8Array(4)],
      }),
    );

  it('are refused as over HTTP, with what they were', () => {
    expect(refusalOf('UINT8', [9007199254740993n, 1025n])).toEqual({
      code: 'INVALID_ARG',
      message:
        "invalid shape for input 'x': shape [9007199254740993,1025] causes total element count to exceed maximum size of 9223372036854775807",
    });
    expect(refusalOf('FP64', [1n, 2305843009213693953n])).toEqual({
      code: 'INVALID_ARG',
      message:
        "byte size overflow for input 'x': element count (2305843009213693953) * data type size (8) exceeds maximum allowed size (9223372036854775807)",
    });
  });

  it('that are negative, or fit beside a zero, are left to the core', () => {
    const shapes = [[-9007199254740993n], [9007199254740993n, 0n], [9007199254740993n]];
    for (const shape of shapes) {
      const input = { name: 'x', datatype: 'UINT8', shape };
      const { inputs } = decode({ modelName: 'm', inputs: [input], rawInputContents: [new Uint8Array(4)] });
      expect(inputs[0]!.shape).toEqual(shape.map(Number));
    }
  });
});
