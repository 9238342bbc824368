import fc from 'fast-check';
import { afterEach, describe, expect, it, vi } from 'vitest';

import { DTYPES, isBytesDtype, type DataOf, type Dtype, type NumericDtype } from './dtype.js';
import { BytesScan, decodeRaw, encodeRaw, rawByteLength, writeRaw } from './raw.js';

const NUMERIC = (Object.keys(DTYPES) as Dtype[]).filter((dtype): dtype is NumericDtype => !isBytesDtype(dtype));

function bytesOf(hex: string): Uint8Array {
  return new Uint8Array(Buffer.from(hex.replaceAll(' ', ''), 'hex'));
}

/** The same bytes, `offset` bytes into a buffer. */
function shifted(bytes: Uint8Array, offset: number): Uint8Array {
  const whole = new Uint8Array(bytes.length + offset);
  whole.set(bytes, offset);
  return whole.subarray(offset);
}

const WIRE: [Dtype, DataOf[Dtype], string][] = [
  ['bool', Uint8Array.of(1, 0), '01 00'],
  ['uint8', Uint8Array.of(1, 255), '01 ff'],
  ['uint16', Uint16Array.of(1, 65_534), '0100 feff'],
  ['uint32', Uint32Array.of(1, 4_294_967_294), '01000000 feffffff'],
  ['uint64', BigUint64Array.of(1n, 2n ** 64n - 2n), '0100000000000000 feffffffffffffff'],
  ['int8', Int8Array.of(1, -2), '01 fe'],
  ['int16', Int16Array.of(1, -2), '0100 feff'],
  ['int32', Int32Array.of(1, -2), '01000000 feffffff'],
  ['int64', BigInt64Array.of(1n, -2n), '0100000000000000 feffffffffffffff'],
  ['float16', Uint16Array.of(0x3c00), '003c'],
  ['bfloat16', Uint16Array.of(0x3f80), '803f'],
  ['float32', Float32Array.of(1, -2), '0000803f 000000c0'],
  ['float64', Float64Array.of(1), '000000000000f03f'],
  ['bytes', [Uint8Array.of(0, 0xff, 0), new Uint8Array(0), Uint8Array.of(0)], '03000000 00ff00 00000000 01000000 00'],
  ['string', ['aü', '', 'b\0'], '03000000 61c3bc 00000000 02000000 6200'],
];

describe('the wire form', () => {
  it.each(WIRE)('of %s is little-endian, in both directions', (dtype, data, hex) => {
    const bytes = bytesOf(hex);
    expect(new Uint8Array(encodeRaw(dtype, data))).toEqual(bytes);
    expect(rawByteLength(dtype, data)).toBe(bytes.byteLength);
    expect(decodeRaw(dtype, bytes)).toEqual(data);
  });

  it.each(Object.keys(DTYPES) as Dtype[])('of no elements of %s is no bytes', (dtype) => {
    const data = decodeRaw(dtype, new Uint8Array(0));
    expect(data).toHaveLength(0);
    expect(encodeRaw(dtype, data)).toHaveLength(0);
    expect(decodeRaw(dtype, shifted(new Uint8Array(0), 1))).toHaveLength(0);
  });

  it.each(NUMERIC)('of %s is viewed where it lies aligned, and copied where not', (dtype) => {
    const { byteSize } = DTYPES[dtype];
    const bytes = Uint8Array.from({ length: 2 * byteSize }, (_, i) => i + 1);
    for (let offset = 0; offset <= 8; offset++) {
      const source = shifted(bytes, offset);
      const data = decodeRaw(dtype, source);
      expect(data).toHaveLength(2);
      expect(new Uint8Array(encodeRaw(dtype, data))).toEqual(bytes);
      expect(data.buffer === source.buffer).toBe(offset % byteSize === 0);
    }
  });

  it('of a view of larger memory is of that view only', () => {
    const data = Float32Array.of(1, 2, 3, 4).subarray(1, 3);
    expect(new Float32Array(new Uint8Array(encodeRaw('float32', data)).buffer)).toEqual(Float32Array.of(2, 3));
    expect(rawByteLength('float32', data)).toBe(8);
  });

  it('of bytes is viewed without a copy, as plain Uint8Arrays whatever the memory is', () => {
    const wire = Buffer.from('02000000aabb', 'hex');
    const [element] = decodeRaw('bytes', wire);
    expect(Buffer.isBuffer(element)).toBe(false);
    expect(element).toEqual(Uint8Array.of(0xaa, 0xbb));
    wire[4] = 1;
    expect(element![0]).toBe(1);
  });

  it('of a string with a lone surrogate has as many bytes as were counted', () => {
    const data = ['\ud800x', 'y'];
    const bytes = encodeRaw('string', data);
    expect(bytes).toHaveLength(rawByteLength('string', data));
    expect(decodeRaw('string', bytes)).toEqual(['\ufffdx', 'y']);
  });
});

