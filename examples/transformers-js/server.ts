// Zero-shot classification with transformers.js: which of your labels fits a text. The labels come with each request. Needs the package,
// and the model's weights: they come from the model's host at the first start, or from the folder in TRANSFORMERS_MODELS.
//
//   npm install @huggingface/transformers
//   node build/examples/transformers-js/server.js
import { defineModel, Triton, TritonError, type CallableOf } from 'tstriton';

import { whenStarted } from '../when-started.js';

const MODEL = 'Xenova/distilbert-base-uncased-mnli';

export const zeroShot = defineModel({
  modelName: 'ZeroShot',
  inputs: { text: { dtype: 'string', shape: [1] }, labels: { dtype: 'string', shape: [-1] } },
  outputs: { labels: { dtype: 'string', shape: [-1] }, scores: { dtype: 'float32', shape: [-1] } },
  config: { batching: false },
  strict: true,
});

/** What the example uses of the package. It is not a dependency of this repository, so its own types are not here. */
export interface Transformers {
  readonly env: { localModelPath: string; allowRemoteModels: boolean };
  readonly pipeline: (task: string, model: string) => Promise<Classifier>;
}
export type Classifier = (
  text: string,
  labels: readonly string[],
) => Promise<{ readonly labels: readonly string[]; readonly scores: readonly number[] }>;

/** Loads the weights, or says in one line what is missing. */
export async function loadClassifier({ env, pipeline }: Transformers, folder?: string): Promise<Classifier> {
  if (folder !== undefined) {
    env.localModelPath = folder;
    env.allowRemoteModels = false;
  }
  try {
    return await pipeline('zero-shot-classification', MODEL);
  } catch (error) {
    const from = folder === undefined ? "the model's host" : folder;
    const reason = error instanceof Error ? error.message.split('\n')[0] : String(error);
    throw new TritonError(
      'NOT_FOUND',
      `the weights of ${MODEL} cannot be read from ${from} (${reason}); put them into a folder and name it in TRANSFORMERS_MODELS`,
    );
  }
}

export function bindZeroShot(triton: Triton, classify: Classifier): void {
  const inferFunc: CallableOf<typeof zeroShot> = (requests) =>
    Promise.all(
      requests.map(async ({ inputs }) => {
        const { labels, scores } = await classify(inputs.text.data[0]!, inputs.labels.data);
        return { labels: [...labels], scores: Float32Array.from(scores) };
      }),
    );
  triton.bind({ ...zeroShot, inferFunc });
}

await whenStarted(import.meta.url, async () => {
  const name = '@huggingface/transformers';
  const transformers = (await import(name)) as Transformers;
  const classify = await loadClassifier(transformers, process.env['TRANSFORMERS_MODELS']);
  const triton = new Triton();
  bindZeroShot(triton, classify);
  await triton.serve();
});
