import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import type { CompleteModelConfig } from '../../model/complete-model-config.js';
import { finishPaced } from '../../pacing/paced-work.js';
import type { SharedMemoryAccess } from '../../model/shared-memory.js';
import { decodeInferRequest } from './decode-infer-request.js';
import { KnownRequests } from './known-requests.js';

const CONFIG = { name: 'm' } as CompleteModelConfig;
const TENSOR = '{"name":"x","datatype":"FP32","shape":[1,2],"parameters":{"binary_data_size":8}}';
const INPUTS = `"inputs":[${TENSOR}],"outputs":[{"name":"y","parameters":{"binary_data":true}}]`;
const FIRST = `{"id":"1","parameters":{"a":1},${INPUTS}}`;

function outcome(header: string, known?: KnownRequests, binarySize = 8) {
  const json = Buffer.from(header);
  const body = Buffer.concat([json, Buffer.alloc(binarySize, json.length)]);
  const given = { modelVersion: '', body, headerLength: String(json.length), maxInputSize: 1_000_000, known };
  try {
    return finishPaced(finishPaced(decodeInferRequest(given)).complete(CONFIG, {} as SharedMemoryAccess));
  } catch (error) {
    return (error as Error).message;
  }
}

/** Counts the headers that are parsed whole. */
class Counted extends KnownRequests {
  parsed = 0;

  override copy(body: Buffer, length: number): Buffer | undefined {
    this.parsed++;
    return super.copy(body, length);
  }
}

describe('a request of a known form', () => {
  it.each<[string, readonly string[]]>([
    ['parameters behind the id', [FIRST, `{"id":"2","parameters":{"b":"x","priority":2},${INPUTS}}`]],
    ['parameters before the id', [`{"parameters":{"a":1},"id":"1",${INPUTS}}`, `{"parameters":{},"id":"",${INPUTS}}`]],
    [
      'parameters at the end',
      [`{"id":"1",${INPUTS},"parameters":{"a":1}}`, `{"id":"2",${INPUTS},"parameters":{"b":2.5}}`],
    ],
    ['no id', [`{"parameters":{"a":1},${INPUTS}}`, `{"parameters":{"a":true,"b":"é"},${INPUTS}}`]],
    [
      'space around all',
      [
        `{ "id" : "1" , "parameters" : { "a" : 1 } , ${INPUTS} }`,
        `{ "id" : "2" , "parameters" : {"b":2} , ${INPUTS} }`,
      ],
    ],
    ['a sequence', [FIRST, FIRST.replace('"a":1', '"sequence_id":7,"sequence_start":true')]],
    ['an escape in a parameter', [FIRST, FIRST.replace('"a":1', String.raw`"a\n":"\u0041\\"`)]],
    ['the parameters of the first again', [FIRST, FIRST.replace('"a":1', '"b":2'), FIRST]],
  ])('has its own id and parameters, with %s', (_, headers) => {
    const known = new Counted();
    for (const header of headers) {
      expect(typeof outcome(header)).toBe('object');
      expect(outcome(header, known)).toEqual(outcome(header));
    }
    expect(known.parsed).toBe(1);
  });

  it('is the same with the parameters that came last, without reading them again', () => {
    const known = new Counted();
    const parameters = [
      FIRST,
      ...['2', '3'].map((id) => FIRST.replace('"1"', `"${id}"`).replace('"a":1', '"b":2')),
    ].map((header) => (outcome(header, known) as { request: { parameters?: object } }).request.parameters);
    expect(parameters).toEqual([{ a: 1 }, { b: 2 }, { b: 2 }]);
    expect(parameters[2]).toBe(parameters[1]);
  });

  it('is found among several forms, the latest ones', () => {
    const known = new Counted();
    const form = (i: number, a: number) => FIRST.replace('"a":1', `"a":${a}`).replace('"y"', `"y${i}"`);
    for (let i = 0; i < 12; i++) outcome(form(i, 0), known);
    for (let i = 4; i < 12; i++) expect(outcome(form(i, i), known)).toEqual(outcome(form(i, i)));
    expect(known.parsed).toBe(12);
    expect(outcome(form(0, 7), known)).toEqual(outcome(form(0, 7)));
    expect(known.parsed).toBe(13);
  });
});

