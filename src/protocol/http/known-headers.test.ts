import { describe, expect, it } from 'vitest';

import type { CompleteModelConfig } from '../../model/complete-model-config.js';
import { finishPaced } from '../../model/paced-work.js';
import type { SharedMemoryAccess } from '../../model/shared-memory.js';
import { decodeInferRequest } from './decode-infer-request.js';
import { KnownHeaders } from './known-headers.js';

const NO_MEMORY = {} as SharedMemoryAccess;
const CONFIG = { name: 'm' } as CompleteModelConfig;

const HEADER =
  '{"id":"1","inputs":[{"name":"x","datatype":"FP32","shape":[1,2],"parameters":{"binary_data_size":8}},' +
  '{"name":"z","datatype":"INT32","shape":[2],"data":[1,2]}],"parameters":{"binary_data_output":true,"k":"v"}}';

/** Decodes, and counts how often what is known was of use. */
class Decoder {
  readonly known = new KnownHeaders();
  found = 0;

  constructor() {
    const find = this.known.find.bind(this.known);
    this.known.find = (body, length) => {
      const json = find(body, length);
      if (json !== undefined) this.found++;
      return json;
    };
  }

  decode(header: string, tensors: readonly number[]) {
    const body = Buffer.concat([Buffer.from(header), Buffer.from(Float32Array.from(tensors).buffer)]);
    const headerLength = String(Buffer.byteLength(header));
    const given = { modelVersion: '', body, headerLength, maxInputSize: 1_000_000, known: this.known };
    const form = finishPaced(decodeInferRequest(given));
    // Whoever has the memory may do with it what it likes.
    const complete = finishPaced(form.complete(CONFIG, NO_MEMORY));
    return { request: complete.request, body };
  }
}

describe('a header that came before', () => {
  it('means the same, with the tensors of its own request', () => {
    const decoder = new Decoder();
    const { request: first, body } = decoder.decode(HEADER, [1, 2]);
    const bytes = first.inputs.map((input) => Buffer.from(input.bytes));
    body.fill(0);
    const { request: second } = decoder.decode(HEADER, [3, 4]);
    expect(decoder.found).toBe(1);
    expect(second).toMatchObject({ id: '1', parameters: { k: 'v' } });
    expect(second.inputs.map(({ name, datatype, shape }) => [name, datatype, shape])).toEqual(
      first.inputs.map(({ name, datatype, shape }) => [name, datatype, shape]),
    );
    expect(Buffer.from(second.inputs[0]!.bytes)).toEqual(Buffer.from(Float32Array.of(3, 4).buffer));
    expect(Buffer.from(second.inputs[1]!.bytes)).toEqual(bytes[1]);
    for (const [i, input] of second.inputs.entries()) expect(input.shape).not.toBe(first.inputs[i]!.shape);
  });

  it('is byte for byte the same, or another one', () => {
    const decoder = new Decoder();
    decoder.decode(HEADER, [1, 2]);
    for (const [from, to] of [
      ['"id":"1"', '"id":"2"'],
      ['"x"', '"y"'],
      ['[1,2],"parameters"', '[2,1],"parameters"'],
      ['"v"', '"é"'],
    ] as const) {
      expect(decoder.decode(HEADER.replace(from, to), [1, 2]).request).toEqual(
        new Decoder().decode(HEADER.replace(from, to), [1, 2]).request,
      );
    }
    expect(decoder.found).toBe(0);
    const { request } = decoder.decode(HEADER, [5, 6]);
    expect([decoder.found, request.id]).toEqual([1, '1']);
  });

  it('is refused again where it was refused', () => {
    const decoder = new Decoder();
    const wrong = HEADER.replace('"binary_data_size":8', '"binary_data_size":-8');
    for (let i = 0; i < 3; i++) expect(() => decoder.decode(wrong, [1, 2])).toThrow('binary_data_size');
    for (let i = 0; i < 2; i++) expect(() => decoder.decode(`${HEADER.slice(0, -1)},}`, [1, 2])).toThrow('parse');
    expect(decoder.found).toBe(2);
  });

  it('is forgotten after some others, and not kept when it is long', () => {
    const decoder = new Decoder();
    for (let i = 0; i < 100; i++) decoder.decode(HEADER.replace('"1"', `"${i}"`), [1, 2]);
    decoder.decode(HEADER.replace('"1"', '"0"'), [1, 2]);
    expect(decoder.found).toBe(0);
    const long = HEADER.replace('"v"', `"${'v'.repeat(5000)}"`);
    for (let i = 0; i < 2; i++) decoder.decode(long, [1, 2]);
    expect(decoder.found).toBe(0);
  });

  it('does not count for requests of JSON alone', () => {
    const decoder = new Decoder();
    const json = HEADER.replace('"parameters":{"binary_data_size":8}', '"data":[1,2]');
    for (let i = 0; i < 2; i++) decoder.decode(json, []);
    expect(decoder.found).toBe(0);
  });
});
