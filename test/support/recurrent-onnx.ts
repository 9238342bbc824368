// Small recurrent ONNX networks for tests.
import { node, onnxModel, tensor, tensorValue, type Dimension } from './onnx-builder.js';

const int64 = (name: string, ...values: number[]) =>
  tensor(name, 'int64', [values.length], BigInt64Array.from(values, BigInt));

/** `hn = h + x`, `y = hn`: a running total. */
export function totalModel(rows: Dimension = 'batch'): Buffer {
  return onnxModel({
    nodes: [node('Add', ['h', 'x'], ['hn']), node('Identity', ['hn'], ['y'])],
    inputs: [tensorValue('x', 'float32', [rows, 2]), tensorValue('h', 'float32', [rows, 2])],
    outputs: [tensorValue('y', 'float32', [rows, 2]), tensorValue('hn', 'float32', [rows, 2])],
  });
}

/** As recurrent operators have it, `h` is of the shape [layers, batch, 2]: `hn = h + x · sr`, and `y` is the last layer. */
export function layeredModel(): Buffer {
  return onnxModel({
    nodes: [
      node('Mul', ['x', 'sr'], ['scaled']),
      node('Add', ['h', 'scaled'], ['hn']),
      node('Gather', ['hn', 'last'], ['layer'], { axis: 0 }),
      node('Squeeze', ['layer', 'first'], ['y']),
    ],
    inputs: [
      tensorValue('x', 'float32', ['batch', 2]),
      tensorValue('sr', 'float32', []),
      tensorValue('h', 'float32', [3, 'batch', 2]),
    ],
    outputs: [tensorValue('y', 'float32', ['batch', 2]), tensorValue('hn', 'float32', [null, null, null])],
    initializers: [int64('last', 2), int64('first', 0)],
  });
}

/** The state grows by each request, as a transformer's does: `past` of [batch, steps], then `x`; `sum` adds it up. */
export function growingModel(): Buffer {
  return onnxModel({
    nodes: [
      node('Concat', ['past', 'x'], ['present'], { axis: 1 }),
      node('ReduceSum', ['present', 'axis'], ['sum'], { keepdims: 1 }),
    ],
    inputs: [tensorValue('x', 'float32', ['batch', 1]), tensorValue('past', 'float32', ['batch', 'steps'])],
    outputs: [tensorValue('sum', 'float32', ['batch', 1]), tensorValue('present', 'float32', ['batch', 'more'])],
    initializers: [int64('axis', 1)],
  });
}

/** `hn = h + table[x]`, `y = hn`: fails where `x` is beyond the table, which has 1, 10 and 100. */
export function lookupModel(): Buffer {
  return onnxModel({
    nodes: [
      node('Gather', ['table', 'x'], ['found']),
      node('Add', ['h', 'found'], ['hn']),
      node('Identity', ['hn'], ['y']),
    ],
    inputs: [tensorValue('x', 'int64', ['batch', 1]), tensorValue('h', 'float32', ['batch', 1])],
    outputs: [tensorValue('y', 'float32', ['batch', 1]), tensorValue('hn', 'float32', ['batch', 1])],
    initializers: [tensor('table', 'float32', [3], Float32Array.of(1, 10, 100))],
  });
}

/** The total begins anew where `START` is 1: `hn = h · (1 - START) + x`. `READY` is given back. */
export function controlledModel(): Buffer {
  return onnxModel({
    nodes: [
      node('Sub', ['one', 'START'], ['kept']),
      node('Mul', ['h', 'kept'], ['before']),
      node('Add', ['before', 'x'], ['hn']),
      node('Identity', ['hn'], ['y']),
      node('Identity', ['READY'], ['ready']),
    ],
    inputs: [
      tensorValue('x', 'float32', ['batch', 1]),
      tensorValue('h', 'float32', ['batch', 1]),
      tensorValue('START', 'float32', ['batch', 1]),
      tensorValue('READY', 'int32', ['batch', 1]),
    ],
    outputs: [
      tensorValue('y', 'float32', ['batch', 1]),
      tensorValue('ready', 'int32', ['batch', 1]),
      tensorValue('hn', 'float32', ['batch', 1]),
    ],
    initializers: [tensor('one', 'float32', [1], Float32Array.of(1))],
  });
}