describe('a request whose inputs have sizes of their own', () => {
  const input = (name: string, shape: string, size: number | string) =>
    `{"name":"${name}","datatype":"BYTES","shape":${shape},"parameters":{"binary_data_size":${size}}}`;
  const two = (...inputs: readonly string[]) => `{"id":"1","inputs":[${inputs.join()}],"outputs":[{"name":"y"}]}`;
  const [A, B] = [input('a', '[1,1]', 5), input('b', '[1, 2]', 9)];

  it.each<[string, readonly (readonly [header: string, binarySize: number])[]]>([
    ['sizes', [[two(A, B), 14], [two(input('a', '[1,1]', 70), input('b', '[1, 2]', 0)), 70], [two(A, B), 14]]], // prettier-ignore
    [
      'shapes',
      [
        [two(A, B), 14],
        [two(input('a', '[1,100]', 5), input('b', '[7, 20]', 9)), 14],
      ],
    ],
    [
      'ranks',
      [
        [two(A, B), 14],
        [two(input('a', '[0]', 5), input('b', '[7, 20, 3]', 9)), 14],
      ],
    ],
    [
      'the largest numbers',
      [
        [two(A, B), 14],
        [two(input('a', '[999999999999999]', 5), B), 14],
      ],
    ],
    [
      'its size before its shape',
      [4, 123].map((size) => [two(`{"parameters" : { "binary_data_size" : ${size} },"name":"a","datatype":"BYTES","shape" : [${size}]}`), size]), // prettier-ignore
    ],
    [
      'data in the JSON',
      ['["x"]', '["y","zz"]'].map((data, i) => [two(A, `{"name":"b","datatype":"BYTES","shape":[${i + 1}],"data":${data}}`), 5]), // prettier-ignore
    ],
  ])('has its own, with other %s', (_, requests) => {
    const known = new Counted();
    for (const [header, binarySize] of requests) {
      expect(typeof outcome(header, undefined, binarySize)).toBe('object');
      expect(outcome(header, known, binarySize)).toEqual(outcome(header, undefined, binarySize));
    }
    expect(known.parsed).toBe(1);
  });

  it.each<[string, string]>([
    ['a size with a zero before it', two(A, input('b', '[1,2]', '09'))],
    ['a size with a fraction', two(A, input('b', '[1,2]', '9.0'))],
    ['a size with an exponent', two(A, input('b', '[1,2]', '9e0'))],
    ['a size below zero', two(A, input('b', '[1,2]', -9))],
    ['a size in a text', two(A, input('b', '[1,2]', '"9"'))],
    ['a size beyond what is exact', two(A, input('b', '[1,2]', '9007199254740993'))],
    ['no size', two(A, input('b', '[1,2]', ''))],
    ['no bytes for its size', two(A, input('b', '[1,2]', 10))],
    ['bytes beyond its size', two(A, input('b', '[1,2]', 8))],
    ['an empty shape', two(A, input('b', '[]', 9))],
    ['a dimension below zero', two(A, input('b', '[1,-1]', 9))],
    ['a dimension that is a text', two(A, input('b', '[1,"2"]', 9))],
    ['a dimension with a zero before it', two(A, input('b', '[1,02]', 9))],
    ['a dimension with a fraction', two(A, input('b', '[1,2.5]', 9))],
    ['a dimension beyond what is exact', two(A, input('b', '[9007199254740993]', 9))],
    ['dimensions whose product is not exact', two(A, input('b', '[999999999,999999999]', 9))],
    ['a dimension missing', two(A, input('b', '[1,]', 9))],
    ['a list as a dimension', two(A, input('b', '[[1],2]', 9))],
    ['too many dimensions', two(A, input('b', `[${'1,'.repeat(64)}1]`, 9))],
    ['space in its shape', two(A, input('b', '[ 1 ,\t2 ]', 9))],
    ['another shape behind it', two(A, B.replace('"shape"', '"shape":[3],"shape"'))],
    ['another size behind it', two(A, B.replace('9}', '9,"binary_data_size":3}'))],
    ['a size in its output', two(A, B).replace('"y"', '"y","parameters":{"binary_data_size":9}')],
    ['an input that is called as a size is', two(A, B.replace('"b"', '"binary_data_size"'))],
  ])('with %s has the outcome that it has alone', (_, header) => {
    const known = new KnownRequests();
    outcome(two(A, B), known, 14);
    for (let i = 0; i < 2; i++) expect(outcome(header, known, 14)).toEqual(outcome(header, undefined, 14));
    const other = two(input('a', '[3]', 14), input('b', '[4]', 0));
    expect(outcome(other, known, 14)).toEqual(outcome(other, undefined, 14));
  });

  it.each<[string, (size: number) => string]>([
    ['an output has a member of that name', (size) => two(input('a', '[1]', 14)).replace('"y"', `"y","parameters":{"binary_data_size":${size}}`)], // prettier-ignore
    ['a parameter of the request has that name', (size) => two(input('a', '[1]', 14)).replace('"inputs"', `"parameters":{"binary_data_size":${size}},"inputs"`)], // prettier-ignore
    ['an input has it twice', (size) => two(input('a', '[1]', `14,"binary_data_size":${size}`))],
    ['an input has two lists of parameters', (size) => two(input('a', '[1]', `14},"parameters":{"binary_data_size":${size}`))], // prettier-ignore
    ['an input has two shapes', (size) => two(input('a', `[1],"shape":[${size}]`, 14))],
    ['a member that nobody reads has it', (size) => two(input('a', '[1]', `14},"x":{"binary_data_size":${size}`))],
    ['its name is spelt with an escape', (size) => two(input('a', '[1]', 14).replace('size"', String.raw`siz\u0065"`)).replace('14', String(size))], // prettier-ignore
  ])('is not taken for one with other sizes where %s', (_, header) => {
    const known = new KnownRequests();
    for (const size of [14, 3, 4, 14]) {
      expect(outcome(header(size), known, 14)).toEqual(outcome(header(size), undefined, 14));
    }
  });

  it('has the outcome that it has alone, behind any others that are like it', () => {
    const one = fc.constantFrom;
    const tensor = fc
      .record({
        name: one('a', 'binary_data_size', 'shape'),
        shape: one('[1]', '[1, 2]', '[30,4]', '[01]', '[]', '[1,]', '[1.5]', '[ 2]'),
        size: one('7', '14', '0', '014', '1e1', '-1', '7,"shared_memory_offset":1', '7,"binary_data_size":14'),
        isSizeFirst: fc.boolean(),
      })
      .map(({ name, shape, size, isSizeFirst }) => {
        const members = [`"shape":${shape}`, `"parameters":{"binary_data_size":${size}}`];
        return `{"name":"${name}","datatype":"BYTES",${(isSizeFirst ? members.reverse() : members).join()}}`;
      });
    const output = one('"y"', '"y","parameters":{"binary_data_size":1}', '"binary_data_size"');
    const edit = fc.record({ at: fc.nat(250), character: one('', '1', '0', '}', ']', '"', ',', ' ', '\\', '\0') });
    const header = fc
      .tuple(fc.array(tensor, { minLength: 1, maxLength: 2 }), output, fc.option(edit, { freq: 5 }))
      .map(([inputs, name, edited]) => {
        const text = `{"id":"1","inputs":[${inputs.join()}],"outputs":[{"name":${name}}]}`;
        return edited === null ? text : text.slice(0, edited.at) + edited.character + text.slice(edited.at + 1);
      });
    fc.assert(
      fc.property(fc.array(header, { minLength: 2, maxLength: 10 }), (headers) => {
        const known = new KnownRequests();
        for (const text of headers) expect(outcome(text, known, 14)).toEqual(outcome(text, undefined, 14));
      }),
      { numRuns: 300 },
    );
  });

  it('does not share its shape with others', () => {
    const known = new KnownRequests();
    const shapes = [1, 2, 2].map((dim) => {
      const header = two(input('a', `[${dim}]`, 14));
      return (outcome(header, known, 14) as { request: { inputs: readonly { shape: readonly number[] }[] } }).request
        .inputs[0]!.shape;
    });
    (shapes[1] as number[])[0] = 7;
    expect(shapes).toEqual([[1], [7], [2]]);
  });
});

