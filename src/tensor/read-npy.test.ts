import { describe, expect, it } from 'vitest';

import { npy } from '../../test/support/npy.js';
import { readNpy } from './read-npy.js';

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

  it("may lie in Fortran's order", () => {
    const columns = npy('<f4', '(2, 3)', floats, { fortran: 'True' });
    expect(readNpy(columns, 'x.npy').toNested()).toEqual([[1, 3, 5], [2, 4, 6]]); // prettier-ignore
    const cube = Buffer.from(Int16Array.from({ length: 24 }, (_, i) => i).buffer);
    const nested = readNpy(npy('<i2', '(2, 3, 4)', cube, { fortran: 'True' }), 'x.npy').toNested() as number[][][];
    for (let i = 0; i < 2; i++)
      for (let j = 0; j < 3; j++) for (let k = 0; k < 4; k++) expect(nested[i]![j]![k]).toBe(i + 2 * j + 6 * k);
    expect(readNpy(npy('<f4', '(0, 3)', Buffer.alloc(0), { fortran: 'True' }), 'x.npy').shape).toEqual([0, 3]);
  });

  it('have texts, without the NULs that pad them', () => {
    const text = Buffer.from(Uint32Array.from('aé\0🙂b\0c\0\0', (char) => char.codePointAt(0)!).buffer);
    const wide = readNpy(npy('<U3', '(3, 1)', text), 'x.npy');
    expect([wide.dtype, wide.toNested()]).toEqual(['string', [['aé'], ['🙂b'], ['c']]]);
    const bytes = readNpy(npy('|S2', '(2, 2)', Buffer.from('abc\0\xff\0\0\0', 'latin1'), { fortran: 'True' }), 'x.npy');
    expect([bytes.dtype, bytes.shape]).toEqual(['bytes', [2, 2]]);
    const [a, b, c, d] = bytes.data as readonly Uint8Array[];
    expect([a, b, c, d].map((each) => [...each!])).toEqual([[97, 98], [255], [99], []]);
  });

  it.each<[string, Uint8Array, string]>([
    ['something else', Buffer.from('hello world'), 'x.npy is no .npy file'],
    ['nothing', Buffer.alloc(0), 'x.npy is no .npy file'],
    ['a head that is cut', npy('<f4', '(6,)', floats).subarray(0, 9), 'x.npy is cut short'],
    ['elements that are cut', npy('<f4', '(6,)', floats.subarray(0, 20)), 'x.npy has 20 bytes of elements, expected 24'],
    ['big-endian numbers', npy('>f4', '(6,)', floats), "x.npy has elements '>f4', expected little-endian"],
    ['complex numbers', npy('<c8', '(3,)', floats), "x.npy has elements '<c8'"],
    ['big-endian texts', npy('>U2', '(3,)', floats), "x.npy has elements '>U2'"],
    ['objects', npy('|O', '(3,)', floats), 'x.npy has an array that is no tensor of numbers or texts'],
    ['records', npy("[('a', '<f4')]", '(6,)', floats), 'x.npy has an array that is no tensor of numbers or texts'],
  ])('are refused for %s', (_, bytes, message) => {
    expect(() => readNpy(bytes, 'x.npy')).toThrow(message);
  }); // prettier-ignore
});
