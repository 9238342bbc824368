// Makes numpy's files.

/** A file of an array. `descr` is numpy's word for the elements, `shape` a tuple of Python. */
export function npy(
  descr: string,
  shape: string,
  data: ArrayBufferView,
  { fortran = 'False', version = 1 } = {},
): Buffer {
  const header = `{'descr': '${descr}', 'fortran_order': ${fortran}, 'shape': ${shape}, }\n`;
  const length = Buffer.alloc(version === 1 ? 2 : 4);
  if (version === 1) length.writeUInt16LE(header.length);
  else length.writeUInt32LE(header.length);
  return Buffer.concat([
    Buffer.from('\x93NUMPY', 'latin1'),
    Buffer.from([version, 0]),
    length,
    Buffer.from(header),
    Buffer.from(data.buffer, data.byteOffset, data.byteLength),
  ]);
}
