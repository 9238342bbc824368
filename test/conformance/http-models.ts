// The models of the recorded HTTP server.
import { batch, stream, Tensor, TritonError, type InferenceRequest, type RequestSequence, type Triton } from 'tstriton';
import { bindAddSub, bindIdentities, bindNobatch, bindOptional, CODES, IDENTITIES } from './shared-models.js';

const FLOATS = { dtype: 'float32', shape: [-1] } as const;
const ALONE = { maxBatchSize: 4, batcher: null } as const;

/** What the recorded server called `main` loaded at its start: all but `notready` and `broken`. */
export const HTTP_LOADED_MODELS: readonly string[] = [
  ...IDENTITIES,
  'addsub',
  'nobatch',
  'wide',
  'one_string',
  'optional',
  'throws',
  'params',
  'count',
  'countfail',
  'text',
  'textstream',
  'cached',
  'classify',
  'versions',
  'reload',
];

/** The server called `main` in the recordings. */
export function bindHttpModels(triton: Triton): void {
  bindIdentities(triton);
  bindNobatch(triton);
  bindOptional(triton);
  bindPlainModels(triton);
  bindClassify(triton);
  bindStreams(triton);
  triton.bind({
    modelName: 'wide',
    inferFunc: (requests) => requests,
    inputs: { g: { dtype: 'int32', shape: [-1, -1] } },
    outputs: { g2: { dtype: 'int32', shape: [-1, -1] } },
    config: { batching: false },
  });
  triton.bind({
    modelName: 'one_string',
    inferFunc: (requests) => requests,
    inputs: { s: { dtype: 'bytes', shape: [1] } },
    outputs: { t: { dtype: 'bytes', shape: [1] } },
    config: ALONE,
  });
  triton.bind({
    modelName: 'text',
    inferFunc: batch(({ text_input }) => ({
      text_output: new Tensor(
        'string',
        text_input.data.map((text) => text.toUpperCase()),
        text_input.shape,
      ),
    })),
    inputs: { text_input: { dtype: 'string', shape: [1] } },
    outputs: { text_output: { dtype: 'string', shape: [1] } },
    config: { maxBatchSize: 8 },
  });
  for (const modelVersion of [1, 3]) {
    triton.bind({
      modelName: 'versions',
      modelVersion,
      inferFunc: (requests) =>
        requests.map(({ inputs: { x } }) => ({ version: new Int32Array(x.rowCount).fill(modelVersion) })),
      inputs: { x: FLOATS },
      outputs: { version: { dtype: 'int32', shape: [1] } },
      config: ALONE,
    });
  }
  for (const modelName of ['reload', 'notready', 'broken']) {
    triton.bind({
      modelName,
      setup: () => {
        if (modelName === 'broken') throw new TritonError('INTERNAL', 'weights are missing');
      },
      inferFunc: (requests) => requests,
      inputs: { x: FLOATS },
      outputs: { y: FLOATS },
      config: ALONE,
    });
  }
}

/** The servers called `plain` and `full` in the recordings. */
export function bindPlainModels(triton: Triton): void {
  bindAddSub(triton);
  bindCached(triton);
  bindCount(triton);
  triton.bind({ modelName: 'throws', inferFunc: throws, inputs: { x: FLOATS }, outputs: { y: FLOATS }, config: ALONE });
  triton.bind({
    modelName: 'params',
    inferFunc: (requests) =>
      requests.map((request) => {
        const rows = request.inputs.x.rowCount;
        return {
          y: new Tensor('string', Array<string>(rows).fill(parametersText(request)), [rows, 1]),
          info: new Tensor('string', Array<string>(rows).fill(infoText(request)), [rows, 1]),
        };
      }),
    inputs: { x: FLOATS },
    outputs: { y: { dtype: 'string', shape: [1] }, info: { dtype: 'string', shape: [1] } },
    config: { maxBatchSize: 8, batcher: null },
  });
}

function bindCached(triton: Triton): void {
  let calls = 0;
  triton.bind({
    modelName: 'cached',
    inferFunc: (requests) => requests.map(({ inputs: { x } }) => ({ calls: new Int32Array(x.rowCount).fill(++calls) })),
    inputs: { x: FLOATS },
    outputs: { calls: { dtype: 'int32', shape: [1] } },
    config: { ...ALONE, responseCache: true },
  });
}

function bindCount(triton: Triton): void {
  const number = { dtype: 'int32', shape: [1] } as const;
  triton.bind({
    modelName: 'count',
    inferFunc: stream(function* ({ n }) {
      for (let i = 0; i < n.data[0]!; i++) yield { i: new Int32Array(n.rowCount).fill(i) };
    }),
    inputs: { n: number },
    outputs: { i: number },
    config: { ...ALONE, decoupled: true },
  });
}

/** Decoupled models: their answers are steps. */
function bindStreams(triton: Triton): void {
  const number = { dtype: 'int32', shape: [1] } as const;
  const text = { dtype: 'string', shape: [1] } as const;
  triton.bind({
    modelName: 'countfail',
    inferFunc: stream(function* ({ n }) {
      for (let i = 0; i < (n.data[0]! < 0 ? 0 : 3); i++) yield { i: new Int32Array(n.rowCount).fill(i) };
      throw new TritonError('INTERNAL', 'failed after 3');
    }),
    inputs: { n: number },
    outputs: { i: number },
    config: { ...ALONE, decoupled: true },
  });
  triton.bind({
    modelName: 'textstream',
    inferFunc: stream(function* ({ text_input }) {
      for (const word of text_input.data[0]!.split(/\s+/)) if (word !== '') yield { text_output: [word] };
    }),
    inputs: { text_input: text },
    outputs: { text_output: text },
    config: { batching: false, decoupled: true },
  });
}

