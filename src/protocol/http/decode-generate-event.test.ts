import { describe, expect, it } from 'vitest';

import type { ModelSignature } from '../model-signature.js';
import { decodeGenerateEvent } from './decode-generate-event.js';

function modelOf(...outputs: readonly { name: string; datatype: string; shape: readonly number[] }[]): ModelSignature {
  return { name: 'm', inputs: [], outputs, maxBatchSize: 0, decoupled: true } as unknown as ModelSignature;
}

function outputsOf(json: string, model: ModelSignature, rows?: number) {
  const { outputs } = decodeGenerateEvent(Buffer.from(json), model, rows);
  return outputs.map(({ name, shape, bytes }) => [name, shape, Buffer.from(bytes).toString('hex')]);
}

const UINT8 = { name: 'y', datatype: 'UINT8', shape: [-1] };

describe('decodeGenerateEvent', () => {
  it('has the outputs that came, in the order of the declaration, and who answered', () => {
    const model = modelOf(UINT8, { name: 'z', datatype: 'BYTES', shape: [1] }, { ...UINT8, name: 'late' });
    const event = decodeGenerateEvent(
      Buffer.from('{"z":"é","model_name":"m","model_version":"3","y":[1,2],"other":[{}]}'),
      model,
      undefined,
    );
    expect(event).toMatchObject({ modelName: 'm', modelVersion: '3', id: '', parameters: undefined });
    expect(event.outputs).toEqual([
      { name: 'y', datatype: 'UINT8', shape: [2], bytes: Uint8Array.of(1, 2) },
      { name: 'z', datatype: 'BYTES', shape: [1], bytes: Uint8Array.of(2, 0, 0, 0, 0xc3, 0xa9) },
    ]);
  });

  it('shares no memory with what was read', () => {
    const bytes = Buffer.from('{"model_name":"m","y":[1,2]}');
    const { outputs } = decodeGenerateEvent(bytes, modelOf(UINT8), undefined);
    bytes.fill(0);
    expect(outputs[0]!.bytes).toEqual(Uint8Array.of(1, 2));
  });

  it.each<[string, readonly number[], number | undefined, readonly number[], number]>([
    ['an open axis', [-1], undefined, [3], 3],
    ['an open axis beside fixed ones', [2, -1], undefined, [2, 3], 6],
    ['rows', [3], 2, [2, 3], 6],
    ['rows and an open axis', [-1], 2, [2, 3], 6],
    ['no elements', [-1], undefined, [0], 0],
    ['no elements and an axis of none', [0, -1], undefined, [0, 0], 0],
    ['one element, without axes', [], undefined, [], 1],
  ])('gives a list its shape: %s', (_, declared, rows, shape, count) => {
    const list = JSON.stringify(Array.from({ length: count }, () => 7));
    expect(outputsOf(`{"y":${list}}`, modelOf({ ...UINT8, shape: declared }), rows)).toEqual([
      ['y', shape, '07'.repeat(count)],
    ]);
  });

  it('takes one element without brackets', () => {
    expect(outputsOf('{"y":7}', modelOf(UINT8), 1)).toEqual([['y', [1, 1], '07']]);
  });

  it.each<[string, readonly number[], number | undefined]>([
    ['[1,2]', [3], undefined],
    ['[1,2,3]', [2, -1], undefined],
    ['[1]', [0, -1], undefined],
    ['[1,2,3]', [-1], 2],
    ['[1,2]', [], undefined],
  ])('refuses %s for a shape of %j and %s rows', (list, declared, rows) => {
    expect(() => outputsOf(`{"y":${list}}`, modelOf({ ...UINT8, shape: declared }), rows)).toThrow(
      expect.objectContaining({
        code: 'INTERNAL',
        message: `output 'y' of model 'm' has ${JSON.parse(list).length} elements, expected shape [${[...(rows === undefined ? [] : [rows]), ...declared].join(',')}]`,
      }),
    );
  });

  it('refuses outputs whose shape cannot be known', () => {
    expect(() => outputsOf('{"y":[1,2]}', modelOf({ ...UINT8, shape: [-1, -1] }))).toThrow(
      expect.objectContaining({
        code: 'UNSUPPORTED',
        message: "output 'y' of model 'm' has 2 elements and shape [-1,-1]: only a gRPC stream tells how they lie",
      }),
    );
  });

  it('throws the error that it tells, whose code is not known', () => {
    expect(() => outputsOf('{"error":"no luck"}', modelOf(UINT8))).toThrow(
      expect.objectContaining({ code: 'UNKNOWN', message: 'no luck' }),
    );
    const model = modelOf({ name: 'error', datatype: 'UINT8', shape: [1] });
    expect(outputsOf('{"model_name":"m","error":[1]}', model)).toEqual([['error', [1], '01']]);
  });

  it.each(['[]', '7', '"text"', '{', '{"model_name":7}', '{"error":7}', '{"y":[300]}', '{"y":["a"]}'])(
    'takes %s for a malformed answer',
    (text) => {
      expect(() => outputsOf(text, modelOf(UINT8))).toThrow(
        expect.objectContaining({ code: 'INTERNAL', message: expect.stringContaining('malformed response') }),
      );
    },
  );
});
