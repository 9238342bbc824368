// The functions that PyTriton's decorators were recorded around, after the words that describe them.
import type { Tensor as AnyTensor } from '../../src/tensor/tensor.js';
import { Tensor } from '../../src/tensor/tensor.js';

/** Tensors by name; under first_value some are plain values. */
type Values = Readonly<Record<string, never>>;
type Tensors = Readonly<Record<string, AnyTensor>>;
interface Request {
  readonly inputs: Tensors;
}

export interface RecordedFunction {
  /** Dtypes of outputs that the recording does not show. */
  readonly outputs?: Readonly<Record<string, 'float32' | 'bytes'>>;
  readonly streams?: true;
  /** Of a function of tensors. */
  readonly ofTensors?: (values: Values) => unknown;
  /** Of a function of requests. */
  readonly ofRequests?: (requests: readonly Request[]) => unknown;
}

type Floats = Tensor<'float32'>;

const Y = { y: 'float32' } as const;

const plus = (a: Floats, b: Floats, sign = 1): Floats => a.map((value, i) => value + sign * b.data[i]!);
const times = (a: Floats, factor: number): Floats => a.map((value) => value * factor);
const zeros = (...shape: number[]): Tensor =>
  new Tensor('float32', new Float32Array(shape.reduce((a, b) => a * b, 1)), shape);
/** The width that the recorded functions make of a key. */
const widthOf = (k: Tensor<'int32'>): number => (k.data[0]! % 255) + 1;

function rowsOf(x: Floats, row: (value: number) => readonly number[]): Tensor {
  return Tensor.from('float32', Array.from(x.data, row));
}

function bytesOf(x: Floats, width: number, columns = 1): Tensor {
  return Tensor.from(
    'bytes',
    Array.from(x.data, () => Array.from({ length: columns }, () => 'x'.repeat(width))),
  );
}

interface Ab {
  readonly a: Floats;
  readonly b: Floats;
}
interface Xk {
  readonly x: Floats;
  readonly k: Tensor<'int32'>;
}

/** A function of tensors with the inputs that it names. */
function of<Inputs>(
  ofTensors: (inputs: Inputs) => unknown,
  more: Omit<RecordedFunction, 'ofTensors'> = {},
): RecordedFunction {
  return { ofTensors: ofTensors as (values: Values) => unknown, ...more };
}

const ECHO: RecordedFunction = { ofRequests: (requests) => requests.map(({ inputs }) => ({ ...inputs })) };
const fail = (): never => {
  throw new Error('boom');
};