function bindClassify(triton: Triton): void {
  const five = { dtype: 'float32', shape: [5] } as const;
  const labels = ['cat', 'dog', 'fish', 'bird and wing', 'snäke'];
  triton.bind({
    modelName: 'classify',
    inferFunc: batch(({ x }) => {
      const negative = x.data.map((value) => -value);
      const grid = new Float32Array(2 * x.data.length);
      for (let row = 0; row < x.rowCount; row++) {
        grid.set(x.data.subarray(5 * row, 5 * row + 5), 10 * row);
        grid.set(negative.subarray(5 * row, 5 * row + 5), 10 * row + 5);
      }
      return {
        scores: x,
        plain: new Tensor('float32', negative, x.shape),
        ints: new Tensor(
          'int64',
          BigInt64Array.from(x.data, (value) => BigInt(halfToEven(10 * (Number.isFinite(value) ? value : 0)))),
          x.shape,
        ),
        flags: new Tensor(
          'bool',
          Uint8Array.from(x.data, (value) => (value > 0 ? 1 : 0)),
          x.shape,
        ),
        grid: new Tensor('float32', grid, [x.rowCount, 2, 5]),
      };
    }),
    inputs: { x: five },
    outputs: {
      scores: { ...five, labels },
      plain: five,
      ints: { dtype: 'int64', shape: [5] },
      flags: { dtype: 'bool', shape: [5] },
      grid: { dtype: 'float32', shape: [2, 5], labels },
    },
    config: { maxBatchSize: 8, batcher: null },
  });
}

/** numpy's rounding. */
function halfToEven(value: number): number {
  const rounded = Math.round(value);
  return Math.abs(value % 1) === 0.5 && rounded % 2 !== 0 ? rounded - 1 : rounded;
}

type Floats = { readonly x: typeof FLOATS };

/** What `throws` returns for a first value of x. Mistakes that do not compile are what it is for. */
function throws(requests: readonly InferenceRequest<Floats>[]): never {
  const lists = requests.map(throwsOne);
  // Some cases spoil the list itself.
  return (
    lists.length === 1 && lists[0]?.kind === 'list' ? lists[0].value : lists.map((entry) => entry.value)
  ) as never;
}

interface Thrown {
  readonly kind: 'result' | 'list';
  readonly value: unknown;
}

function throwsOne({ inputs: { x } }: InferenceRequest<Floats>): Thrown {
  const which = x.data[0] ?? -1;
  const result = (value: unknown): Thrown => ({ kind: 'result', value });
  const list = (value: unknown): Thrown => ({ kind: 'list', value });
  const y = new Tensor('float32', x.data, x.shape);
  if (which >= 3 && which <= 10) {
    const code = CODES[which - 3]!;
    throw new TritonError(code, `error with code ${code}`);
  }
  switch (which) {
    case 0:
      throw new TritonError('INTERNAL', 'model says no');
    case 1:
      throw new TritonError('INTERNAL', 'model raises');
    case 2:
      throw new RangeError('division by zero, says the model');
    case 11:
      throw new TritonError('INTERNAL', 'quote " backslash \\ newline \n tab \t e-acute é and 😀');
    case 12:
      throw new TritonError('INTERNAL', '');
    case 13:
      return result({ y: new Tensor('float64', Float64Array.from(x.data), x.shape) });
    case 14:
      return result({ y: x.reshape([x.data.length]) });
    case 15:
      return result({});
    case 16:
      return result({ z: y });
    case 17:
      return result({ y, z: y });
    case 18:
      return list(undefined);
    case 19:
      return list([]);
    case 20:
      return list([undefined]);
    case 21:
      return list([{ y }, { y }]);
    case 23:
      return result({ y: Tensor.concat([y, y]) });
    case 24:
      return list(['a string']);
    case 25:
      return result({ y: new Tensor('float32', new Float32Array(0), [1, 0]) });
    case 26:
      return result({ y: new Tensor('float32', Float32Array.of(Number.NaN, Infinity, -Infinity), [1, 3]) });
    default:
      return result({ y });
  }
}

/** As Triton's parameters look in JSON: no spaces, in the order given. */
function parametersText({ parameters }: Pick<InferenceRequest, 'parameters'>): string {
  return `{${Object.entries(parameters)
    .map(([name, value]) => `${JSON.stringify(name)}:${valueText(value)}`)
    .join(',')}}`;
}

export function valueText(value: string | boolean | number | bigint): string {
  return typeof value === 'string' ? JSON.stringify(value) : String(value);
}

/** A request's sequence as the recorded models told it: without one its id is 0 and no flag is set. */
export function sequenceText({ id, start, end }: RequestSequence = { id: 0, start: false, end: false }): string {
  return `"correlation_id": ${valueText(id)}, "flags": ${(start ? 1 : 0) + (end ? 2 : 0)}`;
}

/** What Python models can ask of a request and callables of TSTriton cannot is given as it is when nothing was set. */
function infoText({ id, sequence }: Pick<InferenceRequest, 'id' | 'sequence'>): string {
  return `{${sequenceText(sequence)}, "id": ${JSON.stringify(id)}, "requested": ["info", "y"], "timeout": 0, "version": null}`;
}
