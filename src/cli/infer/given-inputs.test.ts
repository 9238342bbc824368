import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterAll, describe, expect, it } from 'vitest';

import { npy } from '../../../test/support/npy.js';
import { DTYPES, type Dtype } from '../../tensor/dtype.js';
import { Tensor } from '../../tensor/tensor.js';
import { inputsFromArguments, inputsFromJson } from './given-inputs.js';

const folder = mkdtempSync(join(tmpdir(), 'tstriton-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const file = (name: string, content: string | Uint8Array) => {
  writeFileSync(join(folder, name), content);
  return join(folder, name);
};

const spec = (name: string, dtype: Dtype = 'int32', shape: readonly number[] = [-1]) => ({
  name,
  dtype,
  datatype: DTYPES[dtype].datatype,
  shape,
  optional: false,
});
const SPECS = [spec('x'), spec('id', 'int64', [1]), spec('text', 'bytes', [1])];

const TENSOR = '{"name":"x","datatype":"INT32","shape":[1],"data":[1]}';

describe('inputs in JSON', () => {
  it('are values by name, one of which may be called inputs', () => {
    const text = '{"inputs": [1, 2], "id": 9007199254740993}';
    expect(inputsFromJson(Buffer.from(text), 'it')).toEqual({
      inputs: { inputs: [1, 2], id: 9007199254740993n },
      hasBatchAxis: false,
      parameters: {},
      options: {},
    });
  });

  it('are tensors where they have the form of the protocol', () => {
    const text = '{"inputs":[{"name":"x","datatype":"INT32","shape":[2,1],"data":[[1],[2]]}],"parameters":{"k":1}}';
    const { inputs, hasBatchAxis, parameters } = inputsFromJson(Buffer.from(text), 'it');
    expect([hasBatchAxis, parameters]).toEqual([true, { k: 1 }]);
    expect(inputs['x']).toMatchObject({ dtype: 'int32', shape: [2, 1], data: Int32Array.of(1, 2) });
  });

  it('have an id and outputs beside them, as requests over HTTP do', () => {
    const outputs = '[{"name":"y","parameters":{"binary_data":true}},{"name":"z"}]';
    const { options } = inputsFromJson(Buffer.from(`{"id":"7","inputs":[${TENSOR}],"outputs":${outputs}}`), 'it');
    expect(options).toEqual({ requestId: '7', outputs: ['y', 'z'] });
  });

  it.each([
    ['[1]', 'it must be an object with the inputs by name, got a list'],
    ['{', 'it is no JSON'],
    ['{"inputs":[{"name":"x"}]}', "datatype of inputs[0] of it must be one of the protocol's"],
    ['{"inputs":[{"name":"x","datatype":"FP33","shape":[1],"data":[1]}]}', 'got "FP33"'],
    ['{"inputs":[{"datatype":"FP32"}]}', 'inputs[0] of it needs a name'],
    ['{"inputs":[{"name":"x","datatype":"FP32","data":[1]}]}', 'shape of inputs[0] of it must be a list'],
    ['{"inputs":[{"name":"x","datatype":"FP32","shape":[2]}]}', 'data of inputs[0] of it must be a list'],
    ['{"inputs":[{"name":"x","datatype":"INT8","shape":[1],"data":[300]}]}', 'inputs[0] of it: '],
    ['{"inputs":[{"name":"x","datatype":"INT8","shape":[2],"data":[3]}]}', 'inputs[0] of it: '],
    [`{"inputs":[${TENSOR},${TENSOR}]}`, "input of it 'x' is given twice, expected once"],
    [`{"id":7,"inputs":[${TENSOR}]}`, 'id of it must be a text, got number'],
    [`{"outputs":"y","inputs":[${TENSOR}]}`, 'outputs of it must be a list, got string'],
    [`{"outputs":["y"],"inputs":[${TENSOR}]}`, 'outputs[0] of it needs a name'],
    [
      `{"outputs":[{"name":"y","parameters":{"classification":2}}],"inputs":[${TENSOR}]}`,
      'outputs[0] of it asks for a classification',
    ],
  ])('are refused where they are wrong: %s', (text, message) => {
    expect(() => inputsFromJson(Buffer.from(text), 'it')).toThrow(message);
  });
});

describe('inputs one by one', () => {
  it('are JSON, and texts as they are', () => {
    const given = ['x=[1,2]', 'id=9007199254740993', 'text=a=b {c}'];
    expect(inputsFromArguments(given, SPECS)).toEqual({ x: [1, 2], id: 9007199254740993n, text: 'a=b {c}' });
    expect(inputsFromArguments(['text=["é"]'], SPECS)).toEqual({ text: ['é'] });
  });

  it('are files: raw numbers, the bytes of a text, JSON', () => {
    const raw = file('x.bin', Buffer.from(Int32Array.of(1, -2).buffer));
    const image = file('cat.png', Uint8Array.of(1, 255));
    const json = file('id.json', '[7]');
    const inputs = inputsFromArguments([`x=@${raw}`, `text=@${image}`, `id=@${json}`], SPECS);
    expect(inputs['x']).toEqual(Int32Array.of(1, -2));
    expect(inputs['id']).toEqual([7]);
    expect(Tensor.is(inputs['text']) && [inputs['text'].shape, Array.from(inputs['text'].data as Uint8Array[], (each) => [...each])]).toEqual([[1], [[1, 255]]]); // prettier-ignore
  });

  it.each([
    ['x', '--input x must be name=value or name=@file'],
    ['=1', '--input =1 must be name=value or name=@file'],
    ['y=1', "the model has no input 'y'; it has x, id, text"],
    ['tekst=1', "the model has no input 'tekst'; did you mean 'text'?"],
    ['x=[1', "--input x takes INT32 values as JSON, such as x=1 or 'x=[1]', got [1"],
    ['x=hello', "--input x takes INT32 values as JSON, such as x=1 or 'x=[1]', got hello"],
    ['x=@/none', '--input x: ENOENT'],
  ])('are refused where they are wrong: %s', (argument, message) => {
    expect(() => inputsFromArguments([argument], SPECS)).toThrow(message);
  });

  it('are refused where one comes twice', () => {
    expect(() => inputsFromArguments(['x=1', 'id=1', 'x=2'], SPECS)).toThrow("input 'x' is given twice, expected once");
  });

  it('are arrays of numpy in the dtype of the input', () => {
    const header = "{'descr': '<i8', 'fortran_order': False, 'shape': (2,), }\n";
    const head = Buffer.from(`\x93NUMPY\x01\x00${String.fromCharCode(header.length)}\x00${header}`, 'latin1');
    const array = (...values: readonly bigint[]) =>
      Buffer.concat([head, Buffer.from(BigInt64Array.from(values).buffer)]);
    const { x } = inputsFromArguments([`x=@${file('x.npy', array(1n, 2n))}`], SPECS);
    expect(x).toMatchObject({ dtype: 'int32', shape: [2], data: Int32Array.of(1, 2) });
    expect(() => inputsFromArguments([`x=@${file('y.npy', array(1n, 2n ** 40n))}`], SPECS)).toThrow(
      /y\.npy has elements of INT64, which do not all become INT32 for input 'x': .*1099511627776/,
    );
  });

  it('are texts of numpy, for an input of texts alone', () => {
    const array = npy('|S2', '(1,)', Buffer.from('a\0'));
    const { text } = inputsFromArguments([`text=@${file('t.npy', array)}`], SPECS);
    expect(text).toMatchObject({ dtype: 'bytes', shape: [1], data: [Uint8Array.of(97)] });
    expect(() => inputsFromArguments([`x=@${file('t.npy', array)}`], SPECS)).toThrow(
      "t.npy has elements of BYTES, which do not all become INT32 for input 'x'",
    );
  });

  it('are refused where bytes are left over', () => {
    const raw = file('odd.bin', Uint8Array.of(1, 2, 3));
    expect(() => inputsFromArguments([`x=@${raw}`], SPECS)).toThrow('has 3 bytes, expected elements of 4 bytes');
  });
});