export const FUNCTIONS: Readonly<Record<string, RecordedFunction>> = {
  '{add:a+b, sub:a-b}': of<Ab>(({ a, b }) => ({ add: plus(a, b), sub: plus(a, b, -1) })),
  '[a+b, a-b]': of<Ab>(({ a, b }) => [plus(a, b), plus(a, b, -1)]),
  '(a+b, a-b)': of<Ab>(({ a, b }) => [plus(a, b), plus(a, b, -1)]),
  '[a, b], function not bound to a model': of<Ab>(({ a, b }) => [a, b], {
    outputs: { add: 'float32', sub: 'float32' },
  }),
  '[a]': of<Ab>(({ a }) => [a]),
  '[a], function not bound': of<Ab>(({ a }) => [a], { outputs: Y }),
  '[a,a,a]': of<Ab>(({ a }) => [a, a, a]),
  '[]': of(() => []),
  '{add:a}': of<Ab>(({ a }) => ({ add: a })),
  '{add:a, zzz:a}': of<Ab>(({ a }) => ({ add: a, zzz: a })),
  '{}': of(() => ({})),
  '{y:a}': of<Ab>(({ a }) => ({ y: a }), { outputs: Y }),
  '{y:b}': of<Ab>(({ b }) => ({ y: b }), { outputs: Y }),
  '{y:[[1],[2]]}': of(() => ({ y: Tensor.from('float32', [[1], [2]]) }), { outputs: Y }),
  '{add:a+b}': of<Ab>(({ a, b }) => ({ add: plus(a, b) }), { outputs: { add: 'float32' } }),
  '{y: zeros(5,1)}': of(() => ({ y: zeros(5, 1) }), { outputs: Y }),
  '{y: zeros(2,1)}': of(() => ({ y: zeros(2, 1) }), { outputs: Y }),
  '{ok: zeros(3,1), bad: zeros(1,1)}': of(() => ({ ok: zeros(3, 1), bad: zeros(1, 1) }), {
    outputs: { ok: 'float32', bad: 'float32' },
  }),
  '{y: 0-d array}': of(() => ({ y: zeros() }), { outputs: Y }),
  '{y: numpy scalar}': of(() => ({ y: 1 }), { outputs: Y }),
  '{y: python list}': of<Ab>(({ a }) => ({ y: a.shape.length > 1 ? [[1], [2], [3]] : [1] }), { outputs: Y }),
  None: { ofTensors: () => undefined, ofRequests: () => undefined, outputs: Y },
  'array a itself': of<Ab>(({ a }) => a, { outputs: Y }),
  "'x'": of(() => 'x', { outputs: Y }),
  '{u:s}': of<{ readonly s: Tensor }>(({ s }) => ({ u: s })),
  'raises ValueError boom': of(fail, { outputs: Y }),
  'yields {y:a*k} for k=0..2': of<Ab>(({ a }) => [0, 1, 2].map((k) => ({ y: times(a, k) })).values(), {
    streams: true,
  }),
  'yields [a*k, b*k] for k=0..1': of<Ab>(({ a, b }) => [0, 1].map((k) => [times(a, k), times(b, k)]).values(), {
    streams: true,
  }),
  'generator that yields nothing': of(() => [].values(), { streams: true, outputs: Y }),
  'yields {y:a} then {y:first row of a}': of<Ab>(({ a }) => [{ y: a }, { y: a.slice(0, 1) }].values(), {
    streams: true,
  }),
  'yields {y:a} then raises RuntimeError': of<Ab>(
    function* ({ a }) {
      yield { y: a };
      throw new Error('after one');
    },
    { streams: true },
  ),
  'async function': of<Ab>(async ({ a }) => Promise.resolve({ y: a }), { outputs: Y }),
  '{y:a*2}': of<Ab>(({ a }) => ({ y: times(a, 2) })),
  '[a*2, [9]]': of<Ab>(({ a }) => [times(a, 2), Tensor.from('float32', [9])]),
  '(a*2, [9])': of<Ab>(({ a }) => [times(a, 2), Tensor.from('float32', [9])]),
  '{y:[1]}': of(() => ({ y: Tensor.from('float32', [1]) })),
  'yields dicts': of<Ab>(({ a }) => [{ y: a }].values(), { streams: true, outputs: Y }),
  'echoes each request': ECHO,
  echo: ECHO,
  'returns only the first response of each group': { ofRequests: (requests) => [{ ...requests[0]!.inputs }] },
  'raises unless group is exactly {a}': {
    ofRequests: (requests) =>
      Object.keys(requests[0]!.inputs).join() === 'a' ? requests.map(({ inputs }) => ({ ...inputs })) : fail(),
  },
  '{y: sum of all inputs}': of<Record<string, Floats>>((inputs) => ({ y: Object.values(inputs).reduce((sum, input) => plus(sum, input)) })), // prettier-ignore
  'generator of response lists': {
    ofRequests: (requests) => [requests.map(({ inputs }) => ({ ...inputs }))].values(),
    streams: true,
  },
  '{y:x*10, n: rows in this call}': of<Xk>(({ x }) => ({ y: times(x, 10), n: new Tensor('int32', new Int32Array(x.rowCount).fill(x.rowCount), [x.rowCount, 1]) })), // prettier-ignore
  '{y:x}': of<Xk>(({ x }) => ({ y: x }), { outputs: Y }),
  '[x]': of<Xk>(({ x }) => [x], { outputs: Y }),
  '{y: x repeated (k%255)+1 times}': of<Xk>(({ x, k }) => ({ y: rowsOf(x, (value) => new Array<number>(widthOf(k)).fill(value)) }), { outputs: Y }), // prettier-ignore
  '{y: fixed bytes of (k%255)+1 x}': of<Xk>(({ x, k }) => ({ y: bytesOf(x, widthOf(k)) })),
  '{y: fixed bytes}': of<Xk>(({ x, k }) => ({ y: bytesOf(x, widthOf(k)) })),
  '{y: object bytes, (k%255)+1 columns}': of<Xk>(({ x, k }) => ({ y: bytesOf(x, 1, widthOf(k)) })),
  '{y,z} for k=256 (first in byte order), {y} else': of<Xk>(({ x, k }) =>
    k.data[0] === 256 ? { y: x, z: x } : { y: x },
  ),
  '{y,z} for k=2, {y} else': of<Xk>(({ x, k }) => (k.data[0] === 2 ? { y: x, z: x } : { y: x }), { outputs: { y: 'float32', z: 'float32' } }), // prettier-ignore
  '{y: int32 for k=256, float32 else}': of<Xk>(({ x, k }) => ({ y: k.data[0] === 256 ? new Tensor('int32', Int32Array.from(x.data), x.shape) : x }), { outputs: Y }), // prettier-ignore
  '{y: only the first row}': of<Xk>(({ x }) => ({ y: x.slice(0, 1) })),
  '{y:a+b}': of<Ab>(({ a, b }) => ({ y: b.map((value, i) => value + a.data[Math.floor(i / b.shape[1]!)]!) })),
  '{y:x} per request': { ofRequests: (requests) => requests.map(({ inputs }) => ({ y: inputs['x'] })), outputs: Y },
  '{y: first 3 rows of x}': of<Xk>(({ x }) => ({ y: x.slice(0, 3) })),
  'looks at its keyword arguments': { ofRequests: (requests) => requests.map(() => ({})) },
  '{y:a+sum(b)}': of<Ab>(({ a, b }) => ({
    y: a.map((value) => value + b.data.reduce((sum, element) => sum + element)),
  })),
  '{y:x*k}': of<{ readonly x: Floats; readonly k: number }>(({ x, k }) => ({ y: times(x, k) })),
};
