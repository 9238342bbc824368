import { inspect } from 'node:util';

import { describe, expect, it } from 'vitest';

import { Tensor } from '../tensor/tensor.js';
import { completeModelConfig } from './complete-model.js';
import { emptyInputs, inFormOf, isInputList, withTensors, type NamedTensors } from './input-list.js';
import type { TensorSpec, TensorSpecs } from './tensor-spec.js';

const SPECS = [
  { dtype: 'float32', shape: [1] },
  { name: 'scale', dtype: 'int64', shape: [1], optional: true },
  { dtype: 'bool', shape: [1] },
] as const;
const [a, scale, c] = [Tensor.from('float32', [1]), Tensor.from('int64', [2n]), Tensor.from('bool', [true])];

function inputsOf(specs: TensorSpecs, tensors: NamedTensors): NamedTensors {
  const config = completeModelConfig({ modelName: 'm', inputs: specs, outputs: {} }, 1);
  return Object.assign(emptyInputs(config), tensors);
}

/** What a type of a list says that it is. */
function asList(inputs: object): (Tensor | undefined)[] {
  return inputs as unknown as (Tensor | undefined)[];
}

const all = () => inputsOf(SPECS, { INPUT_1: a, scale, INPUT_3: c });
const some = () => inputsOf(SPECS, { INPUT_1: a, INPUT_3: c });

describe('inputs of a model that declares them as a list', () => {
  it('are an array in declaration order', () => {
    const list = asList(all());
    expect(Array.isArray(list)).toBe(true);
    expect(list.length).toBe(3);
    expect([list[0], list[1], list[2], list[3]]).toEqual([a, scale, c, undefined]);
    expect([...list]).toEqual([a, scale, c]);
    const [first, , third] = list;
    expect([first, third]).toEqual([a, c]);
    expect(list.map((tensor) => tensor!.dtype)).toEqual(['float32', 'int64', 'bool']);
    expect(list.map((tensor) => tensor).constructor).toBe(Array);
    expect(list.slice(1)).toEqual([scale, c]);
    expect(list.entries().next().value).toEqual([0, a]);
    expect(list.at(-1)).toBe(c);
    expect(list.indexOf(scale)).toBe(1);
    const [, ...rest] = list;
    expect(rest).toEqual([scale, c]);
  });

  it('have the names, and tell of them alone', () => {
    const inputs = all();
    expect([inputs['INPUT_1'], inputs['scale'], inputs['INPUT_3']]).toEqual([a, scale, c]);
    expect(Object.keys(inputs)).toEqual(['INPUT_1', 'scale', 'INPUT_3']);
    expect(Object.values(inputs)).toEqual([a, scale, c]);
    const { INPUT_1, ...rest } = inputs;
    expect([INPUT_1, Object.keys(rest)]).toEqual([a, ['scale', 'INPUT_3']]);
    expect(inspect(inputs)).toBe(inspect({ INPUT_1: a, scale, INPUT_3: c }));
  });

  it('leave an input that was not sent out by name, and undefined in its position', () => {
    const inputs = some();
    expect(Object.keys(inputs)).toEqual(['INPUT_1', 'INPUT_3']);
    expect('scale' in inputs).toBe(false);
    expect([...asList(inputs)]).toEqual([a, undefined, c]);
    expect(asList(inputs).length).toBe(3);
  });

  it('are the same under name and position, also after a change', () => {
    const inputs = all();
    const [other, another] = [Tensor.from('float32', [5]), Tensor.from('bool', [false])];
    asList(inputs)[0] = other;
    inputs['INPUT_3'] = another;
    expect(inputs['INPUT_1']).toBe(other);
    expect([...asList(inputs)]).toEqual([other, scale, another]);
    expect(Object.keys(inputs)).toEqual(['INPUT_1', 'scale', 'INPUT_3']);
  });

  it('have the names after a copy by spreading, from which our decorators make a list again', () => {
    const other = Tensor.from('int64', [7n]);
    const copy = { ...all(), scale: other };
    expect(Object.entries(copy)).toEqual(Object.entries({ INPUT_1: a, scale: other, INPUT_3: c }));
    expect(isInputList(copy)).toBe(true);
    expect([...asList(inFormOf(copy, copy))]).toEqual([a, other, c]);
  });

  it('are a record where a name is what arrays have themselves', () => {
    for (const name of ['length', 'map', 'constructor', '0', '17']) {
      const specs: readonly TensorSpec[] = [{ name, dtype: 'float32', shape: [1] }];
      const inputs = inputsOf(specs, { [name]: a });
      expect([Array.isArray(inputs), isInputList(inputs)]).toEqual([false, false]);
      expect(inputs).toEqual({ [name]: a });
    }
    expect(Array.isArray(inputsOf([{ name: '01', dtype: 'bool', shape: [1] }], { '01': c }))).toBe(true);
  });

  it('are an empty list where there are none', () => {
    const inputs = inputsOf([], {});
    expect([Array.isArray(inputs), asList(inputs).length, Object.keys(inputs)]).toEqual([true, 0, []]);
  });
});

describe('inputs of a model that declares them as a record', () => {
  it('are a record', () => {
    const inputs = inputsOf({ x: { dtype: 'float32', shape: [1] } }, { x: a });
    expect([Array.isArray(inputs), isInputList(inputs)]).toEqual([false, false]);
    expect(Object.getPrototypeOf(inputs)).toBe(Object.prototype);
    const tensors = { x: scale };
    expect(inFormOf(inputs, tensors)).toBe(tensors);
  });
});

describe('withTensors', () => {
  it('keeps the form of the inputs, and leaves them as they were', () => {
    const other = Tensor.from('float32', [9]);
    const inputs = all();
    const changed = withTensors(inputs, { INPUT_1: other });
    expect(Array.isArray(changed)).toBe(true);
    expect([...asList(changed)]).toEqual([other, scale, c]);
    expect(inputs['INPUT_1']).toBe(a);
    expect(withTensors({ x: a, y: c }, { x: other })).toEqual({ x: other, y: c });
  });
});

describe('inFormOf', () => {
  it('makes a list of tensors by name', () => {
    const inputs = inFormOf(all(), { INPUT_3: c, INPUT_1: a });
    expect(Array.isArray(inputs)).toBe(true);
    expect([...asList(inputs)]).toEqual([a, undefined, c]);
  });
});
