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

function outcome(header: string, known?: KnownRequests) {
  const json = Buffer.from(header);
  const body = Buffer.concat([json, Buffer.from(Float32Array.of(json.length, 2).buffer)]);
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
    const form = (i: number, a: number) => FIRST.replace('"a":1', `"a":${a}`).replace('[1,2]', `[${'1,'.repeat(i)}2]`);
    for (let i = 0; i < 12; i++) outcome(form(i, 0), known);
    for (let i = 4; i < 12; i++) expect(outcome(form(i, i), known)).toEqual(outcome(form(i, i)));
    expect(known.parsed).toBe(12);
    expect(outcome(form(0, 7), known)).toEqual(outcome(form(0, 7)));
    expect(known.parsed).toBe(13);
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
