// The models that the checks ask.
import { stream } from 'tstriton';

/** @param {import('tstriton').Triton} triton */
export function bindModels(triton) {
  triton.bind({
    modelName: 'Double',
    inputs: { x: { dtype: 'float32', shape: [-1] } },
    outputs: { y: { dtype: 'float32', shape: [-1] } },
    config: { maxBatchSize: 8 },
    inferFunc: (requests) => requests.map(({ inputs: { x } }) => ({ y: x.map((value) => 2 * value) })),
  });
  for (const dtype of /** @type {const} */ (['string', 'int64', 'float16'])) {
    triton.bind({
      modelName: dtype,
      inputs: { x: { dtype, shape: [-1] } },
      outputs: { y: { dtype, shape: [-1] } },
      inferFunc: (requests) => requests,
    });
  }
  triton.bind({
    modelName: 'Count',
    inputs: { n: { dtype: 'int32', shape: [1] } },
    outputs: { i: { dtype: 'int32', shape: [1] }, text: { dtype: 'string', shape: [1] } },
    config: { decoupled: true },
    inferFunc: stream(function* ({ n }) {
      for (let i = 0; i < Number(n.data[0]); i++) yield { i: [[i]], text: [[`é${i}`]] };
    }),
  });
  /**
   * What happened, and who waits for it.
   * @type {Map<string, { promise: Promise<void>, tell: () => void }>}
   */
  const events = new Map();
  /** @param {string} name */
  const event = (name) => {
    let found = events.get(name);
    if (found === undefined) {
      let tell = () => {};
      const promise = new Promise((resolve) => (tell = () => resolve(undefined)));
      found = { promise: promise.then(() => undefined), tell };
      events.set(name, found);
    }
    return found;
  };
  const key = /** @type {const} */ ({ key: { dtype: 'string', shape: [1] } });
  triton.bind({
    modelName: 'Endless',
    inputs: key,
    outputs: { data: { dtype: 'string', shape: [1] } },
    config: { decoupled: true, batching: false },
    inferFunc: stream(async function* ({ key: { data } }, { signal }) {
      signal.addEventListener('abort', () => event(String(data[0])).tell());
      while (!signal.aborted) yield { data: [String(data[0])] };
    }),
  });
  triton.bind({
    modelName: 'Never',
    inputs: key,
    outputs: { data: { dtype: 'string', shape: [1] } },
    config: { batching: false, concurrency: 1000 },
    inferFunc: async (requests, { signal }) => {
      const name = String(requests[0]?.inputs.key.data[0]);
      event(`begun ${name}`).tell();
      await new Promise((resolve) => signal.addEventListener('abort', resolve));
      event(name).tell();
      return requests.map(() => ({ data: ['x'] }));
    },
  });
  // Answers once the event has happened.
  triton.bind({
    modelName: 'Cancelled',
    inputs: key,
    outputs: { seen: { dtype: 'int32', shape: [1] } },
    config: { batching: false, concurrency: 1000 },
    inferFunc: async (requests) => {
      await event(String(requests[0]?.inputs.key.data[0])).promise;
      return requests.map(() => ({ seen: [1] }));
    },
  });
}
