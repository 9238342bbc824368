// The models of the recorded gRPC server that can be served. Not bound: `seq` with its sequence batcher.
import { InferenceResponse, stream, TritonError, type InferenceRequest, type Triton } from 'tstriton';
import { sequenceText, valueText } from './http-models.js';
import { bindAddSub, bindIdentities, bindNobatch, bindOptional, CODES, IDENTITIES } from './shared-models.js';

const FLOATS = { dtype: 'float32', shape: [-1] } as const;
const ALONE = { batching: false } as const;

/** By the timers that tests can fake. */
function delay(milliseconds: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, milliseconds));
}

const COUNTING = ['count', 'countlast', 'slowcount', 'countfail'] as const;

/** What the recorded server loaded at its start: all but `notloaded`. */
export const GRPC_LOADED_MODELS: readonly string[] = [
  ...IDENTITIES,
  'addsub',
  'nobatch',
  'optional',
  'throws',
  'raises',
  'throwscode',
  'params',
  'slow',
  'queued',
  'cached',
  'classify',
  'versions',
  ...COUNTING,
];

/** Settles when what is to happen while a model is busy has happened, however late it is on a slow machine. */
export type Meanwhile = () => Promise<unknown>;

export function bindGrpcModels(triton: Triton, meanwhile: Meanwhile): void {
  bindIdentities(triton);
  bindAddSub(triton);
  bindNobatch(triton);
  bindOptional(triton);
  bindFailing(triton);
  bindSlow(triton, meanwhile);
  bindCounting(triton);
  triton.bind({
    modelName: 'params',
    inferFunc: (requests) => requests.map((request) => ({ json: [describeRequest(request)] })),
    inputs: { x: FLOATS },
    outputs: { json: { dtype: 'string', shape: [1] } },
    config: ALONE,
  });
  triton.bind({
    modelName: 'cached',
    inferFunc: (requests) => requests,
    inputs: { x: FLOATS },
    outputs: { y: FLOATS },
    config: { maxBatchSize: 8, responseCache: true },
  });
  triton.bind({
    modelName: 'notloaded',
    inferFunc: (requests) => requests,
    inputs: { x: FLOATS },
    outputs: { y: FLOATS },
    config: { maxBatchSize: 8, batcher: null },
  });
  triton.bind({
    modelName: 'classify',
    inferFunc: (requests) => requests,
    inputs: { x: { dtype: 'float32', shape: [4] } },
    outputs: { y: { dtype: 'float32', shape: [4], labels: ['cat', 'dog', 'bird'] } },
    config: { maxBatchSize: 4, batcher: null },
  });
  for (const modelVersion of [1, 3]) {
    triton.bind({
      modelName: 'versions',
      modelVersion,
      inferFunc: (requests) => requests.map(() => ({ v: Int32Array.of(modelVersion) })),
      inputs: { x: FLOATS },
      outputs: { v: { dtype: 'int32', shape: [1] } },
      config: ALONE,
    });
  }
}

function bindFailing(triton: Triton): void {
  triton.bind({
    modelName: 'throws',
    inferFunc: () => {
      throw new TritonError('INTERNAL', 'model says no');
    },
    inputs: { x: FLOATS },
    outputs: { y: FLOATS },
    config: ALONE,
  });
  triton.bind({
    modelName: 'raises',
    inferFunc: () => {
      throw new RangeError('python says no');
    },
    inputs: { x: FLOATS },
    outputs: { y: FLOATS },
    config: ALONE,
  });
  triton.bind({
    modelName: 'throwscode',
    inferFunc: (requests) =>
      requests.map(({ inputs: { k } }) => {
        const code = CODES[k.data[0]!];
        if (code !== undefined) throw new TritonError(code, `error of code ${code}`);
        return { y: k };
      }),
    inputs: { k: { dtype: 'int32', shape: [1] } },
    outputs: { y: { dtype: 'int32', shape: [1] } },
    config: ALONE,
  });
}

/** Decoupled models: n answers, from 0 on. */
function bindCounting(triton: Triton): void {
  const number = { dtype: 'int32', shape: [1] } as const;
  for (const modelName of COUNTING) {
    triton.bind({
      modelName,
      inferFunc: stream(async function* ({ n }) {
        const count = modelName === 'countfail' ? 3 : n.data[0]!;
        for (let i = 0; i < count; i++) {
          if (modelName === 'slowcount' && i > 0) await delay(50);
          const outputs = { i: Int32Array.of(i) };
          if (modelName === 'countlast') yield new InferenceResponse(outputs, { final: i === count - 1 });
          else yield outputs;
        }
        if (modelName === 'countfail') throw new TritonError('INTERNAL', 'count went wrong');
      }),
      inputs: { n: number },
      outputs: { i: number },
      config: { ...ALONE, decoupled: true },
    });
  }
}

function bindSlow(triton: Triton, meanwhile: Meanwhile): void {
  const inferFunc = async (requests: readonly InferenceRequest<{ readonly x: typeof FLOATS }>[]) => {
    await Promise.all([delay(400), meanwhile()]);
    return requests;
  };
  triton.bind({ modelName: 'slow', inferFunc, inputs: { x: FLOATS }, outputs: { y: FLOATS }, config: ALONE });
  triton.bind({
    modelName: 'queued',
    inferFunc,
    inputs: { x: FLOATS },
    outputs: { y: FLOATS },
    config: { maxBatchSize: 1, batcher: { defaultQueuePolicy: { allowTimeoutOverride: true, maxQueueSize: 2 } } },
  });
}

/**
 * What the recorded model told of a request, in Python's form of JSON. What Python models can ask of a request and
 * callables of TSTriton cannot is given as it is when nothing was set.
 */
function describeRequest({ id, parameters, sequence }: InferenceRequest): string {
  const given = Object.entries(parameters)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, value]) => `${JSON.stringify(name)}: ${asciiText(valueText(value))}`);
  return `{${sequenceText(sequence)}, "parameters": {${given.join(', ')}}, "request_id": ${asciiText(JSON.stringify(id))}, "requested": ["json"], "timeout": 0}`;
}

function asciiText(text: string): string {
  return text.replaceAll(/[^ -~]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);
}
