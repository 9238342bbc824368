import { describe, expect, it } from 'vitest';

import { Tensor } from '../../tensor/tensor.js';
import { showOutputs, type Format } from './show-outputs.js';

const show = (outputs: Readonly<Record<string, Tensor>>, format: Format) =>
  showOutputs(outputs, format, (_, text) => text);

const bytes = (...elements: readonly (readonly number[])[]) =>
  new Tensor('bytes', elements.map((each) => Uint8Array.from(each)), [elements.length]) as Tensor; // prettier-ignore

describe('outputs', () => {
  it('are one line of JSON by their names', () => {
    const outputs = {
      a: new Tensor('int64', BigInt64Array.of(2n ** 60n, 1n), [2, 1]) as Tensor,
      h: Tensor.fromFloat32('float16', Float32Array.of(0.5), [1]) as Tensor,
      t: bytes([195, 169]),
      n: new Tensor('float32', Float32Array.of(NaN), [1]) as Tensor,
      f: new Tensor('bool', Uint8Array.of(1, 0), [2]) as Tensor,
    };
    expect(show(outputs, 'json')).toBe(
      '{"a":[[1152921504606846976],[1]],"h":[0.5],"t":["é"],"n":["NaN"],"f":[true,false]}\n',
    );
  });

  it('are for a person rows, or their range where they are many', () => {
    const small = new Tensor('int32', Int32Array.of(1, 2, 3, 4), [2, 2]) as Tensor;
    const large = new Tensor('float32', Float32Array.from({ length: 200 }, (_, i) => (i === 7 ? NaN : i)), [200]) as Tensor; // prettier-ignore
    expect(show({ small, large }, 'pretty')).toBe(
      [
        'small  INT32 [2,2]',
        '  [1, 2]',
        '  [3, 4]',
        'large  FP32 [200]',
        '  200 values, from 0 to 199, mean 99.9648, 1 not finite',
        '',
      ].join('\n'),
    );
  });

  it('are the bytes themselves', () => {
    const x = new Tensor('int16', Int16Array.of(1, 256), [2]) as Tensor;
    expect([...(show({ x }, 'raw') as Uint8Array)]).toEqual([1, 0, 0, 1]);
    expect([...(show({ x: bytes([255, 0]) }, 'raw') as Uint8Array)]).toEqual([255, 0]);
  });

  it('are refused in a form that they do not have', () => {
    const x = new Tensor('int16', Int16Array.of(1), [1]) as Tensor;
    expect(() => show({ x, y: x }, 'raw')).toThrow('raw output is one tensor, got x, y; name it by --outputs');
    expect(() => show({ x: bytes([1], [2]) }, 'raw')).toThrow('raw output of texts is one element, got 2');
    expect(() => show({ x: bytes([255]) }, 'json')).toThrow("output 'x' has bytes that are no text");
    expect(show({ x: bytes([255]) }, 'pretty')).toContain('\ufffd');
  });
});
