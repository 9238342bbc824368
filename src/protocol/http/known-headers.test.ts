import { describe, expect, it } from 'vitest';

import type { CompleteModelConfig } from '../../model/complete-model-config.js';
import { finishPaced } from '../../pacing/paced-work.js';
import type { SharedMemoryAccess } from '../../model/shared-memory.js';
import { decodeInferRequest } from './decode-infer-request.js';
import type { JsonRequest } from './json-request.js';
import { KnownHeaders } from './known-headers.js';

const NO_MEMORY = {} as SharedMemoryAccess;
const CONFIG = { name: 'm' } as CompleteModelConfig;

const HEADER =
  '{"id":"1","inputs":[{"name":"x","datatype":"FP32","shape":[1,2],"parameters":{"binary_data_size":8}},' +
  '{"name":"z","datatype":"INT32","shape":[2],"data":[1,2]}],"parameters":{"binary_data_output":true,"k":"v"}}';

/** Decodes, and counts how often what is known was of use. */
class Decoder {
  readonly known = new KnownHeaders<JsonRequest>();
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

  it('may have another id', () => {
    const decoder = new Decoder();
    decoder.decode(HEADER, [1, 2]);
    for (const id of ['2', '', '0123456789', ' a!~[]', 'x'.repeat(128)]) {
      const header = HEADER.replace('"1"', `"${id}"`);
      const { request } = decoder.decode(header, [3, 4]);
      expect(request).toEqual(new Decoder().decode(header, [3, 4]).request);
      expect(request.id).toBe(id);
    }
    expect([decoder.found, decoder.decode(HEADER, [1, 2]).request.id]).toEqual([5, '1']);
  });

  it.each<[string, string]>([
    ['an id with an escape', HEADER.replace('"1"', String.raw`"\n\u0041\""`)],
    ['an id beyond ASCII', HEADER.replace('"1"', '"é"')],
    ['an id that is too long', HEADER.replace('"1"', `"${'x'.repeat(129)}"`)],
    ['an id and another member in its place', HEADER.replace('"1"', '"2","parameters":{"k":"w"},"y":"1"')],
    ['an id that is no string', HEADER.replace('"1"', '1')],
    ['no end of its id', HEADER.replace('"1"', '"1')],
    ['a control character in its id', HEADER.replace('"1"', '"1\n"')],
  ])('is another one with %s', (_, header) => {
    const decoder = new Decoder();
    const outcome = (with_: Decoder) => {
      try {
        return with_.decode(header, [1, 2]).request;
      } catch (error) {
        return (error as Error).message;
      }
    };
    decoder.decode(HEADER, [1, 2]);
    expect(outcome(decoder)).toEqual(outcome(new Decoder()));
    expect(decoder.found).toBe(0);
  });

  it.each<[string, string]>([
    ['at the end', `{${HEADER.slice(10, -1)},"id":"1"}`],
    ['with space around it', HEADER.replace('"id":"1"', '\n "id" :\t"1" ')],
    ['far behind its key, and twice', HEADER.replace('"id":"1"', `"id"${' '.repeat(500)}:"1","id":"one"`)],
    ['twice, of which the first counts', HEADER.replace('"id":"1"', '"id":"1","id":"one"')],
    [
      'behind others of that name, at other depths and as values',
      HEADER.replace('"id":"1"', '"y":{"id":"a"},"w":"id","v":["id","b"],"id":"1"'),
    ],
    ['behind a key that it is the end of', HEADER.replace('"id":"1"', '"aid":"a","ID":"b","id":"1"')],
    ['before a parameter of that name', HEADER.replace('"k":"v"', '"id":"p"')],
  ])('may have its id %s', (_, header) => {
    const decoder = new Decoder();
    expect(decoder.decode(header, [1, 2]).request.id).toBe('1');
    for (const id of ['2', '33']) {
      const other = header.replace('"1"', `"${id}"`);
      const { request } = decoder.decode(other, [3, 4]);
      expect(request).toEqual(new Decoder().decode(other, [3, 4]).request);
      expect(request.id).toBe(id);
    }
    expect(decoder.found).toBe(2);
  });

  it('with a key that is written in escapes is the same only as a whole', () => {
    const decoder = new Decoder();
    const header = HEADER.replace('"id":"1"', String.raw`"\u0069d":"first","id":"1"`);
    for (const id of ['1', '2', '2']) {
      expect(decoder.decode(header.replace('"1"', `"${id}"`), [1, 2]).request.id).toBe('first');
    }
    expect(decoder.found).toBe(1);
  });

  it('is byte for byte the same apart from its id, or another one', () => {
    const decoder = new Decoder();
    decoder.decode(HEADER, [1, 2]);
    for (const [from, to] of [
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

  it('is forgotten when many others have been found again since', () => {
    const decoder = new Decoder();
    const other = (i: number) => HEADER.replace('"v"', `"${i}"`);
    decoder.decode(HEADER, [1, 2]);
    // Each is found as often as pays for keeping the next.
    for (let i = 0; i < 1200; i++) for (let times = 0; times < 9; times++) decoder.decode(other(i), [1, 2]);
    const before = decoder.found;
    decoder.decode(HEADER, [1, 2]);
    expect([before, decoder.found]).toEqual([1200 * 8, 1200 * 8]);
  });

  it('stays known while thousands come that never come again, few of which are kept', () => {
    const decoder = new Decoder();
    const once = (i: number) => HEADER.replace('"v"', `"${i}"`);
    let kept = 0;
    const add = decoder.known.add.bind(decoder.known);
    decoder.known.add = (header, json) => {
      kept++;
      add(header, json);
    };
    for (let i = 0; i < 20_000; i++) {
      decoder.decode(once(i), [1, 2]);
      if (i % 100 === 0) decoder.decode(HEADER, [1, 2]);
    }
    expect(decoder.found).toBe(199);
    expect(kept).toBeLessThan(512 + 20_000 / 50);
  });

  it('is not kept when it is long', () => {
    const decoder = new Decoder();
    const long = HEADER.replace('"v"', `"${'v'.repeat(5000)}"`);
    for (let i = 0; i < 2; i++) decoder.decode(long, [1, 2]);
    expect(decoder.found).toBe(0);
  });

  it.each(['without an id', 'with an id of its own'])('is known beside those of hundreds of sequences, %s', (kind) => {
    const decoder = new Decoder();
    const ofSequence = (id: number) =>
      HEADER.replace('"id":"1",', kind === 'without an id' ? '' : `"id":"${id}",`).replace(
        '"k":"v"',
        `"sequence_id":${id + 1}`,
      );
    for (let i = 0; i < 1200; i++) {
      const { request } = decoder.decode(ofSequence(i % 400), [1, 2]);
      expect(request.sequence).toMatchObject({ id: (i % 400) + 1 });
    }
    expect(decoder.found).toBe(800);
  });
});
