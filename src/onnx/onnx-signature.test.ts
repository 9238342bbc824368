import { closeSync, ftruncateSync, openSync, readFileSync, writeSync } from 'node:fs';

import { describe, expect, it } from 'vitest';

import {
  delimited,
  externalTensor,
  integer,
  node,
  onnxModel,
  sequenceValue,
  tensor,
  tensorValue,
  varint,
} from '../../test/support/onnx-builder.js';
import { temporaryFolder } from '../../test/support/temporary-files.js';
import { readOnnxSignature } from './onnx-signature.js';

const file = temporaryFolder();

function read(model: Uint8Array) {
  return readOnnxSignature(file('model.onnx', model));
}

function identity(inputs: Buffer[], outputs: Buffer[], initializers: Buffer[] = []): Buffer {
  return onnxModel({ nodes: [node('Identity', ['x'], ['y'])], inputs, outputs, initializers });
}

/** By this process, from files and whatever else; where the system does not tell, 0. */
function bytesRead(): number {
  if (process.platform !== 'linux') return 0;
  return Number(/^rchar: (\d+)$/m.exec(readFileSync('/proc/self/io', 'utf8'))?.[1]);
}

describe('readOnnxSignature', () => {
  it('reads names, types and every kind of dimension', () => {
    const model = identity(
      [tensorValue('x', 'float32', ['batch', 3, null, -1, 0]), tensorValue('ids', 'int64', [])],
      [tensorValue('y', 'string', ['batch'])],
    );
    expect(read(model)).toEqual({
      inputs: [
        { name: 'x', kind: 'tensor', elementType: 1, shape: ['batch', 3, undefined, undefined, undefined] },
        { name: 'ids', kind: 'tensor', elementType: 7, shape: [] },
      ],
      outputs: [{ name: 'y', kind: 'tensor', elementType: 8, shape: ['batch'] }],
      weightFiles: [],
    });
  });

  it('tells a tensor without a rank from one of rank 0', () => {
    const { inputs } = read(identity([tensorValue('x', 'float32')], [tensorValue('y', 'float32', [])]));
    expect(inputs[0]!.shape).toBeUndefined();
  });

  it('names each file that has weights once', () => {
    const weights = ['a', 'b'].map((name) => externalTensor(name, 'float32', [2], 'model.onnx.data'));
    const own = tensor('c', 'float32', [1], Float32Array.of(1));
    const [x, y] = [tensorValue('x', 'float32', ['n']), tensorValue('y', 'float32', ['n'])];
    expect(read(identity([x], [y], [...weights, own])).weightFiles).toEqual(['model.onnx.data']);
  });

  it('tells what is no tensor', () => {
    expect(read(identity([], [sequenceValue('y', 'float32')])).outputs[0]).toMatchObject({
      name: 'y',
      kind: 'sequence',
    });
  });

  it('leaves out inputs that have a value in the file, as older files list their weights', () => {
    const weights = tensor('w', 'float32', [2], Float32Array.of(1, 2));
    const model = identity(
      [tensorValue('x', 'float32', [2]), tensorValue('w', 'float32', [2])],
      [tensorValue('y', 'float32', [2])],
      [weights],
    );
    expect(read(model).inputs.map(({ name }) => name)).toEqual(['x']);
  });

  it('leaves out inputs whose value is sparse', () => {
    const values = tensor('w', 'float32', [1], Float32Array.of(1));
    const graph = Buffer.concat([
      delimited(15, delimited(1, values)),
      delimited(11, tensorValue('w', 'float32', [2])),
      delimited(12, tensorValue('y', 'float32', [2])),
    ]);
    expect(read(delimited(7, graph)).inputs).toEqual([]);
  });

  it('keeps names that are not ASCII', () => {
    expect(read(identity([], [tensorValue('größe', 'float32', ['größe'])])).outputs[0]).toMatchObject({
      name: 'größe',
      shape: ['größe'],
    });
  });

  it('passes over gigabytes of weights without reading them', () => {
    const path = file('large.onnx');
    const weightBytes = 3 * 1024 ** 3;
    const head = Buffer.concat([
      integer(1, 1),
      integer(2, 1),
      delimited(8, 'w'),
      varint(9 * 8 + 2),
      varint(weightBytes),
    ]);
    const values = Buffer.concat([
      delimited(11, tensorValue('x', 'float32', ['n'])),
      delimited(12, tensorValue('y', 'float32', ['n'])),
    ]);
    const initializer = Buffer.concat([varint(5 * 8 + 2), varint(head.length + weightBytes), head]);
    const start = Buffer.concat([
      varint(7 * 8 + 2),
      varint(initializer.length + weightBytes + values.length),
      initializer,
    ]);
    const descriptor = openSync(path, 'w');
    writeSync(descriptor, start, 0, start.length, 0);
    writeSync(descriptor, values, 0, values.length, start.length + weightBytes);
    closeSync(descriptor);
    const before = bytesRead();
    expect(readOnnxSignature(path)).toMatchObject({ inputs: [{ name: 'x' }], outputs: [{ name: 'y' }] });
    expect(bytesRead() - before).toBeLessThan(16 * 1024 ** 2);
  });

  it('reads on where its window ends', () => {
    // One input per size of the nodes before it, so that every field once lies across the end of the window.
    for (let size = 65_450; size < 65_550; size++) {
      const model = Buffer.concat([
        delimited(2, Buffer.alloc(size)),
        identity([tensorValue('x', 'float32', ['batch', 300])], [tensorValue('y', 'float32', ['batch', 300])]),
      ]);
      expect(read(model).inputs).toEqual([{ name: 'x', kind: 'tensor', elementType: 1, shape: ['batch', 300] }]);
    }
  });
});