describe('a form that is used', () => {
  it('stays while many others come once', () => {
    const known = new Counted();
    const once = (i: number) => FIRST.replace('"x"', `"x${i}"`);
    for (let i = 0; i < 100; i++) {
      outcome(once(i), known);
      expect(outcome(FIRST.replace('"a":1', `"a":${i}`), known)).toMatchObject({ request: { parameters: { a: i } } });
    }
    expect(known.parsed).toBe(101);
  });

  it('may have neither an id nor parameters, or an escape', () => {
    const known = new Counted();
    for (const header of [`{${INPUTS}}`, FIRST.replace('"a":1', String.raw`"a":"\n"`)]) {
      for (let i = 0; i < 2; i++) expect(outcome(header, known)).toEqual(outcome(header));
    }
    expect(known.parsed).toBe(2);
  });
});

describe('a request of another form', () => {
  it.each<[string, string]>([
    ['another tensor', FIRST.replace('[1,2]', '[2,1]')],
    ['another end', FIRST.replace('"outputs"', '"outputz"')],
    ['a bracket in a parameter', FIRST.replace('"a":1', '"a":"}"')],
    ['another member behind its parameters', FIRST.replace('"a":1', '"a":1},"parameters":{"b":2')],
    ['another member in its id', FIRST.replace('"1"', '"2","y":"1"')],
    ['parameters that are no object', FIRST.replace('{"a":1}', '[1]')],
    ['parameters that are nested', FIRST.replace('"a":1', '"a":{"b":1}')],
    ['malformed parameters', FIRST.replace('"a":1', '"a":1,')],
    ['parameters without an end', FIRST.replace('"a":1}', '"a":1')],
    ['two objects as parameters', FIRST.replace('{"a":1}', '{"a":1}{}')],
    ['a NUL behind a parameter', FIRST.replace('"a":1', '"a":1\0')],
    ['a parameter of a wrong type', FIRST.replace('"a":1', '"priority":"high"')],
    ['a parameter twice', FIRST.replace('"a":1', '"a":1,"a":2')],
    ['a reserved parameter', FIRST.replace('"a":1', '"triton_a":1')],
    ['too many parameters', FIRST.replace('"a":1', Array.from({ length: 5000 }, (_, i) => `"p${i}":1`).join())],
    ['an id beyond ASCII', FIRST.replace('"1"', '"é"')],
    ['an escape in its id', FIRST.replace('"1"', String.raw`"\u0031"`)],
    ['an id that is too long', FIRST.replace('"1"', `"${'1'.repeat(129)}"`)],
    ['its id cut off', FIRST.replace('"1"', '"1')],
  ])('with %s has the outcome that it has alone', (_, header) => {
    const known = new KnownRequests();
    outcome(FIRST, known);
    for (let i = 0; i < 2; i++) expect(outcome(header, known)).toEqual(outcome(header));
    expect(outcome(FIRST, known)).toEqual(outcome(FIRST));
  });

  it('with its parameters as the second of that name is read by the first', () => {
    const known = new KnownRequests();
    const header = (second: number) => FIRST.replace('"inputs"', `"parameters":{"b":${second}},"inputs"`);
    for (const second of [1, 2]) {
      expect(outcome(header(second), known)).toMatchObject({ request: { parameters: { a: 1 } } });
    }
  });

  it('with parameters in a tensor or in a member that nobody reads is not taken for one of its own', () => {
    const known = new KnownRequests();
    const header = (value: number) => `{"y":{"parameters":{"a":${value}}},"id":"1",${INPUTS}}`;
    for (const value of [1, 2]) expect(outcome(header(value), known)).toEqual(outcome(header(value)));
  });
});

