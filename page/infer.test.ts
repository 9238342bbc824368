import { describe, expect, it } from 'vitest';

import { encodeElements } from './elements.js';
import { decodeInfer, encodeInfer, EventReader } from './infer.js';

describe('a request', () => {
  it('has its tensors behind the JSON that describes them', async () => {
    const bytes = encodeElements({ shape: [2], values: ['1', '2'] }, 'FP32');
    const { headerLength, body } = encodeInfer([{ name: 'x', datatype: 'FP32', shape: [1, 2], bytes }], {
      priority: 1,
    });
    const whole = new Uint8Array(await body.arrayBuffer());
    expect(JSON.parse(new TextDecoder().decode(whole.subarray(0, headerLength)))).toEqual({
      inputs: [{ name: 'x', datatype: 'FP32', shape: [1, 2], parameters: { binary_data_size: 8 } }],
      parameters: { priority: 1, binary_data_output: true },
    });
    expect(whole.subarray(headerLength)).toEqual(bytes);
  });
});

describe('an answer', () => {
  it('is read in binary, and in JSON where the server sends that', () => {
    const json = new TextEncoder().encode(
      JSON.stringify({
        model_version: '3',
        outputs: [
          { name: 'a', datatype: 'INT16', shape: [2], parameters: { binary_data_size: 4 } },
          { name: 'b', datatype: 'BYTES', shape: [1], data: ['text'] },
          { name: 'c', datatype: 'UINT8', shape: [1], parameters: { binary_data_size: 1 } },
        ],
      }),
    );
    const body = Uint8Array.from([...json, 1, 0, 255, 255, 7]);
    const { version, outputs } = decodeInfer(body, json.length);
    expect([version, outputs.map(({ name, values }) => [name, ...values])]).toEqual([
      '3',
      [['a', 1, -1], ['b', 'text'], ['c', 7]],
    ]); // prettier-ignore
  });
});

describe('events', () => {
  it('are whole wherever the stream was cut', () => {
    const stream = new TextEncoder().encode('data: {"i":1,"t":"é"}\n\ndata: {"i":2}\n\ndata: {"error":"x"}\n\n');
    for (let cut = 0; cut <= stream.length; cut++) {
      const reader = new EventReader();
      const events = [...reader.read(stream.subarray(0, cut)), ...reader.read(stream.subarray(cut))];
      expect(events).toEqual([{ i: 1, t: 'é' }, { i: 2 }, { error: 'x' }]);
    }
  });
});