describe('readOnnxSignature refuses', () => {
  const good = identity([tensorValue('x', 'float32', ['n'])], [tensorValue('y', 'float32', ['n'])]);

  it('a file that is not there', () => {
    const path = file('none.onnx');
    expect(() => readOnnxSignature(path)).toThrow(
      expect.objectContaining({
        code: 'INVALID_ARG',
        message: expect.stringMatching(/^cannot read the ONNX model .*none\.onnx: ENOENT/) as unknown,
      }),
    );
  });

  it('a folder', () => {
    expect(() => readOnnxSignature(file('.'))).toThrow(/cannot read the ONNX model .*not a file/);
  });

  it.each([
    [
      'a pointer of Git LFS',
      Buffer.from('version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12345\n'),
      /is not an ONNX model: Git LFS has not fetched it; run git lfs pull/,
    ],
    ['an empty file', Buffer.alloc(0), /is not an ONNX model: it has no graph/],
    [
      'a file of something else',
      Buffer.from('{"weights": [1, 2, 3], "name": "not this kind of model"}'),
      /is not an ONNX model: it is/,
    ],
    ['a graph without outputs', delimited(7, delimited(2, 'g')), /its graph has no outputs/],
    [
      'a length beyond the end of the file',
      Buffer.from([0x3a, 0xff, 0xff, 0x03, 0x00]),
      /cut short or malformed at byte 0/,
    ],
    ['a varint without end', Buffer.alloc(20, 0xff), /cut short or malformed at byte 0/],
    ['field number 0', Buffer.from([0x02, 0x00]), /cut short or malformed at byte 0/],
    ['a group, which ONNX has none of', Buffer.from([0x0b, 0x0c]), /cut short or malformed at byte 0/],
  ])('%s', (_what, content, message) => {
    expect(() => read(content)).toThrow(message);
  });

  it('a model that is cut off anywhere', () => {
    for (let length = 0; length < good.length; length++)
      expect(() => read(good.subarray(0, length))).toThrow('is not an ONNX model');
  });

  it('a name of gigabytes', () => {
    const path = file('name.onnx');
    const nameBytes = 3 * 1024 ** 3;
    const value = Buffer.concat([varint(8 + 2), varint(nameBytes)]);
    const output = Buffer.concat([varint(12 * 8 + 2), varint(value.length + nameBytes), value]);
    const start = Buffer.concat([varint(7 * 8 + 2), varint(output.length + nameBytes), output]);
    const descriptor = openSync(path, 'w');
    writeSync(descriptor, start);
    ftruncateSync(descriptor, start.length + nameBytes);
    closeSync(descriptor);
    expect(() => readOnnxSignature(path)).toThrow('is not an ONNX model');
  });
});
