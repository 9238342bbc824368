import { describe, expect, it } from 'vitest';

import { readNpy } from './read-npy.js';

function npy(descr: string, shape: string, data: Uint8Array, { fortran = 'False', version = 1 } = {}): Buffer {
  const header = `{'descr': '${descr}', 'fortran_order': ${fortran}, 'shape': ${shape}, }\n`;
  const length = Buffer.alloc(version === 1 ? 2 : 4);
  if (version === 1) length.writeUInt16LE(header.length);
  else length.writeUInt32LE(header.length);
  return Buffer.concat([
    Buffer.from('\x93NUMPY', 'latin1'),
    Buffer.from([version, 0]),
    length,
    Buffer.from(header),
    data,
  ]);
}

const floats = Buffer.from(Float32Array.of(1, 2, 3, 4, 5, 6).buffer);

describe("numpy's files", () => {
  it.each([1, 2, 3])('are tensors, in version %s of the format', (version) => {
    const tensor = readNpy(npy('<f4', '(2, 3)', floats, { version }), 'x.npy');
    expect([tensor.dtype, tensor.shape, tensor.toNested()]).toEqual(['float32', [2, 3], [[1, 2, 3], [4, 5, 6]]]); // prettier-ignore
  });

  it('have any number of dimensions', () => {
    expect(readNpy(npy('<f4', '(6,)', floats), 'x.npy').shape).toEqual([6]);
    expect(readNpy(npy('|u1', '()', Uint8Array.of(7)), 'x.npy')).toMatchObject({ shape: [], dtype: 'uint8' });
    expect(readNpy(npy('<i8', '(0, 3)', Buffer.alloc(0)), 'x.npy').shape).toEqual([0, 3]);
    expect(readNpy(npy('<f4', '(6,)', floats, { fortran: 'True' }), 'x.npy').shape).toEqual([6]);
  });

  it.each<[string, Uint8Array, string]>([
    ['something else', Buffer.from('hello world'), 'x.npy is no .npy file'],
    ['nothing', Buffer.alloc(0), 'x.npy is no .npy file'],
    ['a head that is cut', npy('<f4', '(6,)', floats).subarray(0, 9), 'x.npy is cut short'],
    ['elements that are cut', npy('<f4', '(6,)', floats.subarray(0, 20)), 'x.npy has 20 bytes of elements, expected 24'],
    ['big-endian numbers', npy('>f4', '(6,)', floats), "x.npy has elements '>f4', expected little-endian"],
    ['complex numbers', npy('<c8', '(3,)', floats), "x.npy has elements '<c8'"],
    ['texts', npy('<U2', '(3,)', floats), "x.npy has elements '<U2'"],
    ["Fortran's order", npy('<f4', '(2, 3)', floats, { fortran: 'True' }), "x.npy is in Fortran's order"],
    ['records', npy("[('a', '<f4')]", '(6,)', floats), 'x.npy has an array that is no tensor of numbers'],
  ])('are refused for %s', (_, bytes, message) => {
    expect(() => readNpy(bytes, 'x.npy')).toThrow(message);
  }); // prettier-ignore
});