describe('writeRaw', () => {
  it.each(WIRE)('writes %s at an offset and returns where it ended', (dtype, data, hex) => {
    const expected = bytesOf(hex);
    const target = Buffer.alloc(expected.byteLength + 5, 0x77);
    expect(writeRaw(dtype, data, target, 3)).toBe(3 + expected.byteLength);
    expect(new Uint8Array(target.subarray(3, -2))).toEqual(expected);
    expect([...target.subarray(0, 3), ...target.subarray(-2)]).toEqual([0x77, 0x77, 0x77, 0x77, 0x77]);
  });
});

describe('encodeRaw', () => {
  it('gives memory of its own', () => {
    const bytes = encodeRaw('uint8', Uint8Array.of(1, 2, 3));
    expect(bytes.buffer.byteLength).toBe(3);
  });
});

/** What a scan finds, so many elements at a time. */
function scanBytesElements(bytes: Uint8Array, step = Infinity) {
  const scan = new BytesScan(bytes);
  while (!scan.advance(step));
  return scan.fault ?? { kind: 'elements' as const, count: scan.count };
}

describe('BytesScan', () => {
  it.each([
    ['nothing', '', { kind: 'elements', count: 0 }],
    ['three elements', '01000000 61 00000000 02000000 6162', { kind: 'elements', count: 3 }],
    ['a length cut off', '01000000 61 0100', { kind: 'incomplete length', available: 2 }],
    ['an element cut off', '03000000 6161', { kind: 'incomplete element', expected: 3, available: 2 }],
    ['a length without its element', '01000000', { kind: 'incomplete element', expected: 1, available: 0 }],
    ['the largest length', 'ffffffff 00', { kind: 'incomplete element', expected: 4_294_967_295, available: 1 }],
  ])('finds %s', (_, hex, scan) => {
    expect(scanBytesElements(bytesOf(hex))).toEqual(scan);
    expect(scanBytesElements(shifted(bytesOf(hex), 3))).toEqual(scan);
    expect(scanBytesElements(bytesOf(hex), 1)).toEqual(scan);
  });

  it('counts as many elements as are decoded, for any bytes that are whole', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 40 }), (bytes) => {
        const scan = scanBytesElements(bytes);
        const whole = scan.kind === 'elements' ? decodeRaw('bytes', bytes) : [];
        const missing = scan.kind === 'incomplete element' ? scan.expected : 4;
        const count = scan.kind === 'elements' ? scan.count : 0;
        const available = scan.kind === 'elements' ? 0 : scan.available;
        expect(whole).toHaveLength(count);
        expect(available).toBeLessThan(missing);
      }),
    );
  });
});

describe('any data', () => {
  const arrays: Record<NumericDtype, fc.Arbitrary<DataOf[NumericDtype]>> = {
    bool: fc.uint8Array({ max: 1 }),
    uint8: fc.uint8Array(),
    uint16: fc.uint16Array(),
    uint32: fc.uint32Array(),
    uint64: fc.bigUint64Array(),
    int8: fc.int8Array(),
    int16: fc.int16Array(),
    int32: fc.int32Array(),
    int64: fc.bigInt64Array(),
    float16: fc.uint16Array(),
    bfloat16: fc.uint16Array(),
    float32: fc.float32Array(),
    float64: fc.float64Array(),
  };

  it.each(NUMERIC)('of %s comes back the same from wherever it lay', (dtype) => {
    fc.assert(
      fc.property(arrays[dtype] as fc.Arbitrary<DataOf[NumericDtype]>, fc.nat(16), (data, offset) => {
        expect(decodeRaw(dtype, shifted(encodeRaw(dtype, data), offset))).toEqual(data);
      }),
    );
  });

  it('of bytes comes back the same', () => {
    fc.assert(
      fc.property(fc.array(fc.uint8Array()), fc.nat(8), (data, offset) => {
        const bytes = shifted(encodeRaw('bytes', data), offset);
        expect(scanBytesElements(bytes)).toEqual({ kind: 'elements', count: data.length });
        expect(decodeRaw('bytes', bytes)).toEqual(data);
      }),
    );
  });

  it('of strings comes back the same', () => {
    fc.assert(
      fc.property(fc.array(fc.string({ unit: 'binary' })), (data) => {
        expect(decodeRaw('string', encodeRaw('string', data))).toEqual(data);
      }),
    );
  });
});

describe('a host that is big-endian', () => {
  afterEach(() => {
    vi.resetModules();
    vi.unstubAllGlobals();
  });

  it('is refused when the module is loaded', async () => {
    vi.resetModules();
    vi.stubGlobal('Uint16Array', { of: () => Uint8Array.of(0, 1) });
    await expect(import('./raw.js')).rejects.toMatchObject({
      code: 'UNSUPPORTED',
      message: 'TSTriton runs on little-endian machines only',
    });
  });
});