describe('a request with data in its JSON', () => {
  const tensor = (name: string, datatype: string, data: string) =>
    `{"name":"${name}","datatype":"${datatype}","shape":[2],"data":${data}}`;
  const binary = (data: string) => `{"id":"1","inputs":[${tensor('z', 'INT64', data)},${TENSOR}]}`;
  const alone = (a: string, b = '["x","y"]') =>
    `{"id":"1","inputs":[${tensor('a', 'FP64', a)},${tensor('b', 'BYTES', b)}],"parameters":{"k":1}}`;

  function outcomeAlone(header: string, known?: KnownRequests) {
    const body = Buffer.from(header);
    const given = { modelVersion: '', body, headerLength: undefined, maxInputSize: 1_000_000, known };
    try {
      return finishPaced(finishPaced(decodeInferRequest(given)).complete(CONFIG, {} as SharedMemoryAccess));
    } catch (error) {
      return (error as Error).message;
    }
  }

  it.each<[string, readonly string[]]>([
    ['other numbers', [alone('[1,2]'), alone('[-2.5e3,3]'), alone('[1,2]')]],
    ['nested numbers', [alone('[[1],[2]]'), alone('[[3],[4]]'), alone('[[5,6]]')]],
    ['deeply nested numbers', [alone('[[[1]],[[2]]]'), alone('[[[3],[4]]]')]],
    ['space in it', [alone('[1,2]'), alone('[ 3 ,\n4 ]')]],
    ['other strings', [alone('[1,2]'), alone('[1,2]', '["é","\\n"]')]],
    ['another id and other parameters', [alone('[1,2]'), alone('[3,4]').replace('"1"', '"2"').replace('"k"', '"l"')]],
    ['NaN', [alone('[1,2]'), alone('[NaN,-Infinity]')]],
  ])('has its own data, with %s', (_, headers) => {
    const known = new Counted();
    for (const header of headers) {
      expect(typeof outcomeAlone(header)).toBe('object');
      expect(outcomeAlone(header, known)).toEqual(outcomeAlone(header));
    }
    expect(known.parsed).toBe(1);
  });

  it('and binary tensors behind it has its own of both', () => {
    const known = new Counted();
    for (const data of ['[1,2]', '[3,-9007199254740993]', '[5,6]']) {
      expect(outcome(binary(data), known)).toEqual(outcome(binary(data)));
    }
    expect(known.parsed).toBe(1);
  });

  it('does not keep the data of others, nor change it', () => {
    const known = new KnownRequests();
    const values = ['[1,2]', '[3,4]', '[5,6]'].map(
      (data) =>
        (outcomeAlone(alone(data), known) as { request: { inputs: readonly { bytes: Uint8Array }[] } }).request.inputs,
    );
    expect(values.map(([a]) => Buffer.from(a!.bytes).readDoubleLE(8))).toEqual([2, 4, 6]);
  });

  it.each<[string, string]>([
    ['too few numbers', alone('[1]')],
    ['too many numbers', alone('[1,2,3]')],
    ['no numbers', alone('[]')],
    ['strings for numbers', alone('["1","2"]')],
    ['numbers for strings', alone('[1,2]', '[1,2]')],
    ['nested numbers', alone('[[1],[2]]')],
    ['a number alone', alone('1')],
    ['an object', alone('{"x":[1,2]}')],
    ['a bracket in a string', alone('[1,2]', '["]","y"]')],
    ['a string that looks like its end', alone('[1,2]', '["x","],"]')],
    ['a comma at its end', alone('[1,2,]')],
    ['no comma', alone('[1 2]')],
    ['a NUL', alone('[1,\0 2]')],
    ['a byte order mark', alone('\ufeff[1,2]')],
    ['a byte order mark before its parameters', alone('[1,2]').replace('{"k"', '\ufeff{"k"')],
    ['another member behind it', alone('[1,2],"data":[3,4]')],
    ['a shape behind it', alone('[1,2],"shape":[1]')],
    ['a lone surrogate', alone('[1,2]', String.raw`["\ud800","y"]`)],
    ['no end', alone('[1,2')],
    ['more behind the whole', `${alone('[1,2]')}]`],
  ])('with %s has the outcome that it has alone', (_, header) => {
    const known = new KnownRequests();
    outcomeAlone(alone('[1,2]'), known);
    for (let i = 0; i < 2; i++) expect(outcomeAlone(header, known)).toEqual(outcomeAlone(header));
    expect(outcomeAlone(alone('[7,8]'), known)).toEqual(outcomeAlone(alone('[7,8]')));
  });

  it('is parsed whole when its data has space between its last brackets, and when it is long', () => {
    const known = new Counted();
    const long = Array.from({ length: 2000 }, () => '1').join();
    for (const data of ['[[1],[2] ]', `[${long},${long}]`]) {
      for (let i = 0; i < 2; i++) expect(outcomeAlone(alone(data), known)).toEqual(outcomeAlone(alone(data)));
    }
    expect(known.parsed).toBe(4);
  });
});
