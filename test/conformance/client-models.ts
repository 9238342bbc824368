// The models that the recorded clients asked.
import { batch, stream, Tensor, TritonError, type Triton } from 'tstriton';

const FLOATS = { dtype: 'float32', shape: [-1] } as const;
const NUMBER = { dtype: 'int32', shape: [1] } as const;

export function bindClientModels(triton: Triton): void {
  triton.bind({
    modelName: 'AddSub',
    inferFunc: batch(({ a, b }) => ({
      add: new Tensor('float32', a.data.map((value, i) => value + b.data[i]!), a.shape),
      sub: new Tensor('float32', a.data.map((value, i) => value - b.data[i]!), a.shape),
    })),
    inputs: { a: FLOATS, b: FLOATS },
    outputs: { add: FLOATS, sub: FLOATS },
    config: { maxBatchSize: 16 },
  }); // prettier-ignore
  triton.bind({
    modelName: 'NoBatch',
    inferFunc: (requests) =>
      requests.map(({ inputs: { m } }) => ({ sum: BigInt64Array.of(BigInt(m.data.reduce((sum, value) => sum + value))) })),
    inputs: { m: { dtype: 'int32', shape: [2, -1] } },
    outputs: { sum: { dtype: 'int64', shape: [1] } },
    config: { batching: false },
  }); // prettier-ignore
  triton.bind({
    modelName: 'Upper',
    inferFunc: batch(({ s }) => ({ u: new Tensor('string', s.data.map((text) => text.toUpperCase()), s.shape) })),
    inputs: { s: { dtype: 'string', shape: [1] } },
    outputs: { u: { dtype: 'string', shape: [1] } },
  }); // prettier-ignore
  triton.bind({
    modelName: 'Params',
    inferFunc: (requests) => requests.map(({ parameters }) => ({ y: [[pythonJson(parameters)]] })),
    inputs: { x: { dtype: 'float32', shape: [1] } },
    outputs: { y: { dtype: 'string', shape: [1] } },
  });
  triton.bind({
    modelName: 'Count',
    inferFunc: stream(function* ({ n }) {
      for (let i = 0; i < n.data[0]!; i++) yield { i: [[i]] };
    }),
    inputs: { n: NUMBER },
    outputs: { i: NUMBER },
    config: { decoupled: true },
  });
  triton.bind({
    modelName: 'Throws',
    inferFunc: () => {
      throw new TritonError('INTERNAL', 'division by zero, says the model');
    },
    inputs: { x: FLOATS },
    outputs: { y: FLOATS },
  });
  triton.bind({
    modelName: 'Spin',
    // As long as anybody waits for it.
    inferFunc: async (requests, { signal }) => {
      await new Promise((resolve) => signal.addEventListener('abort', resolve));
      return requests;
    },
    inputs: { x: FLOATS },
    outputs: { y: FLOATS },
    config: { concurrency: 100, batcher: null },
  });
  for (const dtype of ['float16', 'bool'] as const) {
    triton.bind({
      modelName: `Id_${dtype}`,
      inferFunc: (requests) => requests,
      inputs: { x: { dtype, shape: [-1] } },
      outputs: { y: { dtype, shape: [-1] } },
    });
  }
}

/** As Python's `json.dumps` with sorted keys writes it. */
function pythonJson(parameters: Readonly<Record<string, unknown>>): string {
  const members = Object.keys(parameters).sort();
  return `{${members.map((name) => `${JSON.stringify(name)}: ${JSON.stringify(parameters[name])}`).join(', ')}}`;
}
